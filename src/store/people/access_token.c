/* SPDX-License-Identifier: Apache-2.0 */
#include "store/people/access_token.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

#define TOKEN_SELECT                                                                   \
    "SELECT s.id, s.user_id, s.created_us, s.expires_us, s.is_revoked, s.description," \
    "  u.username FROM sessions s JOIN users u ON u.id = s.user_id"                    \
    " WHERE s.is_access_token"

enum { TOKEN_PUT, TOKEN_REVOKE_OF, TOKEN_GET, TOKEN_LIST };

static const struct sql access_token_sql[] = {
    SQL(TOKEN_PUT, "UPDATE sessions SET is_revoked = $2, description = $3"
                   " WHERE id = $1 AND is_access_token"),
    SQL(TOKEN_REVOKE_OF, "UPDATE sessions SET is_revoked = TRUE"
                         " WHERE user_id = $1 AND is_access_token"),
    SQL(TOKEN_GET, TOKEN_SELECT " AND s.id = $1"),
    SQL(TOKEN_LIST, TOKEN_SELECT " AND ($1 = 0 OR s.user_id = $1) ORDER BY s.id"),
};
const struct sql_table access_token_sql_table = SQL_TABLE(access_token_sql);

static const struct field access_token_fields[] = {
    FIELD(I64, access_token, id, "its number"),
    FIELD(I64, access_token, user_id, "who it acts as"),
    FIELD(I64, access_token, created_us, "when it was made"),
    FIELD(I64, access_token, expires_us, "when it ends"),
    FIELD(BOOL, access_token, is_revoked, "it was withdrawn"),
    FIELD(STR, access_token, description, "what it is for"),
    FIELD(STR, access_token, username, "that user's name"),
    FIELD_END,
};

static det_status token_missing(struct err *err, int64_t id)
{
    return err_set(err, DET_NOT_FOUND, "Token with id: {%" PRId64 "} not found", id);
}

det_status store_access_token_put(struct db *db, const struct access_token *row,
                                  struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &access_token_sql[TOKEN_PUT], err);
    det_status st;

    db_bind_i64(&q, row->id);
    db_bind_bool(&q, row->is_revoked);
    db_bind_str(&q, row->description);
    st = db_run(&q);
    if (!st && !db_changes(db))
        return token_missing(err, row->id);
    return st;
}

det_status store_access_tokens_revoke_of(struct db *db, int64_t user_id,
                                         struct err *err)
{
    return run_with_id(db, &access_token_sql[TOKEN_REVOKE_OF], user_id, err);
}

det_status store_access_token_get(struct db *db, int64_t id, struct arena *mem,
                                  struct access_token *ret_row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &access_token_sql[TOKEN_GET], err);
    struct access_token row = {0};
    bool found = false;
    det_status st;

    db_bind_i64(&q, id);
    st = row_get(&q, access_token_fields, mem, &row, &found);
    if (!st && !found)
        return token_missing(err, id);
    if (!st)
        *ret_row = row;
    return st;
}

det_status store_access_token_list(struct db *db, int64_t user_id, struct arena *mem,
                                   struct access_token **ret_rows, uint32_t *ret_count,
                                   struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &access_token_sql[TOKEN_LIST], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, user_id);
    st = rows_get(&q, access_token_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}
