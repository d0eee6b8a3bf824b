/* SPDX-License-Identifier: Apache-2.0 */
/* drain.h - from the ring to the master, in order, once each, for as long as it takes.
 *
 * The training process puts its reports into a ring (libdet/ring.h) in the task's
 * directory; here they are taken out a batch at a time, sent as they lie there, and
 * given up only when the master says that it has them.  While it is away: again and
 * again, with growing pauses (courier.h); the ring keeps what comes meanwhile.
 *
 * What concerns the user (reports that were refused, damaged or lost) is noted here and
 * taken by the supervisor's loop, which writes it into the task's log. */
#ifndef AGENT_TASK_DRAIN_H
#define AGENT_TASK_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct drain;
struct exec;
struct io;
struct lane;
struct talk;

enum { DRAIN_BATCH = 256 << 10 };

struct drain_config {
    struct io *io;
    struct exec *exec; /* NULL: only drain_rest() will be called */
    struct lane *lane; /* of width 1; all blocking happens there */
    struct talk *talk;
    const char *dir;        /* the ring; copied */
    const char *allocation; /* copied */
    int64_t rank;
    /* Called on the lane once everything was sent or refused, and when there is a note
     * to take. */
    void (*on_change)(void *arg);
    void *arg;
};

/* Borrows all but the strings. */
det_status drain_new(const struct drain_config *config, struct drain **ret_drain,
                     struct err *err);
/* After its lane has stopped (exec_free()); NULL does nothing. */
void drain_free(struct drain *drain);

/* The task runs: from now on reports may come. */
void drain_start(struct drain *drain);
/* From any thread: do not wait for the rest of a pause. */
void drain_hurry(struct drain *drain);
/* From any thread: nobody writes any more; it is over when the ring is empty. */
void drain_end(struct drain *drain);

/* From any thread: everything was sent, or refused. */
bool drain_is_over(const struct drain *drain);
/* Once it is over: DET_OK, or why the master does not want it.  DET_STATE: the run is
 * over, as far as the master is concerned. */
det_status drain_outcome(const struct drain *drain, struct err *err);

/* From any thread: the next sentence for the task's log.  False: there is none. */
bool drain_take_note(struct drain *drain, char text[ERR_TEXT_SIZE]);

/* Sends what a ring without writers holds, on the caller's thread, without retries. */
det_status drain_rest(struct drain *drain, struct err *err);

#endif
