/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - rows of `sessions`.
 *
 * Ids come from a counter, so the number of a dropped session is not used again.  In a
 * restored database it may be: there the nonce tells an old token from a new one. */
#include "store/people/session.h"

#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/nonce.h"
#include "store/setting.h"
#include "store/sql_tables.h"

enum { SESSION_ADD, SESSION_DROP, SESSION_DROP_OF, SESSIONS_EXPIRE };

static const struct sql session_sql[] = {
    SQL(SESSION_ADD, "INSERT INTO sessions (id, user_id, created_us, expires_us, nonce,"
                     "  is_access_token, is_revoked, description)"
                     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"),
    SQL(SESSION_DROP, "DELETE FROM sessions WHERE id = $1 AND NOT is_access_token"),
    SQL(SESSION_DROP_OF,
        "DELETE FROM sessions WHERE user_id = $1 AND NOT is_access_token"),
    SQL(SESSIONS_EXPIRE,
        "DELETE FROM sessions WHERE expires_us < $1 AND NOT is_access_token"),
};
const struct sql_table session_sql_table = SQL_TABLE(session_sql);

static const struct field session_fields[] = {
    FIELD(I64, session, id, "its number"),
    FIELD(I64, session, user_id, "its owner"),
    FIELD(I64, session, created_us, "when it began"),
    FIELD(I64, session, expires_us, "when it ends"),
    FIELD(STR, session, nonce, "the random digits of its token"),
    FIELD(BOOL, session, is_access_token, "made for a program"),
    FIELD(BOOL, session, is_revoked, "closed before its end"),
    FIELD(STR, session, description, "what an access token is for"),
    FIELD_END,
};

det_status store_session_add(struct db *db, const struct session *row,
                             struct arena *mem, int64_t *ret_id, const char **ret_nonce,
                             struct err *err)
{
    struct session session = *row;
    char nonce[NONCE_TEXT];
    det_status st = store_number_next(db, "store.session", 1, &session.id, err);

    if (!st)
        st = nonce_make(nonce, err);
    if (st)
        return st;
    session.nonce = arena_strdup(mem, nonce);
    if (!session.description)
        session.description = "";
    if (!session.nonce)
        return err_default(err, DET_NOMEM);
    st = row_put(db, &session_sql[SESSION_ADD], session_fields, &session, err);
    if (!st) {
        *ret_id = session.id;
        *ret_nonce = session.nonce;
    }
    return st;
}

det_status store_session_drop(struct db *db, int64_t id, struct err *err)
{
    return run_with_id(db, &session_sql[SESSION_DROP], id, err);
}

det_status store_sessions_drop_of(struct db *db, int64_t user_id, struct err *err)
{
    return run_with_id(db, &session_sql[SESSION_DROP_OF], user_id, err);
}

det_status store_sessions_expire(struct db *db, int64_t now_us, struct err *err)
{
    return run_with_id(db, &session_sql[SESSIONS_EXPIRE], now_us, err);
}
