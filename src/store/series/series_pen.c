/* SPDX-License-Identifier: Apache-2.0 */
/* series_pen.c - see series_pen.h.
 *
 * Exact charts.  The x of all lines are merged into one list, line by line.  If the
 * list outgrows the room, the chart is not exact, and every line is divided into
 * pixels.  If a line has the same x twice (two reports at one time), so has the list.
 *
 * First and last.  They are the values with the smallest and the largest x, in whatever
 * order values come.  A sum does not have them, so the caller of series_pen_add_sums()
 * also marks the first and the last value. */
#include "store/series/series_pen.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "store/series/series.h"

/* ---- pixels ---------------------------------------------------------------------- */

void series_grid_init(struct series_grid *grid)
{
    assert(grid->pixels);
    grid->width = (grid->to - grid->from) / grid->pixels;
    if (!(grid->width > 0))
        grid->width = 1;
}

static uint32_t pixel_of(const struct series_grid *grid, double x)
{
    double at = (x - grid->from) / grid->width;

    if (!(at > 0))
        return 0;
    return at >= grid->pixels ? grid->pixels - 1 : (uint32_t)at;
}

static float offset_of(const struct series_grid *grid, uint32_t pixel, double x)
{
    return (float)((x - grid->from) / grid->width - pixel + 2);
}

bool series_place_of(const struct series_grid *grid, double from, double to,
                     struct series_place *ret_place)
{
    double middle = from + (to - from) / 2;
    uint32_t pixel = pixel_of(grid, middle);

    *ret_place = (struct series_place){middle, pixel, offset_of(grid, pixel, from),
                                       offset_of(grid, pixel, to)};
    return (to - from) * 2 <= grid->width || pixel_of(grid, from) == pixel_of(grid, to);
}

static uint8_t odd_kind(double y)
{
    if (isnan(y))
        return ODD_NAN;
    return y > 0 ? ODD_UP : ODD_DOWN;
}

static double odd_value(uint8_t odd)
{
    if (odd & ODD_NAN)
        return (double)NAN;
    return odd & ODD_UP ? (double)INFINITY : -(double)INFINITY;
}

/* Of equal extremes the first one counts. */
static void take_low(struct series_pixel *pixel, float x, double y)
{
    if (y < pixel->low || (!(y > pixel->low) && x < pixel->low_at)) {
        pixel->low = y;
        pixel->low_at = x;
    }
}

static void take_high(struct series_pixel *pixel, float x, double y)
{
    if (y > pixel->high || (!(y < pixel->high) && x < pixel->high_at)) {
        pixel->high = y;
        pixel->high_at = x;
    }
}

static bool note_odd(struct series_pen *pen, uint32_t pixel, uint8_t odd)
{
    if (!pen->odd_in)
        pen->odd_in = mem_array(pen->grid->pixels, sizeof(*pen->odd_in));
    if (pen->odd_in)
        pen->odd_in[pixel] |= odd;
    return pen->odd_in != NULL;
}

static bool pixel_add(struct series_pen *pen, double x, double y)
{
    uint32_t at = pixel_of(pen->grid, x);
    struct series_pixel *pixel = &pen->pixel[at];
    float offset;

    if (!isfinite(y))
        return note_odd(pen, at, odd_kind(y));
    offset = offset_of(pen->grid, at, x);
    if (pixel->low_at > 0) {
        take_low(pixel, offset, y);
        take_high(pixel, offset, y);
    } else {
        *pixel = (struct series_pixel){y, y, offset, offset};
    }
    return true;
}

/* Switches to pixels. */
static bool spill_to_pixels(struct series_pen *pen)
{
    if (pen->pixel)
        return true;
    pen->pixel = mem_array(pen->grid->pixels, sizeof(*pen->pixel));
    if (!pen->pixel)
        return false;
    for (size_t i = 0; i < pen->few.count; i++) {
        if (!pixel_add(pen, pen->few.at[i].x, pen->few.at[i].y))
            return false;
    }
    vec_done(&pen->few);
    return true;
}

