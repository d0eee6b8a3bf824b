/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - sessions of users.
 *
 * A session holds no secret: its token is the session's number, signed with a key
 * (master/request/auth.c). */
#ifndef STORE_PEOPLE_SESSION_H
#define STORE_PEOPLE_SESSION_H

#include <stdint.h>

#include "base/err.h"

struct db;

struct session {
    int64_t id;
    int64_t user_id;
    int64_t created_us;
    int64_t expires_us;
};
det_status store_session_add(struct db *db, const struct session *row, int64_t *ret_id,
                             struct err *err);
det_status store_session_drop(struct db *db, int64_t id, struct err *err);
det_status store_sessions_drop_of(struct db *db, int64_t user_id, struct err *err);
/* Removes the sessions that ended before `now_us`. */
det_status store_sessions_expire(struct db *db, int64_t now_us, struct err *err);

#endif
