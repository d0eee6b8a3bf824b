/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.h - all trials of an experiment at a glance, and what it came from: small
 * rows, read in one go. */
#ifndef STORE_TRIAL_TABLE_H
#define STORE_TRIAL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/records.h"
#include "store/db.h"

struct arena;

struct trial_line {
    int64_t id;
    uint32_t state;
    uint32_t live_state; /* enum live_state */
    int64_t steps;
    int64_t restarts;
    int64_t start_us;
    int64_t end_us;      /* 0: it is not over */
    int64_t on_slots_us; /* see trial_on_slots_us() of views.h */
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

struct kin {
    int64_t id;
    const char *name;
    uint32_t state;
    int64_t parent_id;
    bool is_gone; /* only its number is left */
};

/* Its parent, that one's parent and so on, at most `most`; then those that were forked
 * from it, by id, at most `most`. */
det_status store_experiment_ancestors(struct db *db, int64_t id, uint32_t most,
                                      struct arena *mem, struct kin **ret_kin,
                                      uint32_t *ret_count, struct err *err);
det_status store_experiment_children(struct db *db, int64_t id, uint32_t most,
                                     struct arena *mem, struct kin **ret_kin,
                                     uint32_t *ret_count, struct err *err);
/* The checkpoints that its trials began from, each once, at most `most`. */
det_status store_experiment_warm_starts(struct db *db, int64_t id, uint32_t most,
                                        struct arena *mem, struct field_strs *ret_uuids,
                                        struct err *err);

#endif