/* ---- values in ------------------------------------------------------------------- */

static bool add_odd(struct series_pen *pen, double x, double y)
{
    struct series_point point = {x, y};

    return pen->odd.count >= SERIES_ODD || vec_push(&pen->odd, point);
}

void series_pen_mark(struct series_pen *pen, double x, double y)
{
    struct series_line *line = &pen->line;

    if (!pen->has_ends || x < line->first.x)
        line->first = (struct series_point){x, y};
    if (!pen->has_ends || x >= line->last.x)
        line->last = (struct series_point){x, y};
    pen->has_ends = true;
}

bool series_pen_add(struct series_pen *pen, double x, double y)
{
    struct series_point point = {x, y};

    series_pen_mark(pen, x, y);
    pen->line.reports++;
    if (!isfinite(y) && !add_odd(pen, x, y))
        return false;
    if (!pen->pixel && pen->few.count < pen->grid->room)
        return vec_push(&pen->few, point);
    return spill_to_pixels(pen) && pixel_add(pen, x, y);
}

static bool add_odd_sum(struct series_pen *pen, const struct series_place *place,
                        uint8_t odd)
{
    if (!note_odd(pen, place->pixel, odd))
        return false;
    for (uint8_t kind = ODD_NAN; kind <= ODD_DOWN; kind = (uint8_t)(kind << 1)) {
        if (odd & kind && !add_odd(pen, place->middle, odd_value(kind)))
            return false;
    }
    return true;
}

static void add_extremes(struct series_pixel *pixel, const struct series_place *place,
                         const struct series_sum *sum)
{
    bool is_low_first = sum->low_at <= sum->high_at;
    float low_at = is_low_first ? place->from : place->to;
    float high_at = is_low_first ? place->to : place->from;

    if (pixel->low_at > 0) {
        take_low(pixel, low_at, sum->low);
        take_high(pixel, high_at, sum->high);
    } else {
        *pixel = (struct series_pixel){sum->low, sum->high, low_at, high_at};
    }
}

bool series_pen_add_sums(struct series_pen *pen, const struct series_place *place,
                         const struct series_sum *sum, uint32_t count)
{
    uint64_t reports = 0;

    for (uint32_t i = 0; i < count && !pen->pixel; i++) {
        if (sum[i].count && !spill_to_pixels(pen))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        reports += sum[i].count;
        if (sum[i].has)
            add_extremes(&pen->pixel[place[i].pixel], &place[i], &sum[i]);
        if (sum[i].odd && !add_odd_sum(pen, &place[i], sum[i].odd))
            return false;
    }
    pen->line.reports += reports;
    return true;
}

void series_pen_clear(struct series_pen *pen)
{
    series_pen_done(pen);
    pen->line.reports = 0;
    pen->has_ends = false;
}

void series_pen_done(struct series_pen *pen)
{
    vec_done(&pen->few);
    vec_done(&pen->odd);
    mem_free(pen->pixel);
    mem_free(pen->odd_in);
    pen->pixel = NULL;
    pen->odd_in = NULL;
}

/* ---- exact charts ---------------------------------------------------------------- */

static int by_x(const void *a, const void *b)
{
    const struct series_point *p = a;
    const struct series_point *q = b;

    return (p->x > q->x) - (p->x < q->x);
}

static void sort_few(struct series_pen *pen)
{
    bool is_sorted = true;

    for (size_t i = 1; i < pen->few.count && is_sorted; i++)
        is_sorted = pen->few.at[i - 1].x <= pen->few.at[i].x;
    if (!is_sorted)
        qsort(pen->few.at, pen->few.count, sizeof(*pen->few.at), by_x);
}

/* The x of all lines so far, in order. */
struct places {
    double *at;
    double *spare; /* as large */
    uint32_t count;
    uint32_t room;
};

