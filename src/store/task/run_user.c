/* SPDX-License-Identifier: Apache-2.0 */
#include "store/task/run_user.h"

#include <inttypes.h>

#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum {
    RUN_ORIGIN,
    RUN_USER_NOTE,
    RUN_USER_OF,
    RUN_USER_OF_CHECKPOINT,
    RUN_USER_OF_TRIAL,
};

/* An administrator (by flag, or by the role ClusterAdmin, number 1) who continues another user's
 * experiment runs that user's code, which must not get the administrator's files, or root's. */
#define OF_ADMIN                                                                       \
    "s.is_admin OR EXISTS (SELECT 1 FROM role_assignments r WHERE r.role_id = 1"       \
    "  AND r.workspace_id = 0 AND (r.user_id = s.id OR (r.group_id <> 0 AND "          \
    "r.group_id"                                                                       \
    "    IN (SELECT m.group_id FROM group_members m WHERE m.user_id = s.id))))"

static const struct sql run_user_sql[] = {
    SQL(RUN_ORIGIN,
        "SELECT u.agent_uid, u.agent_gid, u.agent_user, u.agent_group,"
        "  COALESCE(j.workspace_id, p.workspace_id, 0)"
        "  FROM allocations a LEFT JOIN experiments e ON e.id = a.experiment_id"
        "  LEFT JOIN projects p ON p.id = e.project_id"
        "  LEFT JOIN jobs j ON j.id = a.job_id"
        "  JOIN users s"
        "   ON s.id = COALESCE(NULLIF(e.starter_id, 0), e.owner_id, j.owner_id)"
        "  JOIN users u ON u.id = CASE WHEN " OF_ADMIN
        "   THEN COALESCE(e.owner_id, j.owner_id) ELSE s.id END"
        " WHERE a.id = $1"),
    SQL(RUN_USER_NOTE, "UPDATE allocations SET run_user = $2"
                       " WHERE id = $1 AND run_user IS NULL"),
    SQL(RUN_USER_OF, "SELECT run_user FROM allocations WHERE id = $1"),
    SQL(RUN_USER_OF_CHECKPOINT,
        "SELECT a.run_user FROM checkpoints c"
        "  JOIN allocations a ON a.name = c.allocation_id AND a.trial_id = c.trial_id"
        " WHERE c.uuid = $1 ORDER BY a.id DESC LIMIT 1"),
    SQL(RUN_USER_OF_TRIAL, "SELECT run_user FROM allocations"
                           " WHERE trial_id = $1 AND run_id = $2"
                           " ORDER BY id DESC LIMIT 1"),
};
const struct sql_table run_user_sql_table = SQL_TABLE(run_user_sql);

det_status store_run_origin(struct db *db, int64_t allocation_id, struct arena *mem,
                            struct run_origin *ret_origin, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_user_sql[RUN_ORIGIN], err);
    struct run_origin origin;

    db_bind_i64(&q, allocation_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND,
                                  "allocation %" PRId64 " has no owner", allocation_id);
    origin.uid = db_col_i64(&q);
    origin.gid = db_col_i64(&q);
    origin.user = db_col_str(&q, mem);
    origin.group = db_col_str(&q, mem);
    origin.workspace_id = db_col_i64(&q);
    if (!q.status)
        *ret_origin = origin;
    return q.status;
}

det_status store_run_user_note(struct db *db, int64_t allocation_id, const char *text,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_user_sql[RUN_USER_NOTE], err);

    db_bind_i64(&q, allocation_id);
    db_bind_str(&q, text);
    return db_run(&q);
}

static det_status read_text(struct db_query *q, struct arena *mem,
                            const char **ret_text)
{
    *ret_text = db_next(q) ? db_col_str(q, mem) : NULL;
    return q->status;
}

det_status store_run_user_of(struct db *db, int64_t allocation_id, struct arena *mem,
                             const char **ret_text, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_user_sql[RUN_USER_OF], err);

    db_bind_i64(&q, allocation_id);
    return read_text(&q, mem, ret_text);
}

det_status store_run_user_of_checkpoint(struct db *db, const char *uuid,
                                        struct arena *mem, const char **ret_text,
                                        struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_user_sql[RUN_USER_OF_CHECKPOINT], err);

    db_bind_str(&q, uuid);
    return read_text(&q, mem, ret_text);
}

det_status store_run_user_of_trial(struct db *db, int64_t trial_id, int64_t run_id,
                                   struct arena *mem, const char **ret_text,
                                   struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_user_sql[RUN_USER_OF_TRIAL], err);

    db_bind_i64(&q, trial_id);
    db_bind_i64(&q, run_id);
    return read_text(&q, mem, ret_text);
}
