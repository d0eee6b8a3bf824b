/* SPDX-License-Identifier: Apache-2.0 */
/* config_load.h - reads a configuration file: translates, merges, checks, completes it.
 *
 *   text --yaml--> tree --translate--> tree --check--> tree --merge, defaults--> tree
 *
 * One mechanism serves experiment, job, master and agent files: a table of keys (path,
 * type, default, bounds, help) drives checking, defaults, `det config explain` and the
 * reference pages.  translate.c first rewrites old spellings, each with a notice; the
 * tables have only the present spellings.
 *
 * To add a key: one row in keys/experiment_keys.c, master_keys.c, agent_keys.c or
 * job_keys.c, and the code that uses it in tests/meta/key-uses.txt.  To add an old
 * spelling: one row in translate.c. */
#ifndef CONFIG_CONFIG_LOAD_H
#define CONFIG_CONFIG_LOAD_H

#include <stddef.h>

#include "base/err.h"
#include "config/keys/key_tables.h"

struct config_report;
struct json;

/* Parses YAML into a tree in the report's arena.  Adds a notice where YAML reads a value
 * differently from what its author probably meant.  Syntax errors go to `report`, with
 * their place, and to `err`. */
det_status config_parse(const char *text, size_t len, struct config_report *report,
                        struct json **ret_tree, struct err *err);

/* Loads a master, agent or job file (experiments: experiment_config_load()).  Returns a
 * checked and completed tree in the report's arena; read it with json_path().  In it
 * sizes are bytes and durations are seconds.  `overrides` (from flags and environment;
 * may be NULL) win over the file; their strings are read as YAML scalars if the key is
 * not a string.  `text` NULL: no file. */
det_status config_load(enum config_kind kind, const char *text, size_t len,
                       const struct json *overrides, struct config_report *report,
                       struct json **ret_tree, struct err *err);

#endif
