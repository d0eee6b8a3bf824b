/* SPDX-License-Identifier: Apache-2.0 */
/* left_tasks.h - tasks in an agent's directory that still run, whether the agent lives or
 * not. */
#ifndef AGENT_LEFT_TASKS_H
#define AGENT_LEFT_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;

struct left_task {
    const char *name; /* of its directory: "<allocation>-<rank>" */
    int64_t pid;      /* of its supervisor; 0: not known, or it has none */
};

/* In `mem`, those that still run.  Those with a supervisor are told to end, processes without one
 * are killed.  A failure at one task does not keep the others. */
det_status left_tasks_end(struct io *io, const char *agent_dir, struct arena *mem,
                          struct left_task **ret_task, size_t *ret_count,
                          struct err *err);

#endif
