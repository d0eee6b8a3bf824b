/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - sessions and access tokens of users.
 *
 * A row holds no secret: its token is its number and its random digits, signed with a key
 * (master/request/auth.c). */
#ifndef STORE_PEOPLE_SESSION_H
#define STORE_PEOPLE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct session {
    int64_t id;
    int64_t user_id;
    int64_t created_us;
    int64_t expires_us;
    const char *nonce;
    bool is_access_token;
    bool is_revoked;
    const char *description; /* of an access token */
};
/* The nonce of the row is ignored and made; *ret_nonce is in `mem`. */
det_status store_session_add(struct db *db, const struct session *row,
                             struct arena *mem, int64_t *ret_id, const char **ret_nonce,
                             struct err *err);
det_status store_session_drop(struct db *db, int64_t id, struct err *err);
/* Closes the sessions of a user; access tokens stay. */
det_status store_sessions_drop_of(struct db *db, int64_t user_id, struct err *err);
/* Removes the sessions that ended before `now_us`. */
det_status store_sessions_expire(struct db *db, int64_t now_us, struct err *err);

#endif
