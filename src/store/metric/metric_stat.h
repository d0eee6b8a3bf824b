/* SPDX-License-Identifier: Apache-2.0 */
/* metric_stat.h - summaries of metrics: count, extremes, first and last value. */
#ifndef STORE_METRIC_METRIC_STAT_H
#define STORE_METRIC_METRIC_STAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "store/metric/metric.h"

struct arena;
struct buf;

enum metric_type {
    METRIC_NUMBER,
    METRIC_STRING,
    METRIC_BOOLEAN,
    METRIC_DATE,
    METRIC_OBJECT,
    METRIC_ARRAY,
    METRIC_NULL,
    METRIC_TYPES,
};

enum metric_mark_kind { MARK_FIRST, MARK_MIN, MARK_MAX, MARK_LAST, MARKS };

struct metric_mark {
    int64_t steps;
    int64_t report_us;
    double value;
};

struct metric_stat {
    const char *name;
    uint32_t types; /* bit set of enum metric_type */
    uint64_t count; /* numbers */
    double sum;
    struct metric_mark mark[MARKS]; /* when count > 0 */
    int64_t last_run;               /* the place of the last value of any type */
    struct metric_place last_place;
    const char *last; /* JSON; NULL: it is the number of MARK_LAST */
};

struct metric_stats {
    struct arena *mem;
    struct map by_name;
    VEC(struct metric_stat *) all;
};

void metric_stats_done(struct metric_stats *stats);
/* DET_NOMEM, or DET_CORRUPT for damaged bytes. */
det_status metric_stats_add_row(struct metric_stats *stats, int64_t run_id,
                                const struct metric_cells *row, struct err *err);
det_status metric_stats_add_head(struct metric_stats *stats, int64_t run_id,
                                 const void *head, size_t len, struct err *err);
void metric_stats_encode(const struct metric_stats *stats, struct buf *out);
void metric_stats_sort(struct metric_stats *stats); /* by name */

#endif
