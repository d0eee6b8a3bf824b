/* SPDX-License-Identifier: Apache-2.0 */
/* ring_drain.h - from the ring to the master: in order, each report once, for as long
 * as it takes.
 *
 * The training process puts its reports into a ring (libdet/ring/ring.h) in the task
 * directory.  The drain sends them in batches, as they are, and frees them when the
 * master has confirmed them.  While the master is away it repeats the call with growing
 * pauses (master_sender.h); the ring keeps new reports meanwhile.
 *
 * The user must hear of reports that were refused, damaged or lost: they become notes,
 * which the supervisor's loop writes into the task's log. */
#ifndef AGENT_TASK_RING_DRAIN_H
#define AGENT_TASK_RING_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ring_drain;
struct executor;
struct io;
struct lane;
struct master_link;

enum { DRAIN_BATCH = 256 << 10 };

struct ring_drain_config {
    struct io *io;
    struct executor *exec; /* NULL: only ring_drain_rest() will be called */
    struct lane *lane;     /* of width 1; all blocking happens there */
    struct master_link *link;
    const char *dir;        /* the ring; copied */
    const char *allocation; /* copied */
    int64_t rank;
    uint32_t numbers_most; /* that a batch claims; 0: BATCH_NUMBERS_MOST */
    /* Called on the lane once everything was sent or refused, when there is a note to
     * take, and when the task must end. */
    void (*on_change)(void *arg);
    void *arg;
};

/* Borrows all but the strings. */
det_status ring_drain_new(const struct ring_drain_config *config,
                          struct ring_drain **ret_drain, struct err *err);
/* After its lane has stopped (executor_free()); NULL does nothing. */
void ring_drain_free(struct ring_drain *drain);

/* The task runs: from now on reports may come. */
void ring_drain_start(struct ring_drain *drain);
/* From any thread: ends a pause. */
void ring_drain_hurry(struct ring_drain *drain);
/* From any thread: no program writes any more; it is over when the ring is empty. */
void ring_drain_end(struct ring_drain *drain);

/* From any thread: everything was sent, or refused. */
bool ring_drain_is_over(const struct ring_drain *drain);
/* From any thread: the master has said that the run is over and the task must end.  It still
 * takes the reports. */
bool ring_drain_must_end(struct ring_drain *drain);
/* After the end: DET_OK, or why the master refused it.  DET_STATE: the run is over
 * for the master. */
det_status ring_drain_outcome(const struct ring_drain *drain, struct err *err);

/* After the end: whether the task ever reported. */
bool ring_drain_has_reports(const struct ring_drain *drain);
/* ... and how many checkpoints. */
uint32_t ring_drain_checkpoints(const struct ring_drain *drain);

/* From any thread: the next sentence for the task's log.  False: there is none. */
bool ring_drain_take_note(struct ring_drain *drain, char text[ERR_TEXT_SIZE]);

/* Sends the rest of a ring that has no writers, on the caller's thread, without
 * retries.  DET_BUSY without a failed call: there is more, but others have their turn. */
det_status ring_drain_rest(struct ring_drain *drain, struct err *err);

#endif
