/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.c - see unmanaged.h.
 *
 * The heart writes these rows once and then forgets them, so its statements and those
 * here never change the same row. */
#include "store/experiment/unmanaged.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "model/records.h"
#include "model/states.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/local_number.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"

enum {
    UNMANAGED_FIND,
    UNMANAGED_FIND_TRIAL,
    UNMANAGED_ADD_TRIAL,
    UNMANAGED_MARK,
    UNMANAGED_MARK_SET,
    UNMANAGED_PROGRESS,
    UNMANAGED_RUN,
    UNMANAGED_PUT_TRIAL,
    UNMANAGED_PUT,
    UNMANAGED_END_TRIALS,
    UNMANAGED_END,
};

/* The trials of the experiment that trial $1 belongs to. */
#define OF_ITS_EXPERIMENT " FROM trials t WHERE t.experiment_id = experiments.id"

static const struct sql unmanaged_sql[] = {
    SQL(UNMANAGED_FIND,
        "SELECT id FROM experiments WHERE external_id = $1"
        " AND state NOT IN ('DELETING', 'DELETE_FAILED') ORDER BY id LIMIT 1"),
    SQL(UNMANAGED_FIND_TRIAL,
        "SELECT id FROM trials WHERE task_id = $2 AND experiment_id = $1"
        " ORDER BY id LIMIT 1"),
    SQL(UNMANAGED_ADD_TRIAL,
        "INSERT INTO trials (id, experiment_id, number, state, request_id, task_id,"
        "  seed, hparams, restarts, run_id, start_us, end_us, latest_steps,"
        "  is_stopped_by_searcher, has_invalid_hparams, is_retry_cancelled, progress)"
        " SELECT $1, e.id, (SELECT COUNT(*) FROM trials n WHERE n.experiment_id = "
        "e.id),"
        "  'ACTIVE', $3, $4, 0, $5, 0, 0, $6, 0, 0, FALSE, FALSE, FALSE, 0"
        "  FROM experiments e WHERE e.id = $2 AND e.is_unmanaged"
        "  AND e.state NOT IN ('DELETING', 'DELETE_FAILED')"
        "  AND NOT EXISTS (SELECT 1 FROM trials o WHERE o.task_id = $4)"),
    SQL(UNMANAGED_MARK, "SELECT reports_stored FROM trials WHERE id = $1"),
    SQL(UNMANAGED_MARK_SET, "UPDATE trials SET reports_stored = $2 WHERE id = $1"),
    SQL(UNMANAGED_PROGRESS, "UPDATE trials SET progress = $2 WHERE id = $1"),
    SQL(UNMANAGED_RUN, "UPDATE trials SET run_id = $2 WHERE id = $1"),
    SQL(UNMANAGED_PUT_TRIAL,
        "UPDATE trials SET state = $2,"
        "  start_us = CASE WHEN $3 > 0 THEN $3 ELSE start_us END,"
        "  end_us = $4, run_id = CASE WHEN $5 > 0 THEN $5 ELSE run_id END"
        " WHERE id = $1"),
    SQL(UNMANAGED_PUT,
        "UPDATE experiments SET"
        "  state = CASE"
        "   WHEN EXISTS (SELECT 1" OF_ITS_EXPERIMENT " AND t.state = 'ACTIVE')"
        "    THEN 'ACTIVE'"
        "   WHEN EXISTS (SELECT 1" OF_ITS_EXPERIMENT " AND t.state = 'ERROR')"
        "    THEN 'ERROR'"
        "   WHEN EXISTS (SELECT 1" OF_ITS_EXPERIMENT " AND t.state = 'CANCELED')"
        "    THEN 'CANCELED'"
        "   ELSE 'COMPLETED' END,"
        "  start_us = (SELECT MIN(t.start_us)" OF_ITS_EXPERIMENT "),"
        "  end_us = CASE"
        "   WHEN EXISTS (SELECT 1" OF_ITS_EXPERIMENT " AND t.state = 'ACTIVE') THEN 0"
        "   ELSE (SELECT MAX(t.end_us)" OF_ITS_EXPERIMENT ") END,"
        "  progress = (SELECT AVG(CASE WHEN t.state = 'COMPLETED' THEN 1.0"
        "   ELSE t.progress END)" OF_ITS_EXPERIMENT ")"
        " WHERE id = (SELECT x.experiment_id FROM trials x WHERE x.id = $1)"
        "  AND state NOT IN ('DELETING', 'DELETE_FAILED')"),
    SQL(UNMANAGED_END_TRIALS, "UPDATE trials SET state = 'CANCELED', end_us = $2"
                              " WHERE experiment_id = $1 AND state = 'ACTIVE'"),
    SQL(UNMANAGED_END, "UPDATE experiments SET state = 'CANCELED', end_us = $2"
                       " WHERE id = $1 AND is_unmanaged AND state = 'ACTIVE'"),
};
const struct sql_table unmanaged_sql_table = SQL_TABLE(unmanaged_sql);

