/* SPDX-License-Identifier: Apache-2.0 */
/* wait.h - who waits for what: long polls and log followers.
 *
 * Keys are short texts ("allocation 3.ab..1", "logs 3.ab..").  Somebody who wants to
 * wait takes a mark, looks whether what it waits for is already there, and parks with
 * the mark: if the key was woken in between, parking is refused and it looks again.
 * Nothing here allocates, so waiting cannot fail.
 *
 * Threading: everything from any thread; one lock inside, held while wake() and
 * parked() run: they only post tasks. */
#ifndef MASTER_WAIT_H
#define MASTER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct waiter;
struct waits;

typedef void waiter_fn(struct waiter *waiter);

struct waiter {
    struct waiter *next; /* in its bucket; guarded by the lock of `struct waits` */
    struct waiter **link;
    const char *key; /* borrowed while parked */
    waiter_fn *wake;
    waiter_fn *parked; /* called with the lock held once it is parked; may be NULL */
};

det_status waits_new(struct waits **ret_waits, struct err *err);
void waits_free(struct waits *waits);

uint64_t waits_mark(struct waits *waits, const char *key);
/* False: `key` was woken since `mark` (or everybody for good); look again. */
bool waits_park(struct waits *waits, const char *key, struct waiter *waiter,
                uint64_t mark);
/* True: it was parked and is no more; false: it was woken before. */
bool waits_leave(struct waits *waits, struct waiter *waiter);
/* Wakes everybody parked under `key`, each once. */
void waits_wake(struct waits *waits, const char *key);
/* Wakes everybody; from now on nobody parks. */
void waits_close(struct waits *waits);
/* Wakes this one, if it is parked. */
void waits_wake_one(struct waits *waits, struct waiter *waiter);

#endif
