/* SPDX-License-Identifier: Apache-2.0 */
/* trial_view.c - see trial_view.h. */
#include "store/experiment/trial_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/sql_build.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_sql.h"
#include "store/page.h"

static const struct field view_fields[] = {
    FIELD(STR, trial_view, runner_state, "the state of its program"),
    FIELD(JSON, trial_view, metadata, "its metadata"),
    {.name = "best_metric",
     .type = FIELD_F64,
     .help = "at its best validation",
     .offset = offsetof(struct trial_view, best_metric),
     .has = offsetof(struct trial_view, has_best) + 1},
    FIELD(I64, trial_view, best_steps, "batches at its best validation"),
    FIELD(JSON, trial_view, best_validation, "that validation"),
    FIELD(I64, trial_view, best_validation_us, "when it was reported"),
    {.name = "latest_metric",
     .type = FIELD_F64,
     .help = "at its latest validation",
     .offset = offsetof(struct trial_view, latest_metric),
     .has = offsetof(struct trial_view, has_latest) + 1},
    FIELD(I64, trial_view, latest_validation_steps, "batches at its latest validation"),
    FIELD(JSON, trial_view, latest_validation, "that validation"),
    FIELD(I64, trial_view, latest_validation_us, "when it was reported"),
    FIELD(I64, trial_view, checkpoint_count, "its checkpoints"),
    FIELD(I64, trial_view, checkpoint_size, "their bytes"),
    FIELD(STR, trial_view, log_policy_matched, "the log policy that matched"),
    FIELD(I64, trial_view, local_number, "its number in its project"),
    FIELD_END,
};

#define LIVE_TRIAL_SQL                                                                 \
    LIVE_STATE_SQL("t", "a.experiment_id = t.experiment_id AND a.trial_id = t.id")

static void build_view(struct sql_build *b)
{
    buf_puts(&b->text, "SELECT ");
    sql_build_columns(b, "t", trial_fields);
    buf_puts(&b->text, ", ");
    sql_build_columns(b, "t", view_fields);
    buf_puts(&b->text,
             ", " TRIAL_STEPS_SQL ", e.is_unmanaged,"
             " " TRIAL_ON_SLOTS_SQL ","
             " (SELECT a.exit_reason FROM allocations a WHERE a.trial_id = t.id"
             "  ORDER BY a.id DESC LIMIT 1),"
             " " LIVE_TRIAL_SQL ","
             " (SELECT p.project_key FROM projects p WHERE p.id = e.project_id)"
             " FROM trials t JOIN experiments e ON e.id = t.experiment_id");
}

static det_status views_get(struct db_query *q, int64_t count, struct arena *mem,
                            struct trial_view **ret_rows, uint32_t *ret_count)
{
    struct trial_view *rows =
        arena_array(mem, struct trial_view, count ? (size_t)count : 1);
    uint32_t at = 0;

    if (!rows)
        return err_default(q->err, DET_NOMEM);
    while (at < count && db_next(q)) {
        struct trial_view *row = &rows[at++];

        db_read(q, trial_fields, &row->row, mem);
        db_read(q, view_fields, row, mem);
        row->total_batches = db_col_i64(q);
        row->is_unmanaged = db_col_bool(q);
        row->on_slots_us = db_col_i64(q);
        row->exit_reason = db_col_str(q, mem);
        row->live_state = (uint32_t)db_col_i64(q);
        row->project_key = db_col_str(q, mem);
    }
    *ret_rows = rows;
    *ret_count = at;
    return q->status;
}

