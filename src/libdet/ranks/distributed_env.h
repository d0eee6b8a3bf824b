/* SPDX-License-Identifier: Apache-2.0 */
/* distributed_env.h - rank, size and address of the chief, from the environment. */
#ifndef LIBDET_RANKS_DISTRIBUTED_ENV_H
#define LIBDET_RANKS_DISTRIBUTED_ENV_H

#include <stdint.h>

#include "base/err.h"
#include "det/distributed.h"

struct arena;
struct context_world;

/* Everything needed to join; strings lie in an arena. */
struct distributed_plan {
    det_ranks ranks;
    const char *chief; /* NULL: unknown */
    uint16_t port;
    const char *secret; /* NULL: none */
    const char *job;    /* distinguishes this run from others on the machine */
};

/* Makes the plan from the options and the environment, and checks it. */
det_status distributed_env_plan(const struct context_world *world,
                                const det_distributed_options *options,
                                struct arena *mem, struct distributed_plan *ret_plan,
                                struct err *err);

#endif
