/* SPDX-License-Identifier: Apache-2.0 */
/* store_trial.c - rows of `trials`: the heart's columns, and what validations make of
 * the others.
 *
 * Which metric decides: the searcher's where the configuration names one; else the only
 * number in the report; else its loss.  A validation without the searcher's metric
 * changes nothing. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "data/json.h"
#include "store/data.h"
#include "store/data_cache.h"
#include "store/store.h"
#include "store/store_impl.h"
#include "store/views.h"

enum {
    TRIAL_ADD,
    TRIAL_PUT,
    TRIAL_METRIC,
    TRIAL_LATEST,
    TRIAL_BEST,
    TRIAL_FORGET,
    TRIAL_RUNNER_STATE,
    TRIAL_LOG_POLICY,
    TRIAL_METADATA_GET,
    TRIAL_METADATA_PUT,
};

static const struct sql trial_sql[] = {
    SQL(TRIAL_ADD,
        "INSERT INTO trials (id, experiment_id, number, state, request_id, task_id, "
        "seed,"
        "  hparams, restarts, run_id, start_us, end_us, latest_checkpoint, "
        "latest_steps,"
        "  warm_start, is_stopped_by_searcher, has_invalid_hparams, is_retry_cancelled,"
        "  blocked_agents, progress)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
        "$16,"
        "  $17, $18, $19, $20)"),
    SQL(TRIAL_PUT,
        "UPDATE trials SET experiment_id = $2, number = $3, state = $4, request_id = "
        "$5,"
        "  task_id = $6, seed = $7, hparams = $8, restarts = $9, run_id = $10,"
        "  start_us = $11, end_us = $12, latest_checkpoint = $13, latest_steps = $14,"
        "  warm_start = $15, is_stopped_by_searcher = $16, has_invalid_hparams = $17,"
        "  is_retry_cancelled = $18, blocked_agents = $19, progress = $20"
        " WHERE id = $1"),
    SQL(TRIAL_METRIC, "SELECT e.searcher_metric, e.smaller_is_better, t.best_rank"
                      "  FROM trials t JOIN experiments e ON e.id = t.experiment_id"
                      " WHERE t.id = $1"),
    SQL(TRIAL_LATEST,
        "UPDATE trials SET latest_metric = $2, latest_validation_steps = $3,"
        "  latest_validation = $4, latest_validation_us = $5"
        " WHERE id = $1"),
    SQL(TRIAL_BEST, "UPDATE trials SET best_metric = $2, best_steps = $3,"
                    "  best_validation = $4, best_validation_us = $5, best_rank = $6"
                    " WHERE id = $1"),
    SQL(TRIAL_FORGET,
        "UPDATE trials SET best_metric = NULL, best_rank = NULL, best_steps = 0,"
        "  best_validation = NULL, best_validation_us = 0, latest_metric = NULL,"
        "  latest_validation_steps = 0, latest_validation = NULL,"
        "  latest_validation_us = 0"
        " WHERE id = $1 AND latest_validation IS NOT NULL"),
    SQL(TRIAL_RUNNER_STATE, "UPDATE trials SET runner_state = $2 WHERE id = $1"),
    SQL(TRIAL_LOG_POLICY, "UPDATE trials SET log_policy_matched = $2 WHERE id = $1"),
    SQL(TRIAL_METADATA_GET, "SELECT metadata FROM trials WHERE id = $1"),
    SQL(TRIAL_METADATA_PUT, "UPDATE trials SET metadata = $2 WHERE id = $1"),
};
const struct sql_table trial_sql_table = SQL_TABLE(trial_sql);

static det_status none(int64_t id, struct err *err)
{
    return err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found", id);
}

det_status store_trial_add(struct db *db, const struct trial *row, struct err *err)
{
    return row_put(db, &trial_sql[TRIAL_ADD], trial_fields, row, err);
}

det_status store_trial_put(struct db *db, const struct trial *row, struct err *err)
{
    det_status st = collect_trial_put(db, row, err);

    if (!st)
        st = row_put(db, &trial_sql[TRIAL_PUT], trial_fields, row, err);
    data_cache_drop_trial(db, row->id);
    if (!st && !db_changes(db))
        return none(row->id, err);
    /* Later rows of the same run find nothing left to take back: what a run resumed
     * from never lies behind what it has saved since. */
    if (!st && row->run_id > 1 && row->latest_checkpoint)
        st = metric_resumes(db, row->id, row->run_id, row->latest_steps, err);
    return st;
}

static det_status set_text(struct db *db, int which, int64_t id, const char *text,
                           struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &trial_sql[which], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, text);
    if (db_run(&q))
        return q.status;
    return db_changes(db) ? DET_OK : none(id, err);
}

det_status store_trial_set_runner_state(struct db *db, int64_t id, const char *state,
                                        struct err *err)
{
    return set_text(db, TRIAL_RUNNER_STATE, id, state ? state : "", err);
}

det_status store_trial_set_log_policy(struct db *db, int64_t id, const char *name,
                                      struct err *err)
{
    return set_text(db, TRIAL_LOG_POLICY, id, name, err);
}

/* ---- metadata -------------------------------------------------------------------- */

static det_status metadata_get(struct db *db, int64_t id, struct arena *mem,
                               struct json **ret_metadata, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_sql[TRIAL_METADATA_GET], err);
    const char *text;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status : none(id, err);
    text = db_col_str(&q, mem);
    if (q.status)
        return q.status;
    if (!text)
        text = "{}";
    return json_parse(text, strlen(text), mem, ret_metadata, err);
}

