/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - checks and writes of a trial's reports.
 *
 * Reports come by a call each (metrics.c) or as a batch of a ring's records (reports.c).
 * Both use these functions. */
#ifndef MASTER_API_REPORTS_METRICS_H
#define MASTER_API_REPORTS_METRICS_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct core_event;
struct db;
struct early_exit_body;
struct metric_report;
struct progress_body;
struct request;
struct runner_metadata_body;

/* DET_INVALID: the group or the steps are not possible. */
det_status metrics_check(const struct metric_report *report, struct err *err);
/* Inside a write job: stores the row, unless it is there, and the journal entry of a new
 * validation. */
det_status metrics_write(struct db *db, const struct metric_report *report,
                         struct arena *mem, bool *ret_is_new, struct err *err);
/* After the commit of a validation or a checkpoint: the heart reads its journal entry, and
 * the collector may find more to remove. */
det_status metrics_notify_heart(struct request *req);
bool metrics_is_validation(const struct metric_report *report);
det_status metrics_check_state(const struct runner_metadata_body *body,
                               struct err *err);
/* Fill the event except for its trial. */
det_status metrics_progress_event(const struct progress_body *body,
                                  struct core_event *ret_event, struct err *err);
det_status metrics_early_exit_event(const struct early_exit_body *body,
                                    struct core_event *ret_event, struct err *err);

#endif
