/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - worker processes: for functions that only one thread of a process may call,
 * and for those that may crash.
 *
 * The crew is forked when it is made and shares a few words with its parent: for each
 * slot its state, the position to be made in it, and how that went.  What is made goes
 * into memory that the caller shares with the crew as well (base/shared.h).
 *
 *   READY    the parent owns the slot
 *   POSTED   whoever comes first may take it; the lowest position goes first
 *   TAKEN    by the worker whose number is in the state: taking is one step, so that a
 *            worker that dies at any moment is known to have had it, or not
 *
 * A worker that dies fails what it was at, and another takes its place.  Workers leave
 * when their parent is gone.  The parent's side belongs to one thread at a time. */
#ifndef LIBDET_CREW_H
#define LIBDET_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct crew;

struct crew_plan {
    uint32_t workers;
    uint32_t slots;
    /* Runs in a worker. */
    det_status (*make)(void *arg, uint32_t slot, int64_t position, struct err *err);
    void *arg; /* borrowed */
};

det_status crew_new(const struct crew_plan *plan, struct crew **ret_crew,
                    struct err *err);
/* Waits for what the workers are at.  NULL does nothing. */
void crew_free(struct crew *crew);

/* The slot is READY before. */
void crew_post(struct crew *crew, uint32_t slot, int64_t position);
/* Until the slot is READY; how making it went. */
det_status crew_wait(struct crew *crew, uint32_t slot, struct err *err);
/* Takes a slot back that nobody has taken; waits where somebody has. */
void crew_recall(struct crew *crew, uint32_t slot);

#endif
