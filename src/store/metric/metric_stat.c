/* SPDX-License-Identifier: Apache-2.0 */
/* metric_stat.c - see metric_stat.h.
 *
 * Rows and the heads of blocks are added up alike.  A head has the summaries of a
 * block's columns, with places and times relative to the first.
 *
 * NaN counts as a value and makes the sum NaN.  It is the minimum or maximum only of a
 * column without other values. */
#include "store/metric/metric_stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "data/time.h"
#include "store/blob.h"
#include "store/metric/metric.h"

static struct metric_stat *stat_of(struct metric_stats *stats, const char *name)
{
    struct metric_stat *stat = smap_get(&stats->by_name, name);

    if (stat)
        return stat;
    stat = arena_new(stats->mem, struct metric_stat);
    if (!stat)
        return NULL;
    stat->name = arena_strdup(stats->mem, name);
    stat->last_run = -1;
    if (!stat->name || !vec_push(&stats->all, stat))
        return NULL;
    if (!smap_put(&stats->by_name, stat->name, stat)) {
        (void)vec_pop(&stats->all);
        return NULL;
    }
    return stat;
}

void metric_stats_done(struct metric_stats *stats)
{
    map_done(&stats->by_name);
    vec_done(&stats->all);
}

static bool is_behind(const struct metric_stat *stat, int64_t run,
                      struct metric_place place)
{
    if (run != stat->last_run)
        return run > stat->last_run;
    return metric_place_compare(place, stat->last_place) > 0;
}

static bool mark_replaces(enum metric_mark_kind kind, double old, double value)
{
    if (isnan(value))
        return false;
    if (isnan(old))
        return true;
    return kind == MARK_MIN ? value < old : value > old;
}

/* Adds a stretch of numbers, earlier or later than those of `stat`. */
static void add_numbers(struct metric_stat *stat, uint64_t count, double sum,
                        const struct metric_mark mark[MARKS], bool is_later)
{
    if (!stat->count) {
        memcpy(stat->mark, mark, sizeof(stat->mark));
    } else {
        if (is_later)
            stat->mark[MARK_LAST] = mark[MARK_LAST];
        else if (mark[MARK_FIRST].steps < stat->mark[MARK_FIRST].steps)
            stat->mark[MARK_FIRST] = mark[MARK_FIRST];
        for (int kind = MARK_MIN; kind <= MARK_MAX; kind++) {
            if (mark_replaces(kind, stat->mark[kind].value, mark[kind].value))
                stat->mark[kind] = mark[kind];
        }
    }
    stat->count += count;
    stat->sum += sum;
    stat->types |= 1u << METRIC_NUMBER;
}

static void add_number(struct metric_stat *stat, int64_t run,
                       const struct metric_cells *row, double value)
{
    struct metric_mark mark = {row->steps, row->report_us, value};
    struct metric_mark marks[MARKS] = {mark, mark, mark, mark};
    bool is_later = is_behind(stat, run, metric_place_of(row));

    add_numbers(stat, 1, value, marks, is_later);
    if (is_later) {
        stat->last_run = run;
        stat->last_place = metric_place_of(row);
        stat->last = NULL;
    }
}

static enum metric_type type_of(const struct json *value)
{
    int64_t time;

    switch (value->kind) {
    case JSON_NULL:
        return METRIC_NULL;
    case JSON_BOOL:
        return METRIC_BOOLEAN;
    case JSON_INT:
    case JSON_REAL:
        return METRIC_NUMBER;
    case JSON_STRING:
        return time_parse(value->string.text, &time) ? METRIC_DATE : METRIC_STRING;
    case JSON_ARRAY:
        return METRIC_ARRAY;
    case JSON_OBJECT:
        return METRIC_OBJECT;
    }
    return METRIC_STRING;
}

static det_status add_other(struct metric_stats *stats, int64_t run,
                            const struct metric_cells *row, const struct json *value,
                            struct err *err)
{
    struct metric_stat *stat = stat_of(stats, value->key);
    double number;

    if (!stat)
        return err_default(err, DET_NOMEM);
    if (json_number(value, &number)) {
        add_number(stat, run, row, number);
        return DET_OK;
    }
    stat->types |= 1u << type_of(value);
    if (!is_behind(stat, run, metric_place_of(row)))
        return DET_OK;
    stat->last_run = run;
    stat->last_place = metric_place_of(row);
    stat->last = json_text(stats->mem, value);
    return stat->last ? DET_OK : err_default(err, DET_NOMEM);
}

