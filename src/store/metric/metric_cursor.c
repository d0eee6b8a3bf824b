/* SPDX-License-Identifier: Apache-2.0 */
/* metric_cursor.c - see metric_cursor.h.
 *
 * The order is run, steps, group.  Within a run each group has two streams, its blocks
 * and its tail; the smallest head of all streams comes next.  A stream holds one block,
 * or a page of the tail, in its own arena, which is cleared for the next one. */
#include "store/metric/metric_cursor.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/read_view.h"
#include "store/metric/metric.h"
#include "store/metric/metric_rows.h"

enum { TAIL_PAGE = 256, STREAM_BYTES = 256 << 20 };

struct stream {
    const struct metric_run *run;
    bool is_tail;
    bool is_end;
    struct metric_place at; /* of the last returned row */
    struct arena mem;
    struct metric_rows rows;
    uint32_t next;
};

struct metric_cursor {
    struct db *db;
    struct metric_query query;
    struct arena mem; /* the runs */
    struct metric_run *runs;
    uint32_t run_count;
    uint32_t next_run; /* the first one without streams */
    VEC(struct stream) streams;
};

/* Where a group begins in the run of the query's cursor. */
static struct metric_place start_of(const struct metric_query *query,
                                    const struct metric_run *run)
{
    struct metric_place before_all = {-2, 0};
    struct metric_place place = {query->after_steps, INT64_MAX};
    int order;

    if (!query->has_cursor || run->key.run_id != query->after_run)
        return before_all;
    order = strcmp(run->group, query->after_group ? query->after_group : "");
    if (order > 0)
        place.nth = -1; /* rows with the same steps follow it */
    else if (order == 0 && query->after_id && query->after_steps < 0)
        place.nth = query->after_id;
    return place;
}

static void streams_done(struct metric_cursor *cursor)
{
    for (size_t i = 0; i < cursor->streams.count; i++)
        arena_done(&cursor->streams.at[i].mem);
    vec_clear(&cursor->streams);
}

/* Opens the streams of the next run; none at the end. */
static det_status open_run(struct metric_cursor *cursor, struct err *err)
{
    int64_t run_id = cursor->runs[cursor->next_run].key.run_id;

    streams_done(cursor);
    while (cursor->next_run < cursor->run_count &&
           cursor->runs[cursor->next_run].key.run_id == run_id) {
        const struct metric_run *run = &cursor->runs[cursor->next_run++];

        if (cursor->query.has_cursor && run_id < cursor->query.after_run)
            continue;
        for (int is_tail = 0; is_tail < 2; is_tail++) {
            struct stream stream = {.run = run,
                                    .is_tail = is_tail,
                                    .at = start_of(&cursor->query, run),
                                    .mem = ARENA_INIT(STREAM_BYTES)};

            if (!vec_push(&cursor->streams, stream))
                return err_default(err, DET_NOMEM);
        }
    }
    return DET_OK;
}

static det_status fetch_rows(struct metric_cursor *cursor, struct stream *stream,
                             struct err *err)
{
    const struct metric_key *key = &stream->run->key;
    struct metric_block block = {0};
    det_status st;

    arena_clear(&stream->mem);
    stream->next = 0;
    stream->rows = (struct metric_rows){0};
    if (stream->is_tail) {
        st = metric_tail_load(cursor->db, key, stream->at, TAIL_PAGE, &stream->mem,
                              &stream->rows, err);
    } else {
        st =
            metric_block_behind(cursor->db, key, stream->at, &stream->mem, &block, err);
        if (!st && block.id)
            stream->rows = block.rows;
    }
    stream->is_end = !stream->rows.count;
    return st;
}

/* Makes rows[next] the stream's head, or ends the stream. */
static det_status fill_head(struct metric_cursor *cursor, struct stream *stream,
                            struct err *err)
{
    det_status st = DET_OK;

    while (!st && !stream->is_end) {
        const struct metric_cells *row;

        if (stream->next == stream->rows.count) {
            st = fetch_rows(cursor, stream, err);
            continue;
        }
        row = &stream->rows.row[stream->next];
        if (metric_place_compare(metric_place_of(row), stream->at) <= 0) {
            stream->next++; /* rows of the block that were returned before */
            continue;
        }
        /* The archived rows of a run are always its end. */
        stream->is_end = row->steps >= stream->run->cut && !cursor->query.with_archived;
        break;
    }
    return st;
}

