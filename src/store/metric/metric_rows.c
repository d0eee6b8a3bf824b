/* SPDX-License-Identifier: Apache-2.0 */
/* metric_rows.c - see metric_rows.h. */
#include "store/metric/metric_rows.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "data/json/json.h"
#include "store/blob.h"
#include "store/engine/db.h"
#include "store/engine/read_view.h"
#include "store/engine/row.h"
#include "store/metric/metric.h"
#include "store/metric/metric_block.h"
#include "store/series/level_page.h"
#include "store/sql_tables.h"

enum {
    SHAPES_LOAD,
    TAIL_LOAD,
    BLOCK_UPTO,
    BLOCK_NEXT,
    BLOCK_DROP,
    BLOCK_PUT,
    RUNS_LOAD,
    RUNS_LOAD_GROUP,
};

static const struct sql metric_rows_sql[] = {
    SQL(SHAPES_LOAD, "SELECT shape, names FROM metric_shapes"
                     " WHERE trial_id = $1 AND group_id = $2 ORDER BY shape DESC"),
    SQL(TAIL_LOAD,
        "SELECT steps, id, report_us, data FROM metric_tail WHERE " METRIC_OF_KEY
        "  AND (steps, nth) > ($4, $5) ORDER BY steps, nth LIMIT $6"),
    SQL(BLOCK_UPTO,
        "SELECT id, first_steps, first_nth, last_steps, last_nth, count, data"
        "  FROM metric_blocks WHERE " METRIC_OF_KEY
        "  AND (first_steps, first_nth) <= ($4, $5)"
        " ORDER BY first_steps DESC, first_nth DESC LIMIT 1"),
    SQL(BLOCK_NEXT,
        "SELECT id, first_steps, first_nth, last_steps, last_nth, count, data"
        "  FROM metric_blocks WHERE " METRIC_OF_KEY
        "  AND (first_steps, first_nth) > ($4, $5)"
        " ORDER BY first_steps, first_nth LIMIT 1"),
    SQL(BLOCK_DROP, "DELETE FROM metric_blocks WHERE id = $1"),
    SQL(BLOCK_PUT,
        "INSERT INTO metric_blocks (id, trial_id, group_id, run_id, first_steps,"
        "  first_nth, last_steps, last_nth, count, head, data)"
        " VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM metric_blocks),"
        "  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
    SQL(RUNS_LOAD, "SELECT r.group_id, r.run_id, r.cut, g.name FROM metric_runs r"
                   "  JOIN metric_groups g ON g.id = r.group_id"
                   " WHERE r.trial_id = $1 ORDER BY r.run_id, g.name"),
    SQL(RUNS_LOAD_GROUP, "SELECT r.group_id, r.run_id, r.cut, g.name FROM metric_runs r"
                         "  JOIN metric_groups g ON g.id = r.group_id"
                         " WHERE r.trial_id = $1 AND g.name = $2 ORDER BY r.run_id"),
};
const struct sql_table metric_rows_sql_table = SQL_TABLE(metric_rows_sql);

void metric_key_bind(struct db_query *q, const struct metric_key *key)
{
    db_bind_i64(q, key->trial_id);
    db_bind_i64(q, key->group_id);
    db_bind_i64(q, key->run_id);
}

static void bind_place(struct db_query *q, struct metric_place place)
{
    db_bind_i64(q, place.steps);
    db_bind_i64(q, place.nth);
}

/* ---- shapes ---------------------------------------------------------------------- */

static bool shape_names(struct metric_shape *shape, const struct json *names,
                        struct arena *mem)
{
    const struct json *numbers = json_get(names, "n");
    const struct json *others = json_get(names, "o");
    uint32_t at = 0;

    shape->numbers = numbers ? (uint32_t)numbers->list.count : 0;
    shape->others = others ? (uint32_t)others->list.count : 0;
    shape->name = arena_array(mem, const char *, shape->numbers + shape->others + 1);
    if (!shape->name)
        return false;
    json_each(item, numbers)
        shape->name[at++] = json_str(item, "");
    json_each(item, others)
        shape->name[at++] = json_str(item, "");
    return true;
}

static det_status shape_read(struct db_query *q, struct arena *mem,
                             struct metric_shape **ret_shape)
{
    struct metric_shape *shape = arena_new(mem, struct metric_shape);
    struct json *names = NULL;
    const char *text;
    det_status st;

    if (!shape)
        return err_default(q->err, DET_NOMEM);
    shape->id = db_col_i64(q);
    text = db_col_str(q, mem);
    if (q->status)
        return q->status;
    st = json_parse(text, strlen(text), mem, &names, q->err);
    if (st)
        return st;
    if (!shape_names(shape, names, mem))
        return err_default(q->err, DET_NOMEM);
    *ret_shape = shape;
    return DET_OK;
}

det_status metric_shapes_load(struct db *db, const struct metric_key *key,
                              struct arena *mem, struct metric_shape **ret_shapes,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_rows_sql[SHAPES_LOAD], err);
    struct metric_shape *shapes = NULL;

    db_bind_i64(&q, key->trial_id);
    db_bind_i64(&q, key->group_id);
    while (db_next(&q)) {
        struct metric_shape *shape = NULL;
        det_status st = shape_read(&q, mem, &shape);

        if (st)
            return st;
        shape->next = shapes;
        shapes = shape;
    }
    *ret_shapes = shapes;
    return q.status;
}

