/* SPDX-License-Identifier: Apache-2.0 */
/* key_complete.h - a tree completed with the defaults of a key table. */
#ifndef CONFIG_KEYS_KEY_COMPLETE_H
#define CONFIG_KEYS_KEY_COMPLETE_H

struct arena;
struct config_key;
struct json;
struct key_table;

/* A new tree in `mem`: every key in the table's order, with defaults, sizes and durations
 * as numbers.  `tree` must have passed key_check().  NULL: out of memory. */
struct json *key_complete(const struct key_table *table, const struct json *tree,
                          struct arena *mem);

/* The same for one map, as in key_check_map(). */
struct json *key_complete_map(const struct key_table *table,
                              const struct config_key *row, const struct json *map,
                              struct arena *mem);

#endif
