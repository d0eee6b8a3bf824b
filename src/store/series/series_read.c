/* SPDX-License-Identifier: Apache-2.0 */
/* series_read.c - see series_read.h.
 *
 * Values come from sums if these are fine enough for the screen, else from the rows of
 * blocks, and always from the rows of the tail.  For each run it takes the largest pages
 * whose nodes are at most half a pixel wide, and goes to the level below only where a
 * bound of the drawing or a cut divides a page. */
#include "store/series/series_read.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/metric/metric.h"
#include "store/metric/metric_block.h"
#include "store/metric/metric_rows.h"
#include "store/series/level.h"
#include "store/series/level_page.h"
#include "store/series/series.h"
#include "store/series/series_pen.h"
#include "store/sql_tables.h"

enum { READ_BYTES = 256 << 20, TAIL_PAGE = 1024 };

enum { BLOCK_DATA, TAIL, TOP };

static const struct sql series_read_sql[] = {
    SQL(BLOCK_DATA, "SELECT data FROM metric_blocks WHERE id = $1"),
    SQL(TAIL, "SELECT COUNT(*), MIN(CASE WHEN steps < $4 THEN report_us END),"
              "  MAX(CASE WHEN steps < $4 THEN report_us END),"
              "  MIN(CASE WHEN steps >= 0 AND steps < $4 THEN steps END),"
              "  MAX(CASE WHEN steps >= 0 AND steps < $4 THEN steps END)"
              " FROM metric_tail WHERE " METRIC_OF_KEY),
    SQL(TOP, "SELECT MAX(level) FROM metric_levels WHERE " METRIC_OF_KEY),
};
const struct sql_table series_read_sql_table = SQL_TABLE(series_read_sql);

/* Converts a bound to a whole number. */
static int64_t whole_number(double x)
{
    if (x >= 9e18)
        return INT64_MAX;
    return x <= -9e18 ? INT64_MIN : (int64_t)x;
}

/* ---- rows ------------------------------------------------------------------------ */

struct reading {
    const struct series_ask *ask;
    const struct series_run *run;
};

/* False: the report has no place on the axis, or is outside the bounds. */
static bool place_of(const struct reading *r, int64_t steps, int64_t report_us,
                     double *ret_x)
{
    const struct series_ask *ask = r->ask;

    if (ask->axis == SERIES_STEPS && steps < 0)
        return false;
    *ret_x = ask->axis == SERIES_STEPS ? (double)steps : (double)report_us / 1e6;
    return *ret_x >= ask->from && *ret_x <= ask->to;
}

/* NULL: archived, and not requested. */
static struct series_pen *pen_of(const struct reading *r, int64_t steps, uint32_t name)
{
    if (steps < r->run->run->cut)
        return r->run->main[name];
    return r->run->archived ? r->run->archived[name] : NULL;
}

static det_status read_columns(const struct reading *r,
                               const struct metric_columns *columns, struct err *err)
{
    for (uint32_t k = 0; k < r->run->lot->count; k++) {
        const unsigned char *has = columns->has[k];

        for (uint32_t i = 0; has && i < columns->rows; i++) {
            struct series_pen *pen;
            double x;

            if (!has[i] || !place_of(r, columns->steps[i], columns->report_us[i], &x))
                continue;
            pen = pen_of(r, columns->steps[i], k);
            if (pen && !series_pen_add(pen, x, columns->value[k][i]))
                return err_default(err, DET_NOMEM);
        }
    }
    return DET_OK;
}

static det_status read_block(struct db *db, const struct reading *r, int64_t id,
                             struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(READ_BYTES);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_read_sql[BLOCK_DATA], err);
    const struct series_lot *lot = r->run->lot;
    struct metric_columns columns = {0};
    const void *data;
    size_t len;
    det_status st;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_CORRUPT, "a block of metrics vanished");
    data = db_col_blob(&q, &len);
    st =
        metric_block_columns(data, len, lot->name, lot->count, &scratch, &columns, err);
    return st ? st : read_columns(r, &columns, err);
}

/* ---- sums ------------------------------------------------------------------------ */

/* Where a page is, relative to the bounds and the cut. */
enum lies { OUTSIDE, PARTLY, INSIDE };