static const struct {
    const char *name;
    const char *key;
} sorts[] = {
    {"SORT_BY_UNSPECIFIED", "t.id"},
    {"SORT_BY_ID", "t.id"},
    {"SORT_BY_START_TIME", "t.start_us"},
    {"SORT_BY_END_TIME", "t.end_us"},
    {"SORT_BY_STATE", "t.state"},
    {"SORT_BY_BEST_VALIDATION_METRIC", "t.best_metric IS NULL, t.best_metric"},
    {"SORT_BY_LATEST_VALIDATION_METRIC", "t.latest_metric IS NULL, t.latest_metric"},
    {"SORT_BY_BATCHES_PROCESSED", TRIAL_STEPS_SQL},
    {"SORT_BY_DURATION", NULL}, /* needs the current time, see below */
    {"SORT_BY_RESTARTS", "t.restarts"},
    {"SORT_BY_CHECKPOINT_SIZE", "t.checkpoint_size"},
    {"SORT_BY_LOG_RETENTION_DAYS",
     "(SELECT e.log_retention_days FROM experiments e WHERE e.id = t.experiment_id)"},
};

static det_status build_order(struct sql_build *b, const struct trial_query *query,
                              struct err *err)
{
    const char *name = query->sort ? query->sort : "SORT_BY_ID";
    const char *direction = query->is_descending ? "DESC" : "ASC";
    size_t i = 0;

    while (i < ARRAY_LEN(sorts) && strcmp(sorts[i].name, name) != 0)
        i++;
    if (i == ARRAY_LEN(sorts))
        return err_set(err, DET_INVALID, "trials cannot be sorted by '%s'", name);
    if (sorts[i].key)
        buf_printf(&b->text, " ORDER BY %s %s, t.id %s", sorts[i].key, direction,
                   direction);
    else
        buf_printf(&b->text,
                   " ORDER BY " TRIAL_ON_SLOTS_AT_SQL("%" PRId64) " %s, t.id %s",
                   query->now_us, query->now_us, direction, direction);
    return DET_OK;
}

static void build_where(struct sql_build *b, const struct trial_query *query)
{
    buf_printf(&b->text, " WHERE t.experiment_id = %" PRId64, query->experiment_id);
    experiment_build_states(b, "t.state", trial_state_names, query->states,
                            LIVE_TRIAL_SQL);
}

static det_status count_rows(struct db *db, const struct trial_query *query,
                             struct arena *mem, int64_t *ret_total, struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);

    build_where(&b, query);
    CLEANUP(db_query_done)
    struct db_query q = sql_build_query(&b, db,
                                        "SELECT COUNT(*) FROM trials t"
                                        " JOIN experiments e ON e.id = t.experiment_id",
                                        err);

    if (db_next(&q))
        *ret_total = db_col_i64(&q);
    return q.status;
}

det_status store_trial_list(struct db *db, struct trial_query *query, struct arena *mem,
                            struct trial_view **ret_rows, uint32_t *ret_count,
                            struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);
    int64_t total = 0;
    det_status st;

    build_view(&b);
    build_where(&b, query);
    st = build_order(&b, query, err);
    if (!st)
        st = count_rows(db, query, mem, &total, err);
    if (st)
        return st;
    page_place(&query->page, total);
    buf_printf(&b.text, " LIMIT %" PRId64 " OFFSET %" PRId64,
               query->page.end - query->page.start, query->page.start);
    CLEANUP(db_query_done) struct db_query q = sql_build_query(&b, db, "", err);

    return views_get(&q, query->page.end - query->page.start, mem, ret_rows, ret_count);
}

det_status store_trial_get(struct db *db, int64_t id, struct arena *mem,
                           struct trial_view *ret_row, struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);
    struct trial_view *row = NULL;
    uint32_t count = 0;
    det_status st;

    build_view(&b);
    buf_printf(&b.text, " WHERE t.id = %" PRId64, id);
    CLEANUP(db_query_done) struct db_query q = sql_build_query(&b, db, "", err);

    st = views_get(&q, 1, mem, &row, &count);
    if (st)
        return st;
    if (!count)
        return err_set(err, DET_NOT_FOUND, "trial '%" PRId64 "' not found", id);
    *ret_row = *row;
    return DET_OK;
}
