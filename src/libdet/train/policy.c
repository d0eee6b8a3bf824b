/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - see policy.h. */
#include "libdet/train/policy.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"

enum { REPORT_BATCHES = 100 };

/* ---- options --------------------------------------------------------------------- */

static det_status check_length(const det_trainer_options *options, const char *name,
                               det_length length, struct err *err)
{
    if (length.unit < DET_NO_UNIT || length.unit > DET_EPOCHS)
        return err_set(err, DET_INVALID, "%s has an unknown unit (%d)", name,
                       length.unit);
    if (length.unit != DET_NO_UNIT && length.count < 0)
        return err_set(err, DET_INVALID, "%s is %" PRId64 "; expected 0 or more", name,
                       length.count);
    if (length.unit == DET_RECORDS && options->records_per_batch < 1)
        return err_set(err, DET_INVALID,
                       "%s is in records, but the size of a batch is not known", name);
    return DET_OK;
}

/* Converts to batches, except epochs of unknown length.  Saturates. */
static int64_t in_batches(const struct policy *policy, det_length length,
                          bool rounds_up)
{
    const det_trainer_options *options = &policy->options;
    int64_t batches;

    if (length.unit == DET_RECORDS) {
        batches = length.count / options->records_per_batch;
        return batches + (rounds_up && length.count % options->records_per_batch != 0);
    }
    if (length.unit == DET_EPOCHS &&
        __builtin_mul_overflow(length.count, options->batches_per_epoch, &batches))
        return INT64_MAX;
    return length.unit == DET_EPOCHS ? batches : length.count;
}

det_status policy_init(struct policy *policy, const det_trainer_options *options,
                       struct err *err)
{
    det_status st = check_length(options, "max_length", options->max_length, err);

    if (!st)
        st = check_length(options, "the validation period", options->validation_period,
                          err);
    if (!st)
        st = check_length(options, "the checkpoint period", options->checkpoint_period,
                          err);
    if (!st)
        st = check_length(options, "the reporting period", options->reporting_period,
                          err);
    if (st)
        return st;
    if (options->max_length.unit == DET_NO_UNIT)
        return err_set(err, DET_INVALID,
                       "nothing says how long to train: give max_length");
    *policy = (struct policy){.options = *options};
    if (options->reporting_period.unit == DET_NO_UNIT)
        policy->options.reporting_period = (det_length){DET_BATCHES, REPORT_BATCHES};
    policy->state.reported_at = policy->state.validated_at = policy->state.saved_at =
        -1;
    return DET_OK;
}

/* ---- asking ---------------------------------------------------------------------- */

static bool is_counted_in_epochs(const struct policy *policy, det_length length)
{
    return length.unit == DET_EPOCHS && policy->options.batches_per_epoch < 1;
}

bool policy_is_complete(const struct policy *policy)
{
    det_length length = policy->options.max_length;

    if (is_counted_in_epochs(policy, length))
        return policy->state.epochs >= length.count;
    return policy->state.batches >= in_batches(policy, length, true);
}

/* Whether a period ends with the last batch.  Periods in epochs of unknown length end
 * with an epoch, which only policy_epoch_end() knows. */
static bool has_passed(const struct policy *policy, det_length period,
                       bool is_epoch_end)
{
    int64_t batches;

    if (period.unit == DET_NO_UNIT || period.count == 0)
        return false;
    if (is_counted_in_epochs(policy, period))
        return is_epoch_end && policy->state.epochs % period.count == 0;
    if (is_epoch_end && policy->options.batches_per_epoch < 1)
        return false; /* it was reported when the batch ended */
    batches = MAX(in_batches(policy, period, false), INT64_C(1));
    return policy->state.batches % batches == 0;
}

