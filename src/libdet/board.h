/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - what is reported, also as files for TensorBoard.
 *
 * A report costs the training thread a copy into memory (board_note()); once a second a
 * thread makes events of what has gathered and writes them.  What gathered and was not
 * written is lost for TensorBoard when the process is killed: the reports themselves
 * are in the ring.
 *
 * The files lie where the trial's checkpoints do, so that they outlive the task:
 *
 *   ROOT/<cluster>/tensorboard/experiment/<experiment>/trial/<trial>/
 *
 * and, without a master, in the run's folder: DIR/tensorboard. */
#ifndef LIBDET_BOARD_H
#define LIBDET_BOARD_H

#include "det/det.h"

struct err;
struct report_metrics;

/* Fills context->board; the context is a trial's. */
det_status board_start(det_context *context, struct err *err);
/* Writes what is left; in a forked child nothing.  Fine when there is none. */
void board_stop(det_context *context);
/* Of a report that was accepted.  Never fails: TensorBoard is worth less than training.
 */
void board_note(det_context *context, int64_t time_us,
                const struct report_metrics *metrics);

/* events.c: det_events_scalars() for numbers of another time. */
det_status events_scalars_at(det_events *events, int64_t wall_us, int64_t step,
                             const det_metric *metrics, size_t count, struct err *err);

#endif
