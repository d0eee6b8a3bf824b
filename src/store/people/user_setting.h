/* SPDX-License-Identifier: Apache-2.0 */
/* user_setting.h - what a user has set in the WebUI: texts by path and key. */
#ifndef STORE_PEOPLE_USER_SETTING_H
#define STORE_PEOPLE_USER_SETTING_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct user_setting {
    int64_t user_id;
    const char *storage_path;
    const char *key;
    const char *value; /* NULL in store_user_setting_put(): remove it */
};

det_status store_user_setting_put(struct db *db, const struct user_setting *row,
                                  struct err *err);
det_status store_user_settings_drop(struct db *db, int64_t user_id, struct err *err);
/* How many the user has, and the length of their texts in characters. */
det_status store_user_settings_size(struct db *db, int64_t user_id, int64_t *ret_count,
                                    int64_t *ret_length, struct err *err);
/* By path and key. */
det_status store_user_setting_list(struct db *db, int64_t user_id, struct arena *mem,
                                   struct user_setting **ret_rows, uint32_t *ret_count,
                                   struct err *err);

#endif
