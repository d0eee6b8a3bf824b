/* SPDX-License-Identifier: Apache-2.0 */
#include "store/people/audit.h"

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/setting.h"
#include "store/sql_tables.h"

#define AUDIT_COLUMNS                                                                  \
    "id, time_us, user_id, username, action, object_kind, object_id, address, status," \
    " detail"

enum { AUDIT_ADD, AUDIT_LIST, AUDIT_EXPIRE };

static const struct sql audit_sql[] = {
    SQL(AUDIT_ADD, "INSERT INTO audit (" AUDIT_COLUMNS ")"
                   " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
    SQL(AUDIT_LIST, "SELECT " AUDIT_COLUMNS " FROM audit"
                    " WHERE id < $1 AND time_us >= $2"
                    "   AND ($3 IS NULL OR username = $3)"
                    "   AND ($4 IS NULL OR action = $4)"
                    "   AND ($5 IS NULL OR object_kind = $5)"
                    "   AND ($6 IS NULL OR object_id = $6)"
                    " ORDER BY id DESC LIMIT $7"),
    SQL(AUDIT_EXPIRE, "DELETE FROM audit WHERE id IN"
                      " (SELECT id FROM audit WHERE time_us < $1 LIMIT 1000)"),
};
const struct sql_table audit_sql_table = SQL_TABLE(audit_sql);

const struct field audit_fields[] = {
    FIELD(I64, audit, id, "its number"),
    FIELD(I64, audit, time_us, "when"),
    FIELD(I64, audit, user_id, "who, by number"),
    FIELD(STR, audit, username, "who"),
    FIELD(STR, audit, action, "the name of the call"),
    FIELD(STR, audit, object_kind, "the kind of what was changed"),
    FIELD(STR, audit, object_id, "which one"),
    FIELD(STR, audit, address, "from where"),
    FIELD(I64, audit, status, "the HTTP status of the answer"),
    FIELD(STR, audit, detail, "fields of the body"),
    FIELD_END,
};

det_status store_audit_add(struct db *db, const struct audit *row, struct err *err)
{
    struct audit audit = *row;
    det_status st = store_number_next(db, "store.audit", 1, &audit.id, err);

    return st ? st : row_put(db, &audit_sql[AUDIT_ADD], audit_fields, &audit, err);
}

det_status store_audit_list(struct db *db, const struct audit_filter *filter,
                            struct arena *mem, struct audit **ret_rows,
                            uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &audit_sql[AUDIT_LIST], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, filter->before ? filter->before : INT64_MAX);
    db_bind_i64(&q, filter->since_us);
    db_bind_str(&q, filter->username);
    db_bind_str(&q, filter->action);
    db_bind_str(&q, filter->object_kind);
    db_bind_str(&q, filter->object_id);
    db_bind_i64(&q, filter->limit);
    st = rows_get(&q, audit_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

det_status store_audit_expire(struct db *db, int64_t before_us, int64_t *ret_removed,
                              struct err *err)
{
    det_status st = run_with_id(db, &audit_sql[AUDIT_EXPIRE], before_us, err);

    if (!st)
        *ret_removed = db_changes(db);
    return st;
}
