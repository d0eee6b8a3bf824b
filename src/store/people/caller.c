/* SPDX-License-Identifier: Apache-2.0 */
/* caller.c - see caller.h.  Every request asks, so each answer is one statement. */
#include "store/people/caller.h"

#include <inttypes.h>

#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { CALLER_BY_SESSION, CALLER_BY_ALLOCATION };

static const struct sql caller_sql[] = {
    SQL(CALLER_BY_SESSION,
        "SELECT u.id, u.username, u.is_admin, u.is_active,"
        "  s.nonce, s.expires_us, s.is_revoked, s.is_access_token, FALSE, '', '', 0, 0,"
        "  0, FALSE"
        "  FROM sessions s JOIN users u ON u.id = s.user_id"
        " WHERE s.id = $1"),
    SQL(CALLER_BY_ALLOCATION,
        "SELECT u.id, u.username, u.is_admin, u.is_active,"
        "  a.nonce, 0, FALSE, FALSE, a.state = 'TERMINATED', a.name, a.task_id, "
        "a.trial_id,"
        "  a.experiment_id, COALESCE(e.owner_id, j.owner_id),"
        "  NOT EXISTS (SELECT 1 FROM shares s"
        "   WHERE s.allocation_id = a.id AND NOT s.is_delivered)"
        "  FROM allocations a LEFT JOIN experiments e ON e.id = a.experiment_id"
        "  LEFT JOIN jobs j ON j.id = a.job_id"
        "  JOIN users u"
        "   ON u.id = COALESCE(NULLIF(e.starter_id, 0), e.owner_id, j.owner_id)"
        " WHERE a.id = $1"),
};
const struct sql_table caller_sql_table = SQL_TABLE(caller_sql);

static det_status read_caller(struct db *db, const struct sql *sql, int64_t id,
                              struct arena *mem, struct caller_view *ret_caller,
                              struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, sql, err);
    struct caller_view caller;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status
                   ? q.status
                   : err_set(err, DET_NOT_FOUND, "caller %" PRId64 " not found", id);
    caller.user_id = db_col_i64(&q);
    caller.username = db_col_str(&q, mem);
    caller.is_admin = db_col_bool(&q);
    caller.is_active = db_col_bool(&q);
    caller.nonce = db_col_str(&q, mem);
    caller.expires_us = db_col_i64(&q);
    caller.is_revoked = db_col_bool(&q);
    caller.is_access_token = db_col_bool(&q);
    caller.is_over = db_col_bool(&q);
    caller.allocation = db_col_str(&q, mem);
    caller.task_id = db_col_str(&q, mem);
    caller.trial_id = db_col_i64(&q);
    caller.experiment_id = db_col_i64(&q);
    caller.owner_id = db_col_i64(&q);
    caller.is_delivered = db_col_bool(&q);
    if (!q.status)
        *ret_caller = caller;
    return q.status;
}

det_status store_caller_by_session(struct db *db, int64_t session_id, struct arena *mem,
                                   struct caller_view *ret_caller, struct err *err)
{
    return read_caller(db, &caller_sql[CALLER_BY_SESSION], session_id, mem, ret_caller,
                       err);
}

det_status store_caller_by_allocation(struct db *db, int64_t allocation_id,
                                      struct arena *mem, struct caller_view *ret_caller,
                                      struct err *err)
{
    return read_caller(db, &caller_sql[CALLER_BY_ALLOCATION], allocation_id, mem,
                       ret_caller, err);
}
