/* SPDX-License-Identifier: Apache-2.0 */
/* offline.h - the folder of a run without a master.
 *
 *   DIR/run.json        the run: how many times it was started, seed, hyperparameters
 *   DIR/run.lock        held while the run is under way
 *   DIR/state.json      how the last run ended, written by itself at exit
 *   DIR/reports/        the ring; without a sender it holds all reports
 *   DIR/logs/           what the run printed (output_recorder.h)
 *   DIR/checkpoints/    its checkpoints
 *   DIR/tensorboard/    the same metrics for TensorBoard, if asked for
 *   DIR/metadata.json   the trial's notes (det/metadata.h)
 *   DIR/latest.json     the checkpoint the next run starts from
 *
 * The files have the same form as on a cluster, so `det import` can bring the run into
 * a master. */
#ifndef LIBDET_OFFLINE_OFFLINE_H
#define LIBDET_OFFLINE_OFFLINE_H

#include "base/err.h"
#include "det/trial.h"

#define OFFLINE_LOGS  "logs"
#define OFFLINE_LOCK  "run.lock"
#define OFFLINE_STATE "state.json"

/* Outside a task: fills the context as environment_read() does inside one, and makes
 * the folder or continues the run in it.  DET_BUSY: another run is under way there. */
det_status offline_open(det_context *context, const det_init_options *options,
                        struct err *err);

#endif