static bool are_known(const struct places *places, const struct series_pen *pen)
{
    if (places->count != pen->few.count)
        return false;
    for (uint32_t i = 0; i < places->count; i++) {
        if (places->at[i] != pen->few.at[i].x)
            return false;
    }
    return true;
}

/* False: there are too many. */
static bool merge_places(struct places *places, const struct series_pen *pen)
{
    uint32_t i = 0;
    size_t k = 0;
    uint32_t count = 0;
    double *swap = places->at;

    if (are_known(places, pen))
        return true;
    while (i < places->count || k < pen->few.count) {
        double mine = i < places->count ? places->at[i] : (double)INFINITY;
        double theirs = k < pen->few.count ? pen->few.at[k].x : (double)INFINITY;

        if (count == places->room)
            return false;
        places->spare[count++] = fmin(mine, theirs);
        i += i < places->count && mine <= theirs;
        k += k < pen->few.count && theirs <= mine;
    }
    places->at = places->spare;
    places->spare = swap;
    places->count = count;
    return true;
}

static void fill_exact(const struct series_pen *pen, const struct places *places,
                       double *y)
{
    size_t k = 0;

    for (uint32_t i = 0; i < places->count; i++) {
        bool is_here = k < pen->few.count && pen->few.at[k].x == places->at[i];

        y[i] = is_here ? pen->few.at[k++].y : (double)NAN;
    }
}

/* ---- charts ---------------------------------------------------------------------- */

static bool draw_line(struct series_pen *pen, struct arena *mem, uint32_t x_count,
                      struct series_line *line)
{
    *line = pen->line;
    line->y = arena_array(mem, double, x_count + 1);
    line->odd_count = (uint32_t)pen->odd.count;
    line->odd = arena_array(mem, struct series_point, pen->odd.count + 1);
    if (!line->y || !line->odd)
        return false;
    if (pen->odd.count) {
        memcpy(line->odd, pen->odd.at, pen->odd.count * sizeof(*pen->odd.at));
        qsort(line->odd, line->odd_count, sizeof(*line->odd), by_x);
    }
    return true;
}

static det_status draw_exact(struct series_pen *const *pen, uint32_t count,
                             const struct places *places, struct arena *mem,
                             struct series_chart *chart, struct err *err)
{
    chart->is_exact = true;
    chart->x_count = places->count;
    chart->x = arena_array(mem, double, places->count + 1);
    if (!chart->x)
        return err_default(err, DET_NOMEM);
    if (places->count)
        memcpy(chart->x, places->at, places->count * sizeof(*chart->x));
    for (uint32_t i = 0; i < count; i++) {
        struct series_line *line = &chart->line[i];

        if (!draw_line(pen[i], mem, places->count, line))
            return err_default(err, DET_NOMEM);
        fill_exact(pen[i], places, line->y);
    }
    return DET_OK;
}

static void fill_pixel(const struct series_pixel *pixel, uint8_t odd, double y[2])
{
    bool is_low_first = pixel->low_at <= pixel->high_at;

    y[0] = y[1] = (double)NAN;
    if (!(pixel->low_at > 0)) {
        y[0] = odd ? odd_value(odd) : (double)NAN;
        return;
    }
    y[0] = is_low_first ? pixel->low : pixel->high;
    if (pixel->low < pixel->high)
        y[1] = is_low_first ? pixel->high : pixel->low;
}

/* Replaces a mark per pixel by the numbers of the used pixels, in order, and returns
 * how many there are. */
static uint32_t used_pixels(struct series_pen *const *pen, uint32_t count,
                            uint32_t *used)
{
    uint32_t pixels = pen[0]->grid->pixels;
    uint32_t used_count = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct series_pixel *pixel = pen[i]->pixel;

        for (uint32_t k = 0; k < pixels; k++)
            used[k] |= pixel[k].low_at > 0;
        for (uint32_t k = 0; k < pixels && pen[i]->odd_in; k++)
            used[k] |= pen[i]->odd_in[k];
    }
    for (uint32_t k = 0; k < pixels; k++) {
        if (used[k])
            used[used_count++] = k;
    }
    return used_count;
}

