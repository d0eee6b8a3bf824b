/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_continue.c - an ended experiment goes on: the trials that the heart needs,
 * and the row that it then writes. */
#include "store/experiment/experiment_continue.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/experiment.h"
#include "store/sql_tables.h"

enum { CONTINUE_PAST, CONTINUE_LATEST, CONTINUE_ROW, CONTINUE_TEXTS, CONTINUE_CONFIG };

enum { CONFIG_MEM = 64 << 20 };

/* The latest of a trial's checkpoints that still exists, known to the heart or not. */
#define STILL_THERE(what)                                                              \
    "(SELECT c." what " FROM checkpoints c"                                            \
    "  WHERE c.trial_id = t.id AND c.state = 'COMPLETED' AND NOT c.is_archived"        \
    "  ORDER BY c.steps_completed DESC, c.report_us DESC, c.uuid LIMIT 1)"

static const struct sql experiment_continue_sql[] = {
    SQL(CONTINUE_PAST,
        "SELECT t.id, t.experiment_id, t.number, t.state, t.request_id, t.task_id,"
        "  t.seed, t.hparams, t.restarts, t.run_id, t.start_us, t.end_us,"
        "  " STILL_THERE("uuid") ", COALESCE(" STILL_THERE(
            "steps_completed") ", 0),"
                               "  t.warm_start, t.is_stopped_by_searcher,"
                               "  t.has_invalid_hparams, t.is_retry_cancelled,"
                               "  t.blocked_agents, t.progress,"
                               "  t.is_metric_checked, t.lacks_metric"
                               "  FROM trials t WHERE t.experiment_id = $1"
                               " ORDER BY t.number"),
    SQL(CONTINUE_LATEST,
        "SELECT " STILL_THERE("uuid") " FROM trials t WHERE t.id = $1"),
    SQL(CONTINUE_ROW, "UPDATE experiments SET state = 'PAUSED' WHERE id = $1"
                      "  AND state IN ('COMPLETED', 'CANCELED', 'ERROR')"
                      "  AND end_us = $2"),
    SQL(CONTINUE_TEXTS,
        "UPDATE experiments SET name = COALESCE($2, name),"
        "  description = COALESCE($3, description), labels = COALESCE($4, labels),"
        "  log_retention_days = $5 WHERE id = $1"),
    SQL(CONTINUE_CONFIG, "UPDATE experiment_configs SET config = $2,"
                         "  original_config = $3 WHERE id = $1"),
};
const struct sql_table experiment_continue_sql_table =
    SQL_TABLE(experiment_continue_sql);

det_status store_experiment_past(struct db *db, int64_t id, struct arena *mem,
                                 struct trial **ret_rows, uint32_t *ret_count,
                                 struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_continue_sql[CONTINUE_PAST], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, id);
    st = rows_get(&q, trial_fields, sizeof(struct trial), mem, &rows);
    if (st)
        return st;
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}

det_status store_trial_still_there(struct db *db, int64_t id, struct arena *mem,
                                   const char **ret_uuid, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_continue_sql[CONTINUE_LATEST], err);

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status
                   ? q.status
                   : err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found", id);
    *ret_uuid = db_col_str(&q, mem);
    return q.status;
}

/* Takes the experiment out of its end state, if it still is the one that was read. */
static det_status leave_end(struct db *db, int64_t id, int64_t was_end_us,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_continue_sql[CONTINUE_ROW], err);

    db_bind_i64(&q, id);
    db_bind_i64(&q, was_end_us);
    if (db_run(&q))
        return q.status;
    if (!db_changes(db))
        return err_set(err, DET_STATE,
                       "experiment %" PRId64 " was deleted or continued meanwhile", id);
    return DET_OK;
}

static det_status put_texts(struct db *db, const struct experiment *row,
                            const struct experiment_texts *texts, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(CONFIG_MEM);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_continue_sql[CONTINUE_TEXTS], err);
    struct json *config = NULL;

    if (json_parse(row->config, strlen(row->config), &mem, &config, err))
        return err_prefix(err, "the configuration of experiment %" PRId64, row->id);
    db_bind_i64(&q, row->id);
    db_bind_str(&q, texts->name);
    db_bind_str(&q, texts->description);
    db_bind_str(&q, texts->labels);
    db_bind_i64(&q,
                json_i64(json_path(config, "retention_policy.log_retention_days"), -2));
    return db_run(&q);
}

static det_status put_config(struct db *db, const struct experiment *row,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_continue_sql[CONTINUE_CONFIG], err);

    db_bind_i64(&q, row->id);
    db_bind_str(&q, row->config);
    db_bind_str(&q, row->original_config);
    return db_run(&q);
}

det_status store_experiment_continue(struct db *db, const struct experiment *row,
                                     int64_t was_end_us,
                                     const struct experiment_texts *texts,
                                     struct err *err)
{
    det_status st = leave_end(db, row->id, was_end_us, err);

    if (!st)
        st = store_experiment_put(db, row, err);
    if (!st)
        st = put_texts(db, row, texts, err);
    if (!st)
        st = put_config(db, row, err);
    return st;
}
