/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - how metrics are stored; the types that the files here share.
 *
 *   report --> tail row ---compaction---> block of columns
 *                 \                         /  \
 *                  `------- cells ---------'    `-- head: a summary of each column
 *
 * Reports.  A report is a small tail row: packed doubles for the numbers, JSON for
 * strings, lists, nulls and batch metrics.  Compaction later turns many tail rows into
 * a block of columns that carries its own summaries.
 *
 * Keys.  A row's key within (trial, group, run) is (steps, nth).  With steps, nth is 0;
 * without, steps is -1 and nth is the row's id.
 *
 * Shapes.  The names of a report are interned per trial and group as a shape.  A tail
 * row holds the shape's number, one double for each of its numbers, and everything else
 * as JSON.  A trial whose names never repeat gets no new shapes after METRIC_SHAPES;
 * then everything is JSON.
 *
 * Merging.  A second report with the same key adds names.  The same value again is
 * fine; another value is DET_EXISTS, and so are batch metrics twice.
 *
 * Rollback.  If a later run goes back, all rows of the earlier run with steps >= cut
 * are archived: one number in `metric_runs`; no row changes, and none is deleted.
 *
 * Late reports.  What a run had accepted, and delivers only after the platform has given
 * the run up, counts nowhere.  It is kept as the reports of a run of its own,
 * metric_late_run(), which is archived as a whole.
 *
 * Blocks of one (trial, group, run) never overlap; tail rows may lie anywhere. */
#ifndef STORE_METRIC_METRIC_H
#define STORE_METRIC_METRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    METRIC_BLOCK_ROWS = 1024,
    METRIC_BLOCK_ROWS_MOST =
        2 * METRIC_BLOCK_ROWS, /* a rest joins the block before it */
    METRIC_SHAPES = 256,       /* per trial and group; then JSON takes over */
};

#define METRIC_UNCUT   INT64_MAX
#define METRIC_ALL_CUT (-1) /* also rows without steps */

/* Under which run_id the late reports of a run are stored.  It is below all others. */
static inline int64_t metric_late_run(int64_t run_id)
{
    return -1 - run_id;
}

/* The run whose reports are stored under this run_id. */
static inline int64_t metric_run_number(int64_t run_id)
{
    return run_id < 0 ? -1 - run_id : run_id;
}

struct metric_key {
    int64_t trial_id;
    int64_t group_id;
    int64_t run_id;
};

struct metric_place {
    int64_t steps;
    int64_t nth;
};

static inline int metric_place_compare(struct metric_place a, struct metric_place b)
{
    if (a.steps != b.steps)
        return a.steps < b.steps ? -1 : 1;
    return a.nth == b.nth ? 0 : a.nth < b.nth ? -1 : 1;
}

/* One report in memory; everything borrows from an arena. */
struct metric_cells {
    int64_t id;
    int64_t steps; /* -1: none */
    int64_t report_us;
    uint32_t count;          /* numbers */
    const char *const *name; /* sorted */
    const double *value;
    const char *rest;  /* JSON object: all that is not a number; NULL: nothing */
    const char *batch; /* JSON array; NULL: none */
};

static inline struct metric_place metric_place_of(const struct metric_cells *row)
{
    return (struct metric_place){row->steps, row->steps < 0 ? row->id : 0};
}

/* For functions that want their names sorted. */
static inline bool metric_names_are_sorted(const char *const *name, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(name[i - 1], name[i]) > 0)
            return false;
    }
    return true;
}

/* Reports in the order of their places. */
struct metric_rows {
    struct metric_cells *row;
    uint32_t count;
};

struct metric_shape {
    struct metric_shape *next;
    int64_t id;
    uint32_t numbers;
    uint32_t others;
    const char **name; /* of the numbers, then of the others, each sorted */
};

/* A run of a trial that has reports of a group. */
struct metric_run {
    struct metric_key key;
    const char *group;
    int64_t cut; /* rows with so many steps or more are archived; METRIC_UNCUT: none */
};

#endif