/* Derives the experiment's state from its trials. */
static det_status update_experiment(struct db *db, int64_t trial_id, struct err *err)
{
    return run_with_id(db, &unmanaged_sql[UNMANAGED_PUT], trial_id, err);
}

det_status store_unmanaged_find(struct db *db, const char *external_id, int64_t *ret_id,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_FIND], err);

    db_bind_str(&q, external_id);
    *ret_id = db_next(&q) ? db_col_i64(&q) : 0;
    return q.status;
}

det_status store_unmanaged_find_trial(struct db *db, int64_t experiment_id,
                                      const char *task_id, int64_t *ret_id,
                                      struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_FIND_TRIAL], err);

    db_bind_i64(&q, experiment_id);
    db_bind_str(&q, task_id);
    *ret_id = db_next(&q) ? db_col_i64(&q) : 0;
    return q.status;
}

det_status store_unmanaged_add_trial(struct db *db, const struct trial *row,
                                     struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_ADD_TRIAL], err);
    det_status st;

    db_bind_i64(&q, row->id);
    db_bind_i64(&q, row->experiment_id);
    db_bind_str(&q, row->request_id);
    db_bind_str(&q, row->task_id);
    db_bind_str(&q, row->hparams);
    db_bind_i64(&q, row->start_us);
    st = db_run(&q);
    if (!st)
        st = local_number_give(db, row->id, err);
    return st ? st : update_experiment(db, row->id, err);
}

det_status store_unmanaged_mark(struct db *db, int64_t trial_id, int64_t *ret_number,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_MARK], err);

    db_bind_i64(&q, trial_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found",
                                  trial_id);
    *ret_number = db_col_i64(&q);
    return q.status;
}

det_status store_unmanaged_mark_set(struct db *db, int64_t trial_id, int64_t number,
                                    struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_MARK_SET], err);

    db_bind_i64(&q, trial_id);
    db_bind_i64(&q, number);
    return db_run(&q);
}

det_status store_unmanaged_progress(struct db *db, int64_t trial_id, double progress,
                                    struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_PROGRESS], err);

    db_bind_i64(&q, trial_id);
    db_bind_f64(&q, progress);
    return db_run(&q) ? q.status : update_experiment(db, trial_id, err);
}

det_status store_unmanaged_run(struct db *db, int64_t trial_id, int64_t run_id,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_RUN], err);

    db_bind_i64(&q, trial_id);
    db_bind_i64(&q, run_id);
    writer_cache_drop_trial(db, trial_id);
    return db_run(&q);
}

det_status store_unmanaged_put(struct db *db, const struct unmanaged_state *state,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &unmanaged_sql[UNMANAGED_PUT_TRIAL], err);

    db_bind_i64(&q, state->trial_id);
    db_bind_str(&q, trial_state_names[state->state]);
    db_bind_i64(&q, state->start_us);
    db_bind_i64(&q, state->end_us);
    db_bind_i64(&q, state->run_id);
    writer_cache_drop_trial(db, state->trial_id);
    return db_run(&q) ? q.status : update_experiment(db, state->trial_id, err);
}

det_status store_unmanaged_end(struct db *db, int64_t experiment_id, int64_t now_us,
                               struct err *err)
{
    det_status st = DET_OK;

    for (int i = UNMANAGED_END_TRIALS; i <= UNMANAGED_END && !st; i++) {
        CLEANUP(db_query_done)
        struct db_query q = db_query(db, &unmanaged_sql[i], err);

        db_bind_i64(&q, experiment_id);
        db_bind_i64(&q, now_us);
        st = db_run(&q);
    }
    return st;
}
