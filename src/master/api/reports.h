/* SPDX-License-Identifier: Apache-2.0 */
/* reports.h - what trials report, whichever way it comes: a call for each (metrics.c,
 * checkpoints.c) or a batch of a ring's records (reports.c).  Checking and writing
 * exist once, here. */
#ifndef MASTER_API_REPORTS_H
#define MASTER_API_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct allocation;
struct arena;
struct checkpoint;
struct checkpoint_body;
struct core_event;
struct db;
struct early_exit_body;
struct metric_report;
struct progress_body;
struct runner_metadata_body;

/* ---- metrics.c ------------------------------------------------------------------- */

/* DET_INVALID: its group or its steps cannot be. */
det_status report_check_metrics(const struct metric_report *report, struct err *err);
/* Inside a job: the row, and the journal entry of a validation that is new. */
det_status report_write_metrics(struct db *db, const struct metric_report *report,
                                struct arena *mem, struct err *err);
bool report_is_validation(const struct metric_report *report);
det_status report_check_state(const struct runner_metadata_body *body, struct err *err);
/* Fill the event, but for its trial. */
det_status report_progress(const struct progress_body *body,
                           struct core_event *ret_event, struct err *err);
det_status report_early_exit(const struct early_exit_body *body,
                             struct core_event *ret_event, struct err *err);

/* ---- unmanaged.c ----------------------------------------------------------------- */

struct request;
struct trial_view;
/* DET_STATE: the trial is one of the heart's. */
det_status unmanaged_trial_get(struct request *req, int64_t id,
                               struct trial_view *ret_trial);

/* ---- checkpoints.c --------------------------------------------------------------- */

/* DET_FORBIDDEN: a task asks for a checkpoint of somebody else's. */
struct request;
det_status checkpoint_check_may_read(struct request *req, const struct checkpoint *row);

/* The row of what `maker` reports at `now_us`, in `mem`; borrows from both. */
det_status report_checkpoint(const struct checkpoint_body *body,
                             const struct allocation *maker, int64_t now_us,
                             struct arena *mem, struct checkpoint *ret_row,
                             struct err *err);
/* Inside a job: the row and, if it was new, its journal entry. */
det_status report_write_checkpoint(struct db *db, const struct checkpoint *row,
                                   int64_t run_id, struct err *err);

#endif
