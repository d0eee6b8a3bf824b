/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h.
 *
 * Everything is read in one snapshot: between two snapshots a row could move from the
 * tail into a block and be missed.  A first pass finds where runs begin and end, which
 * gives the pixels.  Then each run is read once for all metrics of its group. */
#include "store/series/series.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/read_view.h"
#include "store/metric/metric.h"
#include "store/metric/metric_rows.h"
#include "store/series/series_pen.h"
#include "store/series/series_read.h"

enum { PIXELS_LEAST = 4 };

struct drawing {
    struct db *db;
    const struct series_ask *ask;
    struct arena *mem;
    struct series_lot *lot;
    uint32_t lots;
    VEC(struct series_run) runs;
    VEC(struct series_pen *) pens; /* all of them */
};

/* ---- metrics by group ------------------------------------------------------------ */

struct item {
    const struct series_metric *metric;
    uint32_t chart;
};

static int by_metric(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int order = strcmp(x->metric->group, y->metric->group);

    return order ? order : strcmp(x->metric->name, y->metric->name);
}

static bool lot_add(struct drawing *d, struct series_lot *lot, const struct item *item,
                    uint32_t room)
{
    if (!lot->group) {
        lot->group = item->metric->group;
        lot->name = arena_array(d->mem, const char *, room);
        lot->chart = arena_array(d->mem, uint32_t, room);
        lot->pens = arena_array_of(d->mem, room, sizeof(*lot->pens));
        if (!lot->name || !lot->chart || !lot->pens)
            return false;
    }
    lot->name[lot->count] = item->metric->name;
    lot->chart[lot->count++] = item->chart;
    return true;
}

static det_status make_lots(struct drawing *d, struct err *err)
{
    const struct series_ask *ask = d->ask;
    struct item *item = arena_array(d->mem, struct item, ask->metrics + 1);
    uint32_t begin = 0;

    d->lot = arena_array(d->mem, struct series_lot, ask->metrics + 1);
    if (!item || !d->lot)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < ask->metrics; i++)
        item[i] = (struct item){&ask->metric[i], i};
    qsort(item, ask->metrics, sizeof(*item), by_metric);
    for (uint32_t i = 0; i < ask->metrics; i++) {
        if (i > begin && strcmp(item[i].metric->group, item[begin].metric->group) != 0)
            begin = i;
        if (i == begin)
            d->lots++;
        if (!lot_add(d, &d->lot[d->lots - 1], &item[i], ask->metrics - begin))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

static struct series_lot *lot_of(struct drawing *d, const char *group)
{
    for (uint32_t i = 0; i < d->lots; i++) {
        if (!strcmp(d->lot[i].group, group))
            return &d->lot[i];
    }
    return NULL;
}

/* ---- lines ----------------------------------------------------------------------- */

/* One pen per name of the lot. */
static struct series_pen **new_pens(struct drawing *d, struct series_lot *lot,
                                    const struct metric_key *key, bool is_archived)
{
    struct series_pen **pens = arena_array(d->mem, struct series_pen *, lot->count);

    for (uint32_t i = 0; pens && i < lot->count; i++) {
        struct series_pen *pen = arena_new(d->mem, struct series_pen);

        if (!pen || !vec_push(&d->pens, pen) || !vec_push(&lot->pens[i], pen))
            return NULL;
        pen->grid = &lot->grid;
        pen->line.trial_id = key->trial_id;
        pen->line.run_id = metric_run_number(key->run_id);
        pen->line.is_archived = is_archived;
        pens[i] = pen;
    }
    lot->lines++;
    return pens;
}

static void widen_lot(struct series_lot *lot, const struct series_span *span)
{
    if (!span->has)
        return;
    lot->grid.from = lot->has_span ? fmin(lot->grid.from, span->from) : span->from;
    lot->grid.to = lot->has_span ? fmax(lot->grid.to, span->to) : span->to;
    lot->has_span = true;
}

/* Uses the pens of this trial's earlier runs in the lot, or new ones. */
static bool give_pens(struct drawing *d, struct series_run *run, size_t first)
{
    const struct metric_key *key = &run->run->key;

    for (size_t i = first; i < d->runs.count && !run->main; i++) {
        if (d->runs.at[i].lot == run->lot)
            run->main = d->runs.at[i].main;
    }
    if (!run->main)
        run->main = new_pens(d, run->lot, key, false);
    for (uint32_t i = 0; run->main && i < run->lot->count; i++)
        run->main[i]->line.run_id = metric_run_number(key->run_id);
    if (run->main && d->ask->with_archived && run->run->cut < METRIC_UNCUT) {
        run->archived = new_pens(d, run->lot, key, true);
        if (!run->archived)
            return false;
    }
    return run->main != NULL;
}

static det_status add_trial(struct drawing *d, int64_t trial_id, struct series_end *end,
                            struct err *err)
{
    struct metric_run *runs = NULL;
    uint32_t count = 0;
    size_t first = d->runs.count;
    det_status st = metric_runs_load(d->db, trial_id, NULL, d->mem, &runs, &count, err);

    *end = (struct series_end){.trial_id = trial_id, .last_steps = -1};
    for (uint32_t i = 0; i < count && !st; i++) {
        struct series_run run = {.run = &runs[i], .lot = lot_of(d, runs[i].group)};
        struct series_span span = {0};

        if (!run.lot)
            continue;
        st = series_look_at_run(d->db, d->ask, d->mem, &run, &span, end, err);
        if (st)
            break;
        widen_lot(run.lot, &span);
        if (!give_pens(d, &run, first) || !vec_push(&d->runs, run))
            st = err_default(err, DET_NOMEM);
    }
    return st;
}

/* ---- metrics that few reports have ----------------------------------------------- */

/* Sums were drawn although there was room for all values. */
static bool is_sparse(const struct series_lot *lot, uint32_t name)
{
    bool has_pixels = false;

    for (size_t i = 0; i < lot->pens[name].count; i++) {
        const struct series_pen *pen = lot->pens[name].at[i];

        if (pen->line.reports > lot->grid.room)
            return false;
        has_pixels |= pen->pixel != NULL;
    }
    return has_pixels;
}

/* The pens of some of the names. */
static struct series_pen **some_pens(struct drawing *d, struct series_pen **pens,
                                     const uint32_t *name, uint32_t count)
{
    struct series_pen **some = arena_array(d->mem, struct series_pen *, count + 1);

    for (uint32_t i = 0; some && i < count; i++)
        some[i] = pens[name[i]];
    return some;
}

/* Reads sparse metrics again from rows only; skips blocks without them. */
static det_status read_sparse(struct drawing *d, struct series_lot *lot,
                              struct err *err)
{
    struct series_lot sub = *lot;
    uint32_t *name = arena_array(d->mem, uint32_t, lot->count);
    det_status st = DET_OK;

    sub.is_sparse = true;
    sub.count = 0;
    sub.name = arena_array(d->mem, const char *, lot->count);
    if (!name || !sub.name)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < lot->count; i++) {
        if (!is_sparse(lot, i))
            continue;
        name[sub.count] = i;
        sub.name[sub.count++] = lot->name[i];
        for (size_t k = 0; k < lot->pens[i].count; k++)
            series_pen_clear(lot->pens[i].at[k]);
    }
    for (size_t i = 0; sub.count && i < d->runs.count && !st; i++) {
        struct series_run run = d->runs.at[i];

        if (run.lot != lot)
            continue;
        run.lot = &sub;
        run.main = some_pens(d, run.main, name, sub.count);
        if (run.archived)
            run.archived = some_pens(d, run.archived, name, sub.count);
        if (!run.main || (d->runs.at[i].archived && !run.archived))
            return err_default(err, DET_NOMEM);
        st = series_read_run(d->db, d->ask, &run, err);
    }
    return st;
}

