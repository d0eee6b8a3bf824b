/* SPDX-License-Identifier: Apache-2.0 */
/* metric_add.h - storing a metric report. */
#ifndef STORE_METRIC_METRIC_ADD_H
#define STORE_METRIC_METRIC_ADD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct json;
struct metric_cells;
struct metric_group;
struct metric_key;
struct report_metrics;

struct metric_report {
    int64_t trial_id;
    int64_t run_id;
    const char *group; /* not empty, no '.' */
    bool has_steps;
    int64_t steps;
    int64_t report_us;
    const struct json *avg;   /* object: name -> any JSON */
    const struct json *batch; /* array of objects, or NULL */
    /* Instead of both: the values of a ring's record (wire/report.h), without a tree.
     * Its steps and group are ignored. */
    const struct report_metrics *values;
    bool is_late; /* its run was given up: it is archived and changes nothing else */
    uint32_t names_most; /* that the trial may use; 0: any number */
    /* Where to say which new names were dropped, because the trial has the most that it may
     * have (in the arena; NULL: none was).  NULL: such a report is refused. */
    const char **ret_dropped;
};

/* *ret_is_new: the row was not there before (only then is it an event).  DET_NOT_FOUND:
 * no such trial.  DET_STATE: the run is over, run_id is not the trial's current one (a
 * late report may be of any run).  DET_EXISTS: a conflict; names the metric.  DET_INVALID:
 * it has too many new names. */
det_status store_metric_add(struct db *db, const struct metric_report *report,
                            struct arena *mem, bool *ret_is_new, struct err *err);

/* The trial's next run goes on from a checkpoint of `steps`: archives the reports of
 * earlier runs beyond it. */
det_status metric_resumes(struct db *db, int64_t trial_id, int64_t run_id,
                          int64_t steps, struct err *err);

/* Writes a row into the tail; the writer's cache interns its names. */
det_status metric_tail_put(struct db *db, const struct metric_key *key,
                           struct metric_group *group, const struct metric_cells *row,
                           struct arena *mem, struct err *err);

#endif
