/* SPDX-License-Identifier: Apache-2.0 */
/* pool_fit.h - whether a request could ever fit into a pool. */
#ifndef SCHED_POOL_FIT_H
#define SCHED_POOL_FIT_H

#include <stdbool.h>
#include <stdint.h>

struct pool;

/* Whether a request of that shape could ever start on the agents of the pool, disabled
 * slots included. */
bool pool_could_fit(const struct pool *pool, uint32_t slots, bool is_single_node);

#endif
