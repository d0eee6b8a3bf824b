/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_delete.h - deleting an experiment and everything it left.
 *
 *   a terminal state or DELETE_FAILED --> DELETING --steps--> no row
 *                                             `--> DELETE_FAILED */
#ifndef STORE_EXPERIMENT_EXPERIMENT_DELETE_H
#define STORE_EXPERIMENT_EXPERIMENT_DELETE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct field_i64s;

/* Sets DELETING.  DET_STATE: the experiment is active or already DELETING, or a trial
 * of another experiment still needs one of its checkpoints. */
det_status store_experiment_set_deleting(struct db *db, int64_t id, struct err *err);
det_status store_experiment_delete_failed(struct db *db, int64_t id, struct err *err);
/* Removes a bounded number of rows.  *ret_done: nothing is left. */
det_status store_experiment_delete_step(struct db *db, int64_t id, bool *ret_done,
                                        struct err *err);
/* The experiments that are DELETING, by id. */
det_status store_experiments_deleting(struct db *db, struct arena *mem,
                                      struct field_i64s *ret_ids, struct err *err);

#endif
