/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.h - experiments that somebody else runs: their rows are the store's alone
 * (store_unmanaged.c). */
#ifndef STORE_UNMANAGED_H
#define STORE_UNMANAGED_H

#include <stdint.h>

#include "base/err.h"

struct db;
struct trial;

/* The experiment of that external id, or the trial of an experiment by its task; 0:
 * none. */
det_status store_unmanaged_find(struct db *db, const char *external_id, int64_t *ret_id,
                                struct err *err);
det_status store_unmanaged_find_trial(struct db *db, int64_t experiment_id,
                                      const char *task_id, int64_t *ret_id,
                                      struct err *err);
/* Of the row only what whoever made it knows; its number is the next.  Nothing happens
 * when there is one of that task already, or when the experiment is being deleted. */
det_status store_unmanaged_add_trial(struct db *db, const struct trial *row,
                                     struct err *err);
/* The number of the last report that is stored. */
det_status store_unmanaged_mark(struct db *db, int64_t trial_id, int64_t *ret_number,
                                struct err *err);
det_status store_unmanaged_mark_set(struct db *db, int64_t trial_id, int64_t number,
                                    struct err *err);
det_status store_unmanaged_progress(struct db *db, int64_t trial_id, double progress,
                                    struct err *err);
/* What is reported from here on is of this run. */
det_status store_unmanaged_run(struct db *db, int64_t trial_id, int64_t run_id,
                               struct err *err);
/* How a trial is; its experiment is what its trials are. */
struct unmanaged_state {
    int64_t trial_id;
    uint32_t state;   /* enum trial_state: ACTIVE or an end */
    int64_t start_us; /* 0: as it is */
    int64_t end_us;   /* 0 while it is active */
    int64_t run_id;   /* 0: as it is */
};
det_status store_unmanaged_put(struct db *db, const struct unmanaged_state *state,
                               struct err *err);
/* Nobody will say how it ended: it and its trials count as canceled. */
det_status store_unmanaged_end(struct db *db, int64_t experiment_id, int64_t now_us,
                               struct err *err);

#endif
