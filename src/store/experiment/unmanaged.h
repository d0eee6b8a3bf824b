/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.h - experiments whose programs are started outside the platform.
 *
 * Clients find them by their external id and report their states; the core does not
 * know them. */
#ifndef STORE_EXPERIMENT_UNMANAGED_H
#define STORE_EXPERIMENT_UNMANAGED_H

#include <stdint.h>

#include "base/err.h"

struct db;
struct trial;

/* Find an experiment by its external id, or a trial of an experiment by its task; 0:
 * none. */
det_status store_unmanaged_find(struct db *db, const char *external_id, int64_t *ret_id,
                                struct err *err);
det_status store_unmanaged_find_trial(struct db *db, int64_t experiment_id,
                                      const char *task_id, int64_t *ret_id,
                                      struct err *err);
/* Stores only the columns that a client knows; the trial gets the next number.  Does
 * nothing if the task has a trial already, or if the experiment is being deleted. */
det_status store_unmanaged_add_trial(struct db *db, const struct trial *row,
                                     struct err *err);
/* The number of the last report that is stored. */
det_status store_unmanaged_mark(struct db *db, int64_t trial_id, int64_t *ret_number,
                                struct err *err);
det_status store_unmanaged_mark_set(struct db *db, int64_t trial_id, int64_t number,
                                    struct err *err);
det_status store_unmanaged_progress(struct db *db, int64_t trial_id, double progress,
                                    struct err *err);
/* Later reports belong to this run. */
det_status store_unmanaged_run(struct db *db, int64_t trial_id, int64_t run_id,
                               struct err *err);
/* The state of a trial.  The experiment's state follows from its trials. */
struct unmanaged_state {
    int64_t trial_id;
    uint32_t state;   /* enum trial_state: ACTIVE or an end */
    int64_t start_us; /* 0: unchanged */
    int64_t end_us;   /* 0 while it is active */
    int64_t run_id;   /* 0: unchanged */
};
det_status store_unmanaged_put(struct db *db, const struct unmanaged_state *state,
                               struct err *err);
/* For a client that is gone: sets the experiment and its trials to CANCELED. */
det_status store_unmanaged_end(struct db *db, int64_t experiment_id, int64_t now_us,
                               struct err *err);

#endif
