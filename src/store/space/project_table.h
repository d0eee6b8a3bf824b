/* SPDX-License-Identifier: Apache-2.0 */
/* project_table.h - what the columns of a project's tables are made from. */
#ifndef STORE_SPACE_PROJECT_TABLE_H
#define STORE_SPACE_PROJECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* Gets one JSON text after the other; borrows it. */
typedef det_status project_text_fn(void *arg, const char *text, size_t len,
                                   struct err *err);

/* The complete configurations of its experiments. */
det_status store_project_configs(struct db *db, int64_t id, project_text_fn *fn,
                                 void *arg, struct err *err);
/* The metadata of its trials; trials without are left out. */
det_status store_project_metadata(struct db *db, int64_t id, project_text_fn *fn,
                                  void *arg, struct err *err);

/* The best trial of each experiment that has one, by experiment. */
struct project_best {
    int64_t trial_id;
    double metric; /* of the search */
};
det_status store_project_best(struct db *db, int64_t id, struct arena *mem,
                              struct project_best **ret_best, uint32_t *ret_count,
                              struct err *err);

#endif
