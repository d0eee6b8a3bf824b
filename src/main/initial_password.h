/* SPDX-License-Identifier: Apache-2.0 */
/* initial_password.h - where `det serve` gets the password for users without one. */
#ifndef MAIN_INITIAL_PASSWORD_H
#define MAIN_INITIAL_PASSWORD_H

#include "base/err.h"

struct arena;
struct serve_options;

/* Reads the file that is named, or standard input.  A password on the command line is
 * copied, and overwritten there.  *ret_password is NULL if none was given. */
det_status initial_password_read(const struct serve_options *options, struct arena *mem,
                                 const char **ret_password, struct err *err);

#endif
