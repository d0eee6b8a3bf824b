/* SPDX-License-Identifier: Apache-2.0 */
/* pool_ahead.h - the place of a request in its pool's queues, for tests. */
#ifndef TESTS_SUPPORT_POOL_AHEAD_H
#define TESTS_SUPPORT_POOL_AHEAD_H

#include <stdint.h>

struct pool;

/* How many waiting requests come before it; -1 if it does not wait. */
int64_t pool_ahead(const struct pool *pool, int64_t allocation);

#endif