/* ---- the tail -------------------------------------------------------------------- */

static const struct metric_shape *shape_find(const struct metric_shape *shape,
                                             int64_t id)
{
    while (shape && shape->id != id)
        shape = shape->next;
    return shape;
}

static const char *get_text(struct blob *blob, struct arena *mem, bool *ret_no_memory)
{
    uint64_t len = blob->at < blob->end ? blob_varint(blob) : 0;
    const char *bytes = len ? blob_bytes(blob, len) : NULL;
    const char *text = bytes ? arena_strndup(mem, bytes, len) : NULL;

    if (bytes && !text)
        *ret_no_memory = true;
    return text;
}

static det_status tail_decode(const void *bytes, size_t len,
                              const struct metric_shape *shapes, struct arena *mem,
                              struct metric_cells *row, struct err *err)
{
    struct blob blob = BLOB_INIT(bytes, len);
    int64_t id = (int64_t)blob_varint(&blob);
    const struct metric_shape *shape = id ? shape_find(shapes, id) : NULL;
    bool no_memory = false;

    if (id && !shape)
        return err_set(err, DET_CORRUPT, "a row of metrics is damaged");
    if (shape) {
        double *value = arena_array(mem, double, shape->numbers + 1);
        const void *packed =
            blob_bytes(&blob, (uint64_t)shape->numbers * sizeof(*value));

        if (!value)
            return err_default(err, DET_NOMEM);
        if (packed)
            memcpy(value, packed, shape->numbers * sizeof(*value));
        row->count = shape->numbers;
        row->name = shape->name;
        row->value = value;
    }
    row->rest = get_text(&blob, mem, &no_memory);
    row->batch = get_text(&blob, mem, &no_memory);
    if (no_memory)
        return err_default(err, DET_NOMEM);
    if (blob.is_bad)
        return err_set(err, DET_CORRUPT, "a row of metrics is damaged");
    return DET_OK;
}

static det_status tail_read(struct db_query *q, const struct metric_shape *shapes,
                            struct arena *mem, struct metric_cells *row)
{
    const void *bytes;
    size_t len;

    row->steps = db_col_i64(q);
    row->id = db_col_i64(q);
    row->report_us = db_col_i64(q);
    bytes = db_col_blob(q, &len);
    return tail_decode(bytes, len, shapes, mem, row, q->err);
}

