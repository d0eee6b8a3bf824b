/* SPDX-License-Identifier: Apache-2.0 */
/* metric_summary.c - see metric_summary.h.
 *
 * The head of a block stands for its rows, unless a rollback cut the block in two.  So
 * thousands of heads are enough to sum up millions of reports. */
#include "store/metric/metric_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/read_view.h"
#include "store/metric/metric.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/metric_rows.h"
#include "store/metric/metric_stat.h"
#include "store/sql_tables.h"

enum { HEADS, ROWS_COUNT };

static const struct sql metric_summary_sql[] = {
    SQL(HEADS, "SELECT first_steps, first_nth, last_steps, head FROM metric_blocks"
               " WHERE " METRIC_OF_KEY
               " AND first_steps < $4 ORDER BY first_steps, first_nth"),
    SQL(ROWS_COUNT,
        "SELECT COALESCE(SUM(b.count), 0), COUNT(*) FROM metric_blocks b"
        "  JOIN metric_runs r ON r.trial_id = b.trial_id AND r.group_id = b.group_id"
        "   AND r.run_id = b.run_id AND b.first_steps < r.cut"
        " WHERE b.trial_id = $1"
        "  AND b.group_id = (SELECT g.id FROM metric_groups g WHERE g.name = $2)"),
};
const struct sql_table metric_summary_sql_table = SQL_TABLE(metric_summary_sql);

/* ---- adding up ------------------------------------------------------------------- */

/* For a block that a rollback cut in two: adds its rows before the cut one by one. */
static det_status add_part(struct db *db, const struct metric_run *run,
                           struct metric_place first, struct metric_stats *stats,
                           struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(256 << 20);
    struct metric_block block = {0};
    det_status st = metric_block_upto(db, &run->key, first, &scratch, &block, err);

    for (uint32_t i = 0; !st && i < block.rows.count; i++) {
        if (block.rows.row[i].steps < run->cut)
            st = metric_stats_add_row(stats, run->key.run_id, &block.rows.row[i], err);
    }
    return st;
}

static det_status add_blocks(struct db *db, const struct metric_run *run,
                             struct metric_stats *stats, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_summary_sql[HEADS], err);
    det_status st = DET_OK;

    db_bind_i64(&q, run->key.trial_id);
    db_bind_i64(&q, run->key.group_id);
    db_bind_i64(&q, run->key.run_id);
    db_bind_i64(&q, run->cut);
    while (!st && db_next(&q)) {
        struct metric_place first;
        size_t len;

        first.steps = db_col_i64(&q);
        first.nth = db_col_i64(&q);
        if (db_col_i64(&q) < run->cut) {
            const void *head = db_col_blob(&q, &len);

            st = metric_stats_add_head(stats, run->key.run_id, head, len, err);
        } else {
            st = add_part(db, run, first, stats, err);
        }
    }
    return st ? st : q.status;
}

static det_status add_tail(struct db *db, const struct metric_run *run,
                           struct metric_stats *stats, struct err *err)
{
    enum { PAGE = 512 };
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(256 << 20);
    struct metric_place after = {-2, 0};
    struct metric_rows rows = {.count = PAGE};
    det_status st = DET_OK;

    while (!st && rows.count == PAGE) {
        arena_clear(&scratch);
        st = metric_tail_load(db, &run->key, after, PAGE, &scratch, &rows, err);
        for (uint32_t i = 0; !st && i < rows.count; i++) {
            after = metric_place_of(&rows.row[i]);
            if (rows.row[i].steps < run->cut)
                st = metric_stats_add_row(stats, run->key.run_id, &rows.row[i], err);
        }
    }
    return st;
}

/* ---- summaries ------------------------------------------------------------------- */

const char *metric_type_name(uint32_t types)
{
    static const char *const names[] = {"number", "string", "boolean", "date",
                                        "object", "array",  "null"};

    if (types != 1u << METRIC_NULL)
        types &= ~(1u << METRIC_NULL);
    for (int i = 0; i < METRIC_TYPES; i++) {
        if (types == 1u << i)
            return names[i];
    }
    return "string"; /* of several types */
}

