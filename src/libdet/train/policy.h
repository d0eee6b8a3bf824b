/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - when to report, validate, save and stop: the rules behind det/trainer.h.
 *
 * Pure: numbers in, flags out.  A boundary is the end of a batch.  There is due:
 *
 *   report      if the reporting period has passed, or at a validation or the end
 *   validate    if the validation period has passed, or the training is complete
 *   checkpoint  if the checkpoint period has passed, the policy wants the validation
 *               just made, or training stops and the state is not saved yet
 *   stop        if the length is reached, or a stop was requested
 *
 * A period passes at every multiple of it, counted from the start of the training and
 * not from the last time.  So an interrupted run and an undisturbed one do the same at
 * the same batches.  Periods in records are rounded down to batches, but to at least
 * one; lengths in records are rounded up.  Epochs are counted by their length if it is
 * known, else as they end.
 *
 * A stop request gets a checkpoint and nothing else.  A validation would hold the slots
 * longer.  A report would close a window that the resumed run will fill, so its curve
 * would differ from that of an undisturbed run.  If a validation was due at that batch,
 * it is due when training resumes, before the next batch. */
#ifndef LIBDET_TRAIN_POLICY_H
#define LIBDET_TRAIN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "det/trainer.h"

struct policy_state {
    int64_t batches;
    int64_t epochs;        /* complete */
    int64_t epoch_batches; /* of the current epoch */
    int64_t reported_at;   /* batches; -1: never */
    int64_t validated_at;  /* likewise */
    int64_t saved_at;
    double best; /* of the searcher's metric */
    bool has_best;
};

struct policy {
    det_trainer_options options;
    struct policy_state state;
    bool is_asked_to_stop;
};

det_status policy_init(struct policy *policy, const det_trainer_options *options,
                       struct err *err);
unsigned policy_begin(struct policy *policy);
unsigned policy_batch_end(struct policy *policy);
unsigned policy_epoch_end(struct policy *policy);
unsigned policy_validated(struct policy *policy, double metric);
void policy_reported(struct policy *policy);
void policy_saved(struct policy *policy);
double policy_progress(const struct policy *policy);
/* Whether the length is reached. */
bool policy_is_complete(const struct policy *policy);

#endif
