/* SPDX-License-Identifier: Apache-2.0 */
/* slot_use.h - who held how many slots, and when: one row per allocation, also of
 * experiments that were deleted. */
#ifndef STORE_EXPERIMENT_SLOT_USE_H
#define STORE_EXPERIMENT_SLOT_USE_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct slot_use {
    int64_t id;
    const char *allocation;
    const char *type; /* "TRIAL", or the type of a job */
    int64_t user_id;
    const char *username;
    const char *workspace;
    int64_t experiment_id;  /* 0: of a job */
    const char *experiment; /* its name, or that of the job */
    const char *labels;     /* a JSON list */
    const char *resource_pool;
    int64_t slots;
    int64_t start_us;
    int64_t end_us; /* 0: it holds them still */
};

/* Those that held slots between two times, after number `after`, by number: at most
 * `limit`. */
struct slot_use_query {
    int64_t after;
    int64_t from_us;
    int64_t to_us;
    int64_t limit;
};
det_status store_slot_uses(struct db *db, const struct slot_use_query *query,
                           struct arena *mem, struct slot_use **ret_rows,
                           uint32_t *ret_count, struct err *err);
/* Keeps what is known about the allocations of a trial that is about to be deleted. */
det_status store_slot_use_keep(struct db *db, int64_t trial_id, struct err *err);

#endif
