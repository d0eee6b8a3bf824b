/* SPDX-License-Identifier: Apache-2.0 */
/* translate.h - old spellings, rewritten into today's. */
#ifndef CONFIG_TRANSLATE_H
#define CONFIG_TRANSLATE_H

#include "config/config.h"

/* Rewrites `tree` in place; each rewriting leaves a notice.  What cannot be rewritten
 * is left for the check that follows, or reported here where only the old spelling can
 * explain it. */
void config_translate(enum config_kind kind, struct json *tree, struct arena *mem,
                      struct config_report *report);

#endif
