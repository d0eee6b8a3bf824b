/* SPDX-License-Identifier: Apache-2.0 */
/* collect.h - which checkpoints are removed; model/checkpoint_keep.h has the rule.
 *
 *   a report, a trial's end --> collect_trials ---+
 *   a patched policy --> collect_experiments -----+--> store_collect_step()
 *                                                              |
 *   COMPLETED --> DELETING, a row of `removals` <--------------+
 *       ^             |
 *       |        an agent removes the files --> DELETED, no row
 *    nothing          or says why it cannot --> error, tried again later
 *
 * An event that may free checkpoints notes the trial in the same transaction, so a
 * crash loses nothing.  A step then examines a few trials of one experiment.  The cost
 * of an event does not depend on the number of trials: indexes find the trial's own
 * remaining checkpoints, and as many of the experiment's best as the policy keeps.
 *
 * Every function takes a connection: a write job's to write, a reader to read. */
#ifndef STORE_CHECKPOINT_COLLECT_H
#define STORE_CHECKPOINT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct field_strs;
struct trial;

/* Facts that only the caller knows. */
struct collect_place {
    /* Storage in this directory is never shared, whatever its type says. */
    const char *local_directory;
    int64_t now_us;
};

/* ---- deciding -------------------------------------------------------------------- */

/* Whether there is work for a step. */
det_status store_collect_is_due(struct db *db, bool *ret_is_due, struct err *err);
/* Examines a bounded number of trials of one experiment.  *ret_experiment says which;
 * 0: none. */
det_status store_collect_step(struct db *db, const struct collect_place *place,
                              int64_t *ret_experiment, struct err *err);
/* Notes all trials of an experiment. */
det_status store_collect_experiment(struct db *db, int64_t experiment_id,
                                    struct err *err);
/* Notes a trial, because it has a new checkpoint or validation. */
det_status collect_trial(struct db *db, int64_t trial_id, struct err *err);
/* Call it before the trial's row is written: notes the trial if it ends or resumes from
 * another checkpoint. */
det_status collect_trial_put(struct db *db, const struct trial *row, struct err *err);
/* What another policy would remove; numbers below 0 mean "unchanged". */
struct collect_preview {
    int64_t save_experiment_best;
    int64_t save_trial_best;
    int64_t save_trial_latest;
};
det_status store_collect_preview(struct db *db, int64_t experiment_id,
                                 const struct collect_preview *policy,
                                 struct arena *mem, struct field_strs *ret_uuids,
                                 struct err *err);

/* ---- by hand --------------------------------------------------------------------- */

/* Keeps a checkpoint, because another trial begins from it.  DET_STATE: it is being
 * removed, or was. */
det_status store_checkpoint_hold(struct db *db, const char *uuid, struct err *err);
/* Whether it may be removed on demand.  DET_STATE names the trial that would resume
 * from it, its own or one that began from it.  A checkpoint that is being removed, or
 * was, is fine. */
det_status store_checkpoint_may_remove(struct db *db, const char *uuid,
                                       struct err *err);
det_status store_checkpoint_remove(struct db *db, const char *uuid,
                                   const struct collect_place *place, struct err *err);
/* Removes a bounded number of an experiment's checkpoints, protected or not.  *ret_did:
 * there were any. */
det_status store_experiment_remove_step(struct db *db, int64_t experiment_id,
                                        const struct collect_place *place,
                                        bool *ret_did, struct err *err);

#endif
