/* SPDX-License-Identifier: Apache-2.0 */
/* mask.h - a configuration with its secrets hidden. */
#ifndef CONFIG_MASK_H
#define CONFIG_MASK_H

#include "config/keys/key_tables.h"

struct arena;
struct json;

/* A copy with every secret shown as stars; NULL: out of memory. */
struct json *config_mask(enum config_kind kind, const struct json *tree,
                         struct arena *mem);

#endif
