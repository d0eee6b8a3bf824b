/* SPDX-License-Identifier: Apache-2.0 */
/* series_pen.h - draws the lines of series.h: values in, in any order, arrays out.
 *
 * A pen is one line.  It keeps its values as they come until they are too many, then
 * only the extremes of each pixel.  No database, no clock. */
#ifndef STORE_SERIES_PEN_H
#define STORE_SERIES_PEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/series.h"

struct arena;

/* Of what is not finite in a stretch. */
enum series_odd_kind { ODD_NAN = 1, ODD_UP = 2, ODD_DOWN = 4 };

/* The pixels of a chart. */
struct series_grid {
    double from; /* the first and the last x there is */
    double to;
    uint32_t pixels;
    uint32_t room; /* values that a line keeps as they come */
};

struct series_pixel {
    double low;
    double high;
    double low_at;
    double high_at;
    bool has; /* any of the above */
    uint8_t odd;
};

struct series_pen {
    const struct series_grid *grid;
    struct series_line line;
    VEC(struct series_point) few; /* until there are pixels */
    struct series_pixel *pixel;   /* NULL: all values are in `few` */
    bool has_ends;                /* line.first and line.last */
    VEC(struct series_point) odd;
};

/* A stretch of values of which only this is known. */
struct series_sum {
    double from; /* x */
    double to;
    uint64_t count;
    double low; /* finite; only when `has` */
    double high;
    bool has;
    bool is_low_first;
    uint8_t odd;
};

/* False: out of memory. */
bool series_pen_add(struct series_pen *pen, double x, double y);
/* At most half a pixel wide, or within one pixel (series_fits()). */
bool series_pen_add_sum(struct series_pen *pen, const struct series_sum *sum);
/* The first or the last value of such sums: does not count. */
void series_pen_mark(struct series_pen *pen, double x, double y);
bool series_fits(const struct series_grid *grid, double from, double to);
void series_pen_done(struct series_pen *pen);

/* Draws all lines of a chart; empty ones are left out.  Into `mem`. */
det_status series_draw(struct series_pen *const *pen, uint32_t count, struct arena *mem,
                       struct series_chart *chart, struct err *err);

#endif
