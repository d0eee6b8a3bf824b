/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - rows of `trials`: the core's columns, and some that programs set. */
#include "store/experiment/trial.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "model/records.h"
#include "store/checkpoint/collect.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/local_number.h"
#include "store/media/media.h"
#include "store/metric/metric_add.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"

enum {
    TRIAL_ADD,
    TRIAL_PUT,
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
        "  blocked_agents, progress, is_metric_checked, lacks_metric)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
        "$16,"
        "  $17, $18, $19, $20, $21, $22)"),
    SQL(TRIAL_PUT,
        "UPDATE trials SET experiment_id = $2, number = $3, state = $4, request_id = "
        "$5,"
        "  task_id = $6, seed = $7, hparams = $8, restarts = $9, run_id = $10,"
        "  start_us = $11, end_us = $12, latest_checkpoint = $13, latest_steps = $14,"
        "  warm_start = $15, is_stopped_by_searcher = $16, has_invalid_hparams = $17,"
        "  is_retry_cancelled = $18, blocked_agents = $19, progress = $20,"
        "  is_metric_checked = $21, lacks_metric = $22"
        " WHERE id = $1"),
    SQL(TRIAL_RUNNER_STATE, "UPDATE trials SET runner_state = $2 WHERE id = $1"),
    SQL(TRIAL_LOG_POLICY, "UPDATE trials SET log_policy_matched = $2 WHERE id = $1"),
    SQL(TRIAL_METADATA_GET, "SELECT metadata FROM trials WHERE id = $1"),
    SQL(TRIAL_METADATA_PUT, "UPDATE trials SET metadata = $2 WHERE id = $1"),
};
const struct sql_table trial_sql_table = SQL_TABLE(trial_sql);

static det_status no_trial(int64_t id, struct err *err)
{
    return err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found", id);
}

det_status store_trial_add(struct db *db, const struct trial *row, struct err *err)
{
    det_status st = row_put(db, &trial_sql[TRIAL_ADD], trial_fields, row, err);

    return st ? st : local_number_give(db, row->id, err);
}

det_status store_trial_put(struct db *db, const struct trial *row, struct err *err)
{
    det_status st = collect_trial_put(db, row, err);

    if (!st)
        st = row_put(db, &trial_sql[TRIAL_PUT], trial_fields, row, err);
    writer_cache_drop_trial(db, row->id);
    if (!st && !db_changes(db))
        return no_trial(row->id, err);
    /* Later rows of the same run archive nothing more: a run never resumes from a place
     * after the checkpoints it has saved since. */
    if (!st && row->run_id > 1 && row->latest_checkpoint)
        st = metric_resumes(db, row->id, row->run_id, row->latest_steps, err);
    if (!st && row->run_id > 1 && row->latest_checkpoint)
        st = media_resumes(db, row->id, row->run_id, row->latest_steps, err);
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
    return db_changes(db) ? DET_OK : no_trial(id, err);
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
        return q.status ? q.status : no_trial(id, err);
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
    if (json_count(all) > TRIAL_METADATA_VALUES)
        return err_set(err, DET_TOO_LARGE, "metadata would have more than %d values",
                       TRIAL_METADATA_VALUES);
    text = json_text(mem, all);
    if (!text || mem->has_failed)
        return err_default(err, DET_NOMEM);
    st = set_text(db, TRIAL_METADATA_PUT, id, text, err);
    if (!st)
        *ret_metadata = text;
    return st;
}
