/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.h - all trials of an experiment as small rows, read at once. */
#ifndef STORE_EXPERIMENT_TRIAL_TABLE_H
#define STORE_EXPERIMENT_TRIAL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct trial_line {
    int64_t id;
    uint32_t state;
    uint32_t live_state; /* enum live_state */
    int64_t steps;
    int64_t restarts;
    int64_t start_us;
    int64_t end_us;      /* 0: the trial is not over */
    int64_t on_slots_us; /* see trial_on_slots_us() in trial_view.h */
    const char *hparams;
    bool has_best;
    double best; /* the searcher's metric at the best and at the latest validation */
    bool has_latest;
    double latest;
    const char *best_validation; /* JSON metrics; NULL unless asked for */
    const char *latest_validation;
};

/* By id.  `with_validations`: also all metrics of those two validations. */
det_status store_trial_table(struct db *db, int64_t experiment_id,
                             bool with_validations, struct arena *mem,
                             struct trial_line **ret_lines, uint32_t *ret_count,
                             struct err *err);

#endif
