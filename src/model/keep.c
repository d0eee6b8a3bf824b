/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c - see keep.h.
 *
 * Both functions sort and then walk, so that a trial with thousands of checkpoints (a
 * policy that was lowered, an old database) costs no square. */
#include "model/keep.h"

#include <stdlib.h>
#include <string.h>

static int in_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* The best first; those without a metric last. */
static int by_metric(const struct keep_item *a, const struct keep_item *b, bool smaller)
{
    int order = in_order(b->has_metric, a->has_metric);

    if (!order && a->has_metric && a->metric != b->metric)
        order = (a->metric < b->metric) == smaller ? -1 : 1;
    if (!order)
        order = in_order(a->steps, b->steps);
    if (!order)
        order = in_order(a->trial_id, b->trial_id);
    return order ? order : strcmp(a->uuid, b->uuid);
}

static int smallest_first(const void *a, const void *b)
{
    return by_metric(a, b, true);
}

static int largest_first(const void *a, const void *b)
{
    return by_metric(a, b, false);
}

static int latest_first(const void *a, const void *b)
{
    const struct keep_item *x = a, *y = b;
    int order = in_order(y->steps, x->steps);

    if (!order)
        order = in_order(y->report_us, x->report_us);
    return order ? order : strcmp(y->uuid, x->uuid);
}

bool keep_is_better(const struct keep_policy *policy, const struct keep_item *a,
                    const struct keep_item *b)
{
    return by_metric(a, b, policy->smaller_is_better) < 0;
}

static void sort_best(const struct keep_policy *policy, struct keep_item *items,
                      size_t count)
{
    if (count)
        qsort(items, count, sizeof(*items),
              policy->smaller_is_better ? smallest_first : largest_first);
}

void keep_top(const struct keep_policy *policy, struct keep_item *items, size_t count)
{
    sort_best(policy, items, count);
    for (size_t i = 0; i < count; i++)
        items[i].is_top = items[i].has_metric && i < policy->experiment_best;
}

/* Whether the trial would begin its next run from it, now or when the heart has caught
 * up with the rows: it takes what has as many steps or more. */
static bool may_be_resumed(const struct keep_trial *trial, const struct keep_item *item)
{
    return trial->is_live &&
           (!trial->resumes_from || item->steps >= trial->resumes_steps ||
            !strcmp(trial->resumes_from, item->uuid));
}

/* Whether a validation could still come and make it one of the best. */
static bool may_be_validated(const struct keep_policy *policy,
                             const struct keep_trial *trial,
                             const struct keep_item *item)
{
    return trial->is_live && !item->has_metric &&
           (policy->trial_best || policy->experiment_best) &&
           /* One reported before says nothing: the trial may have been set back. */
           (trial->validated_steps <= item->steps ||
            trial->validated_us < item->report_us);
}

void keep_judge(const struct keep_policy *policy, const struct keep_trial *trial,
                struct keep_item *items, size_t count)
{
    if (!count)
        return;
    sort_best(policy, items, count);
    for (size_t i = 0; i < count; i++) {
        struct keep_item *item = &items[i];
        bool is_best = item->has_metric && i < policy->trial_best;

        item->may_go = !is_best && !item->is_top && !item->is_held &&
                       !may_be_resumed(trial, item) &&
                       !may_be_validated(policy, trial, item);
    }
    qsort(items, count, sizeof(*items), latest_first);
    for (size_t i = 0; i < count && i < policy->trial_latest; i++)
        items[i].may_go = false;
}