det_status metric_stats_add_row(struct metric_stats *stats, int64_t run_id,
                                const struct metric_cells *row, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(64 << 20);
    struct json *rest = NULL;
    det_status st = DET_OK;

    for (uint32_t i = 0; i < row->count; i++) {
        struct metric_stat *stat = stat_of(stats, row->name[i]);

        if (!stat)
            return err_default(err, DET_NOMEM);
        add_number(stat, run_id, row, row->value[i]);
    }
    if (row->rest)
        st = json_parse(row->rest, strlen(row->rest), &scratch, &rest, err);
    json_each(item, rest) {
        if (!st)
            st = add_other(stats, run_id, row, item, err);
    }
    return st;
}

/* ---- heads ----------------------------------------------------------------------- */

/* Writes each place and time relative to the previous mark. */
static void encode_marks(const struct metric_stat *stat, struct buf *out)
{
    struct metric_mark before = {0};

    buf_put_varint(out, stat->count);
    buf_put_f64(out, stat->sum);
    for (int i = 0; i < MARKS; i++) {
        buf_put_f64(out, stat->mark[i].value);
        buf_put_zigzag(out, stat->mark[i].steps - before.steps);
        buf_put_zigzag(out, stat->mark[i].report_us - before.report_us);
        before = stat->mark[i];
    }
}

void metric_stats_encode(const struct metric_stats *stats, struct buf *out)
{
    buf_put_varint(out, stats->all.count);
    for (size_t i = 0; i < stats->all.count; i++) {
        const struct metric_stat *stat = stats->all.at[i];

        buf_put_bytes(out, stat->name, strlen(stat->name));
        buf_put_varint(out, stat->types);
        if (stat->types & 1u << METRIC_NUMBER)
            encode_marks(stat, out);
        buf_put_zigzag(out, stat->last_place.steps);
        buf_put_varint(out, (uint64_t)stat->last_place.nth);
        buf_put_bytes(out, stat->last ? stat->last : "",
                      stat->last ? strlen(stat->last) : 0);
    }
}

static void decode_marks(struct blob *blob, struct metric_stat *stat)
{
    struct metric_mark before = {0};

    stat->count = blob_varint(blob);
    stat->sum = blob_f64(blob);
    for (int i = 0; i < MARKS; i++) {
        stat->mark[i].value = blob_f64(blob);
        stat->mark[i].steps = before.steps + blob_zigzag(blob);
        stat->mark[i].report_us = before.report_us + blob_zigzag(blob);
        before = stat->mark[i];
    }
}

static det_status merge_stat(struct metric_stats *stats, int64_t run,
                             const struct metric_stat *from, struct err *err)
{
    struct metric_stat *stat = stat_of(stats, from->name);
    bool is_later;

    if (!stat)
        return err_default(err, DET_NOMEM);
    is_later = is_behind(stat, run, from->last_place);
    if (from->count)
        add_numbers(stat, from->count, from->sum, from->mark, is_later);
    stat->types |= from->types;
    if (is_later) {
        stat->last_run = run;
        stat->last_place = from->last_place;
        stat->last = from->last;
    }
    return DET_OK;
}

static const char *copy_bytes(struct arena *mem, struct blob *blob, bool *ret_no_memory)
{
    uint64_t len = blob_varint(blob);
    const char *bytes = blob_bytes(blob, len);
    const char *copy;

    if (!bytes || !len)
        return NULL;
    copy = arena_strndup(mem, bytes, len);
    if (!copy)
        *ret_no_memory = true;
    return copy;
}

det_status metric_stats_add_head(struct metric_stats *stats, int64_t run_id,
                                 const void *head, size_t len, struct err *err)
{
    struct blob blob = BLOB_INIT(head, len);
    uint64_t count = blob_varint(&blob);
    det_status st = DET_OK;

    for (uint64_t i = 0; i < count && !st && !blob.is_bad; i++) {
        struct metric_stat stat = {0};
        bool no_memory = false;

        stat.name = copy_bytes(stats->mem, &blob, &no_memory);
        if (!stat.name)
            stat.name = "";
        stat.types = (uint32_t)blob_varint(&blob);
        if (stat.types & 1u << METRIC_NUMBER)
            decode_marks(&blob, &stat);
        stat.last_place.steps = blob_zigzag(&blob);
        stat.last_place.nth = (int64_t)blob_varint(&blob);
        stat.last = copy_bytes(stats->mem, &blob, &no_memory);
        st = no_memory ? err_default(err, DET_NOMEM) : DET_OK;
        if (!st && !blob.is_bad)
            st = merge_stat(stats, run_id, &stat, err);
    }
    if (!st && blob.is_bad)
        return err_set(err, DET_CORRUPT, "a block of metrics is damaged");
    return st;
}

static int by_name(const void *a, const void *b)
{
    const struct metric_stat *const *left = a;
    const struct metric_stat *const *right = b;

    return strcmp((*left)->name, (*right)->name);
}

void metric_stats_sort(struct metric_stats *stats)
{
    if (stats->all.count)
        qsort(stats->all.at, stats->all.count, sizeof(*stats->all.at), by_name);
}
