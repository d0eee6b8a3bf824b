/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_keep.h - which checkpoints may be deleted.
 *
 * A checkpoint stays while any of these protects it:
 *
 *   1. it is among the `experiment_best` best of its experiment;
 *   2. it is among the `trial_best` best of its trial;
 *   3. it is among the `trial_latest` last of its trial, by steps;
 *   4. it is held: another trial began from it, or a user named it;
 *   5. its trial is live and may resume from it.  The heart hears of a checkpoint a
 *      little after its row is written, so this protects every checkpoint with at least
 *      as many steps as the one the heart knows;
 *   6. its trial is live and may still validate it, so 1 and 2 are not known yet.  This
 *      ends when the trial, later, reports a validation at more steps.
 *
 * The rank among the best comes from the validation at exactly the checkpoint's steps.
 * Without such a validation only rules 3 to 6 protect it.  Of two equal metrics the one
 * with fewer steps is better (it was validated first), then the one of the older trial.
 *
 * Rules 1 and 2 rank only the checkpoints that still exist.  A new checkpoint pushes
 * others down, never up, so the verdict "may go" stays true.  (One exception: a later
 * run validates the same steps again with a worse result.  This may lift others; those
 * already deleted stay deleted.)
 *
 * Therefore the rule works on one trial at a time, whenever one of its checkpoints or
 * validations came or its run ended.  Only rule 1 crosses trials (`is_top`); the caller
 * looks that up in an index. */
#ifndef MODEL_CHECKPOINT_KEEP_H
#define MODEL_CHECKPOINT_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `kind` in the metadata of a checkpoint that holds files which a run left behind (the key
 * `keep` of the configuration).  These rules do not apply to it: people delete it. */
#define CHECKPOINT_KEPT_FILES "kept files"

struct checkpoint_keep_policy {
    uint32_t experiment_best;
    uint32_t trial_best;
    uint32_t trial_latest;
    bool smaller_is_better;
};

struct checkpoint_keep_item {
    const char *uuid;
    int64_t trial_id;
    int64_t steps;
    int64_t report_us;
    bool has_metric; /* a validation at these steps, and not NaN */
    double metric;
    bool is_held;
    bool is_top; /* among the experiment's best */
    bool may_go; /* the verdict */
};

/* The trial that made them. */
struct checkpoint_keep_trial {
    bool is_live;
    const char *resumes_from; /* a uuid; NULL: the heart knows of none */
    int64_t resumes_steps;    /* of that one */
    int64_t validated_steps;  /* of its last validation; 0: none */
    int64_t validated_us;     /* when that was reported */
};

/* Sets `may_go` of all checkpoints of one trial, and reorders them.  The caller has set
 * `is_top` and `is_held`. */
void checkpoint_keep_judge(const struct checkpoint_keep_policy *policy,
                           const struct checkpoint_keep_trial *trial,
                           struct checkpoint_keep_item *items, size_t count);

#endif
