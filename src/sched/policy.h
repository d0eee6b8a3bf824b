/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - how a pool decides which request is next.
 *
 * A policy is a constant: it keeps nothing between passes.  It walks the queues, asks
 * pool_fit.c for places and tells pass.c its decisions; pass.c carries them out or
 * undoes them.  To add one: a file with a `const struct sched_policy`, a line here, a
 * row in policies[] of pool.c. */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include <stdbool.h>

#include "base/err.h"

struct pool;

struct sched_policy {
    const char *name; /* as in the configuration */
    bool has_groups;  /* every request has a group; else only those of capped jobs */
    /* Decides by pass_start(), pass_hold_back() and pass_preempt().  DET_NOMEM is the
     * only failure. */
    det_status (*plan)(struct pool *pool);
};

extern const struct sched_policy sched_priority;
extern const struct sched_policy sched_fair_share;

#endif
