/* SPDX-License-Identifier: Apache-2.0 */
/* metric_goal.h - whether a smaller or a larger value of a metric is better, by its name.
 *
 * Smaller values count as better unless searcher.smaller_is_better says otherwise.  For
 * an accuracy this selects the worst trial and the worst checkpoint, so users are told
 * when their metric has such a name and they did not say what they want. */
#ifndef CONFIG_METRIC_METRIC_GOAL_H
#define CONFIG_METRIC_METRIC_GOAL_H

#include <stdbool.h>

struct arena;
struct json;

/* Whether a metric of that name is usually better when it is larger. */
bool metric_goal_is_larger(const char *metric);
/* What to tell the user about the key `searcher` of a configuration as submitted, before
 * defaults are added: a sentence in `mem`; NULL: nothing, or out of memory. */
const char *metric_goal_doubt(const struct json *searcher, struct arena *mem);

#endif
