/* SPDX-License-Identifier: Apache-2.0 */
/* user.h - what the commands of `det user` share. */
#ifndef CLI_NOUNS_USER_H
#define CLI_NOUNS_USER_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct cli_invocation;

/* The user that is named, else the caller. */
det_status user_find(struct cli *cli, const struct cli_invocation *in,
                     const char **ret_name, int64_t *ret_id);
/* The given password, or one that is asked for, twice on a terminal.  DET_INVALID: it is
 * too short. */
det_status user_new_password(struct cli *cli, const char *given, const char *user,
                             const char **ret_password);

#endif
