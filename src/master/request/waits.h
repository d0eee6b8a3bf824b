/* SPDX-License-Identifier: Apache-2.0 */
/* waits.h - waiters by key: long polls and log followers.
 *
 * Keys are short texts ("allocation 3.ab..1", "task 3.ab..").  A waiter takes a mark, checks
 * whether there is news already, and parks with the mark.  If the key was woken in between,
 * waits_park() refuses and the waiter checks again.  Nothing here allocates, so waiting
 * cannot fail.
 *
 * Threading: everything from any thread.  The one lock is held while wake() and parked()
 * run; they only post work items. */
#ifndef MASTER_REQUEST_WAITS_H
#define MASTER_REQUEST_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct waiter;
struct waits;

typedef void waiter_fn(struct waiter *waiter);

struct waiter {
    struct waiter *next; /* in its bucket; guarded by the lock of `struct waits` */
    struct waiter **link;
    const char *key; /* borrowed while parked */
    waiter_fn *wake;
    waiter_fn *parked; /* called with the lock held, after parking; may be NULL */
};

det_status waits_new(struct waits **ret_waits, struct err *err);
void waits_free(struct waits *waits);

uint64_t waits_mark(struct waits *waits, const char *key);
/* False: `key` was woken since `mark`, or waits_close() was called; check again. */
bool waits_park(struct waits *waits, const char *key, struct waiter *waiter,
                uint64_t mark);
/* True: it was parked until now; false: it was woken before. */
bool waits_leave(struct waits *waits, struct waiter *waiter);
/* Wakes all waiters of `key`, each once. */
void waits_wake(struct waits *waits, const char *key);
/* Wakes all waiters; from now on waits_park() refuses. */
void waits_close(struct waits *waits);
/* Wakes this waiter, if it is parked. */
void waits_wake_one(struct waits *waits, struct waiter *waiter);

/* How many are parked. */
uint32_t waits_count(struct waits *waits);

/* The key of the master's own log. */
#define WAITS_KEY_MASTER_LOG "master log"

/* The keys of a task's log and of an allocation, in `mem`; NULL: no memory. */
const char *waits_key_task(struct arena *mem, const char *task_id);
const char *waits_key_allocation(struct arena *mem, const char *name);

#endif
