/* SPDX-License-Identifier: Apache-2.0 */
/* shared_lock.h - threads of several processes on one piece of memory: a lock that
 * survives its holder, a word to sleep on, and a mark that shows a fork.
 *
 * Lock and word lie in a file that all of them map (io_map()).  Every process that can
 * write there can mislead the holder of the lock: all of them must belong to one user.
 * Sleeping and waking are safe in any memory. */
#ifndef BASE_THREAD_SHARED_LOCK_H
#define BASE_THREAD_SHARED_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Room for the system's mutex, the same for every build on one processor. */
struct shared_lock {
    uint64_t words[8];
};

/* Only while nobody uses it: free, and repaired. */
void shared_lock_reset(struct shared_lock *lock);
/* False: not available in time, or damaged.  The lock of a dead holder is free, so the
 * data it guards must be consistent at every moment. */
bool shared_lock_take(struct shared_lock *lock, int timeout_ms);
void shared_lock_give(struct shared_lock *lock);

/* Sleeps while the word has that value, until woken or at most for `timeout_ms` (-1:
 * without limit); may also return early. */
void shared_wait(_Atomic uint32_t *word, uint32_t value, int timeout_ms);
void shared_wake(_Atomic uint32_t *word);

/* Zeroed memory that processes forked later see at the same address and share; NULL
 * when out of memory. */
void *shared_memory_new(size_t len);
void shared_memory_free(void *memory, size_t len); /* NULL does nothing */

/* True in the process that made it, false in its forked children.  Asking needs no
 * system call. */
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
