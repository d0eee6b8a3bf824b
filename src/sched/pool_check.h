/* SPDX-License-Identifier: Apache-2.0 */
/* pool_check.h - a pool's invariants (pool.h), recounted. */
#ifndef SCHED_POOL_CHECK_H
#define SCHED_POOL_CHECK_H

#include "base/err.h"

struct pool;

/* DET_OK, or DET_CORRUPT with the invariant that is broken.  O(everything). */
det_status pool_check(const struct pool *pool, struct err *err);

#endif
