/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - the key tables as text: help, defaults, reference pages. */
#ifndef CONFIG_EXPLAIN_H
#define CONFIG_EXPLAIN_H

#include "base/err.h"
#include "config/keys/key_tables.h"

struct buf;

/* Explains one key, such as "searcher.max_trials".  DET_NOT_FOUND names the nearest key.
 */
det_status config_explain(enum config_kind kind, const char *path, struct buf *out,
                          struct err *err);
/* The defaults as YAML, with the help as comments. */
void config_defaults_write(enum config_kind kind, struct buf *out);
/* Every key as a Markdown table, for docs/guide. */
void config_reference_write(enum config_kind kind, struct buf *out);

#endif