static bool fill_places(struct series_pen *const *pen, const uint32_t *used,
                        uint32_t used_count, struct arena *mem,
                        struct series_chart *chart)
{
    const struct series_grid *grid = pen[0]->grid;
    double width = grid->width;
    uint32_t at = 0;

    chart->x_count = used_count * 2 + 2;
    chart->x = arena_array(mem, double, chart->x_count);
    if (!chart->x)
        return false;
    chart->x[at++] = grid->from;
    for (uint32_t i = 0; i < used_count; i++) {
        chart->x[at++] = grid->from + width * (used[i] + 0.25);
        chart->x[at++] = grid->from + width * (used[i] + 0.75);
    }
    chart->x[at] = grid->to;
    return true;
}

static det_status draw_pixels(struct series_pen *const *pen, uint32_t count,
                              struct arena *mem, struct series_chart *chart,
                              struct err *err)
{
    const struct series_grid *grid = pen[0]->grid;
    uint32_t *used = arena_array(mem, uint32_t, grid->pixels);
    uint32_t used_count;

    for (uint32_t i = 0; i < count; i++) {
        if (!spill_to_pixels(pen[i]))
            return err_default(err, DET_NOMEM);
    }
    if (!used)
        return err_default(err, DET_NOMEM);
    used_count = used_pixels(pen, count, used);
    if (!fill_places(pen, used, used_count, mem, chart))
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < count; i++) {
        struct series_line *line = &chart->line[i];

        if (!draw_line(pen[i], mem, chart->x_count, line))
            return err_default(err, DET_NOMEM);
        for (uint32_t k = 0; k < used_count; k++)
            fill_pixel(&pen[i]->pixel[used[k]],
                       pen[i]->odd_in ? pen[i]->odd_in[used[k]] : 0,
                       line->y + 1 + k * (size_t)2);
        line->y[0] = line->first.x > grid->from ? (double)NAN : line->first.y;
        line->y[chart->x_count - 1] =
            line->last.x < grid->to ? (double)NAN : line->last.y;
    }
    return DET_OK;
}

/* Collects the pens that have values. */
static bool find_drawn(struct series_pen *const *pen, uint32_t count, struct arena *mem,
                       struct series_pen ***ret_drawn, uint32_t *ret_count)
{
    struct series_pen **drawn = arena_array(mem, struct series_pen *, count + 1);

    *ret_count = 0;
    if (!drawn)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (pen[i]->line.reports)
            drawn[(*ret_count)++] = pen[i];
    }
    *ret_drawn = drawn;
    return true;
}

/* *ret_places is set for an exact chart. */
static bool is_exact(struct series_pen *const *pen, uint32_t count,
                     struct places *places)
{
    for (uint32_t i = 0; i < count; i++) {
        if (pen[i]->pixel)
            return false;
        sort_few(pen[i]);
        if (!merge_places(places, pen[i]))
            return false;
    }
    return true;
}

det_status series_draw(struct series_pen *const *pen, uint32_t count, struct arena *mem,
                       struct series_chart *chart, struct err *err)
{
    struct places places = {0};
    struct series_pen **drawn = NULL;

    chart->line = NULL;
    if (!find_drawn(pen, count, mem, &drawn, &chart->line_count))
        return err_default(err, DET_NOMEM);
    chart->line = arena_array(mem, struct series_line, chart->line_count + 1);
    places.room = count ? pen[0]->grid->room : 0;
    places.at = arena_array(mem, double, places.room + 1);
    places.spare = arena_array(mem, double, places.room + 1);
    if (!chart->line || !places.at || !places.spare)
        return err_default(err, DET_NOMEM);
    if (is_exact(drawn, chart->line_count, &places))
        return draw_exact(drawn, chart->line_count, &places, mem, chart, err);
    return draw_pixels(drawn, chart->line_count, mem, chart, err);
}
