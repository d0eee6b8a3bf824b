/* SPDX-License-Identifier: Apache-2.0 */
/* setting.c - numbers and texts by name: counters, settings. */
#include "store/setting.h"

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { NUMBER_PUT, NUMBER_GET, NUMBER_NEXT, TEXT_PUT, TEXT_GET };

static const struct sql setting_sql[] = {
    SQL(NUMBER_PUT, "INSERT INTO numbers (name, value) VALUES ($1, $2)"
                    " ON CONFLICT (name) DO UPDATE SET value = $2"),
    SQL(NUMBER_GET, "SELECT value FROM numbers WHERE name = $1"),
    SQL(NUMBER_NEXT, "INSERT INTO numbers (name, value) VALUES ($1, $2)"
                     " ON CONFLICT (name) DO UPDATE SET value = numbers.value + $2"
                     " RETURNING value"),
    SQL(TEXT_PUT, "INSERT INTO texts (name, value) VALUES ($1, $2)"
                  " ON CONFLICT (name) DO UPDATE SET value = $2"),
    SQL(TEXT_GET, "SELECT value FROM texts WHERE name = $1"),
};
const struct sql_table setting_sql_table = SQL_TABLE(setting_sql);

det_status store_number_put(struct db *db, const char *name, int64_t value,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &setting_sql[NUMBER_PUT], err);

    db_bind_str(&q, name);
    db_bind_i64(&q, value);
    return db_run(&q);
}

det_status store_number_get(struct db *db, const char *name, int64_t fallback,
                            int64_t *ret_value, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &setting_sql[NUMBER_GET], err);
    int64_t value = fallback;

    db_bind_str(&q, name);
    if (db_next(&q))
        value = db_col_i64(&q);
    if (!q.status)
        *ret_value = value;
    return q.status;
}

det_status store_number_next(struct db *db, const char *name, int64_t by,
                             int64_t *ret_value, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &setting_sql[NUMBER_NEXT], err);

    db_bind_str(&q, name);
    db_bind_i64(&q, by);
    if (db_next(&q))
        *ret_value = db_col_i64(&q);
    return db_run(&q);
}

det_status store_text_put(struct db *db, const char *name, const char *value,
                          struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &setting_sql[TEXT_PUT], err);

    db_bind_str(&q, name);
    db_bind_str(&q, value);
    return db_run(&q);
}

det_status store_text_get(struct db *db, const char *name, struct arena *mem,
                          const char **ret_value, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &setting_sql[TEXT_GET], err);
    const char *value = NULL;

    db_bind_str(&q, name);
    if (db_next(&q))
        value = db_col_str(&q, mem);
    if (!q.status)
        *ret_value = value;
    return q.status;
}
