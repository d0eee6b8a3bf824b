/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - a lock for data that the work of several lanes touches.
 *
 * Nobody holds a lock across a post that could run user code, nor while waiting for
 * anything.  A thread that takes a lock twice fails an assertion. */
#ifndef BASE_THREAD_LOCK_H
#define BASE_THREAD_LOCK_H

#include <stdint.h>

#include "base/err.h"

struct lock {
    void *impl;
};
det_status lock_init(struct lock *lock, struct err *err);
void lock_done(struct lock *lock); /* {0}: does nothing */
void lock_take(struct lock *lock);
void lock_give(struct lock *lock);

/* A number that no other living thread has. */
uintptr_t thread_self(void);

#endif
