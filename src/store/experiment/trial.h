/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - rows of trials. */
#ifndef STORE_EXPERIMENT_TRIAL_H
#define STORE_EXPERIMENT_TRIAL_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct json;
struct trial;

det_status store_trial_add(struct db *db, const struct trial *row, struct err *err);
det_status store_trial_put(struct db *db, const struct trial *row, struct err *err);
det_status store_trial_set_runner_state(struct db *db, int64_t id, const char *state,
                                        struct err *err);
/* Merges `metadata` (a JSON object) into the trial's metadata and returns the
 * result.  DET_TOO_LARGE: it would have too many values, which the writer must read. */
enum { TRIAL_METADATA_VALUES = 10000 };
det_status store_trial_merge_metadata(struct db *db, int64_t id,
                                      const struct json *metadata, struct arena *mem,
                                      const char **ret_metadata, struct err *err);
det_status store_trial_set_log_policy(struct db *db, int64_t id, const char *name,
                                      struct err *err);

#endif