static void write_stat(struct json_writer *w, const struct metric_stat *stat)
{
    const char *type = metric_type_name(stat->types);

    jw_object(w, stat->name);
    jw_str(w, "type", type);
    if (!strcmp(type, "number")) {
        jw_i64(w, "count", (int64_t)stat->count);
        jw_real(w, "sum", stat->sum);
        jw_real(w, "min", stat->mark[MARK_MIN].value);
        jw_real(w, "max", stat->mark[MARK_MAX].value);
        jw_real(w, "mean", stat->sum / (double)stat->count);
    }
    if (stat->last)
        jw_raw(w, "last", stat->last);
    else
        jw_real(w, "last", stat->mark[MARK_LAST].value);
    jw_end_object(w);
}

static const char *summary_name(const char *group)
{
    if (!strcmp(group, "training"))
        return "avg_metrics";
    return strcmp(group, "validation") ? group : "validation_metrics";
}

/* All runs of one group. */
static det_status add_group(struct db *db, const struct metric_run *runs,
                            uint32_t count, int64_t group_id,
                            struct metric_stats *stats, struct err *err)
{
    det_status st = DET_OK;

    for (uint32_t i = 0; i < count && !st; i++) {
        if (runs[i].key.group_id != group_id)
            continue;
        st = add_blocks(db, &runs[i], stats, err);
        if (!st)
            st = add_tail(db, &runs[i], stats, err);
    }
    return st;
}

static det_status write_group(struct db *db, const struct metric_run *runs,
                              uint32_t count, const struct metric_run *of,
                              struct json_writer *w, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct metric_stats stats = {.mem = &mem};
    det_status st = add_group(db, runs, count, of->key.group_id, &stats, err);

    if (!st && stats.all.count) {
        metric_stats_sort(&stats);
        jw_object(w, summary_name(of->group));
        for (size_t i = 0; i < stats.all.count; i++)
            write_stat(w, stats.all.at[i]);
        jw_end_object(w);
    }
    metric_stats_done(&stats);
    return st;
}

static bool is_first_of_group(const struct metric_run *runs, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++) {
        if (runs[i].key.group_id == runs[at].key.group_id)
            return false;
    }
    return true;
}

det_status store_metric_summary(struct db *db, int64_t trial_id, struct buf *ret_json,
                                struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct json_writer w = JSON_WRITER(ret_json);
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    det_status st = read_view_begin(&view, db, err);

    if (!st)
        st = metric_runs_load(db, trial_id, NULL, &mem, &runs, &count, err);
    if (st)
        return st;
    jw_object(&w, NULL);
    for (uint32_t i = 0; i < count && !st; i++) {
        if (is_first_of_group(runs, i))
            st = write_group(db, runs, count, &runs[i], &w, err);
    }
    jw_end_object(&w);
    if (!st && ret_json->status)
        st = err_default(err, ret_json->status);
    return st;
}

/* ---- names with their summaries -------------------------------------------------- */

static void list_stat(struct json_writer *w, const char *group,
                      const struct metric_stat *stat)
{
    jw_object(w, NULL);
    jw_str(w, "group", group);
    jw_str(w, "name", stat->name);
    jw_str(w, "type", metric_type_name(stat->types));
    jw_i64(w, "count", (int64_t)stat->count);
    if (stat->count) {
        jw_real(w, "min", stat->mark[MARK_MIN].value);
        jw_real(w, "max", stat->mark[MARK_MAX].value);
    }
    if (stat->last)
        jw_raw(w, "last", stat->last);
    else
        jw_real(w, "last", stat->mark[MARK_LAST].value);
    jw_end_object(w);
}

det_status metric_stats_of(struct db *db, int64_t trial_id, const char *group,
                           struct metric_stats *stats, struct err *err)
{
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    det_status st =
        metric_runs_load(db, trial_id, group, stats->mem, &runs, &count, err);

    if (!st && count)
        st = add_group(db, runs, count, runs[0].key.group_id, stats, err);
    return st;
}

det_status store_metric_list(struct db *db, int64_t trial_id, struct json_writer *w,
                             struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    det_status st = read_view_begin(&view, db, err);

    if (!st)
        st = metric_runs_load(db, trial_id, NULL, &mem, &runs, &count, err);
    for (uint32_t i = 0; i < count && !st; i++) {
        struct metric_stats stats = {.mem = &mem};

        if (!is_first_of_group(runs, i))
            continue;
        st = add_group(db, runs, count, runs[i].key.group_id, &stats, err);
        metric_stats_sort(&stats);
        for (size_t k = 0; k < stats.all.count && !st; k++)
            list_stat(w, runs[i].group, stats.all.at[k]);
        metric_stats_done(&stats);
    }
    return st;
}

