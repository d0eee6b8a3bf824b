/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h - threads of several processes at one piece of memory: a lock that survives
 * its holder, a word to sleep on, and a mark that shows a fork.
 *
 * Lock and word lie in a file that is mapped into all of them (io_map()).  Whoever can
 * write there can also lead the holder of the lock astray: it is only for processes of
 * one user.  Sleeping and waking are safe in any memory. */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Room for the system's mutex, the same for every build on one processor. */
struct shared_lock {
    uint64_t words[8];
};

/* Only while nobody uses it: free, and free of damage. */
void shared_lock_reset(struct shared_lock *lock);
/* False: it could not be had in time, or it is damaged.  A holder that died has let
 * it go; what it guards must be whole at every moment. */
bool shared_lock_take(struct shared_lock *lock, int timeout_ms);
void shared_lock_give(struct shared_lock *lock);

/* Sleeps while the word has that value, until woken, at most so long (-1: for ever);
 * may also return early. */
void shared_wait(_Atomic uint32_t *word, uint32_t value, int timeout_ms);
void shared_wake(_Atomic uint32_t *word);

/* Zeroes that processes forked later see at the same place and share; NULL: there is no
 * memory. */
void *shared_memory_new(size_t len);
void shared_memory_free(void *memory, size_t len); /* NULL does nothing */

/* True in the process that made it, false in one that was forked from it: asking costs
 * no call into the system. */
struct fork_mark {
    const uint32_t *is_ours;
};
det_status fork_mark_init(struct fork_mark *mark, struct err *err);
void fork_mark_done(struct fork_mark *mark);
static inline bool fork_mark_is_ours(const struct fork_mark *mark)
{
    return *(const volatile uint32_t *)mark->is_ours != 0;
}

#endif
