/* SPDX-License-Identifier: Apache-2.0 */
/* removal.c - rows of `removals` and `sweeps`.
 *
 * A removal that failed waits 10 s, then twice as long each time, at most an hour. */
#include "store/checkpoint/removal.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "model/field.h"
#include "model/records.h"
#include "model/states.h"
#include "store/checkpoint/checkpoint.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum {
    FIRST_WAIT_US = 10 * 1000000,
    DOUBLINGS_MOST = 8, /* then an hour */
};
static const int64_t longest_wait_us = (int64_t)3600 * 1000000;

#define REMOVAL_COLUMNS                                                                \
    "uuid, experiment_id, agent, resource_pool, is_shared, since_us, tries, next_us,"  \
    " error"

enum {
    REMOVAL_GROUPS,
    REMOVALS_OF,
    REMOVAL_GET,
    REMOVAL_DROP,
    REMOVAL_FAILED,
    REMOVAL_STATE,
    REMOVALS_AGAIN,
    SWEEP_ADD,
    SWEEPS_OF,
    SWEEPS_ALL,
    SWEEP_DROP,
    SWEEP_AGAIN,
};

static const struct sql removal_sql[] = {
    SQL(REMOVAL_GROUPS, "SELECT agent, resource_pool, is_shared FROM removals"
                        " WHERE next_us <= $1"
                        " GROUP BY agent, is_shared, resource_pool"
                        " ORDER BY agent, is_shared, resource_pool"),
    SQL(REMOVALS_OF, "SELECT " REMOVAL_COLUMNS " FROM removals WHERE agent = $1"
                     " AND is_shared = $2 AND resource_pool = $3 AND next_us <= $4"
                     " ORDER BY next_us LIMIT 100"),
    SQL(REMOVAL_GET, "SELECT " REMOVAL_COLUMNS " FROM removals WHERE uuid = $1"),
    SQL(REMOVAL_DROP, "DELETE FROM removals WHERE uuid = $1"),
    SQL(REMOVAL_FAILED,
        "UPDATE removals SET tries = tries + 1, next_us = $2, error = $3"
        " WHERE uuid = $1"),
    SQL(REMOVAL_STATE,
        "SELECT EXISTS (SELECT 1 FROM checkpoints WHERE experiment_id = $1"
        "  AND state NOT IN ('DELETING', 'DELETED')),"
        " EXISTS (SELECT 1 FROM removals WHERE experiment_id = $1),"
        " (SELECT COALESCE(MAX(tries), 0) FROM removals WHERE experiment_id = $1),"
        " (SELECT error FROM removals WHERE experiment_id = $1 AND tries > 0"
        "  ORDER BY tries DESC LIMIT 1)"),
    SQL(REMOVALS_AGAIN, "UPDATE removals SET tries = 0, next_us = 0"
                        " WHERE experiment_id = $1"),
    SQL(SWEEP_ADD,
        "INSERT INTO sweeps (agent, trial_id, run_id, experiment_id, next_us)"
        " SELECT DISTINCT s.agent, a.trial_id, a.run_id, a.experiment_id, 0"
        "  FROM allocations a JOIN shares s ON s.allocation_id = a.id"
        "  WHERE a.id = $1 AND s.agent IS NOT NULL"
        " ON CONFLICT (agent, trial_id) DO UPDATE"
        "  SET run_id = excluded.run_id, next_us = 0"),
    SQL(SWEEPS_OF, "SELECT agent, trial_id, run_id, experiment_id, next_us FROM sweeps"
                   " WHERE agent = $1 AND next_us <= $2"
                   " ORDER BY trial_id LIMIT 100"),
    SQL(SWEEPS_ALL, "SELECT agent, trial_id, run_id, experiment_id, next_us FROM sweeps"
                    " WHERE next_us <= $1 ORDER BY agent, trial_id LIMIT 1000"),
    SQL(SWEEP_DROP, "DELETE FROM sweeps"
                    " WHERE agent = $1 AND trial_id = $2 AND run_id = $3"),
    SQL(SWEEP_AGAIN, "UPDATE sweeps SET next_us = $4"
                     " WHERE agent = $1 AND trial_id = $2 AND run_id = $3"),
};
const struct sql_table removal_sql_table = SQL_TABLE(removal_sql);

static const struct field removal_fields[] = {
    FIELD(STR, removal, uuid, "the checkpoint"),
    FIELD(I64, removal, experiment_id, "its experiment"),
    FIELD(STR, removal, agent, "the agent that wrote it"),
    FIELD(STR, removal, resource_pool,
          "the pool whose agents reach it if it is shared"),
    FIELD(BOOL, removal, is_shared, "whether any agent of the pool reaches it"),
    FIELD(TIME, removal, since_us, "when it was decided"),
    FIELD(I64, removal, tries, "how often it failed"),
    FIELD(TIME, removal, next_us, "when it is tried again"),
    FIELD(STR, removal, error, "why it failed"),
    FIELD_END,
};

