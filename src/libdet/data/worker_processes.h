/* SPDX-License-Identifier: Apache-2.0 */
/* worker_processes.h - worker processes of a loader, for functions that only one thread
 * of a process may call, and for functions that may crash.
 *
 * The processes are forked at the beginning and share a little memory with their
 * parent: for each slot its state, the position to make in it, and the result.  The
 * data goes into memory that the caller shares with them, too
 * (base/thread/shared_lock.h).
 *
 *   READY    the parent owns the slot
 *   POSTED   the next free worker takes it; the lowest position goes first
 *   TAKEN    the worker whose number is in the state has it.  Taking is one atomic
 *            step, so it is always known whether a worker that died had the slot
 *
 * If a worker dies, its slot fails, and another process takes its place.  Workers exit
 * when their parent is gone.  One thread at a time may use the parent's side. */
#ifndef LIBDET_DATA_WORKER_PROCESSES_H
#define LIBDET_DATA_WORKER_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct worker_processes;

struct worker_plan {
    uint32_t workers;
    uint32_t slots;
    /* Runs in a worker. */
    det_status (*make)(void *arg, uint32_t slot, int64_t position, struct err *err);
    void *arg; /* borrowed */
};

det_status worker_processes_new(const struct worker_plan *plan,
                                struct worker_processes **ret_workers, struct err *err);
/* Waits for the work in progress.  NULL does nothing. */
void worker_processes_free(struct worker_processes *workers);

/* READY -> POSTED. */
void worker_processes_post(struct worker_processes *workers, uint32_t slot,
                           int64_t position);
/* Waits until the slot is READY, and returns the result. */
det_status worker_processes_wait(struct worker_processes *workers, uint32_t slot,
                                 struct err *err);
/* Takes back a slot; waits if a worker has taken it. */
void worker_processes_recall(struct worker_processes *workers, uint32_t slot);

#endif
