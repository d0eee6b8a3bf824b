/* SPDX-License-Identifier: Apache-2.0 */
/* key_check.h - a tree checked against a key table. */
#ifndef CONFIG_KEYS_KEY_CHECK_H
#define CONFIG_KEYS_KEY_CHECK_H

struct config_key;
struct config_report;
struct json;
struct key_table;

/* Reports everything in `tree` that the table does not allow. */
void key_check(const struct key_table *table, const struct json *tree,
               struct config_report *report);
/* The same for one map inside a KEY_FREE key, which key_check() does not enter: `row`
 * describes it, `path` is its place. */
void key_check_map(const struct key_table *table, const struct config_key *row,
                   const struct json *map, const char *path,
                   struct config_report *report);

#endif
