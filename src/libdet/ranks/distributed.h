/* SPDX-License-Identifier: Apache-2.0 */
/* distributed.h - the processes that train together, behind det/distributed.h.
 *
 *   distributed.c      the public functions, over stars
 *   distributed_env.c  reads what launchers put into the environment
 *   star*.c            a chief and its workers */
#ifndef LIBDET_RANKS_DISTRIBUTED_H
#define LIBDET_RANKS_DISTRIBUTED_H

#include "det/distributed.h"
#include "libdet/context.h"
#include "libdet/ranks/star.h"

/* As det_distributed_open(), in a given world; only its files and variables are used.
 */
det_status distributed_open(const struct context_world *world,
                            const det_distributed_options *options,
                            det_distributed **ret_group, struct err *err);

/* Keeps the error for det_distributed_error() and returns `status`. */
det_status distributed_keep_error(det_distributed *group, det_status status,
                                  const struct err *err);

#endif
