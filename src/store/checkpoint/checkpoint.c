/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - rows of `checkpoints`.
 *
 * The rows of a trial and its experiment count their checkpoints and bytes.  Each
 * change here updates them, so lists can show them and sort by them. */
#include "store/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "model/states.h"
#include "store/checkpoint/collect.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/engine/sql_build.h"
#include "store/metric/metric_rows.h"
#include "store/metric/validation.h"
#include "store/sql_tables.h"

#define CHECKPOINT_COLUMNS                                                             \
    "uuid, task_id, allocation_id, trial_id, experiment_id, state, steps_completed,"   \
    " metadata, resources, size_bytes, report_us, storage_id, searcher_metric,"        \
    " is_held, is_archived"

enum {
    CHECKPOINT_ADD,
    CHECKPOINT_GET,
    CHECKPOINT_BEST,
    CHECKPOINT_SET_RESOURCES,
    CHECKPOINT_SET_METADATA,
    CHECKPOINT_SET_METRIC,
    COUNT_FOR_TRIAL,
    COUNT_FOR_EXPERIMENT,
};

static const struct sql checkpoint_sql[] = {
    SQL(CHECKPOINT_ADD,
        "INSERT INTO checkpoints (" CHECKPOINT_COLUMNS ")"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"),
    SQL(CHECKPOINT_GET,
        "SELECT " CHECKPOINT_COLUMNS " FROM checkpoints WHERE uuid = $1"),
    SQL(CHECKPOINT_BEST,
        "SELECT " CHECKPOINT_COLUMNS " FROM checkpoints"
        " WHERE trial_id = $1 AND state = 'COMPLETED' AND NOT is_archived"
        " ORDER BY searcher_metric IS NULL,"
        "  CASE WHEN (SELECT e.smaller_is_better FROM trials t"
        "    JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1)"
        "   THEN searcher_metric ELSE -searcher_metric END,"
        "  steps_completed DESC, uuid LIMIT 1"),
    SQL(CHECKPOINT_SET_RESOURCES,
        "UPDATE checkpoints SET resources = $2, size_bytes = $3, state = $4"
        " WHERE uuid = $1"),
    SQL(CHECKPOINT_SET_METADATA,
        "UPDATE checkpoints SET metadata = $2 WHERE uuid = $1"),
    SQL(CHECKPOINT_SET_METRIC, "UPDATE checkpoints SET searcher_metric = $3"
                               " WHERE trial_id = $1 AND steps_completed = $2"
                               "  AND NOT is_archived"),
    SQL(COUNT_FOR_TRIAL, "UPDATE trials SET checkpoint_count = checkpoint_count + $2,"
                         "  checkpoint_size = checkpoint_size + $3"
                         " WHERE id = $1"),
    SQL(COUNT_FOR_EXPERIMENT,
        "UPDATE experiments SET checkpoint_count = checkpoint_count + $2,"
        "  checkpoint_size = checkpoint_size + $3"
        " WHERE id = $1"),
};
const struct sql_table checkpoint_sql_table = SQL_TABLE(checkpoint_sql);

const struct field checkpoint_fields[] = {
    FIELD(STR, checkpoint, uuid, "its name"),
    FIELD(STR, checkpoint, task_id, "the task that made it"),
    FIELD(STR, checkpoint, allocation_id, "the allocation that made it"),
    FIELD(I64, checkpoint, trial_id, "the trial it belongs to"),
    FIELD(I64, checkpoint, experiment_id, "that trial's experiment"),
    FIELD_AS_ENUM(checkpoint, state, checkpoint_state_names, "STATE_",
                  "where it stands"),
    FIELD(I64, checkpoint, steps_completed, "batches it has seen"),
    FIELD(JSON, checkpoint, metadata, "what its maker says about it"),
    FIELD(JSON, checkpoint, resources, "its files and their sizes"),
    FIELD(I64_STR, checkpoint, size_bytes, "bytes of all its files"),
    FIELD(TIME, checkpoint, report_us, "when it was reported"),
    FIELD(I64, checkpoint, storage_id, "where it is stored"),
    FIELD_OPTIONAL(F64, checkpoint, searcher_metric, "of the validation at its steps"),
    FIELD(BOOL, checkpoint, is_held, "another trial began from it"),
    FIELD(BOOL, checkpoint, is_archived,
          "nothing resumes from it, ranks or deletes it"),
    FIELD_END,
};

static bool is_there(uint32_t state)
{
    return state == CHECKPOINT_COMPLETED || state == CHECKPOINT_PARTIALLY_DELETED ||
           state == CHECKPOINT_DELETING;
}

static det_status count_in(struct db *db, int which, int64_t id, int64_t count,
                           int64_t size, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &checkpoint_sql[which], err);

    db_bind_i64(&q, id);
    db_bind_i64(&q, count);
    db_bind_i64(&q, size);
    return db_run(&q);
}

