/* SPDX-License-Identifier: Apache-2.0 */
/* setting.h - numbers and texts by name: counters and the settings of the cluster. */
#ifndef STORE_SETTING_H
#define STORE_SETTING_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

det_status store_number_put(struct db *db, const char *name, int64_t value,
                            struct err *err);
det_status store_number_get(struct db *db, const char *name, int64_t fallback,
                            int64_t *ret_value, struct err *err);
/* Adds `by` to a counter and returns its new value. */
det_status store_number_next(struct db *db, const char *name, int64_t by,
                             int64_t *ret_value, struct err *err);
det_status store_text_put(struct db *db, const char *name, const char *value,
                          struct err *err);
/* *ret_value is NULL if there is no such text. */
det_status store_text_get(struct db *db, const char *name, struct arena *mem,
                          const char **ret_value, struct err *err);

#endif
