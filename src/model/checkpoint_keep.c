/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_keep.c - see checkpoint_keep.h.
 *
 * Sorts and then walks, because a trial may have thousands of checkpoints: after its
 * policy was lowered, or in an old database. */
#include "model/checkpoint_keep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* The best first, those without a metric last. */
static int compare_metric(const struct checkpoint_keep_item *a,
                          const struct checkpoint_keep_item *b, bool smaller)
{
    int order = compare_i64(b->has_metric, a->has_metric);

    if (!order && a->has_metric && a->metric != b->metric)
        order = (a->metric < b->metric) == smaller ? -1 : 1;
    if (!order)
        order = compare_i64(a->steps, b->steps);
    if (!order)
        order = compare_i64(a->trial_id, b->trial_id);
    return order ? order : strcmp(a->uuid, b->uuid);
}

static int smallest_first(const void *a, const void *b)
{
    return compare_metric(a, b, true);
}

static int largest_first(const void *a, const void *b)
{
    return compare_metric(a, b, false);
}

static int latest_first(const void *a, const void *b)
{
    const struct checkpoint_keep_item *x = a, *y = b;
    int order = compare_i64(y->steps, x->steps);

    if (!order)
        order = compare_i64(y->report_us, x->report_us);
    return order ? order : strcmp(y->uuid, x->uuid);
}

/* Whether the trial's next run would resume from it, now or once the heart has read all
 * rows.  The heart prefers a checkpoint with as many steps or more. */
static bool may_be_resumed(const struct checkpoint_keep_trial *trial,
                           const struct checkpoint_keep_item *item)
{
    return trial->is_live &&
           (!trial->resumes_from || item->steps >= trial->resumes_steps ||
            !strcmp(trial->resumes_from, item->uuid));
}

/* Whether a validation may still come and make it one of the best. */
static bool may_be_validated(const struct checkpoint_keep_policy *policy,
                             const struct checkpoint_keep_trial *trial,
                             const struct checkpoint_keep_item *item)
{
    return trial->is_live && !item->has_metric &&
           (policy->trial_best || policy->experiment_best) &&
           /* An older validation proves nothing: the trial may have restarted from
            * fewer steps. */
           (trial->validated_steps <= item->steps ||
            trial->validated_us < item->report_us);
}

void checkpoint_keep_judge(const struct checkpoint_keep_policy *policy,
                           const struct checkpoint_keep_trial *trial,
                           struct checkpoint_keep_item *items, size_t count)
{
    if (!count)
        return;
    qsort(items, count, sizeof(*items),
          policy->smaller_is_better ? smallest_first : largest_first);
    for (size_t i = 0; i < count; i++) {
        struct checkpoint_keep_item *item = &items[i];
        bool is_best = item->has_metric && i < policy->trial_best;

        assert(item->trial_id == items[0].trial_id);
        item->may_go = !is_best && !item->is_top && !item->is_held &&
                       !may_be_resumed(trial, item) &&
                       !may_be_validated(policy, trial, item);
    }
    qsort(items, count, sizeof(*items), latest_first);
    for (size_t i = 0; i < count && i < policy->trial_latest; i++)
        items[i].may_go = false;
}