det_status metric_tail_load(struct db *db, const struct metric_key *key,
                            struct metric_place after, uint32_t limit,
                            struct arena *mem, struct metric_rows *ret_rows,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_rows_sql[TAIL_LOAD], err);
    struct metric_shape *shapes = NULL;
    struct metric_cells *rows = arena_array(mem, struct metric_cells, limit + 1);
    uint32_t count = 0;
    det_status st = rows ? metric_shapes_load(db, key, mem, &shapes, err)
                         : err_default(err, DET_NOMEM);

    if (st)
        return st;
    metric_key_bind(&q, key);
    bind_place(&q, after);
    db_bind_i64(&q, limit);
    while (!st && count < limit && db_next(&q))
        st = tail_read(&q, shapes, mem, &rows[count++]);
    ret_rows->row = rows;
    ret_rows->count = count;
    return st ? st : q.status;
}

/* ---- blocks ---------------------------------------------------------------------- */

static det_status block_read(struct db_query *q, struct arena *mem,
                             struct metric_block *ret_block)
{
    struct metric_block block = {0};
    const void *bytes;
    size_t len;
    det_status st = DET_OK;

    block.id = db_col_i64(q);
    block.first.steps = db_col_i64(q);
    block.first.nth = db_col_i64(q);
    block.last.steps = db_col_i64(q);
    block.last.nth = db_col_i64(q);
    block.count = (uint32_t)db_col_i64(q);
    if (mem) {
        bytes = db_col_blob(q, &len);
        st = metric_block_decode(bytes, len, mem, &block.rows.row, &block.rows.count,
                                 q->err);
    }
    if (!st)
        *ret_block = block;
    return st;
}

static det_status block_get(struct db *db, int which, const struct metric_key *key,
                            struct metric_place place, struct arena *mem,
                            struct metric_block *ret_block, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_rows_sql[which], err);

    metric_key_bind(&q, key);
    bind_place(&q, place);
    ret_block->id = 0;
    if (!db_next(&q))
        return q.status;
    return block_read(&q, mem, ret_block);
}

det_status metric_block_upto(struct db *db, const struct metric_key *key,
                             struct metric_place place, struct arena *mem,
                             struct metric_block *ret_block, struct err *err)
{
    return block_get(db, BLOCK_UPTO, key, place, mem, ret_block, err);
}

det_status metric_block_behind(struct db *db, const struct metric_key *key,
                               struct metric_place after, struct arena *mem,
                               struct metric_block *ret_block, struct err *err)
{
    struct metric_block block = {0};
    det_status st = metric_block_upto(db, key, after, NULL, &block, err);

    if (st)
        return st;
    if (block.id && metric_place_compare(block.last, after) > 0)
        return metric_block_upto(db, key, after, mem, ret_block, err);
    return block_get(db, BLOCK_NEXT, key, after, mem, ret_block, err);
}

det_status metric_block_drop(struct db *db, const struct metric_key *key,
                             const struct metric_block *block, struct err *err)
{
    det_status st = run_with_id(db, &metric_rows_sql[BLOCK_DROP], block->id, err);

    return st ? st : level_block_drop(db, key, block->first, block->last, err);
}

det_status metric_block_put(struct db *db, const struct metric_key *key,
                            const struct metric_rows *rows, struct arena *mem,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf head = BUF_INIT;
    CLEANUP(buf_done) struct buf data = BUF_INIT;
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_rows_sql[BLOCK_PUT], err);
    det_status st = metric_block_encode(rows->row, rows->count, mem, &head, &data, err);

    if (!st && (head.status || data.status))
        st = err_default(err, DET_NOMEM);
    if (st)
        return st;
    metric_key_bind(&q, key);
    bind_place(&q, metric_place_of(&rows->row[0]));
    bind_place(&q, metric_place_of(&rows->row[rows->count - 1]));
    db_bind_i64(&q, rows->count);
    db_bind_blob(&q, head.data, head.len);
    db_bind_blob(&q, data.data, data.len);
    st = db_run(&q);
    return st ? st : level_block_put(db, key, rows, mem, err);
}

/* ---- runs ------------------------------------------------------------------------ */

