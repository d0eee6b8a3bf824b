/* SPDX-License-Identifier: Apache-2.0 */
/* metric_rows.h - tail rows and blocks in the database. */
#ifndef STORE_METRIC_METRIC_ROWS_H
#define STORE_METRIC_METRIC_ROWS_H

#include <stdint.h>

#include "base/err.h"
#include "store/metric/metric.h"

struct arena;
struct db;
struct db_query;
struct json;

/* The condition of SQL statements whose first values metric_key_bind() binds. */
#define METRIC_OF_KEY "trial_id = $1 AND group_id = $2 AND run_id = $3"
/* Binds trial, group and run, in this order. */
void metric_key_bind(struct db_query *q, const struct metric_key *key);
/* The shapes of a trial and group, in `mem`. */
det_status metric_shapes_load(struct db *db, const struct metric_key *key,
                              struct arena *mem, struct metric_shape **ret_shapes,
                              struct err *err);
/* Tail rows after `after`, at most `limit`, in order, in `mem`. */
det_status metric_tail_load(struct db *db, const struct metric_key *key,
                            struct metric_place after, uint32_t limit,
                            struct arena *mem, struct metric_rows *ret_rows,
                            struct err *err);
struct metric_block {
    int64_t id; /* 0: none */
    struct metric_place first;
    struct metric_place last;
    uint32_t count;
    struct metric_rows rows;
};
/* The block that holds the place after `after`, or else the next one; decoded. */
det_status metric_block_behind(struct db *db, const struct metric_key *key,
                               struct metric_place after, struct arena *mem,
                               struct metric_block *ret_block, struct err *err);
/* The last block that begins at or before `place`; not decoded if `mem` is NULL. */
det_status metric_block_upto(struct db *db, const struct metric_key *key,
                             struct metric_place place, struct arena *mem,
                             struct metric_block *ret_block, struct err *err);
det_status metric_block_drop(struct db *db, const struct metric_key *key,
                             const struct metric_block *block, struct err *err);
det_status metric_block_put(struct db *db, const struct metric_key *key,
                            const struct metric_rows *rows, struct arena *mem,
                            struct err *err);
/* The runs and groups of which a trial has reports; NULL group: all. */
det_status metric_runs_load(struct db *db, int64_t trial_id, const char *group,
                            struct arena *mem, struct metric_run **ret_runs,
                            uint32_t *ret_count, struct err *err);
/* The JSON object of a row's values, in `mem`. */
det_status metric_cells_text(const struct metric_cells *row, struct arena *mem,
                             const char **ret_text, struct err *err);
det_status metric_cells_json(const struct metric_cells *row, struct arena *mem,
                             struct json **ret_object, struct err *err);

/* The report of a trial and group at exactly those steps that is not archived; NULL:
 * none. */
det_status store_metric_at(struct db *db, int64_t trial_id, const char *group,
                           int64_t steps, struct arena *mem, struct json **ret_metrics,
                           struct err *err);

#endif
