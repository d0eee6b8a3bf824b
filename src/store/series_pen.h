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
    double width; /* of a pixel */
    uint32_t pixels;
    uint32_t room; /* values that a line keeps as they come */
};

/* There are as many as lines have pixels: small.  The extremes' places are counted in
 * pixels from here, plus 2; 0: there are none. */
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
    uint8_t *odd_in;              /* what each pixel has that is odd; NULL: none has */
    bool has_ends;                /* line.first and line.last */
    VEC(struct series_point) odd;
};

/* Values of a stretch of which only this is known. */
struct series_sum {
    uint32_t count;
    uint32_t low_at; /* only the order of the two means anything */
    uint32_t high_at;
    uint8_t odd; /* bit set of enum series_odd_kind */
    bool has;    /* low and high: there is a finite value */
    double low;
    double high;
};

/* ... and where it lies: the same for all lines of a chart that have it. */
struct series_place {
    double middle;
    uint32_t pixel;
    float from; /* as in series_pixel */
    float to;
};

/* False: out of memory. */
bool series_pen_add(struct series_pen *pen, double x, double y);
/* The first or the last value of sums: does not count. */
void series_pen_mark(struct series_pen *pen, double x, double y);
/* Without a value has neither extremes nor anything odd. */
bool series_pen_add_sums(struct series_pen *pen, const struct series_place *place,
                         const struct series_sum *sum, uint32_t count);
/* False: it is wider than half a pixel, and not within one. */
bool series_place_of(const struct series_grid *grid, double from, double to,
                     struct series_place *ret_place);
void series_pen_clear(struct series_pen *pen); /* as it began */
void series_pen_done(struct series_pen *pen);

/* `from`, `to`, `pixels` and `room` are set: sets the rest. */
void series_grid_init(struct series_grid *grid);

/* Draws all lines of a chart; empty ones are left out.  Into `mem`. */
det_status series_draw(struct series_pen *const *pen, uint32_t count, struct arena *mem,
                       struct series_chart *chart, struct err *err);

#endif
