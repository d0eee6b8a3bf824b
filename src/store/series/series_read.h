/* SPDX-License-Identifier: Apache-2.0 */
/* series_read.h - hands the reports of each run to its pens, while series.c draws.
 *
 *   request --> lots (metrics by group) --> runs of each trial, with their spans of x
 *       --> grids --> rows and sums of each run go to the pens --> charts */
#ifndef STORE_SERIES_SERIES_READ_H
#define STORE_SERIES_SERIES_READ_H

#include "store/series/level_page.h"
#include "store/series/series_pen.h"

/* The metrics of one group; they are read together. */
struct series_lot {
    const char *group;
    uint32_t count;
    const char **name; /* sorted */
    uint32_t *chart;   /* the place of each in the request */
    struct series_grid grid;
    bool has_span;  /* grid.from and grid.to */
    bool is_sparse; /* few values among many rows: only rows are read, no sums */
    uint32_t lines; /* the most lines of one of its charts */
    VEC(struct series_pen *) * pens; /* per name */
};

/* A run of a trial, with what is needed to read it. */
struct series_run {
    const struct metric_run *run;
    struct series_lot *lot;
    struct series_pen **main;     /* one per name; the runs of a trial share them */
    struct series_pen **archived; /* NULL: archived reports are not requested */
    struct level_pages pages;     /* the pages that cover its blocks */
    int64_t tail_rows;
    int64_t rows; /* of blocks and tail */
};

/* The smallest and the largest x. */
struct series_span {
    double from;
    double to;
    bool has;
};

/* Finds the extent of a run: sets the pages and row counts of `run`, its span of x, and
 * its end. */
det_status series_look_at_run(struct db *db, const struct series_ask *ask,
                              struct arena *mem, struct series_run *run,
                              struct series_span *ret_span, struct series_end *end,
                              struct err *err);
/* Hands the run's values between the bounds to its pens. */
det_status series_read_run(struct db *db, const struct series_ask *ask,
                           const struct series_run *run, struct err *err);

#endif