/* ---- a line for the screen ------------------------------------------------------- */

/* Points come in order.  Each stretch keeps its smallest and its largest point, and the
 * line its first and last. */
struct line {
    struct metric_point *point; /* room for `room` */
    uint32_t room;
    uint32_t count;
    uint64_t expected; /* the approximate number of points */
    uint64_t seen;
    uint64_t stretch; /* the current one, from 0 */
    bool is_open;
    struct metric_point low;
    struct metric_point high;
    struct metric_point last;
};

static bool is_before(const struct metric_point *a, const struct metric_point *b)
{
    return a->steps != b->steps ? a->steps < b->steps : a->report_us < b->report_us;
}

static void line_put(struct line *line, const struct metric_point *point)
{
    const struct metric_point *before =
        line->count ? &line->point[line->count - 1] : NULL;

    if (before && before->steps == point->steps &&
        before->report_us == point->report_us)
        return;
    if (line->count < line->room)
        line->point[line->count++] = *point;
}

static void line_close(struct line *line)
{
    bool low_first = is_before(&line->low, &line->high);

    if (!line->is_open)
        return;
    line_put(line, low_first ? &line->low : &line->high);
    line_put(line, low_first ? &line->high : &line->low);
    line->is_open = false;
}

static void line_add(struct line *line, struct metric_point point)
{
    uint64_t stretches = line->room > 4 ? (line->room - 2) / 2 : 1;
    uint64_t at = line->seen++ * stretches / (line->expected ? line->expected : 1);

    line->last = point;
    if (line->seen == 1 || line->expected <= line->room) {
        line_put(line, &point);
        return;
    }
    if (line->is_open && at != line->stretch && at < stretches)
        line_close(line);
    if (!line->is_open) {
        line->is_open = true;
        line->stretch = at;
        line->low = line->high = point;
        return;
    }
    if (point.value < line->low.value || isnan(line->low.value))
        line->low = point;
    if (point.value > line->high.value || isnan(line->high.value))
        line->high = point;
}

/* The last point is kept even if the room is full. */
static void line_end(struct line *line)
{
    line_close(line);
    if (!line->seen || !line->room)
        return;
    if (line->count == line->room && line->room > 1)
        line->count--;
    line_put(line, &line->last);
}

static bool value_of(const struct metric_cells *row, const char *name,
                     struct arena *mem, double *ret_value)
{
    struct json *rest = NULL;

    for (uint32_t i = 0; i < row->count; i++) {
        if (!strcmp(row->name[i], name)) {
            *ret_value = row->value[i];
            return true;
        }
    }
    if (!row->rest || json_parse(row->rest, strlen(row->rest), mem, &rest, NULL))
        return false;
    return json_number(json_get(rest, name), ret_value);
}

static det_status line_of_rows(struct db *db, const struct metric_query *query,
                               const char *name, struct line *line, struct err *err)
{
    CLEANUP(metric_cursor_freep) struct metric_cursor *cursor = NULL;
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(64 << 20);
    struct metric_found found = {0};
    det_status st = metric_cursor_new(db, query, &cursor, err);

    if (!st)
        st = metric_cursor_next(cursor, &found, err);
    while (!st && found.row) {
        double value;

        arena_clear(&scratch);
        if (value_of(found.row, name, &scratch, &value))
            line_add(line, (struct metric_point){MAX(found.row->steps, 0),
                                                 found.row->report_us, value});
        st = metric_cursor_next(cursor, &found, err);
    }
    return st;
}

static int by_place(const void *a, const void *b)
{
    const struct metric_mark *x = a;
    const struct metric_mark *y = b;

    if (x->steps != y->steps)
        return x->steps < y->steps ? -1 : 1;
    return x->report_us == y->report_us ? 0 : x->report_us < y->report_us ? -1 : 1;
}

static void line_add_marks(struct line *line, const struct metric_stat *stat)
{
    struct metric_mark mark[MARKS];

    memcpy(mark, stat->mark, sizeof(mark));
    qsort(mark, MARKS, sizeof(mark[0]), by_place);
    for (int i = 0; i < MARKS; i++)
        line_add(line, (struct metric_point){MAX(mark[i].steps, 0), mark[i].report_us,
                                             mark[i].value});
}