static unsigned due_actions(struct policy *policy, bool is_epoch_end)
{
    const det_trainer_options *options = &policy->options;
    bool is_complete = policy_is_complete(policy);
    bool is_stop = is_complete || policy->is_asked_to_stop;
    unsigned todo = 0;

    if (has_passed(policy, options->checkpoint_period, is_epoch_end))
        todo |= DET_CHECKPOINT;
    if (is_complete || has_passed(policy, options->validation_period, is_epoch_end))
        todo |= DET_VALIDATE;
    if (policy->is_asked_to_stop && !is_complete)
        todo &= ~(unsigned)DET_VALIDATE;
    if (is_stop)
        todo |= DET_STOP | DET_CHECKPOINT;
    if (is_complete || (todo & DET_VALIDATE) ||
        has_passed(policy, options->reporting_period, is_epoch_end))
        todo |= DET_REPORT;

    /* Nothing is done twice at the same batch. */
    if (policy->state.validated_at == policy->state.batches)
        todo &= ~(unsigned)DET_VALIDATE;
    if (policy->state.saved_at == policy->state.batches)
        todo &= ~(unsigned)DET_CHECKPOINT;
    if (policy->state.reported_at == policy->state.batches)
        todo &= ~(unsigned)DET_REPORT;
    return todo;
}

/* Whether a validation is owed: a stop request at its batch left only a checkpoint. */
static bool is_owed(const struct policy *policy)
{
    const struct policy_state *state = &policy->state;
    det_length period = policy->options.validation_period;

    if (!state->batches)
        return policy->options.initial_validation && state->validated_at < 0;
    return state->validated_at != state->batches && !policy_is_complete(policy) &&
           (has_passed(policy, period, false) ||
            (!state->epoch_batches && has_passed(policy, period, true)));
}

unsigned policy_begin(struct policy *policy)
{
    const struct policy_state *state = &policy->state;
    unsigned todo = 0;

    if (policy_is_complete(policy) || policy->is_asked_to_stop)
        todo |= DET_STOP;
    if (is_owed(policy))
        todo |= DET_VALIDATE;
    if ((todo & DET_VALIDATE) && state->batches && state->reported_at != state->batches)
        todo |= DET_REPORT;
    return todo;
}

unsigned policy_batch_end(struct policy *policy)
{
    struct policy_state *state = &policy->state;
    bool ends_epoch;

    state->batches++;
    state->epoch_batches++;
    ends_epoch = policy->options.batches_per_epoch > 0 &&
                 state->epoch_batches >= policy->options.batches_per_epoch;
    if (ends_epoch) {
        state->epochs++;
        state->epoch_batches = 0;
    }
    return due_actions(policy, ends_epoch) | (ends_epoch ? (unsigned)DET_EPOCH_END : 0);
}

unsigned policy_epoch_end(struct policy *policy)
{
    if (policy->options.batches_per_epoch > 0)
        return 0; /* counted already */
    policy->state.epochs++;
    policy->state.epoch_batches = 0;
    return due_actions(policy, true) | DET_EPOCH_END;
}

unsigned policy_validated(struct policy *policy, double metric)
{
    struct policy_state *state = &policy->state;
    bool is_best =
        !isnan(metric) &&
        (!state->has_best || (policy->options.larger_is_better ? metric > state->best
                                                               : metric < state->best));
    bool is_wanted = policy->options.keep == DET_KEEP_ALL ||
                     (policy->options.keep == DET_KEEP_BEST && is_best);

    state->validated_at = state->batches;
    if (is_best) {
        state->best = metric;
        state->has_best = true;
    }
    return is_wanted && state->batches && state->saved_at != state->batches
               ? (unsigned)DET_CHECKPOINT
               : 0;
}

void policy_reported(struct policy *policy)
{
    policy->state.reported_at = policy->state.batches;
}

void policy_saved(struct policy *policy)
{
    policy->state.saved_at = policy->state.batches;
}

double policy_progress(const struct policy *policy)
{
    det_length length = policy->options.max_length;
    double total;
    double have;

    if (is_counted_in_epochs(policy, length)) {
        total = (double)length.count;
        have = (double)policy->state.epochs;
    } else {
        total = (double)in_batches(policy, length, true);
        have = (double)policy->state.batches;
    }
    return total > 0 ? MIN(have / total, 1.0) : 1.0;
}
