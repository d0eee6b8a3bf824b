/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - the first step that all configuration files share. */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config/config.h"

/* Parses YAML.  What is wrong goes to `report` with its place, and to `err`. */
det_status load_text(const char *text, size_t len, struct arena *mem,
                     struct config_report *report, struct json **ret_tree,
                     struct err *err);

#endif
