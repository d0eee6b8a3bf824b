/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_continue.h - continuing an experiment that has ended. */
#ifndef STORE_EXPERIMENT_EXPERIMENT_CONTINUE_H
#define STORE_EXPERIMENT_EXPERIMENT_CONTINUE_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct experiment;
struct experiment_texts;
struct trial;

/* Changes the row of an experiment that had ended at `was_end_us`, with its
 * configurations.  Texts that are NULL stay; files are ignored.  DET_STATE: it
 * has changed in the meantime. */
det_status store_experiment_continue(struct db *db, const struct experiment *row,
                                     int64_t was_end_us,
                                     const struct experiment_texts *texts,
                                     struct err *err);
/* The trials of an experiment by number, for its continuation: latest_checkpoint is
 * the latest one that still exists. */
det_status store_experiment_past(struct db *db, int64_t id, struct arena *mem,
                                 struct trial **ret_rows, uint32_t *ret_count,
                                 struct err *err);
/* The latest of a trial's checkpoints that still exists; NULL: none. */
det_status store_trial_still_there(struct db *db, int64_t id, struct arena *mem,
                                   const char **ret_uuid, struct err *err);

#endif
