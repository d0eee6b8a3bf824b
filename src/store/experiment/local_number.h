/* SPDX-License-Identifier: Apache-2.0 */
/* local_number.h - the numbers of trials in their projects (inside a write job).
 *
 * People see them as KEY-number.  A project counts on: numbers are not used again. */
#ifndef STORE_EXPERIMENT_LOCAL_NUMBER_H
#define STORE_EXPERIMENT_LOCAL_NUMBER_H

#include <stdint.h>

#include "base/err.h"

struct db;

/* Numbers a new trial. */
det_status local_number_give(struct db *db, int64_t trial_id, struct err *err);
/* Numbers all trials of an experiment anew, which has just moved to this project. */
det_status local_number_move(struct db *db, int64_t experiment_id, int64_t project_id,
                             struct err *err);

#endif
