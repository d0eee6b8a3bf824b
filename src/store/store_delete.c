/* SPDX-License-Identifier: Apache-2.0 */
/* store_delete.c - everything an experiment left, a bounded step at a time.
 *
 * Trial by trial: its metrics and logs in pieces, then its small rows; the experiment's
 * own row last, so that a crash in between leaves it DELETING and the next step goes
 * on. */
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "store/store.h"
#include "store/store_impl.h"
#include "store/views.h"

enum {
    DELETE_STATE,
    DELETE_NEXT_TRIAL,
    DELETE_REPORT_MARKS_OF_TRIAL,
    DELETE_RUN_RECORDS_OF_TRIAL,
    DELETE_SHARES_OF_TRIAL,
    DELETE_ALLOCATIONS_OF_TRIAL,
    DELETE_CHECKPOINTS_OF_TRIAL,
    DELETE_TRIAL,
    DELETE_FILES,
    DELETE_CONFIG,
    DELETE_CHECKPOINTS,
    DELETE_SWEEPS,
    DELETE_RECORDS,
    DELETE_EXPERIMENT,
};

static const struct sql delete_sql[] = {
    SQL(DELETE_STATE, "SELECT state FROM experiments WHERE id = $1"),
    SQL(DELETE_NEXT_TRIAL, "SELECT id, task_id FROM trials WHERE experiment_id = $1"
                           " ORDER BY id LIMIT 1"),
    SQL(DELETE_REPORT_MARKS_OF_TRIAL,
        "DELETE FROM report_marks WHERE allocation_id IN"
        "  (SELECT id FROM allocations WHERE trial_id = $1)"),
    SQL(DELETE_RUN_RECORDS_OF_TRIAL,
        "DELETE FROM run_records WHERE allocation_id IN"
        "  (SELECT id FROM allocations WHERE trial_id = $1)"),
    SQL(DELETE_SHARES_OF_TRIAL, "DELETE FROM shares WHERE allocation_id IN"
                                "  (SELECT id FROM allocations WHERE trial_id = $1)"),
    SQL(DELETE_ALLOCATIONS_OF_TRIAL, "DELETE FROM allocations WHERE trial_id = $1"),
    SQL(DELETE_CHECKPOINTS_OF_TRIAL, "DELETE FROM checkpoints WHERE trial_id = $1"),
    SQL(DELETE_TRIAL, "DELETE FROM trials WHERE id = $1"),
    SQL(DELETE_FILES, "DELETE FROM experiment_files WHERE id = $1"),
    SQL(DELETE_CONFIG, "DELETE FROM experiment_configs WHERE id = $1"),
    SQL(DELETE_CHECKPOINTS, "DELETE FROM checkpoints WHERE experiment_id = $1"),
    SQL(DELETE_SWEEPS, "DELETE FROM sweeps WHERE experiment_id = $1"),
    /* There are few, whatever the number of runs.  It takes the id, as its neighbours.
     */
    SQL(DELETE_RECORDS,
        "DELETE FROM records WHERE $1 > 0 AND NOT EXISTS"
        "  (SELECT 1 FROM run_records x WHERE x.record_id = records.id)"),
    SQL(DELETE_EXPERIMENT, "DELETE FROM experiments WHERE id = $1"),
};
const struct sql_table delete_sql_table = SQL_TABLE(delete_sql);

static det_status run_all(struct db *db, const int *which, size_t count, int64_t id,
                          struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < count && !st; i++)
        st = run_with_id(db, &delete_sql[which[i]], id, err);
    return st;
}

/* *ret_done: there is no such experiment. */
static det_status check(struct db *db, int64_t id, struct arena *mem, bool *ret_done,
                        struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &delete_sql[DELETE_STATE], err);
    const char *state;

    db_bind_i64(&q, id);
    if (!db_next(&q)) {
        *ret_done = !q.status;
        return q.status;
    }
    *ret_done = false;
    state = db_col_str(&q, mem);
    if (q.status)
        return q.status;
    if (strcmp(state, experiment_state_names[EXPERIMENT_DELETING]) != 0)
        return err_set(err, DET_STATE, "cannot delete experiment in STATE_%s state",
                       state);
    return DET_OK;
}

static det_status delete_trial(struct db *db, int64_t id, const char *task_id,
                               struct err *err)
{
    static const int rows[] = {
        DELETE_REPORT_MARKS_OF_TRIAL, DELETE_RUN_RECORDS_OF_TRIAL,
        DELETE_SHARES_OF_TRIAL,       DELETE_ALLOCATIONS_OF_TRIAL,
        DELETE_CHECKPOINTS_OF_TRIAL,  DELETE_TRIAL};
    bool more = false;
    det_status st = metric_delete_step(db, id, &more, err);

    if (!st && !more && task_id)
        st = log_delete_step(db, task_id, &more, err);
    if (st || more)
        return st;
    return run_all(db, rows, ARRAY_LEN(rows), id, err);
}

static det_status next_trial(struct db *db, int64_t id, struct arena *mem,
                             int64_t *ret_trial, const char **ret_task, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &delete_sql[DELETE_NEXT_TRIAL], err);

    db_bind_i64(&q, id);
    if (db_next(&q)) {
        *ret_trial = db_col_i64(&q);
        *ret_task = db_col_str(&q, mem);
    }
    return q.status;
}

det_status store_experiment_delete_step(struct db *db, int64_t id, bool *ret_done,
                                        struct err *err)
{
    static const int rows[] = {DELETE_FILES,  DELETE_CONFIG,  DELETE_CHECKPOINTS,
                               DELETE_SWEEPS, DELETE_RECORDS, DELETE_EXPERIMENT};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *task_id = NULL;
    int64_t trial_id = 0;
    det_status st = check(db, id, &mem, ret_done, err);

    if (st || *ret_done)
        return st;
    st = next_trial(db, id, &mem, &trial_id, &task_id, err);
    if (st)
        return st;
    if (trial_id)
        return delete_trial(db, trial_id, task_id, err);
    st = store_search_drop(db, id, err);
    if (!st)
        st = run_all(db, rows, ARRAY_LEN(rows), id, err);
    *ret_done = !st;
    return st;
}
