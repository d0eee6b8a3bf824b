/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - what a run without a master prints, kept beside what it reports; and how
 * it ended.
 *
 * On a cluster the supervisor stands outside of the training process, holds its pipes
 * and sees its end.  Without one there is nobody outside, so that one is started: `det
 * internal record`, which reads what the process writes to stdout and stderr, keeps it
 * in DIR/logs (the spools of agent/task/spool.h) and writes it on to where it would
 * have gone.  It is a process of its own, and not a thread, because the last words of a
 * process that dies are the ones that matter: what was written is in the pipe, and the
 * recorder reads it to its end whatever becomes of the writer.
 *
 *   training ==pipe or pty==> det internal record ==> terminal, file or pipe
 *                                     |
 *                                 DIR/logs
 *
 * So that nobody notices: a terminal stays a terminal (a pty of the same size takes its
 * place, and the bytes pass unchanged), a pipe a pipe; where stdout and stderr go to
 * the same place they share one way, so that their order stays; a reader that leaves
 * closes the way behind it; the recorder is nobody's child and hears no Ctrl-C.  At
 * exit the process waits until all it wrote has arrived: what a shell prints next comes
 * after it.  Where there is no recorder, nothing is changed and nothing kept.
 *
 * How the process ended is written by itself at exit, into DIR/state.json; a run that
 * has no end there, and whose lock nobody holds, was killed. */
#ifndef LIBDET_RECORD_H
#define LIBDET_RECORD_H

#include <stdbool.h>

#include "det/det.h"

struct io_file;

#define RECORD_LOGS  "logs"
#define RECORD_LOCK  "run.lock"
#define RECORD_STATE "state.json"

/* The descriptors that the recorder finds: the word with it, and one way each. */
enum { RECORD_CONTROL = 3, RECORD_FIRST = 4 };
#define RECORD_READY   'R' /* the recorder: I have everything, go on */
#define RECORD_DRAIN   'D' /* the process: say so when all that lies there has passed */
#define RECORD_DRAINED 'd'

/* Both do what they can, and fail in silence: training matters more.  After
 * record_begin() the end of the process is noted when it comes. */
void record_begin(det_context *context, bool keeps_logs);
/* The context is closed: unless the process fails later, the run is complete, or was
 * interrupted where record_interrupt() has said so. */
void record_close(det_context *context);
void record_interrupt(det_context *context);

#endif
