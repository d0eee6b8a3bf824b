/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - metrics of many trials as charts for a screen.
 *
 * A chart is one metric.  Each trial is a line; on request, so is each archived part of
 * a trial.  All lines of a chart share one array of x.
 *
 *   few values    the chart is exact: x holds every place of every line;
 *   many values   x is divided into pixels, as many as requested.  Each pixel with
 *                 values becomes two places: in its first half the extreme that the
 *                 line reached first, in its second half the other one.  Before and
 *                 after them are the first and the last x of the chart, with the values
 *                 of the lines that begin or end there.
 *
 * A value that is not finite is an extreme only if the pixel has no finite value; such
 * values are also listed separately (`odd`).  A value that comes from a summary
 * (level.h) may be shown in the pixel next to its own, if it is less than a quarter of
 * a pixel away; none is lost.
 *
 * Reports without steps are only on the axis of time. */
#ifndef STORE_SERIES_SERIES_H
#define STORE_SERIES_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

enum {
    SERIES_NUMBERS = 200000,      /* per chart, about: more lines, fewer pixels */
    SERIES_NUMBERS_ALL = 4 << 20, /* per answer */
    SERIES_ODD = 100,             /* values of a line that are listed separately */
    SERIES_POINTS_MOST = 10000,
};

enum series_axis { SERIES_STEPS, SERIES_TIME };

struct series_metric {
    const char *group;
    const char *name;
};

struct series_ask {
    const int64_t *trial;
    uint32_t trials;
    const struct series_metric *metric;
    uint32_t metrics;
    uint32_t points; /* pixels; at least 1 */
    enum series_axis axis;
    double from; /* bounds of x, both inclusive; -INFINITY and INFINITY: none */
    double to;
    bool with_archived;
};

/* Time is in seconds since 1970. */
struct series_point {
    double x;
    double y;
};

struct series_line {
    int64_t trial_id;
    int64_t run_id; /* of an archived part: its run; else the latest */
    bool is_archived;
    uint64_t reports; /* values between the bounds */
    double *y;        /* NaN: no value */
    struct series_point first;
    struct series_point last;
    struct series_point *odd; /* values that are not finite, by x; at most SERIES_ODD */
    uint32_t odd_count;
};

struct series_chart {
    struct series_metric metric;
    bool is_exact;
    double *x;
    uint32_t x_count;
    struct series_line *line;
    uint32_t line_count;
};

/* Where a trial's reports of the requested groups end. */
struct series_end {
    int64_t trial_id;
    int64_t run_id;
    uint64_t reports;
    int64_t last_steps; /* -1: none has steps */
    int64_t last_us;    /* 0: none */
};

struct series {
    struct series_chart *chart; /* in the order of the requested metrics */
    uint32_t chart_count;
    struct series_end *end; /* in the order of the requested trials */
    uint32_t end_count;
};

/* A trial without such reports has no line.  Everything is in `mem`. */
det_status store_series(struct db *db, const struct series_ask *ask, struct arena *mem,
                        struct series *ret_series, struct err *err);

#endif