det_status metric_runs_load(struct db *db, int64_t trial_id, const char *group,
                            struct arena *mem, struct metric_run **ret_runs,
                            uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &metric_rows_sql[group ? RUNS_LOAD_GROUP : RUNS_LOAD], err);
    VEC(struct metric_run) runs = {0};
    det_status st = DET_OK;

    db_bind_i64(&q, trial_id);
    if (group)
        db_bind_str(&q, group);
    while (!st && db_next(&q)) {
        struct metric_run run = {.key.trial_id = trial_id};

        run.key.group_id = db_col_i64(&q);
        run.key.run_id = db_col_i64(&q);
        run.cut = db_col_i64(&q);
        run.group = db_col_str(&q, mem);
        if (!vec_push(&runs, run))
            st = err_default(err, DET_NOMEM);
    }
    if (!st)
        st = q.status;
    *ret_runs = st ? NULL : arena_array(mem, struct metric_run, runs.count + 1);
    if (!st && !*ret_runs)
        st = err_default(err, DET_NOMEM);
    if (!st && runs.count)
        memcpy(*ret_runs, runs.at, runs.count * sizeof(*runs.at));
    *ret_count = (uint32_t)runs.count;
    vec_done(&runs);
    return st;
}

/* ---- cells as JSON --------------------------------------------------------------- */

det_status metric_cells_json(const struct metric_cells *row, struct arena *mem,
                             struct json **ret_object, struct err *err)
{
    struct json *object = NULL;

    if (row->rest) {
        det_status st = json_parse(row->rest, strlen(row->rest), mem, &object, err);

        if (st)
            return st;
    } else {
        object = json_new(mem, JSON_OBJECT);
    }
    for (uint32_t i = 0; i < row->count && object; i++) {
        if (!json_add(mem, object, row->name[i], json_new_real(mem, row->value[i])))
            object = NULL;
    }
    if (!object)
        return err_default(err, DET_NOMEM);
    *ret_object = object;
    return DET_OK;
}

det_status metric_cells_text(const struct metric_cells *row, struct arena *mem,
                             const char **ret_text, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    size_t rest_len = row->rest ? strlen(row->rest) : 0;
    char *copy;

    jw_object(&w, NULL);
    for (uint32_t i = 0; i < row->count; i++)
        jw_real(&w, row->name[i], row->value[i]);
    jw_end_object(&w);
    /* The rest is an object too; append its members. */
    if (rest_len > 2) {
        buf_cut(&text, text.len - 1);
        if (row->count)
            buf_putc(&text, ',');
        buf_add(&text, row->rest + 1, rest_len - 1);
    }
    copy = text.status ? NULL : arena_strndup(mem, text.data, text.len);
    if (!copy)
        return err_default(err, DET_NOMEM);
    *ret_text = copy;
    return DET_OK;
}

/* ---- one row --------------------------------------------------------------------- */

static const struct metric_cells *row_at(const struct metric_rows *rows, int64_t steps)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->row[i].steps == steps)
            return &rows->row[i];
    }
    return NULL;
}

static det_status find_in_run(struct db *db, const struct metric_run *run,
                              int64_t steps, struct arena *mem,
                              const struct metric_cells **ret_row, struct err *err)
{
    struct metric_place before = {steps, -1};
    struct metric_block block = {0};
    struct metric_rows rows = {0};
    det_status st = metric_tail_load(db, &run->key, before, 1, mem, &rows, err);

    if (st)
        return st;
    *ret_row = row_at(&rows, steps);
    if (*ret_row)
        return DET_OK;
    st = metric_block_behind(db, &run->key, before, mem, &block, err);
    if (!st && block.id)
        *ret_row = row_at(&block.rows, steps);
    return st;
}

det_status store_metric_at(struct db *db, int64_t trial_id, const char *group,
                           int64_t steps, struct arena *mem, struct json **ret_metrics,
                           struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    const struct metric_cells *row = NULL;
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    det_status st = read_view_begin(&view, db, err);

    if (!st)
        st = metric_runs_load(db, trial_id, group, mem, &runs, &count, err);
    *ret_metrics = NULL;
    while (!st && count && !row) {
        const struct metric_run *run = &runs[--count]; /* the latest run first */

        if (steps < run->cut)
            st = find_in_run(db, run, steps, mem, &row, err);
    }
    if (st || !row)
        return st;
    return metric_cells_json(row, mem, ret_metrics, err);
}
