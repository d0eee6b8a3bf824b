/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - curves in the terminal, 2 by 4 dots per character (braille). */
#ifndef CLI_OUTPUT_CHART_H
#define CLI_OUTPUT_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/output/term.h"

struct buf;

struct chart_point {
    double x;
    double y; /* NaN and infinity leave a gap */
};

struct chart_series {
    const char *label;
    const struct chart_point *point; /* sorted by x */
    size_t count;
    enum term_color color;
};

struct chart {
    const char *title;
    const char *x_name; /* "batches" */
    const struct chart_series *series;
    size_t count;
    size_t width;  /* columns of the whole picture, axis included */
    size_t height; /* rows of the plot */
    bool has_color;
};

/* Draws the title, the plot with numbers on both axes, and a legend with one line per
 * series.  A chart without points says so. */
det_status chart_draw(const struct chart *chart, struct buf *out, struct err *err);

/* A curve in one line of text, one character per point.  The lowest is 0, the highest is
 * `top` or more. */
void chart_spark(const double *point, size_t count, double top, struct buf *out);

/* At most 6 significant digits: "0.0123", "1.5e-07", "NaN". */
enum { CHART_NUMBER = 32 };
void chart_number(double value, char text[CHART_NUMBER]);

#endif
