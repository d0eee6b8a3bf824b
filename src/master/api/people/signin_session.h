/* SPDX-License-Identifier: Apache-2.0 */
/* signin_session.h - opens the session after a sign-in other than by a password. */
#ifndef MASTER_API_PEOPLE_SIGNIN_SESSION_H
#define MASTER_API_PEOPLE_SIGNIN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "master/signin/identity.h"
#include "store/people/session.h"
#include "store/people/user.h"

struct db;
struct request;

/* Who signs in: an identity from elsewhere, or (source NULL) the user `user.id`. */
struct signin_person {
    struct identity identity;
    struct user user;
    struct session session;
    const char *nonce; /* of the session */
};

/* In a write job: brings the account up to date and adds the session. */
det_status signin_session_write(struct request *req, struct signin_person *person,
                                struct db *db, struct err *err);
/* After the commit: the token, in req->mem; NULL: no memory. */
const char *signin_session_token(struct request *req,
                                 const struct signin_person *person);
/* Replies as POST /api/v1/auth/login does, with or without the cookie for browsers. */
det_status signin_session_reply(struct request *req, const struct signin_person *person,
                                bool sets_cookie);
void signin_session_set_cookie(struct request *req, const char *token);

#endif
