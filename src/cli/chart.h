/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - curves in the terminal, two by four dots a character (braille). */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/term.h"

struct buf;

struct chart_point {
    double x;
    double y; /* NaN and infinities are left out */
};

struct chart_series {
    const char *label;
    const struct chart_point *point; /* in the order of x */
    size_t count;
    enum term_color color;
};

struct chart {
    const char *title;
    const char *x_name; /* "batches" */
    const struct chart_series *series;
    size_t count;
    size_t width;  /* columns of the whole picture, axis and all */
    size_t height; /* rows of the plot */
    bool has_color;
};

/* A title, the plot with numbers on both axes, and a legend of one line a series.  A
 * chart without a single point says so. */
det_status chart_draw(const struct chart *chart, struct buf *out, struct err *err);

/* A curve as high as a line of text, a character a point: the lowest at 0, the highest
 * at `top` and above. */
void chart_spark(const double *point, size_t count, double top, struct buf *out);

/* At most 6 significant digits: "0.0123", "1.5e-07", "NaN". */
enum { CHART_NUMBER = 32 };
void chart_number(double value, char text[CHART_NUMBER]);

#endif