/* Adds one head at a time, each as its own summary. */
static det_status line_of_heads(struct db *db, const struct metric_run *run,
                                const char *name, struct line *line, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(64 << 20);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_summary_sql[HEADS], err);
    det_status st = DET_OK;

    db_bind_i64(&q, run->key.trial_id);
    db_bind_i64(&q, run->key.group_id);
    db_bind_i64(&q, run->key.run_id);
    db_bind_i64(&q, run->cut);
    while (!st && db_next(&q)) {
        struct metric_stats stats = {.mem = &scratch};
        const struct metric_stat *stat;
        const void *head;
        size_t len;

        arena_clear(&scratch);
        q.column = 3;
        head = db_col_blob(&q, &len);
        st = metric_stats_add_head(&stats, run->key.run_id, head, len, err);
        stat = smap_get(&stats.by_name, name);
        if (!st && stat && stat->count && stat->mark[MARK_LAST].steps < run->cut)
            line_add_marks(line, stat);
        metric_stats_done(&stats);
    }
    return st ? st : q.status;
}

static det_status line_of_many(struct db *db, const struct metric_query *query,
                               const char *name, struct line *line, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    det_status st =
        metric_runs_load(db, query->trial_id, query->group, &mem, &runs, &count, err);

    for (uint32_t i = 0; i < count && !st; i++) {
        struct metric_stats tail = {.mem = &mem};
        const struct metric_stat *stat;

        st = line_of_heads(db, &runs[i], name, line, err);
        if (!st)
            st = add_tail(db, &runs[i], &tail, err);
        stat = st ? NULL : smap_get(&tail.by_name, name);
        if (stat && stat->count)
            line_add_marks(line, stat);
        metric_stats_done(&tail);
    }
    return st;
}

static det_status count_rows(struct db *db, const struct metric_query *query,
                             int64_t *ret_rows, int64_t *ret_blocks, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_summary_sql[ROWS_COUNT], err);

    db_bind_i64(&q, query->trial_id);
    db_bind_str(&q, query->group);
    if (db_next(&q)) {
        *ret_rows = db_col_i64(&q);
        *ret_blocks = db_col_i64(&q);
    }
    return q.status;
}

/* Counts the points, because rows may lack the name. */
static det_status count_points(struct db *db, const struct metric_query *query,
                               const char *name, uint64_t *ret_count, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct metric_stats stats = {.mem = &mem};
    const struct metric_stat *stat;
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    det_status st =
        metric_runs_load(db, query->trial_id, query->group, &mem, &runs, &count, err);

    for (uint32_t i = 0; i < count && !st; i++) {
        st = add_blocks(db, &runs[i], &stats, err);
        if (!st)
            st = add_tail(db, &runs[i], &stats, err);
    }
    stat = st ? NULL : smap_get(&stats.by_name, name);
    *ret_count = stat ? stat->count : 0;
    metric_stats_done(&stats);
    return st;
}

det_status store_metric_series(struct db *db, const struct metric_line *wanted,
                               struct arena *mem, struct metric_series *ret_series,
                               struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    struct metric_query query = {.trial_id = wanted->trial_id, .group = wanted->group};
    struct line line = {.room = wanted->points ? wanted->points : 1};
    int64_t rows = 0;
    int64_t blocks = 0;
    det_status st;

    line.point = arena_array(mem, struct metric_point, line.room);
    if (!line.point)
        return err_default(err, DET_NOMEM);
    st = read_view_begin(&view, db, err);
    if (!st)
        st = count_rows(db, &query, &rows, &blocks, err);
    if (!st && blocks * MARKS >= (int64_t)line.room * 2) {
        line.expected = (uint64_t)blocks * MARKS;
        st = line_of_many(db, &query, wanted->name, &line, err);
    } else if (!st) {
        st = count_points(db, &query, wanted->name, &line.expected, err);
        if (!st)
            st = line_of_rows(db, &query, wanted->name, &line, err);
    }
    if (st)
        return st;
    line_end(&line);
    *ret_series = (struct metric_series){line.point, line.count};
    return DET_OK;
}
