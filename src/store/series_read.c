/* SPDX-License-Identifier: Apache-2.0 */
/* series_read.c - the values of one run, from its blocks and its tail to its pens. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "data/json.h"
#include "store/db.h"
#include "store/series_impl.h"
#include "store/store_impl.h"

enum { READ_BYTES = 256 << 20, TAIL_PAGE = 1024 };

enum { RUN_SPAN, RUN_ROWS, RUN_BLOCKS, TAIL_TIME };

#define OF_KEY "trial_id = $1 AND group_id = $2 AND run_id = $3"

static const struct sql series_sql[] = {
    SQL(RUN_SPAN,
        "SELECT (SELECT first_steps FROM metric_blocks WHERE " OF_KEY
        "  ORDER BY first_steps, first_nth LIMIT 1),"
        " (SELECT steps FROM metric_tail WHERE " OF_KEY
        "  AND steps >= 0 ORDER BY steps LIMIT 1),"
        " (SELECT last_steps FROM metric_blocks WHERE " OF_KEY
        "  AND first_steps < $4 ORDER BY first_steps DESC, first_nth DESC LIMIT 1),"
        " (SELECT MAX(steps) FROM metric_tail WHERE " OF_KEY " AND steps < $4)"),
    SQL(RUN_ROWS, "SELECT (SELECT COALESCE(SUM(count), 0) FROM metric_blocks"
                  "  WHERE " OF_KEY "), (SELECT COUNT(*) FROM metric_tail"
                  "  WHERE " OF_KEY ")"),
    SQL(RUN_BLOCKS, "SELECT data FROM metric_blocks WHERE " OF_KEY
                    "  AND first_steps >= $4 AND first_steps <= $5"
                    " ORDER BY first_steps, first_nth"),
    SQL(TAIL_TIME, "SELECT MIN(report_us), MAX(report_us) FROM metric_tail"
                   " WHERE " OF_KEY),
};
const struct sql_table series_sql_table = SQL_TABLE(series_sql);

static void bind_key(struct db_query *q, const struct metric_key *key)
{
    db_bind_i64(q, key->trial_id);
    db_bind_i64(q, key->group_id);
    db_bind_i64(q, key->run_id);
}

/* Whole numbers that bound what a double bounds. */
static int64_t whole(double x)
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

/* False: this report has no place on the axis, or not between the bounds. */
static bool place_of(const struct reading *r, int64_t steps, int64_t report_us,
                     double *ret_x)
{
    const struct series_ask *ask = r->ask;

    if (ask->axis == SERIES_STEPS && steps < 0)
        return false;
    *ret_x = ask->axis == SERIES_STEPS ? (double)steps : (double)report_us / 1e6;
    return *ret_x >= ask->from && *ret_x <= ask->to;
}

/* NULL: what was taken back is not wanted. */
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

static det_status read_blocks(struct db *db, const struct reading *r, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(READ_BYTES);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_sql[RUN_BLOCKS], err);
    const struct series_lot *lot = r->run->lot;
    struct metric_block first = {0};
    int64_t from = INT64_MIN, to = INT64_MAX;
    det_status st = DET_OK;

    if (r->ask->axis == SERIES_STEPS) {
        from = whole(r->ask->from);
        to = whole(r->ask->to);
        st = metric_block_upto(db, &r->run->run->key, (struct metric_place){from, 0},
                               NULL, &first, err);
    }
    bind_key(&q, &r->run->run->key);
    db_bind_i64(&q, first.id ? first.first.steps : from);
    db_bind_i64(&q, to);
    while (!st && db_next(&q)) {
        struct metric_columns columns = {0};
        size_t len;
        const void *data = db_col_blob(&q, &len);

        arena_clear(&scratch);
        st = metric_block_columns(data, len, lot->name, lot->count, &scratch, &columns,
                                  err);
        if (!st)
            st = read_columns(r, &columns, err);
    }
    return st ? st : q.status;
}

/* ---- the tail -------------------------------------------------------------------- */

