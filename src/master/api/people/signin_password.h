/* SPDX-License-Identifier: Apache-2.0 */
/* signin_password.h - logins whose password a directory checks. */
#ifndef MASTER_API_PEOPLE_SIGNIN_PASSWORD_H
#define MASTER_API_PEOPLE_SIGNIN_PASSWORD_H

#include <stdbool.h>

#include "base/err.h"

struct login_body;
struct request;
struct user;

/* Whether the directory decides about this login: a directory is configured, the client sent
 * the password itself, and the user (NULL: unknown) has none on this master. */
bool signin_password_applies(struct request *req, const struct login_body *body,
                             const struct user *user);
/* Ends the handler of the login.  `ended` is called once, when the directory has answered or
 * could not be asked, before the reply. */
typedef void signin_ended_fn(struct request *req, void *arg, det_status status);
det_status signin_password_begin(struct request *req, const struct login_body *body,
                                 signin_ended_fn *ended, void *arg);

#endif
