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

#endif
