/* SPDX-License-Identifier: Apache-2.0 */
/* allocation.h - rows of allocations and of their shares. */
#ifndef STORE_TASK_ALLOCATION_H
#define STORE_TASK_ALLOCATION_H

#include <stdint.h>

#include "base/err.h"

struct allocation;
struct arena;
struct db;
struct share;

det_status store_allocation_put(struct db *db, const struct allocation *row,
                                struct err *err);
det_status store_share_put(struct db *db, const struct share *row, struct err *err);

det_status store_allocation_get(struct db *db, const char *name, struct arena *mem,
                                struct allocation *ret_row, struct err *err);
det_status store_allocation_by_id(struct db *db, int64_t id, struct arena *mem,
                                  struct allocation *ret_row, struct err *err);
/* The experiment's run that waits before it tries again, and comes first of several. */
det_status store_allocation_delayed(struct db *db, int64_t experiment_id,
                                    struct arena *mem, struct allocation *ret_row,
                                    bool *ret_found, struct err *err);
/* When the experiment's first run got its slots; 0: none has yet. */
det_status store_allocation_first_us(struct db *db, int64_t experiment_id,
                                     int64_t *ret_us, struct err *err);
/* Only the name on the wire; in `mem`. */
det_status store_allocation_name(struct db *db, int64_t id, struct arena *mem,
                                 const char **ret_name, struct err *err);
/* The random digits of its tokens; "": they were issued before tokens had any. */
det_status store_allocation_nonce(struct db *db, int64_t id, struct arena *mem,
                                  const char **ret_nonce, struct err *err);
/* Of a task: unfinished ones first, then the most recently ended. */
det_status store_allocations_of_task(struct db *db, const char *task_id,
                                     struct arena *mem, struct allocation **ret_rows,
                                     uint32_t *ret_count, struct err *err);
/* All that are not over. */
det_status store_allocations_live(struct db *db, struct arena *mem,
                                  struct allocation **ret_rows, uint32_t *ret_count,
                                  struct err *err);
det_status store_shares_of(struct db *db, int64_t allocation_id, struct arena *mem,
                           struct share **ret_rows, uint32_t *ret_count,
                           struct err *err);
/* Everything of the share has arrived: its supervisor may add nothing more. */
det_status store_share_deliver(struct db *db, int64_t allocation_id, int64_t rank,
                               struct err *err);
/* DET_FORBIDDEN: that was so before. */
det_status store_share_check_open(struct db *db, int64_t allocation_id, int64_t rank,
                                  struct err *err);
/* Of all allocations that are not over, by allocation and rank. */
det_status store_shares_live(struct db *db, struct arena *mem, struct share **ret_rows,
                             uint32_t *ret_count, struct err *err);

#endif
