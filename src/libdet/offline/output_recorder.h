/* SPDX-License-Identifier: Apache-2.0 */
/* output_recorder.h - keeps what a run without a master prints, and notes how it ended.
 *
 * On a cluster the supervisor is outside the training process, holds its pipes and sees
 * its end.  Without a master, libdet starts a process for that: `det internal record`.
 * It reads what the training process writes to stdout and stderr, keeps it in DIR/logs
 * (the spools of agent/task/output/spool.h) and writes it on to the original target.
 * It is a process and not a thread because the last output of a dying process matters
 * most: that output is in the pipe, and the recorder reads the pipe to its end whatever
 * happens to the writer.
 *
 *   training ==pipe or pty==> det internal record ==> terminal, file or pipe
 *                                     |
 *                                 DIR/logs
 *
 * The user should not notice the recorder.  A terminal stays a terminal (a pty of the
 * same size takes its place, and the bytes pass unchanged) and a pipe stays a pipe.  If
 * stdout and stderr have the same target they share one channel, which keeps their
 * order.  If the reader of the original target goes away, the channel is closed.  The
 * recorder is detached from the training process and does not receive Ctrl-C.  At exit
 * the process waits until all its output has arrived, so the shell's next prompt comes
 * after it.  If the recorder cannot be started, output is neither changed nor kept.
 *
 * At exit the process writes into DIR/state.json how it ended.  A run without that
 * entry whose lock is free was killed. */
#ifndef LIBDET_OFFLINE_OUTPUT_RECORDER_H
#define LIBDET_OFFLINE_OUTPUT_RECORDER_H

#include <stdbool.h>

#include "det/det.h"
#include "libdet/offline/offline.h"

/* The recorder's file descriptors: the control socket, then one per channel. */
enum { RECORDER_CONTROL = 3, RECORDER_FIRST = 4 };
#define RECORDER_READY 'R' /* recorder to process: ready */
#define RECORDER_DRAIN                                                                 \
    'D' /* process to recorder: answer when all pending output
                                is written */
#define RECORDER_DRAINED 'd'

/* Starts the recorder if `keeps_logs`, and notes the end of the process when it comes.
 * Failures are silent: training matters more. */
void output_recorder_start(det_context *context, bool keeps_logs);
/* Notes that the context is closed: unless the process fails later, the run is
 * completed, or interrupted if output_recorder_interrupt() was called. */
void output_recorder_close(det_context *context);
void output_recorder_interrupt(det_context *context);

#endif