static bool comes_first(const struct stream *a, const struct stream *b)
{
    const struct metric_cells *x = &a->rows.row[a->next];
    const struct metric_cells *y = &b->rows.row[b->next];
    int order;

    if (x->steps != y->steps)
        return x->steps < y->steps;
    order = strcmp(a->run->group, b->run->group);
    return order ? order < 0 : x->id < y->id;
}

det_status metric_cursor_next(struct metric_cursor *cursor,
                              struct metric_found *ret_found, struct err *err)
{
    struct stream *first = NULL;
    det_status st = DET_OK;

    *ret_found = (struct metric_found){0};
    while (!st && !first) {
        for (size_t i = 0; i < cursor->streams.count && !st; i++) {
            struct stream *stream = &cursor->streams.at[i];

            st = fill_head(cursor, stream, err);
            if (!stream->is_end && (!first || comes_first(stream, first)))
                first = stream;
        }
        if (st || first || cursor->next_run == cursor->run_count)
            break;
        st = open_run(cursor, err);
    }
    if (st || !first)
        return st;
    ret_found->row = &first->rows.row[first->next++];
    ret_found->run = first->run;
    ret_found->is_archived = ret_found->row->steps >= first->run->cut;
    first->at = metric_place_of(ret_found->row);
    return DET_OK;
}

det_status metric_cursor_new(struct db *db, const struct metric_query *query,
                             struct metric_cursor **ret_cursor, struct err *err)
{
    struct metric_cursor *cursor = mem_new(struct metric_cursor);
    det_status st;

    if (!cursor)
        return err_default(err, DET_NOMEM);
    cursor->db = db;
    cursor->query = *query;
    cursor->mem = (struct arena)ARENA_INIT(STREAM_BYTES);
    st = metric_runs_load(db, query->trial_id, query->group, &cursor->mem,
                          &cursor->runs, &cursor->run_count, err);
    if (st) {
        metric_cursor_free(cursor);
        return st;
    }
    *ret_cursor = cursor;
    return DET_OK;
}

void metric_cursor_free(struct metric_cursor *cursor)
{
    if (!cursor)
        return;
    streams_done(cursor);
    vec_done(&cursor->streams);
    arena_done(&cursor->mem);
    mem_free(cursor);
}

void metric_cursor_freep(struct metric_cursor **cursor)
{
    metric_cursor_free(*cursor);
}

/* ---- whole pages ----------------------------------------------------------------- */

static det_status row_of(const struct metric_found *found, bool with_batch,
                         struct arena *mem, struct metric_row *ret_row, struct err *err)
{
    const struct metric_cells *cells = found->row;
    struct metric_row row = {
        .id = cells->id,
        .trial_id = found->run->key.trial_id,
        .run_id = metric_run_number(found->run->key.run_id),
        .place = found->run->key.run_id,
        .steps = cells->steps < 0 ? 0 : cells->steps,
        .has_steps = cells->steps >= 0,
        .report_us = cells->report_us,
        .is_archived = found->is_archived,
    };

    row.group = arena_strdup(mem, found->run->group);
    if (with_batch && cells->batch)
        row.batch = arena_strdup(mem, cells->batch);
    if (!row.group || (with_batch && cells->batch && !row.batch))
        return err_default(err, DET_NOMEM);
    *ret_row = row;
    return metric_cells_text(cells, mem, &ret_row->avg, err);
}

det_status store_metric_read(struct db *db, const struct metric_query *query,
                             struct arena *mem, struct metric_row **ret_rows,
                             uint32_t *ret_count, struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    CLEANUP(metric_cursor_freep) struct metric_cursor *cursor = NULL;
    VEC(struct metric_row) rows = {0};
    det_status st = read_view_begin(&view, db, err);

    if (!st)
        st = metric_cursor_new(db, query, &cursor, err);
    while (!st && (!query->limit || rows.count < query->limit)) {
        struct metric_found found;
        struct metric_row row;

        st = metric_cursor_next(cursor, &found, err);
        if (st || !found.row)
            break;
        st = row_of(&found, query->with_batch, mem, &row, err);
        if (!st && !vec_push(&rows, row))
            st = err_default(err, DET_NOMEM);
    }
    *ret_count = (uint32_t)rows.count;
    *ret_rows = st ? NULL : arena_array(mem, struct metric_row, rows.count + 1);
    if (!st && !*ret_rows)
        st = err_default(err, DET_NOMEM);
    if (!st && rows.count)
        memcpy(*ret_rows, rows.at, rows.count * sizeof(*rows.at));
    vec_done(&rows);
    return st;
}
