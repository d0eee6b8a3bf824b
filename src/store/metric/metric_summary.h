/* SPDX-License-Identifier: Apache-2.0 */
/* metric_summary.h - summaries of all metrics of a trial, and one metric as a line. */
#ifndef STORE_METRIC_METRIC_SUMMARY_H
#define STORE_METRIC_METRIC_SUMMARY_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct db;
struct json_writer;
struct metric_stats;

/* {"avg_metrics": {name: {type, count, min, max, sum, mean, last}},
 *  "validation_metrics": {...}} */
det_status store_metric_summary(struct db *db, int64_t trial_id, struct buf *ret_json,
                                struct err *err);
/* A trial's metrics, sorted by group and name, as elements of an open array:
 * {"group","name","type","count","min","max","last"}; only numbers have min and max. */
det_status store_metric_list(struct db *db, int64_t trial_id, struct json_writer *w,
                             struct err *err);
/* Sums up the reports of a trial and group that are not archived. */
det_status metric_stats_of(struct db *db, int64_t trial_id, const char *group,
                           struct metric_stats *stats, struct err *err);
/* The API's name for a bit set of enum metric_type; several at once are "string". */
const char *metric_type_name(uint32_t types);

/* One metric as a line for the screen: at most `points` (the first, the last, and the
 * extremes of each stretch between). */
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

#endif