static det_status count_change(struct db *db, const struct checkpoint *row,
                               int64_t count, int64_t size, struct err *err)
{
    det_status st = count_in(db, COUNT_FOR_TRIAL, row->trial_id, count, size, err);

    if (st)
        return st;
    return count_in(db, COUNT_FOR_EXPERIMENT, row->experiment_id, count, size, err);
}

static det_status find_checkpoint(struct db *db, const char *uuid, struct arena *mem,
                                  struct checkpoint *ret_row, bool *ret_found,
                                  struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &checkpoint_sql[CHECKPOINT_GET], err);

    db_bind_str(&q, uuid);
    return row_get(&q, checkpoint_fields, mem, ret_row, ret_found);
}

/* For a validation that was reported before its checkpoint. */
static det_status add_metric(struct db *db, const struct checkpoint *row,
                             struct arena *mem, struct err *err)
{
    struct json *metrics = NULL;
    bool has = false;
    double metric = 0;
    det_status st = store_metric_at(db, row->trial_id, "validation",
                                    row->steps_completed, mem, &metrics, err);

    if (st || !metrics)
        return st;
    st = validation_deciding_metric(db, row->trial_id, metrics, &has, &metric, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (!st && has)
        st = checkpoint_validated(db, row->trial_id, row->steps_completed, metric, err);
    return st;
}

det_status store_checkpoint_add(struct db *db, const struct checkpoint *row,
                                bool *ret_is_new, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct checkpoint old = {0};
    bool found = false;
    det_status st = find_checkpoint(db, row->uuid, &mem, &old, &found, err);

    if (st)
        return st;
    *ret_is_new = !found;
    if (found && old.trial_id == row->trial_id &&
        old.steps_completed == row->steps_completed)
        return DET_OK;
    if (found)
        return err_set(
            err, DET_EXISTS,
            "checkpoint '%s' was already reported by another trial or at other "
            "steps",
            row->uuid);
    st = row_put(db, &checkpoint_sql[CHECKPOINT_ADD], checkpoint_fields, row, err);
    if (!st && !row->has_searcher_metric && !row->is_archived)
        st = add_metric(db, row, &mem, err);
    if (!st && is_there(row->state))
        st = count_change(db, row, 1, row->size_bytes, err);
    if (!st)
        st = collect_trial(db, row->trial_id, err);
    return st;
}

det_status store_checkpoint_get(struct db *db, const char *uuid, struct arena *mem,
                                struct checkpoint *ret_row, struct err *err)
{
    struct checkpoint row = {0};
    bool found = false;
    det_status st = find_checkpoint(db, uuid, mem, &row, &found, err);

    if (st)
        return st;
    if (!found)
        return err_set(err, DET_NOT_FOUND, "checkpoint '%s' not found", uuid);
    *ret_row = row;
    return DET_OK;
}

static size_t count_members(const struct json *object)
{
    return object && object->kind == JSON_OBJECT ? object->list.count : 0;
}

static det_status put_resources(struct db *db, const struct checkpoint *row,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &checkpoint_sql[CHECKPOINT_SET_RESOURCES], err);

    db_bind_str(&q, row->uuid);
    db_bind_str(&q, row->resources);
    db_bind_i64(&q, row->size_bytes);
    db_bind_str(&q, checkpoint_state_names[row->state]);
    return db_run(&q);
}

det_status store_checkpoint_set_resources(struct db *db, const char *uuid,
                                          const struct json *resources,
                                          struct arena *mem, struct err *err)
{
    struct checkpoint old = {0};
    struct checkpoint row;
    struct json *before = NULL;
    det_status st = store_checkpoint_get(db, uuid, mem, &old, err);

