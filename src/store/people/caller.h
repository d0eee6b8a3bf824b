/* SPDX-License-Identifier: Apache-2.0 */
/* caller.h - the user or task behind a token. */
#ifndef STORE_PEOPLE_CALLER_H
#define STORE_PEOPLE_CALLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct caller_view {
    int64_t user_id;
    const char *username;
    bool is_admin;
    bool is_active;
    const char *nonce; /* the random digits of its token; "": issued before 0018 */
    /* of a session or access token: */
    int64_t expires_us;
    bool is_revoked;
    bool is_access_token;
    /* of an allocation's token: */
    bool is_over;
    bool is_delivered;      /* its supervisors have delivered everything */
    const char *allocation; /* its name */
    const char *task_id;
    int64_t trial_id;
    int64_t experiment_id;
    int64_t owner_id; /* of the experiment or job; user_id is who started the run */
};
/* DET_NOT_FOUND: no such session or allocation. */
det_status store_caller_by_session(struct db *db, int64_t session_id, struct arena *mem,
                                   struct caller_view *ret_caller, struct err *err);
det_status store_caller_by_allocation(struct db *db, int64_t allocation_id,
                                      struct arena *mem, struct caller_view *ret_caller,
                                      struct err *err);

#endif
