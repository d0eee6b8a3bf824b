/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - the address at which the program of a task listens; the master forwards to
 * it. */
#ifndef STORE_TASK_PROXY_H
#define STORE_TASK_PROXY_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct proxy_row {
    int64_t allocation_id;
    const char *task_id;
    const char *address;
    int64_t port;
};

/* Inside a write job.  Replaces the addresses of the task's earlier runs. */
det_status store_proxy_put(struct db *db, const struct proxy_row *row, struct err *err);

/* The address of the task's current run.  DET_NOT_FOUND: it has none (yet). */
det_status store_proxy_of_task(struct db *db, const char *task_id, struct arena *mem,
                               struct proxy_row *ret_row, struct err *err);

#endif
