/* SPDX-License-Identifier: Apache-2.0 */
/* distributed.h - the processes of one training from inside: two stars, and the numbers
 * that they are made of.
 *
 *   distributed.c      the public functions over stars
 *   distributed_env.c  what launchers put into the environment
 *   star*.c            a chief and its workers */
#ifndef LIBDET_DISTRIBUTED_H
#define LIBDET_DISTRIBUTED_H

#include "det/distributed.h"
#include "libdet/context.h"
#include "libdet/star.h"

/* All that is needed to join; strings lie in an arena. */
struct distributed_plan {
    det_ranks ranks;
    const char *chief; /* NULL: not known */
    uint16_t port;
    const char *secret; /* NULL: none */
    const char *job;    /* what tells this run from others on the machine */
};

/* From the options and the environment; checked. */
det_status distributed_plan(const struct context_world *world,
                            const det_distributed_options *options, struct arena *mem,
                            struct distributed_plan *ret_plan, struct err *err);

/* As det_distributed_open(), in a given world, of which only files and variables count.
 */
det_status distributed_open(const struct context_world *world,
                            const det_distributed_options *options,
                            det_distributed **ret_group, struct err *err);

/* Keeps the sentence for det_distributed_error() and returns `status`. */
det_status distributed_keep_error(det_distributed *group, det_status status,
                                  const struct err *err);

#endif
