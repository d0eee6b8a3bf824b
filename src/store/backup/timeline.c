/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup/timeline.h"

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/people/audit.h"
#include "store/setting.h"
#include "store/sql_tables.h"

enum {
    SESSIONS_END,
    TOKENS_END,
    AGENTS_STRANGE,
    RUNS_STRANGE,
    PROJECTS_COUNT_ON,
    LAST_ATTEMPT,
};

static const struct sql timeline_sql[] = {
    SQL(SESSIONS_END, "DELETE FROM sessions WHERE NOT is_access_token"),
    SQL(TOKENS_END, "UPDATE sessions SET is_revoked = TRUE WHERE is_access_token"),
    SQL(AGENTS_STRANGE, "UPDATE agents SET instance = 'before the restore',"
                        " is_connected = FALSE, silent_us = $1"),
    SQL(RUNS_STRANGE, "UPDATE allocations SET name = name || '.lost'"
                      " WHERE state <> 'TERMINATED'"),
    SQL(PROJECTS_COUNT_ON, "UPDATE projects SET trials_numbered = ((trials_numbered + "
                           "14999) / 10000) * 10000"),
    SQL(LAST_ATTEMPT, "SELECT MAX(COALESCE((SELECT MAX(run_id) FROM trials), 0),"
                      " COALESCE((SELECT MAX(run_id) FROM jobs), 0))"),
};
const struct sql_table timeline_sql_table = SQL_TABLE(timeline_sql);

/* The counters of the core and of the store.  Those of the journal are not among them: the
 * journal has no gaps, and nobody outside knows its numbers. */
static const struct {
    const char *name;
    int64_t margin;
} counters[] = {
    {"next_experiment", 10000}, {"next_job", 10000},
    {"next_trial", 1000000},    {"next_allocation", 1000000},
    {"next_agent", 1000000},    {"store.user", 10000},
    {"store.group", 10000},     {"store.workspace", 10000},
    {"store.project", 10000},   {"store.session", 1000000},
    {"store.audit", 1000000},   {"store.metric", INT64_C(1000000000000)},
};

static int64_t next_multiple(int64_t value, int64_t margin)
{
    return (value + margin / 2 + margin - 1) / margin * margin;
}

static det_status count_on(struct db *db, struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < ARRAY_LEN(counters) && !st; i++) {
        int64_t value = 0;

        st = store_number_get(db, counters[i].name, 0, &value, err);
        if (!st)
            st = store_number_put(db, counters[i].name,
                                  next_multiple(value, counters[i].margin), err);
    }
    return st;
}

static det_status count_attempts_on(struct db *db, struct err *err)
{
    enum { MARGIN = 1000 };
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &timeline_sql[LAST_ATTEMPT], err);
    int64_t last = 0;
    int64_t first = 0;
    det_status st;

    if (db_next(&q))
        last = db_col_i64(&q);
    if (q.status)
        return q.status;
    st = store_number_get(db, "first_run", 1, &first, err);
    return st ? st
              : store_number_put(db, "first_run",
                                 next_multiple(MAX(last, first), MARGIN), err);
}

static det_status run_plain(struct db *db, int which, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &timeline_sql[which], err);

    return db_run(&q);
}

static det_status estrange_agents(struct db *db, int64_t now_us, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &timeline_sql[AGENTS_STRANGE], err);

    db_bind_i64(&q, now_us);
    return db_run(&q);
}

static det_status note_restore(struct db *db, const char *backup_id, int64_t now_us,
                               struct err *err)
{
    const struct audit row = {
        .time_us = now_us,
        .username = "",
        .action = "restore",
        .object_kind = "backup",
        .object_id = backup_id,
        .address = "",
        .status = 200,
        .detail = "",
    };

    return store_audit_add(db, &row, err);
}

det_status timeline_begin(struct db *db, const char *backup_id, int64_t now_us,
                          struct err *err)
{
    det_status st = run_plain(db, SESSIONS_END, err);

    if (!st)
        st = run_plain(db, TOKENS_END, err);
    if (!st)
        st = estrange_agents(db, now_us, err);
    if (!st)
        st = run_plain(db, RUNS_STRANGE, err);
    if (!st)
        st = run_plain(db, PROJECTS_COUNT_ON, err);
    if (!st)
        st = count_on(db, err);
    if (!st)
        st = count_attempts_on(db, err);
    return st ? st : note_restore(db, backup_id, now_us, err);
}