static const struct field group_fields[] = {
    FIELD(STR, removal_group, agent, "the agent that wrote them"),
    FIELD(STR, removal_group, resource_pool, "their pool"),
    FIELD(BOOL, removal_group, is_shared, "whether others reach them"),
    FIELD_END,
};

static const struct field sweep_fields[] = {
    FIELD(STR, sweep, agent, "the agent"),
    FIELD(I64, sweep, trial_id, "the trial"),
    FIELD(I64, sweep, run_id, "the run"),
    FIELD(I64, sweep, experiment_id, "the experiment"),
    FIELD(I64, sweep, next_us, "when to try again"),
    FIELD_END,
};

det_status store_removal_groups(struct db *db, int64_t now_us, struct arena *mem,
                                struct removal_group **ret_groups, uint32_t *ret_count,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[REMOVAL_GROUPS], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, now_us);
    st = rows_get(&q, group_fields, sizeof(**ret_groups), mem, &rows);
    if (st)
        return st;
    *ret_groups = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}

det_status store_removals_of(struct db *db, const struct removal_group *group,
                             int64_t now_us, struct arena *mem,
                             struct removal **ret_rows, uint32_t *ret_count,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[REMOVALS_OF], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_str(&q, group->agent);
    db_bind_bool(&q, group->is_shared);
    db_bind_str(&q, group->resource_pool);
    db_bind_i64(&q, now_us);
    st = rows_get(&q, removal_fields, sizeof(**ret_rows), mem, &rows);
    if (st)
        return st;
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}

det_status store_removal_get(struct db *db, const char *uuid, struct arena *mem,
                             struct removal *ret_row, bool *ret_found, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[REMOVAL_GET], err);
    struct removal row = {0};
    det_status st;

    db_bind_str(&q, uuid);
    st = row_get(&q, removal_fields, mem, &row, ret_found);
    if (!st && *ret_found)
        *ret_row = row;
    return st;
}

static det_status drop_removal(struct db *db, const char *uuid, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[REMOVAL_DROP], err);

    db_bind_str(&q, uuid);
    return db_run(&q);
}

det_status store_removal_done(struct db *db, const char *uuid, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct removal row;
    bool found = false;
    det_status st = store_removal_get(db, uuid, &mem, &row, &found, err);

    if (st || !found)
        return st; /* reported before, or not a removal */
    st = store_checkpoint_set_resources(db, uuid, NULL, &mem, err);
    return st ? st : drop_removal(db, uuid, err);
}

det_status store_removal_failed(struct db *db, const char *uuid, const char *sentence,
                                int64_t now_us, bool *ret_is_news, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[REMOVAL_FAILED], err);
    int64_t wait_us = longest_wait_us;
    struct removal row;
    bool found = false;
    det_status st = store_removal_get(db, uuid, &mem, &row, &found, err);

    *ret_is_news = false;
    if (st || !found)
        return st;
    if (row.tries < DOUBLINGS_MOST)
        wait_us = (int64_t)FIRST_WAIT_US << row.tries;
    db_bind_str(&q, uuid);
    db_bind_i64(&q, now_us + wait_us);
    db_bind_str(&q, sentence);
    *ret_is_news = !row.error || strcmp(row.error, sentence) != 0;
    return db_run(&q);
}

det_status store_removal_state(struct db *db, int64_t experiment_id, struct arena *mem,
                               struct removal_state *ret_state, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[REMOVAL_STATE], err);

    db_bind_i64(&q, experiment_id);
    if (db_next(&q)) {
        ret_state->unmarked = db_col_i64(&q);
        ret_state->left = db_col_i64(&q);
        ret_state->tries = db_col_i64(&q);
        ret_state->error = db_col_str(&q, mem);
    }
    return q.status;
}

det_status store_removals_again(struct db *db, int64_t experiment_id, struct err *err)
{
    return run_with_id(db, &removal_sql[REMOVALS_AGAIN], experiment_id, err);
}

/* ---- sweeps ---------------------------------------------------------------------- */

det_status sweep_allocation(struct db *db, int64_t allocation_id, struct err *err)
{
    return run_with_id(db, &removal_sql[SWEEP_ADD], allocation_id, err);
}

det_status store_sweeps_of(struct db *db, const char *agent, int64_t now_us,
                           struct arena *mem, struct sweep **ret_rows,
                           uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &removal_sql[agent ? SWEEPS_OF : SWEEPS_ALL], err);
    struct row_list rows = {0};
    det_status st;

    if (agent)
        db_bind_str(&q, agent);
    db_bind_i64(&q, now_us);
    st = rows_get(&q, sweep_fields, sizeof(**ret_rows), mem, &rows);
    if (st)
        return st;
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}

det_status store_sweep_done(struct db *db, const struct sweep *sweep, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &removal_sql[sweep->next_us ? SWEEP_AGAIN : SWEEP_DROP], err);

    db_bind_str(&q, sweep->agent);
    db_bind_i64(&q, sweep->trial_id);
    db_bind_i64(&q, sweep->run_id);
    if (sweep->next_us)
        db_bind_i64(&q, sweep->next_us);
    return db_run(&q);
}
