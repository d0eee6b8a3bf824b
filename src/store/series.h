/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - metrics of many trials as charts for a screen.
 *
 * A chart is one metric; its lines are trials, and where it is asked for also each
 * stretch that a trial lost and did again.  All lines of a chart share one array of x.
 *
 *   few values    the chart is exact: x holds every place that any line has;
 *   many values   x is cut into as many pieces (pixels) as were asked for, and each
 *                 piece that holds anything becomes two places: in its first half the
 *                 extreme that the line reached first, in its second half the other.
 *                 Before and behind them stand the chart's very first and last x, with
 *                 the values of those lines that begin or end there.
 *
 * Values that are not finite are never an extreme while there is a finite one beside
 * them; they are told apart.  A value of a stretch that was summed up beforehand
 * (level.h) may be shown in the pixel beside its own, when it lies less than a
 * quarter of a pixel from it; none is lost.
 *
 * Reports without steps have a place on the axis of time only. */
#ifndef STORE_SERIES_H
#define STORE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct json;
struct json_writer;

enum {
    SERIES_NUMBERS = 200000,      /* of one chart, about: pixels shrink with lines */
    SERIES_NUMBERS_ALL = 4 << 20, /* of a whole answer */
    SERIES_ODD = 100,             /* values of a line that are told apart */
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
    int64_t run_id; /* of what was lost: the run that lost it; else the latest */
    bool is_archived;
    uint64_t reports; /* values between the bounds */
    double *y;        /* NaN: nothing there */
    struct series_point first;
    struct series_point last;
    struct series_point *odd; /* what is no finite number, by x; SERIES_ODD at most */
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

/* How far a trial's reports of the groups that were asked for go. */
struct series_end {
    int64_t trial_id;
    int64_t run_id;
    uint64_t reports;
    int64_t last_steps; /* -1: none has steps */
    int64_t last_us;    /* 0: none */
};

struct series {
    struct series_chart *chart; /* as the metrics were asked for */
    uint32_t chart_count;
    struct series_end *end; /* as the trials were */
    uint32_t end_count;
};

/* A trial without such reports has no line.  Everything lies in `mem`. */
det_status store_series(struct db *db, const struct series_ask *ask, struct arena *mem,
                        struct series *ret_series, struct err *err);

/* One metric as a line for the screen: at most `points` (first, last, and the extremes
 * of each stretch between). */
struct metric_point {
    int64_t steps;
    int64_t report_us;
    double value;
};
struct metric_line {
    int64_t trial_id;
    const char *group;
    const char *name;
    uint32_t points;
};
struct metric_series {
    struct metric_point *point;
    uint32_t count;
};
det_status store_metric_series(struct db *db, const struct metric_line *query,
                               struct arena *mem, struct metric_series *ret_series,
                               struct err *err);

/* The metrics of these trials that are numbers, sorted by group and name. */
det_status store_series_names(struct db *db, const int64_t *trial, uint32_t trials,
                              struct arena *mem, struct series_metric **ret_names,
                              uint32_t *ret_count, struct err *err);

/* An experiment's metrics: [{"group":..,"name":..,"type":..}], sorted.  The type is
 * "number" where any report has one, else what store_metric_list() says of the first
 * trial that has it.  Only METRIC_TYPE_LOOKS groups of trials are looked at for that;
 * what else is no number is called "string". */
enum { METRIC_TYPE_LOOKS = 16 };
det_status store_metric_names(struct db *db, int64_t experiment_id, struct arena *mem,
                              struct json **ret_names, struct err *err);
/* A trial's metrics, sorted by group and name, as elements of an array that is open:
 * {"group","name","type","count","min","max","last"}; min and max only of numbers. */
det_status store_metric_list(struct db *db, int64_t trial_id, struct json_writer *w,
                             struct err *err);

#endif
