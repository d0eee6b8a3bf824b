/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h - one configuration over another. */
#ifndef CONFIG_MERGE_H
#define CONFIG_MERGE_H

struct arena;
struct json;

/* Merges `base` below `over` into a new tree in `mem` (NULL: out of memory).  The rules
 * are in merge.c. */
struct json *config_merge(struct arena *mem, const struct json *over,
                          const struct json *base);

/* Sets the member resource_pool of `resources` if it is empty: to `compute` if the member
 * `slots` is above 0, else to `aux`.  Either may be NULL or "". */
void config_choose_pool(struct json *resources, const char *slots, const char *compute,
                        const char *aux, struct arena *mem);

#endif
