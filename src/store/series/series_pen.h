/* SPDX-License-Identifier: Apache-2.0 */
/* series_pen.h - draws the lines of series.h: values in, in any order, arrays out.
 *
 * A pen draws one line.  It keeps all values until there are too many, then only the
 * extremes of each pixel.  No database, no clock. */
#ifndef STORE_SERIES_SERIES_PEN_H
#define STORE_SERIES_SERIES_PEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/vec.h"
#include "store/series/series.h"

struct arena;

/* The kinds of values that are not finite. */
enum series_odd_kind { ODD_NAN = 1, ODD_UP = 2, ODD_DOWN = 4 };

/* The pixels of a chart. */
struct series_grid {
    double from; /* the first and the last x */
    double to;
    double width; /* of a pixel */
    uint32_t pixels;
    uint32_t room; /* values that a line keeps before it switches to pixels */
};

/* Small, because every line has as many as the chart has pixels.  The places of the
 * extremes are in pixels from here, plus 2; 0: there are none. */
struct series_pixel {
    double low;
    double high;
    float low_at;
    float high_at;
};

struct series_pen {
    const struct series_grid *grid;
    struct series_line line;
    VEC(struct series_point) few; /* until there are pixels */
    struct series_pixel *pixel;   /* NULL: all values are in `few` */
    uint8_t *odd_in;              /* per pixel: the kinds it has; NULL: none */
    bool has_ends;                /* line.first and line.last */
    VEC(struct series_point) odd;
};

/* A summary of several values. */
struct series_sum {
    uint32_t count;
    uint32_t low_at; /* only the order of the two matters */
    uint32_t high_at;
    uint8_t odd; /* bit set of enum series_odd_kind */
    bool has;    /* there is a finite value: low and high are set */
    double low;
    double high;
};

/* The place of a summary; the same for all lines of a chart. */
struct series_place {
    double middle;
    uint32_t pixel;
    float from; /* as in series_pixel */
    float to;
};

/* False: out of memory. */
bool series_pen_add(struct series_pen *pen, double x, double y);
/* Marks the first or the last value of sums; it does not count as a report. */
void series_pen_mark(struct series_pen *pen, double x, double y);
/* A sum with count 0 has no other members. */
bool series_pen_add_sums(struct series_pen *pen, const struct series_place *place,
                         const struct series_sum *sum, uint32_t count);
/* False: the range is wider than half a pixel and not within one. */
bool series_place_of(const struct series_grid *grid, double from, double to,
                     struct series_place *ret_place);
void series_pen_clear(struct series_pen *pen); /* makes it empty */
void series_pen_done(struct series_pen *pen);

/* Computes the rest from `from`, `to`, `pixels` and `room`. */
void series_grid_init(struct series_grid *grid);

/* Draws all lines of a chart into `mem`; leaves empty ones out. */
det_status series_draw(struct series_pen *const *pen, uint32_t count, struct arena *mem,
                       struct series_chart *chart, struct err *err);

#endif
