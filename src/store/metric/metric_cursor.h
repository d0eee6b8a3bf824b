/* SPDX-License-Identifier: Apache-2.0 */
/* metric_cursor.h - reports of a trial in order, from tails and blocks. */
#ifndef STORE_METRIC_METRIC_CURSOR_H
#define STORE_METRIC_METRIC_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct metric_cells;
struct metric_cursor;
struct metric_run;

struct metric_query {
    int64_t trial_id;
    const char *group; /* NULL: all */
    bool with_archived;
    bool with_batch;
    /* cursor: rows after this one; its four values (steps -1 where it has none) */
    bool has_cursor;
    int64_t after_run; /* its `place` */
    int64_t after_steps;
    const char *after_group;
    int64_t after_id; /* only used among rows without steps */
    uint32_t limit;   /* rows; 0: all */
};

struct metric_row {
    int64_t id; /* grows with time within a trial and group */
    int64_t trial_id;
    int64_t run_id;
    int64_t place; /* of its run in the order; for the cursor */
    const char *group;
    bool has_steps;
    int64_t steps; /* 0 without any */
    int64_t report_us;
    bool is_archived;
    const char *avg;   /* JSON object text */
    const char *batch; /* JSON array text, or NULL */
};
/* Ordered by run, steps, group; rows without steps first, by id; late reports (metric.h) before
 * all others.  Rows in `mem`. */
det_status store_metric_read(struct db *db, const struct metric_query *query,
                             struct arena *mem, struct metric_row **ret_rows,
                             uint32_t *ret_count, struct err *err);

/* ---- one row at a time ----------------------------------------------------------- */

/* Borrowed until the next call. */
struct metric_found {
    const struct metric_cells *row; /* NULL: the end */
    const struct metric_run *run;
    bool is_archived;
};
det_status metric_cursor_new(struct db *db, const struct metric_query *query,
                             struct metric_cursor **ret_cursor, struct err *err);
det_status metric_cursor_next(struct metric_cursor *cursor,
                              struct metric_found *ret_found, struct err *err);
void metric_cursor_free(struct metric_cursor *cursor);
void metric_cursor_freep(struct metric_cursor **cursor);

#endif
