/* SPDX-License-Identifier: Apache-2.0 */
/* validation.c - see validation.h.
 *
 * The deciding metric is the searcher's if the configuration names one; else the only
 * number in the report; else its loss.  A validation without the searcher's metric
 * changes nothing. */
#include "store/metric/validation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/collect.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/metric/metric_cursor.h"
#include "store/sql_tables.h"

enum { VALIDATION_METRIC, VALIDATION_LATEST, VALIDATION_BEST, VALIDATION_FORGET };

static const struct sql validation_sql[] = {
    SQL(VALIDATION_METRIC,
        "SELECT e.searcher_metric, e.smaller_is_better, t.best_rank"
        "  FROM trials t JOIN experiments e ON e.id = t.experiment_id"
        " WHERE t.id = $1"),
    SQL(VALIDATION_LATEST,
        "UPDATE trials SET latest_metric = $2, latest_validation_steps = $3,"
        "  latest_validation = $4, latest_validation_us = $5"
        " WHERE id = $1"),
    SQL(VALIDATION_BEST,
        "UPDATE trials SET best_metric = $2, best_steps = $3,"
        "  best_validation = $4, best_validation_us = $5, best_rank = $6"
        " WHERE id = $1"),
    SQL(VALIDATION_FORGET,
        "UPDATE trials SET best_metric = NULL, best_rank = NULL, best_steps = 0,"
        "  best_validation = NULL, best_validation_us = 0, latest_metric = NULL,"
        "  latest_validation_steps = 0, latest_validation = NULL,"
        "  latest_validation_us = 0"
        " WHERE id = $1 AND latest_validation IS NOT NULL"),
};
const struct sql_table validation_sql_table = SQL_TABLE(validation_sql);

struct verdict {
    bool is_complete; /* it has the deciding metric */
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

static det_status judge_validation(struct db *db, int64_t trial_id,
                                   const struct json *metrics,
                                   struct verdict *ret_verdict, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &validation_sql[VALIDATION_METRIC], err);
    struct verdict verdict = {0};
    const char *name;

    db_bind_i64(&q, trial_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found",
                                  trial_id);
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

det_status validation_deciding_metric(struct db *db, int64_t trial_id,
                                      const struct json *metrics, bool *ret_has,
                                      double *ret_metric, struct err *err)
{
    struct verdict verdict = {0};
    det_status st = judge_validation(db, trial_id, metrics, &verdict, err);

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
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &validation_sql[which], err);

    db_bind_i64(&q, validation->trial_id);
    if (verdict->has_metric)
        db_bind_f64(&q, verdict->metric);
    else
        db_bind_null(&q);
    db_bind_i64(&q, validation->steps);
    db_bind_str(&q, validation->text);
    db_bind_i64(&q, validation->report_us);
    if (which == VALIDATION_BEST)
        db_bind_f64(&q,
                    verdict->smaller_is_better ? verdict->metric : -verdict->metric);
    return db_run(&q);
}

/* NaN is never best; among equals the first stays. */
static bool is_best(const struct verdict *verdict)
{
    double rank = verdict->smaller_is_better ? verdict->metric : -verdict->metric;

    if (!verdict->has_metric || isnan(verdict->metric))
        return false;
    return !verdict->has_best || rank < verdict->best_rank;
}

det_status store_validation_add(struct db *db, int64_t trial_id, int64_t steps,
                                int64_t report_us, const struct json *metrics,
                                struct arena *mem, struct err *err)
{
    struct validation validation = {
        .trial_id = trial_id, .steps = steps, .report_us = report_us};
    struct verdict verdict = {0};
    det_status st = judge_validation(db, trial_id, metrics, &verdict, err);

    if (st || !verdict.is_complete)
        return st;
    validation.text = json_text(mem, metrics);
    if (!validation.text)
        return err_default(err, DET_NOMEM);
    st = put_validation(db, VALIDATION_LATEST, &validation, &verdict, err);
    if (!st && is_best(&verdict))
        st = put_validation(db, VALIDATION_BEST, &validation, &verdict, err);
    if (!st && verdict.has_metric)
        st = checkpoint_validated(db, trial_id, steps, verdict.metric, err);
    if (!st)
        st = collect_trial(db, trial_id, err);
    return st;
}

static det_status replay_validation(struct db *db, const struct metric_row *row,
                                    struct arena *mem, struct err *err)
{
    struct json *metrics = NULL;
    det_status st = json_parse(row->avg, strlen(row->avg), mem, &metrics, err);

    if (st)
        return st;
    return store_validation_add(db, row->trial_id, row->steps, row->report_us, metrics,
                                mem, err);
}

det_status validation_recompute(struct db *db, int64_t trial_id, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct metric_query query = {.trial_id = trial_id, .group = "validation"};
    struct metric_row *rows = NULL;
    uint32_t count = 0;
    det_status st = run_with_id(db, &validation_sql[VALIDATION_FORGET], trial_id, err);

    if (st || !db_changes(db))
        return st;
    st = store_metric_read(db, &query, &mem, &rows, &count, err);
    for (uint32_t i = 0; i < count && !st; i++)
        st = replay_validation(db, &rows[i], &mem, err);
    return st;
}
