/* SPDX-License-Identifier: Apache-2.0 */
/* count.h - how many rows there are, for those who watch the master. */
#ifndef STORE_COUNT_H
#define STORE_COUNT_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* `what`: "experiments" (all), "trials", "jobs" (those that are not over), each by state;
 * "journal", "removals" and "deletions", with an empty state: work that waits. */
struct row_count {
    const char *what;
    const char *state;
    int64_t rows;
};

/* Reads indexes only, and of trials and jobs the live ones: cheap in a large database. */
det_status store_count(struct db *db, struct arena *mem, struct row_count **ret_counts,
                       uint32_t *ret_count, struct err *err);

#endif
