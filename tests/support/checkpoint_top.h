/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_top.h - the best checkpoints of an experiment, by the definition in
 * model/checkpoint_keep.h.
 *
 * The store finds them with an index.  Tests compare its answer with this slow one. */
#ifndef TESTS_SUPPORT_CHECKPOINT_TOP_H
#define TESTS_SUPPORT_CHECKPOINT_TOP_H

#include <string.h>

#include "model/checkpoint_keep.h"

/* Whether `a` ranks before `b`; both have a metric. */
static inline bool checkpoint_is_better(const struct checkpoint_keep_policy *policy,
                                        const struct checkpoint_keep_item *a,
                                        const struct checkpoint_keep_item *b)
{
    if (a->metric != b->metric)
        return (a->metric < b->metric) == policy->smaller_is_better;
    if (a->steps != b->steps)
        return a->steps < b->steps;
    if (a->trial_id != b->trial_id)
        return a->trial_id < b->trial_id;
    return strcmp(a->uuid, b->uuid) < 0;
}

/* Sets `is_top` of all checkpoints of one experiment. */
static inline void checkpoint_mark_top(const struct checkpoint_keep_policy *policy,
                                       struct checkpoint_keep_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = 0;

        for (size_t k = 0; k < count; k++)
            rank += items[k].has_metric &&
                    checkpoint_is_better(policy, &items[k], &items[i]);
        items[i].is_top = items[i].has_metric && rank < policy->experiment_best;
    }
}

#endif
