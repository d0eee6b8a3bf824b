/* SPDX-License-Identifier: Apache-2.0 */
/* metric_missing.h - what to tell users whose validations lack the searcher's metric.
 *
 * A misspelt searcher.metric is noticed when the first validation arrives: from then on
 * no trial can be compared with another.  The trial's log, the commands and the page say
 * it with the same sentence. */
#ifndef CONFIG_METRIC_METRIC_MISSING_H
#define CONFIG_METRIC_METRIC_MISSING_H

#include <stddef.h>
#include <stdint.h>

struct arena;

/* The metrics of a validation that are numbers. */
struct metric_list {
    const char **at; /* borrowed, with room for a NULL behind; gets sorted */
    size_t count;
};

/* "the validation of trial 3 has no 'val_los'; it has accuracy, val_loss: did you mean
 * val_loss?", in `mem`.  NULL: it has `metric`, or out of memory. */
const char *metric_missing_doubt(const char *metric, int64_t trial_id,
                                 struct metric_list *names, struct arena *mem);

#endif
