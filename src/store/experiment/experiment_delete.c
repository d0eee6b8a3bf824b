/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_delete.c - removes everything an experiment left, in bounded steps.
 *
 * Trial by trial: its metrics, logs and media in pieces, then its small rows.  The
 * experiment's own row comes last: after a crash it is still DELETING, and the next
 * step goes on. */
#include "store/experiment/experiment_delete.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/checkpoint/removal.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/experiment.h"
#include "store/experiment/search.h"
#include "store/experiment/slot_use.h"
#include "store/log/log_compact.h"
#include "store/media/media.h"
#include "store/metric/metric_compact.h"
#include "store/sql_tables.h"

enum {
    DELETE_IDS,
    DELETE_SET_STATE,
    DELETE_USED_BY,
    DELETE_STATE,
    DELETE_NEXT_TRIAL,
    DELETE_REPORT_MARKS_OF_TRIAL,
    DELETE_RUN_RECORDS_OF_TRIAL,
    DELETE_SHARES_OF_TRIAL,
    DELETE_ALLOCATIONS_OF_TRIAL,
    DELETE_CHECKPOINTS_OF_TRIAL,
    DELETE_LOADS_OF_TRIAL,
    DELETE_TRIAL,
    DELETE_FILES,
    DELETE_CONFIG,
    DELETE_CHECKPOINTS,
    DELETE_SWEEPS,
    DELETE_RECORDS,
    DELETE_EXPERIMENT,
};

static const struct sql experiment_delete_sql[] = {
    SQL(DELETE_IDS, "SELECT id FROM experiments WHERE state = 'DELETING' ORDER BY id"),
    SQL(DELETE_SET_STATE, "UPDATE experiments SET state = $2 WHERE id = $1"),
    SQL(DELETE_USED_BY, "SELECT t.id, t.warm_start FROM trials t"
                        " JOIN checkpoints c ON c.uuid = t.warm_start"
                        " WHERE t.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"
                        "  AND c.experiment_id = $1 AND t.experiment_id <> $1 LIMIT 1"),
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
    SQL(DELETE_LOADS_OF_TRIAL, "DELETE FROM trial_loads WHERE trial_id = $1"),
    SQL(DELETE_TRIAL, "DELETE FROM trials WHERE id = $1"),
    SQL(DELETE_FILES, "DELETE FROM experiment_files WHERE id = $1"),
    SQL(DELETE_CONFIG, "DELETE FROM experiment_configs WHERE id = $1"),
    SQL(DELETE_CHECKPOINTS, "DELETE FROM checkpoints WHERE experiment_id = $1"),
    SQL(DELETE_SWEEPS, "DELETE FROM sweeps WHERE experiment_id = $1"),
    /* Equal records are one row, so there are few.  Takes the id only because its
     * neighbours do. */
    SQL(DELETE_RECORDS,
        "DELETE FROM records WHERE $1 > 0 AND NOT EXISTS"
        "  (SELECT 1 FROM run_records x WHERE x.record_id = records.id)"),
    SQL(DELETE_EXPERIMENT, "DELETE FROM experiments WHERE id = $1"),
};
const struct sql_table experiment_delete_sql_table = SQL_TABLE(experiment_delete_sql);

det_status store_experiments_deleting(struct db *db, struct arena *mem,
                                      struct field_i64s *ret_ids, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_delete_sql[DELETE_IDS], err);

    return numbers_get(&q, mem, ret_ids);
}

static det_status set_state(struct db *db, int64_t id, enum experiment_state state,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_delete_sql[DELETE_SET_STATE], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, experiment_state_names[state]);
    return db_run(&q);
}

/* Fails if a live trial of another experiment began from one of its checkpoints. */
static det_status check_unused(struct db *db, int64_t id, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_delete_sql[DELETE_USED_BY], err);
    int64_t trial_id;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status;
    trial_id = db_col_i64(&q);
    return err_set(err, DET_STATE,
                   "experiment %" PRId64 " cannot be deleted: trial %" PRId64
                   " is not over and began from its checkpoint %s",
                   id, trial_id, db_col_str(&q, &mem));
}

det_status store_experiment_set_deleting(struct db *db, int64_t id, struct err *err)
{
    struct experiment_standing standing = {0};
    det_status st = store_experiment_standing(db, id, &standing, err);

    if (st)
        return st;
    if (!experiment_is_terminal(standing.state) ||
        standing.state == EXPERIMENT_DELETING)
        return err_set(err, DET_STATE, "cannot delete experiment in STATE_%s state",
                       experiment_state_names[standing.state]);
    st = check_unused(db, id, err);
    if (!st)
        st = store_removals_again(db, id, err);
    return st ? st : set_state(db, id, EXPERIMENT_DELETING, err);
}

det_status store_experiment_delete_failed(struct db *db, int64_t id, struct err *err)
{
    struct experiment_standing standing = {0};
    det_status st = store_experiment_standing(db, id, &standing, err);

    return st ? st : set_state(db, id, EXPERIMENT_DELETE_FAILED, err);
}

/* ---- steps ----------------------------------------------------------------------- */

static det_status run_all(struct db *db, const int *which, size_t count, int64_t id,
                          struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < count && !st; i++)
        st = run_with_id(db, &experiment_delete_sql[which[i]], id, err);
    return st;
}

/* *ret_done: there is no such experiment. */
static det_status check_is_deleting(struct db *db, int64_t id, struct arena *mem,
                                    bool *ret_done, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_delete_sql[DELETE_STATE], err);
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
    static const int rows[] = {DELETE_REPORT_MARKS_OF_TRIAL,
                               DELETE_RUN_RECORDS_OF_TRIAL,
                               DELETE_SHARES_OF_TRIAL,
                               DELETE_ALLOCATIONS_OF_TRIAL,
                               DELETE_CHECKPOINTS_OF_TRIAL,
                               DELETE_LOADS_OF_TRIAL,
                               DELETE_TRIAL};
    bool more = false;
    det_status st = metric_delete_step(db, id, &more, err);

    if (!st && !more && task_id)
        st = log_delete_step(db, task_id, &more, err);
    if (!st && !more)
        st = media_delete_step(db, id, &more, err);
    if (st || more)
        return st;
    st = store_slot_use_keep(db, id, err);
    return st ? st : run_all(db, rows, ARRAY_LEN(rows), id, err);
}

static det_status next_trial(struct db *db, int64_t id, struct arena *mem,
                             int64_t *ret_trial, const char **ret_task, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_delete_sql[DELETE_NEXT_TRIAL], err);

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
    det_status st = check_is_deleting(db, id, &mem, ret_done, err);

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
