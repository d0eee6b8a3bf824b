/* SPDX-License-Identifier: Apache-2.0 */
/* proxies.h - where programs of tasks listen that are reached through the master. */
#ifndef STORE_PROXIES_H
#define STORE_PROXIES_H

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

/* In a job of the writer.  Replaces what the task's runs have said before. */
det_status store_proxy_put(struct db *db, const struct proxy_row *row, struct err *err);

/* The one of the task's run that is not over.  DET_NOT_FOUND: it has none (yet). */
det_status store_proxy_of_task(struct db *db, const char *task_id, struct arena *mem,
                               struct proxy_row *ret_row, struct err *err);

#endif
