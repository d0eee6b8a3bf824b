/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - checks and writes of reported checkpoints. */
#ifndef MASTER_API_REPORTS_CHECKPOINTS_H
#define MASTER_API_REPORTS_CHECKPOINTS_H

#include <stdint.h>

#include "base/err.h"

struct allocation;
struct arena;
struct checkpoint;
struct checkpoint_body;
struct db;
struct request;

/* The row of a checkpoint that `maker` reports at `now_us`, in `mem`; borrows from the
 * body and the allocation. */
det_status checkpoints_from_body(const struct checkpoint_body *body,
                                 const struct allocation *maker, int64_t now_us,
                                 struct arena *mem, struct checkpoint *ret_row,
                                 struct err *err);
/* Inside a write job: stores the row and, if it is new, its journal entry. */
det_status checkpoints_write(struct db *db, const struct checkpoint *row,
                             int64_t run_id, struct err *err);

#endif