static struct series_span span_of(const struct reading *r, int64_t first_steps,
                                  int64_t last_steps, int64_t min_us, int64_t max_us)
{
    if (r->ask->axis == SERIES_TIME)
        return (struct series_span){(double)min_us / 1e6, (double)max_us / 1e6, true};
    return (struct series_span){(double)first_steps, (double)last_steps,
                                last_steps >= 0};
}

static enum lies page_lies(const struct reading *r, const struct level_page *page)
{
    const struct series_ask *ask = r->ask;
    int64_t cut = r->run->run->cut;
    struct series_span span =
        span_of(r, page->first.steps, page->last.steps, page->min_us, page->max_us);

    if (!span.has || span.from > ask->to || span.to < ask->from ||
        (page->first.steps >= cut && !r->run->archived))
        return OUTSIDE;
    if (span.from < ask->from || span.to > ask->to ||
        (page->first.steps < cut && page->last.steps >= cut) ||
        (ask->axis == SERIES_STEPS && page->first.steps < 0))
        return PARTLY;
    return INSIDE;
}

/* A quick test: false means that its nodes are too wide. */
static bool may_fit(const struct reading *r, const struct level_page *page)
{
    static const int64_t node_rows[LEVELS] = {32, 128, 1024, 8192};
    const struct series_grid *grid = &r->run->lot->grid;
    struct series_span span =
        span_of(r, page->first.steps, page->last.steps, page->min_us, page->max_us);
    double node = (span.to - span.from) * (double)node_rows[page->level] /
                  (double)MAX(page->count, INT64_C(1));

    return node * grid->pixels <= grid->to - grid->from;
}

/* Computes the places of the nodes; *ret_places is NULL if some are too wide. */
static det_status place_nodes(const struct reading *r, const struct level *level,
                              struct arena *mem, struct series_place **ret_places,
                              struct err *err)
{
    struct series_place *place = arena_array(mem, struct series_place, level->nodes);

    *ret_places = NULL;
    if (!place)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < level->nodes; i++) {
        const struct level_node *node = &level->node[i];
        struct series_span span =
            span_of(r, node->first_steps, node->last_steps, node->min_us, node->max_us);

        if (!series_place_of(&r->run->lot->grid, span.from, span.to, &place[i]))
            return DET_OK;
    }
    *ret_places = place;
    return DET_OK;
}

static void mark_end(const struct reading *r, struct series_pen *pen,
                     const struct level_end *end)
{
    double x;

    if (place_of(r, end->steps, end->report_us, &x))
        series_pen_mark(pen, x, end->value);
}