/* Where the lot's names are in rows of one shape. */
struct finder {
    const char *const *name; /* of the shape that was looked at */
    uint32_t count;
    uint32_t *at; /* of each of the lot's names, plus 1; 0: not there */
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

/* Numbers among what is no plain number. */
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
        after = (struct metric_place){MAX(whole(r->ask->from), 0) - 1, INT64_MAX};
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
    det_status st = read_blocks(db, &r, err);

    return st ? st : read_tail(db, &r, err);
}

/* ---- where a run begins and ends ------------------------------------------------- */

static void add_place(struct db_query *q, struct series_span *span)
{
    double x;

    if (db_col_is_null(q)) {
        q->column++;
        return;
    }
    x = (double)MAX(db_col_i64(q), INT64_C(0));
    span->from = span->has ? fmin(span->from, x) : x;
    span->to = span->has ? fmax(span->to, x) : x;
    span->has = true;
}

static det_status span_of_steps(struct db *db, const struct metric_run *run,
                                int64_t below, struct series_span *ret_span,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_sql[RUN_SPAN], err);

    bind_key(&q, &run->key);
    db_bind_i64(&q, below);
    if (db_next(&q)) {
        for (int i = 0; i < 4; i++)
            add_place(&q, ret_span);
    }
    if (ret_span->has)
        ret_span->to = fmin(ret_span->to, (double)below - 1);
    return q.status;
}

static void add_time(struct series_span *span, int64_t us)
{
    double x = (double)us / 1e6;

    span->from = span->has ? fmin(span->from, x) : x;
    span->to = span->has ? fmax(span->to, x) : x;
    span->has = true;
}

static det_status times_of_blocks(struct db *db, const struct metric_key *key,
                                  struct series_span *span, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(READ_BYTES);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_sql[RUN_BLOCKS], err);
    det_status st = DET_OK;

    bind_key(&q, key);
    db_bind_i64(&q, INT64_MIN);
    db_bind_i64(&q, INT64_MAX);
    while (!st && db_next(&q)) {
        struct metric_columns columns = {0};
        size_t len;
        const void *data = db_col_blob(&q, &len);

        arena_clear(&scratch);
        st = metric_block_columns(data, len, NULL, 0, &scratch, &columns, err);
        for (uint32_t i = 0; !st && i < columns.rows; i++)
            add_time(span, columns.report_us[i]);
    }
    return st ? st : q.status;
}

static det_status span_of_time(struct db *db, const struct metric_key *key,
                               struct series_span *ret_span, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_sql[TAIL_TIME], err);

    bind_key(&q, key);
    if (db_next(&q) && !db_col_is_null(&q)) {
        add_time(ret_span, db_col_i64(&q));
        add_time(ret_span, db_col_i64(&q));
    }
    return q.status ? q.status : times_of_blocks(db, key, ret_span, err);
}

static det_status count_rows(struct db *db, const struct metric_key *key,
                             uint64_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &series_sql[RUN_ROWS], err);

    bind_key(&q, key);
    if (db_next(&q))
        *ret_count = (uint64_t)db_col_i64(&q) + (uint64_t)db_col_i64(&q);
    return q.status;
}

det_status series_read_span(struct db *db, const struct series_ask *ask,
                            const struct metric_run *run, struct series_span *ret_span,
                            struct series_end *end, struct err *err)
{
    int64_t below = ask->with_archived ? METRIC_UNCUT : run->cut;
    struct series_span steps = {0};
    struct series_span time = {0};
    uint64_t rows = 0;
    det_status st = span_of_steps(db, run, below, &steps, err);

    if (!st)
        st = span_of_time(db, &run->key, &time, err);
    if (!st)
        st = count_rows(db, &run->key, &rows, err);
    if (st)
        return st;
    end->run_id = MAX(end->run_id, run->key.run_id);
    end->reports += rows;
    if (steps.has)
        end->last_steps = MAX(end->last_steps, (int64_t)steps.to);
    if (time.has)
        end->last_us = MAX(end->last_us, (int64_t)(time.to * 1e6));
    *ret_span = ask->axis == SERIES_STEPS ? steps : time;
    return DET_OK;
}
