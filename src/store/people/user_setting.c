/* SPDX-License-Identifier: Apache-2.0 */
/* user_setting.c - rows of `user_settings`. */
#include "store/people/user_setting.h"

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { SETTING_PUT, SETTING_DROP, SETTING_DROP_ALL, SETTING_LIST, SETTING_SIZE };

static const struct sql user_setting_sql[] = {
    SQL(SETTING_PUT,
        "INSERT INTO user_settings (user_id, storage_path, setting_key, value)"
        " VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (user_id, storage_path, setting_key)"
        " DO UPDATE SET value = $4"),
    SQL(SETTING_DROP, "DELETE FROM user_settings"
                      " WHERE user_id = $1 AND storage_path = $2 AND setting_key = $3"),
    SQL(SETTING_DROP_ALL, "DELETE FROM user_settings WHERE user_id = $1"),
    SQL(SETTING_LIST, "SELECT user_id, storage_path, setting_key, value"
                      " FROM user_settings WHERE user_id = $1"
                      " ORDER BY storage_path, setting_key"),
    SQL(SETTING_SIZE, "SELECT COUNT(*), COALESCE(SUM(LENGTH(storage_path)"
                      "  + LENGTH(setting_key)"
                      "  + LENGTH(value)), 0)"
                      " FROM user_settings WHERE user_id = $1"),
};
const struct sql_table user_setting_sql_table = SQL_TABLE(user_setting_sql);

static const struct field user_setting_fields[] = {
    FIELD(I64, user_setting, user_id, "whose it is"),
    FIELD(STR, user_setting, storage_path, "the page it belongs to"),
    FIELD(STR, user_setting, key, "its name"),
    FIELD(STR, user_setting, value, "its value"),
    FIELD_END,
};

static det_status drop_setting(struct db *db, const struct user_setting *row,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &user_setting_sql[SETTING_DROP], err);

    db_bind_i64(&q, row->user_id);
    db_bind_str(&q, row->storage_path);
    db_bind_str(&q, row->key);
    return db_run(&q);
}

det_status store_user_setting_put(struct db *db, const struct user_setting *row,
                                  struct err *err)
{
    if (!row->value)
        return drop_setting(db, row, err);
    return row_put(db, &user_setting_sql[SETTING_PUT], user_setting_fields, row, err);
}

det_status store_user_settings_drop(struct db *db, int64_t user_id, struct err *err)
{
    return run_with_id(db, &user_setting_sql[SETTING_DROP_ALL], user_id, err);
}

det_status store_user_setting_list(struct db *db, int64_t user_id, struct arena *mem,
                                   struct user_setting **ret_rows, uint32_t *ret_count,
                                   struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &user_setting_sql[SETTING_LIST], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, user_id);
    st = rows_get(&q, user_setting_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

det_status store_user_settings_size(struct db *db, int64_t user_id, int64_t *ret_count,
                                    int64_t *ret_length, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &user_setting_sql[SETTING_SIZE], err);

    db_bind_i64(&q, user_id);
    if (!db_next(&q))
        return q.status;
    *ret_count = db_col_i64(&q);
    *ret_length = db_col_i64(&q);
    return DET_OK;
}
