/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - when to report, validate, save and stop: the rules behind det/trainer.h.
 *
 * Pure: numbers in, bits out.  A boundary is a batch that ends.  What is due there:
 *
 *   report      the reporting period has passed, or training validates or is complete
 *   validate    the validation period has passed, or this is the end of the training
 *   checkpoint  the checkpoint period has passed; or the policy wants the validation
 * that was just made; or training stops and the state is not saved yet stop        the
 * length is reached, or somebody asked
 *
 * A period passes at every multiple of it counted from the beginning of the training,
 * not from the last time, so that a run that was interrupted and one that was not do
 * the same things at the same batches.  Periods in records round to batches, down, but
 * not below one; lengths in records round up.  Epochs are counted by their length where
 * it is known, otherwise as they end.
 *
 * Whoever asks to stop gets a checkpoint and nothing else: a validation would hold the
 * slots, and a report would close a window that the resumed run will fill, so that its
 * curve would differ from that of a run that nobody stopped.  A validation that was due
 * just then is due when training goes on, before the next batch. */
#ifndef LIBDET_POLICY_H
#define LIBDET_POLICY_H

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
