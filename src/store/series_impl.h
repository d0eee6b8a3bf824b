/* SPDX-License-Identifier: Apache-2.0 */
/* series_impl.h - what store_series.c and series_read.c share: a drawing under way.
 *
 *   ask --> lots (metrics by group) --> runs of each trial, with their spans of x
 *       --> grids --> rows and sums of each run go to the pens --> charts */
#ifndef STORE_SERIES_IMPL_H
#define STORE_SERIES_IMPL_H

#include "store/level.h"
#include "store/series_pen.h"

/* The metrics of one group: read together. */
struct series_lot {
    const char *group;
    uint32_t count;
    const char **name; /* sorted */
    uint32_t *chart;   /* where each was in the question */
    struct series_grid grid;
    bool has_span;  /* grid.from and grid.to */
    bool is_sparse; /* few values among many rows: only rows are read, no sums */
    uint32_t lines; /* that each of its charts has, at most */
    VEC(struct series_pen *) * pens; /* of each name */
};

/* A run of a trial, with what is needed to read it. */
struct series_run {
    const struct metric_run *run;
    struct series_lot *lot;
    struct series_pen **main;     /* one a name; shared by the runs of the trial */
    struct series_pen **archived; /* NULL: what was taken back is not wanted */
    struct level_pages pages;     /* that cover its blocks */
    int64_t tail_rows;
    int64_t rows; /* all of them */
};

/* The smallest and the largest x of a stretch. */
struct series_span {
    double from;
    double to;
    bool has;
};

/* series_read.c.  What there is of a run: its pages and tail into `run`, what lies
 * where to the others. */
det_status series_look_at_run(struct db *db, const struct series_ask *ask,
                              struct arena *mem, struct series_run *run,
                              struct series_span *ret_span, struct series_end *end,
                              struct err *err);
/* Hands the run's values between the bounds to its pens. */
det_status series_read_run(struct db *db, const struct series_ask *ask,
                           const struct series_run *run, struct err *err);

#endif