det_status store_trial_merge_metadata(struct db *db, int64_t id,
                                      const struct json *metadata, struct arena *mem,
                                      const char **ret_metadata, struct err *err)
{
    struct json *all = NULL;
    const char *text;
    det_status st;

    if (metadata && metadata->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "metadata must be an object, not %s",
                       json_kind_name(metadata->kind));
    st = metadata_get(db, id, mem, &all, err);
    if (st)
        return st;
    json_merge(mem, all, metadata);
    text = json_text(mem, all);
    if (!text || mem->has_failed)
        return err_default(err, DET_NOMEM);
    st = set_text(db, TRIAL_METADATA_PUT, id, text, err);
    if (!st)
        *ret_metadata = text;
    return st;
}

/* ---- validations ----------------------------------------------------------------- */

struct verdict {
    bool is_complete; /* the metric it must have is there */
    bool has_metric;
    double metric;
    bool smaller_is_better;
    bool has_best;
    double best_rank;
};

static const struct json *only_number(const struct json *metrics)
{
    const struct json *found = NULL;
    double number;

    json_each(item, metrics) {
        if (!json_number(item, &number))
            continue;
        if (found)
            return NULL;
        found = item;
    }
    return found;
}

static const struct json *fallback_metric(const struct json *metrics)
{
    static const char *const names[] = {"loss", "validation_loss", "val_loss"};
    const struct json *only = only_number(metrics);

    for (size_t i = 0; i < ARRAY_LEN(names) && !only; i++)
        only = json_get(metrics, names[i]);
    return only;
}

static det_status judge(struct db *db, int64_t trial_id, const struct json *metrics,
                        struct verdict *ret_verdict, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_sql[TRIAL_METRIC], err);
    struct verdict verdict = {0};
    const char *name;

    db_bind_i64(&q, trial_id);
    if (!db_next(&q))
        return q.status ? q.status : none(trial_id, err);
    name = db_col_str(&q, &mem);
    verdict.smaller_is_better = db_col_bool(&q);
    verdict.has_best = !db_col_is_null(&q);
    verdict.best_rank = db_col_f64(&q);
    if (q.status)
        return q.status;
    verdict.has_metric = json_number(
        name ? json_get(metrics, name) : fallback_metric(metrics), &verdict.metric);
    verdict.is_complete = verdict.has_metric || !name;
    *ret_verdict = verdict;
    return DET_OK;
}

det_status trial_deciding_metric(struct db *db, int64_t trial_id,
                                 const struct json *metrics, bool *ret_has,
                                 double *ret_metric, struct err *err)
{
    struct verdict verdict = {0};
    det_status st = judge(db, trial_id, metrics, &verdict, err);

    *ret_has = !st && verdict.has_metric;
    *ret_metric = verdict.metric;
    return st;
}

struct validation {
    int64_t trial_id;
    int64_t steps;
    int64_t report_us;
    const char *text;
};

static det_status put_validation(struct db *db, int which,
                                 const struct validation *validation,
                                 const struct verdict *verdict, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &trial_sql[which], err);

    db_bind_i64(&q, validation->trial_id);
    if (verdict->has_metric)
        db_bind_f64(&q, verdict->metric);
    else
        db_bind_null(&q);
    db_bind_i64(&q, validation->steps);
    db_bind_str(&q, validation->text);
    db_bind_i64(&q, validation->report_us);
    if (which == TRIAL_BEST)
        db_bind_f64(&q,
                    verdict->smaller_is_better ? verdict->metric : -verdict->metric);
    return db_run(&q);
}

/* NaN is never best, and of equals the first stays. */
static bool is_best(const struct verdict *verdict)
{
    double rank = verdict->smaller_is_better ? verdict->metric : -verdict->metric;

    if (!verdict->has_metric || isnan(verdict->metric))
        return false;
    return !verdict->has_best || rank < verdict->best_rank;
}

det_status store_trial_validated(struct db *db, int64_t trial_id, int64_t steps,
                                 int64_t report_us, const struct json *metrics,
                                 struct arena *mem, struct err *err)
{
    struct validation validation = {
        .trial_id = trial_id, .steps = steps, .report_us = report_us};
    struct verdict verdict = {0};
    det_status st = judge(db, trial_id, metrics, &verdict, err);

    if (st || !verdict.is_complete)
        return st;
    validation.text = json_text(mem, metrics);
    if (!validation.text)
        return err_default(err, DET_NOMEM);
    st = put_validation(db, TRIAL_LATEST, &validation, &verdict, err);
    if (!st && is_best(&verdict))
        st = put_validation(db, TRIAL_BEST, &validation, &verdict, err);
    if (!st && verdict.has_metric)
        st = checkpoint_validated(db, trial_id, steps, verdict.metric, err);
    if (!st)
        st = collect_trial(db, trial_id, err);
    return st;
}

static det_status replay(struct db *db, const struct metric_row *row, struct arena *mem,
                         struct err *err)
{
    struct json *metrics = NULL;
    det_status st = json_parse(row->avg, strlen(row->avg), mem, &metrics, err);

    if (st)
        return st;
    return store_trial_validated(db, row->trial_id, row->steps, row->report_us, metrics,
                                 mem, err);
}

det_status trial_revalidate(struct db *db, int64_t trial_id, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct metric_query query = {.trial_id = trial_id, .group = "validation"};
    struct metric_row *rows = NULL;
    uint32_t count = 0;
    det_status st = run_with_id(db, &trial_sql[TRIAL_FORGET], trial_id, err);

    if (st || !db_changes(db))
        return st;
    st = store_metric_read(db, &query, &mem, &rows, &count, err);
    for (uint32_t i = 0; i < count && !st; i++)
        st = replay(db, &rows[i], &mem, err);
    return st;
}