/* ---- charts ---------------------------------------------------------------------- */

static void set_grids(struct drawing *d)
{
    uint32_t most = MIN((uint32_t)SERIES_NUMBERS,
                        (uint32_t)SERIES_NUMBERS_ALL / MAX(d->ask->metrics, 1u));

    for (uint32_t i = 0; i < d->lots; i++) {
        struct series_grid *grid = &d->lot[i].grid;
        uint32_t pixels = most / 2 / (d->lot[i].lines + 1);

        grid->pixels = MAX(MIN(d->ask->points, pixels), (uint32_t)PIXELS_LEAST);
        grid->room = grid->pixels * 2;
        grid->from = fmax(grid->from, d->ask->from);
        grid->to = fmin(grid->to, d->ask->to);
        series_grid_init(grid);
    }
}

static det_status draw_all(struct drawing *d, struct series *series, struct err *err)
{
    const struct series_ask *ask = d->ask;
    det_status st = DET_OK;

    series->chart_count = ask->metrics;
    series->chart = arena_array(d->mem, struct series_chart, ask->metrics + 1);
    if (!series->chart)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < d->lots; i++) {
        struct series_lot *lot = &d->lot[i];

        for (uint32_t k = 0; k < lot->count && !st; k++) {
            struct series_chart *chart = &series->chart[lot->chart[k]];

            chart->metric = ask->metric[lot->chart[k]];
            st = series_draw(lot->pens[k].at, (uint32_t)lot->pens[k].count, d->mem,
                             chart, err);
        }
    }
    return st;
}

static void drawing_done(struct drawing *d)
{
    for (size_t i = 0; i < d->pens.count; i++)
        series_pen_done(d->pens.at[i]);
    for (uint32_t i = 0; i < d->lots; i++) {
        for (uint32_t k = 0; k < d->lot[i].count; k++)
            vec_done(&d->lot[i].pens[k]);
    }
    vec_done(&d->pens);
    vec_done(&d->runs);
}

static det_status draw_series(struct drawing *d, struct series *series, struct err *err)
{
    const struct series_ask *ask = d->ask;
    det_status st = make_lots(d, err);

    series->end_count = ask->trials;
    series->end = arena_array(d->mem, struct series_end, ask->trials + 1);
    if (!st && !series->end)
        st = err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < ask->trials && !st; i++)
        st = add_trial(d, ask->trial[i], &series->end[i], err);
    if (st)
        return st;
    set_grids(d);
    for (size_t i = 0; i < d->runs.count && !st; i++)
        st = series_read_run(d->db, ask, &d->runs.at[i], err);
    for (uint32_t i = 0; i < d->lots && !st; i++)
        st = read_sparse(d, &d->lot[i], err);
    return st ? st : draw_all(d, series, err);
}

det_status store_series(struct db *db, const struct series_ask *ask, struct arena *mem,
                        struct series *ret_series, struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    struct drawing d = {.db = db, .ask = ask, .mem = mem};
    struct series series = {0};
    det_status st = read_view_begin(&view, db, err);

    assert(ask->points);
    if (st)
        return st;
    st = draw_series(&d, &series, err);
    drawing_done(&d);
    if (!st)
        *ret_series = series;
    return st;
}