/* The whole page is on one side of the cut, so each of its columns has one pen. */
static det_status add_sums(const struct reading *r, const struct level *level,
                           const struct series_place *place, struct err *err)
{
    int first = r->ask->axis == SERIES_TIME ? LEVEL_EARLIEST : LEVEL_FIRST;

    for (uint32_t k = 0; k < level->columns; k++) {
        const struct level_column *column = &level->column[k];
        struct series_pen *pen = pen_of(r, level->node[0].first_steps, k);

        if (!column->sum || !pen)
            continue;
        mark_end(r, pen, &column->end[first]);
        mark_end(r, pen, &column->end[first + 1]);
        if (!series_pen_add_sums(pen, place, column->sum, level->nodes))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

static bool is_empty(const struct level *level)
{
    for (uint32_t k = 0; k < level->columns; k++) {
        if (level->column[k].sum)
            return false;
    }
    return true;
}

/* *ret_did: the page was drawn completely. */
static det_status read_sums(struct db *db, const struct reading *r,
                            const struct level_page *page, enum lies lies,
                            bool *ret_did, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(READ_BYTES);
    const struct series_lot *lot = r->run->lot;
    bool takes_sums = lies == INSIDE && !lot->is_sparse &&
                      r->run->rows > lot->grid.room && may_fit(r, page);
    struct series_place *place = NULL;
    struct level level = {0};
    det_status st;

    *ret_did = false;
    if (!page->id || (!takes_sums && !lot->is_sparse))
        return DET_OK;
    st = level_page_load(db, page, lot->name, lot->count, &scratch, &level, err);
    if (st)
        return st;
    *ret_did = is_empty(&level);
    if (*ret_did || !takes_sums)
        return DET_OK;
    st = place_nodes(r, &level, &scratch, &place, err);
    if (st || !place)
        return st;
    *ret_did = true;
    return add_sums(r, &level, place, err);
}

/* Draws a page from its sums if they are fine enough, else from the pages below it, in
 * the end from rows. */
static det_status read_page(struct db *db, const struct reading *r,
                            const struct level_page *page, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(READ_BYTES);
    struct level_range range = {page->first, page->last};
    enum lies lies = page_lies(r, page);
    struct level_pages below = {0};
    bool did = false;
    det_status st;

    if (lies == OUTSIDE)
        return DET_OK;
    st = read_sums(db, r, page, lies, &did, err);
    if (st || did)
        return st;
    if (!page->level)
        return read_block(db, r, page->block, err);
    range.to.nth++;
    st = level_pages_load(db, &r->run->run->key, page->level - 1, range, &scratch,
                          &below, err);
    for (uint32_t i = 0; i < below.count && !st; i++)
        st = read_page(db, r, &below.at[i], err);
    return st;
}

/* ---- the tail -------------------------------------------------------------------- */

/* The positions of the lot's names in rows of one shape. */
struct finder {
    const char *const *name; /* of the shape that `at` is for */
    uint32_t count;
    uint32_t *at; /* per name of the lot: its position plus 1; 0: missing */
};

static void find_names(struct finder *finder, const struct series_lot *lot,
                       const struct metric_cells *row)
{
    uint32_t k = 0;

    if (finder->name == row->name && finder->count == row->count)
        return;
    finder->name = row->name;
    finder->count = row->count;
    for (uint32_t i = 0; i < lot->count; i++) {
        while (k < row->count && strcmp(row->name[k], lot->name[i]) < 0)
            k++;
        finder->at[i] =
            k < row->count && !strcmp(row->name[k], lot->name[i]) ? k + 1 : 0;
    }
}

static bool draw_cell(const struct reading *r, const struct metric_cells *row,
                      uint32_t name, double x, double value)
{
    struct series_pen *pen = pen_of(r, row->steps, name);

    return !pen || series_pen_add(pen, x, value);
}

/* Finds numbers in the JSON part of a row. */
static det_status read_rest(const struct reading *r, const struct metric_cells *row,
                            double x, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(64 << 20);
    const struct series_lot *lot = r->run->lot;
    struct json *rest = NULL;
    det_status st = json_parse(row->rest, strlen(row->rest), &scratch, &rest, err);

    for (uint32_t i = 0; i < lot->count && !st; i++) {
        double value;

        if (json_number(json_get(rest, lot->name[i]), &value) &&
            !draw_cell(r, row, i, x, value))
            return err_default(err, DET_NOMEM);
    }
    return st;
}

static det_status read_row(const struct reading *r, struct finder *finder,
                           const struct metric_cells *row, struct err *err)
{
    const struct series_lot *lot = r->run->lot;
    double x;

    if (!place_of(r, row->steps, row->report_us, &x))
        return DET_OK;
    find_names(finder, lot, row);
    for (uint32_t i = 0; i < lot->count; i++) {
        if (finder->at[i] && !draw_cell(r, row, i, x, row->value[finder->at[i] - 1]))
            return err_default(err, DET_NOMEM);
    }
    return row->rest ? read_rest(r, row, x, err) : DET_OK;
}

static det_status read_tail(struct db *db, const struct reading *r, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(READ_BYTES);
    const struct metric_key *key = &r->run->run->key;
    struct metric_place after = {-2, 0};
    struct metric_rows rows = {.count = TAIL_PAGE};
    det_status st = DET_OK;

    if (r->ask->axis == SERIES_STEPS)
        after =
            (struct metric_place){MAX(whole_number(r->ask->from), 0) - 1, INT64_MAX};
    while (!st && rows.count == TAIL_PAGE) {
        struct finder finder = {0};

        arena_clear(&scratch);
        finder.at = arena_array(&scratch, uint32_t, r->run->lot->count);
        st = finder.at
                 ? metric_tail_load(db, key, after, TAIL_PAGE, &scratch, &rows, err)
                 : err_default(err, DET_NOMEM);
        for (uint32_t i = 0; !st && i < rows.count; i++) {
            after = metric_place_of(&rows.row[i]);
            st = read_row(r, &finder, &rows.row[i], err);
        }
    }
    return st;
}

det_status series_read_run(struct db *db, const struct series_ask *ask,
                           const struct series_run *run, struct err *err)
{
    struct reading r = {ask, run};
    det_status st = DET_OK;

    for (uint32_t i = 0; i < run->pages.count && !st; i++)
        st = read_page(db, &r, &run->pages.at[i], err);
    if (!st && run->tail_rows)
        st = read_tail(db, &r, err);
    return st;
}

/* ---- where a run begins and ends ------------------------------------------------- */

static void widen_span(struct series_span *span, double from, double to)
{
    span->from = span->has ? fmin(span->from, from) : from;
    span->to = span->has ? fmax(span->to, to) : to;
    span->has = true;
}

/* The rows of a run: those below the cut, or all. */
struct extent {
    const struct metric_run *run;
    int64_t below;
    struct series_span steps;
    struct series_span time;
    int64_t rows;
};

static void add_page(struct extent *extent, const struct level_page *page)
{
    extent->rows += page->count;
    if (page->first.steps >= extent->below)
        return;
    widen_span(&extent->time, (double)page->min_us / 1e6, (double)page->max_us / 1e6);
    if (page->last.steps >= 0)
        widen_span(&extent->steps, (double)MAX(page->first.steps, INT64_C(0)),
                   (double)MIN(page->last.steps, extent->below - 1));
}

static det_status add_tail(struct db *db, struct series_run *run, struct extent *extent,
                           struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_read_sql[TAIL], err);

    metric_key_bind(&q, &extent->run->key);
    db_bind_i64(&q, extent->below);
    if (!db_next(&q))
        return q.status;
    run->tail_rows = db_col_i64(&q);
    extent->rows += run->tail_rows;
    if (!db_col_is_null(&q)) {
        double from = (double)db_col_i64(&q) / 1e6;

        widen_span(&extent->time, from, (double)db_col_i64(&q) / 1e6);
    } else {
        q.column += 2;
    }
    if (!db_col_is_null(&q)) {
        double from = (double)db_col_i64(&q);

        widen_span(&extent->steps, from, (double)db_col_i64(&q));
    }
    return q.status;
}

/* Finds the highest level that can have a page. */
static det_status top_of(struct db *db, const struct metric_key *key, int *ret_top,
                         struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &series_read_sql[TOP], err);

    metric_key_bind(&q, key);
    *ret_top = db_next(&q) && !db_col_is_null(&q) ? (int)db_col_i64(&q) : 0;
    *ret_top = MAX(MIN(*ret_top, LEVELS - 1), 0);
    return q.status;
}

det_status series_look_at_run(struct db *db, const struct series_ask *ask,
                              struct arena *mem, struct series_run *run,
                              struct series_span *ret_span, struct series_end *end,
                              struct err *err)
{
    struct extent extent = {.run = run->run,
                            .below = ask->with_archived ? METRIC_UNCUT : run->run->cut};
    int top = 0;
    det_status st = top_of(db, &run->run->key, &top, err);

    if (!st)
        st = level_pages_load(db, &run->run->key, top, LEVEL_EVERYTHING, mem,
                              &run->pages, err);
    for (uint32_t i = 0; i < run->pages.count && !st; i++)
        add_page(&extent, &run->pages.at[i]);
    if (!st)
        st = add_tail(db, run, &extent, err);
    if (st)
        return st;
    run->rows = extent.rows;
    end->run_id = MAX(end->run_id, run->run->key.run_id);
    end->reports += (uint64_t)extent.rows;
    if (extent.steps.has)
        end->last_steps = MAX(end->last_steps, (int64_t)extent.steps.to);
    if (extent.time.has)
        end->last_us = MAX(end->last_us, (int64_t)(extent.time.to * 1e6));
    *ret_span = ask->axis == SERIES_STEPS ? extent.steps : extent.time;
    return DET_OK;
}
