/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h - which checkpoints may go.
 *
 * A checkpoint stays while any of these protects it:
 *
 *   1. it is among the `experiment_best` best of its experiment;
 *   2. it is among the `trial_best` best of its trial;
 *   3. it is among the `trial_latest` last of its trial, by steps;
 *   4. it is held: another trial began from it, or somebody named it;
 *   5. its trial lives and would resume from it, or will once the heart has heard of
 * it, which may be a little after its row was written: any as far as the one it knows;
 *   6. its trial lives and may still validate it: then 1 and 2 cannot be known yet.  It
 *      no longer may once it has, since, validated at more steps.
 *
 * Better is decided by the validation at exactly the checkpoint's steps; one without
 * can only be protected by 3 to 6.  Of equals the one with fewer steps is better (it
 * was validated first), then that of the older trial.  Rules 1 and 2 only ever rank
 * what is still there, so that a verdict "may go" is not taken back by what follows: a
 * better one pushes others down, never up.  (Only a later run that validates the same
 * steps again, with a worse result, can lift others after the fact; what has gone then
 * stays gone.)
 *
 * That is why the rule can be applied a trial at a time, whenever one of its
 * checkpoints or validations came or its run ended, and why only one thing crosses
 * trials: who is among the experiment's best (`is_top`).  The caller knows that from
 * an index; keep_top() works it out from a whole list. */
#ifndef MODEL_KEEP_H
#define MODEL_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keep_policy {
    uint32_t experiment_best;
    uint32_t trial_best;
    uint32_t trial_latest;
    bool smaller_is_better;
};

struct keep_item {
    const char *uuid;
    int64_t trial_id;
    int64_t steps;
    int64_t report_us;
    bool has_metric; /* a validation at these steps, with a number that is one */
    double metric;
    bool is_held;
    bool is_top; /* among the experiment's best */
    bool may_go; /* the verdict */
};

/* What matters of the trial that made them. */
struct keep_trial {
    bool is_live;
    const char *resumes_from; /* a uuid; NULL: none, as far as the heart knows */
    int64_t resumes_steps;    /* of that one */
    int64_t validated_steps;  /* of its last validation; 0: none */
    int64_t validated_us;     /* when that was reported */
};

/* Whether `a` ranks before `b` by the metric; both have one.  A total order. */
bool keep_is_better(const struct keep_policy *policy, const struct keep_item *a,
                    const struct keep_item *b);

/* Sets `is_top` of all an experiment has. */
void keep_top(const struct keep_policy *policy, struct keep_item *items, size_t count);

/* Sets `may_go` of all that one trial has; `is_top` and `is_held` are known. */
void keep_judge(const struct keep_policy *policy, const struct keep_trial *trial,
                struct keep_item *items, size_t count);

#endif
