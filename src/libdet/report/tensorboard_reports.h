/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_reports.h - writes the reported metrics also as event files for
 * TensorBoard.
 *
 * A report costs the training thread a copy into memory (tensorboard_reports_note()).
 * Once per second a thread turns the collected metrics into events and writes them.  If
 * the process is killed, TensorBoard misses what was not written yet; the reports
 * themselves are in the ring.
 *
 * The files lie in the storage of the trial's checkpoints, so they outlive the task:
 *
 *   ROOT/<cluster>/tensorboard/experiment/<experiment>/trial/<trial>/
 *
 * Without a master they lie in the run's folder: DIR/tensorboard. */
#ifndef LIBDET_REPORT_TENSORBOARD_REPORTS_H
#define LIBDET_REPORT_TENSORBOARD_REPORTS_H

#include "det/det.h"

struct err;
struct report_metrics;

/* Fills context->tensorboard.  The context must be a trial's. */
det_status tensorboard_reports_start(det_context *context, struct err *err);
/* Writes the rest and frees everything; a forked child writes nothing.  Does nothing if
 * it was not started. */
void tensorboard_reports_stop(det_context *context);
/* Copies the metrics of an accepted report.  Never fails: TensorBoard matters less than
 * training. */
void tensorboard_reports_note(det_context *context, int64_t time_us,
                              const struct report_metrics *metrics);

#endif