    if (!st && old.resources)
        st = json_parse(old.resources, strlen(old.resources), mem, &before, err);
    if (st)
        return st;
    row = old;
    row.resources = resources ? json_text(mem, resources) : "{}";
    if (!row.resources)
        return err_default(err, DET_NOMEM);
    row.size_bytes = 0;
    json_each(item, resources)
        row.size_bytes += json_i64(item, 0);
    if (!count_members(resources))
        row.state = CHECKPOINT_DELETED;
    else if (row.state != CHECKPOINT_DELETING &&
             count_members(resources) < count_members(before))
        row.state = CHECKPOINT_PARTIALLY_DELETED;
    st = put_resources(db, &row, err);
    if (st)
        return st;
    return count_change(db, &row, (int64_t)is_there(row.state) - is_there(old.state),
                        (is_there(row.state) ? row.size_bytes : 0) -
                            (is_there(old.state) ? old.size_bytes : 0),
                        err);
}

det_status store_checkpoint_set_metadata(struct db *db, const char *uuid,
                                         const char *metadata, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &checkpoint_sql[CHECKPOINT_SET_METADATA], err);

    db_bind_str(&q, uuid);
    db_bind_str(&q, metadata);
    if (db_run(&q))
        return q.status;
    if (!db_changes(db))
        return err_set(err, DET_NOT_FOUND, "checkpoint '%s' not found", uuid);
    return DET_OK;
}

det_status checkpoint_validated(struct db *db, int64_t trial_id, int64_t steps,
                                double metric, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &checkpoint_sql[CHECKPOINT_SET_METRIC], err);

    db_bind_i64(&q, trial_id);
    db_bind_i64(&q, steps);
    db_bind_f64(&q, metric);
    return db_run(&q);
}

det_status store_checkpoint_best(struct db *db, int64_t trial_id, struct arena *mem,
                                 struct checkpoint *ret_row, bool *ret_found,
                                 struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &checkpoint_sql[CHECKPOINT_BEST], err);
    struct checkpoint row = {0};
    bool found = false;
    det_status st;

    db_bind_i64(&q, trial_id);
    st = row_get(&q, checkpoint_fields, mem, &row, &found);
    if (st)
        return st;
    if (found)
        *ret_row = row;
    *ret_found = found;
    return DET_OK;
}

/* ---- lists ----------------------------------------------------------------------- */

static const char *const sort_keys[] = {
    [CHECKPOINT_BY_END_TIME] = "report_us",
    [CHECKPOINT_BY_UUID] = "uuid",
    [CHECKPOINT_BY_TRIAL] = "trial_id",
    [CHECKPOINT_BY_STEPS] = "steps_completed",
    [CHECKPOINT_BY_STATE] = "state",
    [CHECKPOINT_BY_METRIC] = "searcher_metric IS NULL, searcher_metric",
};

static void build_where(struct sql_build *b, const struct checkpoint_query *query)
{
    buf_puts(&b->text, " FROM checkpoints WHERE 1 = 1");
    if (query->experiment_id)
        buf_printf(&b->text, " AND experiment_id = %" PRId64, query->experiment_id);
    if (query->trial_id)
        buf_printf(&b->text, " AND trial_id = %" PRId64, query->trial_id);
    sql_build_states(b, "state", checkpoint_state_names, query->states);
}

static det_status count_rows(struct db *db, const struct checkpoint_query *query,
                             struct arena *mem, int64_t *ret_total, struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);

    build_where(&b, query);
    CLEANUP(db_query_done)
    struct db_query q = sql_build_query(&b, db, "SELECT COUNT(*)", err);

    if (db_next(&q))
        *ret_total = db_col_i64(&q);
    return q.status;
}

det_status store_checkpoint_list(struct db *db, const struct checkpoint_query *query,
                                 struct arena *mem, struct checkpoint **ret_rows,
                                 uint32_t *ret_count, int64_t *ret_total,
                                 struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);
    const char *direction = query->is_descending ? "DESC" : "ASC";
    struct row_list rows = {0};
    int64_t total = 0, start;
    det_status st = count_rows(db, query, mem, &total, err);

    if (st)
        return st;
    start = query->offset < 0 ? total + query->offset : query->offset;
    if (start < 0 || start > total)
        return err_set(err, DET_INVALID, "offset out of bounds");
    build_where(&b, query);
    buf_printf(&b.text, " ORDER BY %s %s, uuid %s LIMIT %" PRId64 " OFFSET %" PRId64,
               sort_keys[query->sort], direction, direction,
               query->limit > 0 ? query->limit : total, start);
    CLEANUP(db_query_done)
    struct db_query q = sql_build_query(&b, db, "SELECT " CHECKPOINT_COLUMNS, err);

    st = rows_get(&q, checkpoint_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    *ret_total = total;
    return st;
}
