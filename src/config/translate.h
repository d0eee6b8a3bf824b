/* SPDX-License-Identifier: Apache-2.0 */
/* translate.h - rewrites old spellings of keys. */
#ifndef CONFIG_TRANSLATE_H
#define CONFIG_TRANSLATE_H

#include "config/config_report.h"
#include "config/keys/key_tables.h"

/* Rewrites `tree` in place and adds a notice for each change.  A value that cannot be
 * rewritten is left to the check, or reported here if only the old spelling explains it.
 */
void config_translate(enum config_kind kind, struct json *tree, struct arena *mem,
                      struct config_report *report);

#endif
