/* SPDX-License-Identifier: Apache-2.0 */
/* user.c - rows of `users`. */
#include "store/people/user.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/setting.h"
#include "store/sql_tables.h"

/* `u` is the prefix of each column: "" or "u.". */
#define USER_COLUMNS_OF(u)                                                             \
    u "id, " u "username, " u "password, " u "display_name, " u "is_admin, " u         \
      "is_active, " u "is_remote, " u "modified_us, " u "last_auth_us, " u             \
      "agent_uid, " u "agent_gid, " u "agent_user, " u "agent_group"
#define USER_COLUMNS USER_COLUMNS_OF("")

enum {
    USER_ADD,
    USER_PUT,
    USER_GET,
    USER_NAMED,
    USER_LIST,
    USER_SEEN,
    USER_LIST_OF_GROUP,
    USER_CLASH,
    USER_ADMINS,
    USER_ROLE_ADMINS,
};

static const struct sql user_sql[] = {
    SQL(USER_ADD, "INSERT INTO users (" USER_COLUMNS ")"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"),
    SQL(USER_PUT, "UPDATE users SET username = $2, password = $3, display_name = $4,"
                  "  is_admin = $5, is_active = $6, is_remote = $7, modified_us = $8,"
                  "  last_auth_us = $9, agent_uid = $10, agent_gid = $11,"
                  "  agent_user = $12, agent_group = $13"
                  " WHERE id = $1"),
    SQL(USER_GET, "SELECT " USER_COLUMNS " FROM users WHERE id = $1"),
    SQL(USER_NAMED, "SELECT " USER_COLUMNS " FROM users WHERE username = $1"),
    SQL(USER_LIST, "SELECT " USER_COLUMNS " FROM users ORDER BY id"),
    SQL(USER_SEEN, "UPDATE users SET last_auth_us = $2 WHERE id = $1"),
    SQL(USER_LIST_OF_GROUP,
        "SELECT " USER_COLUMNS_OF("u.") " FROM group_members m JOIN users u"
                                        "  ON u.id = m.user_id"
                                        " WHERE m.group_id = $1 ORDER BY u.id"),
    SQL(USER_CLASH, "SELECT username FROM users"
                    " WHERE id <> $1 AND (lower(username) = lower($2)"
                    "  OR lower(display_name) = lower($2)) LIMIT 1"),
    SQL(USER_ADMINS, "SELECT COUNT(*) FROM users WHERE is_admin AND is_active"
                     "  AND ($1 OR NOT is_remote)"),
    SQL(USER_ROLE_ADMINS,
        "SELECT COUNT(*) FROM users u WHERE u.is_active AND ($1 OR NOT u.is_remote)"
        "  AND (u.is_admin OR"
        "  EXISTS (SELECT 1 FROM role_assignments a WHERE a.user_id = u.id"
        "    AND a.group_id = 0 AND a.workspace_id = 0 AND a.role_id = 1)"
        "  OR EXISTS (SELECT 1 FROM group_members m JOIN role_assignments a"
        "    ON a.user_id = 0 AND a.group_id = m.group_id"
        "    WHERE m.user_id = u.id AND a.workspace_id = 0 AND a.role_id = 1))"),
};
const struct sql_table user_sql_table = SQL_TABLE(user_sql);

const struct field user_fields[] = {
    FIELD(I64, user, id, "its number"),
    FIELD(STR, user, username, "the name it logs in with"),
    FIELD(STR, user, password, "what its password is checked against"),
    FIELD(STR, user, display_name, "the name people see"),
    FIELD(BOOL, user, is_admin, "may administer the cluster"),
    FIELD(BOOL, user, is_active, "may log in"),
    FIELD(BOOL, user, is_remote, "a remote user"),
    FIELD(I64, user, modified_us, "when it was last changed"),
    FIELD(I64, user, last_auth_us, "when it last logged in"),
    FIELD(I64, user, agent_uid, "the number of its Unix user"),
    FIELD(I64, user, agent_gid, "the number of its Unix group"),
    FIELD(STR, user, agent_user, "the name of its Unix user"),
    FIELD(STR, user, agent_group, "the name of its Unix group"),
    FIELD_END,
};

static det_status name_taken(struct err *err, const char *name)
{
    return err_set(err, DET_EXISTS, "there is a user '%s' already", name);
}

det_status store_user_add(struct db *db, const struct user *row, int64_t *ret_id,
                          struct err *err)
{
    struct user user = *row;
    det_status st = store_number_next(db, "store.user", 1, &user.id, err);

    if (!st)
        st = row_put(db, &user_sql[USER_ADD], user_fields, &user, err);
    if (st == DET_EXISTS)
        return name_taken(err, row->username);
    if (!st)
        *ret_id = user.id;
    return st;
}

det_status store_user_put(struct db *db, const struct user *row, struct err *err)
{
    det_status st = row_put(db, &user_sql[USER_PUT], user_fields, row, err);

    if (st == DET_EXISTS)
        return name_taken(err, row->username);
    if (!st && !db_changes(db))
        return err_set(err, DET_NOT_FOUND, "user '%" PRId64 "' not found", row->id);
    return st;
}

det_status store_user_seen(struct db *db, int64_t id, int64_t now_us, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &user_sql[USER_SEEN], err);

    db_bind_i64(&q, id);
    db_bind_i64(&q, now_us);
    return db_run(&q);
}

static det_status user_get(struct db_query *q, struct arena *mem, struct user *ret_row,
                           bool *ret_found)
{
    struct user row = {0};
    det_status st = row_get(q, user_fields, mem, &row, ret_found);

    if (!st && *ret_found)
        *ret_row = row;
    return st;
}

det_status store_user_get(struct db *db, int64_t id, struct arena *mem,
                          struct user *ret_row, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &user_sql[USER_GET], err);
    bool found = false;
    det_status st;

    db_bind_i64(&q, id);
    st = user_get(&q, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "user '%" PRId64 "' not found", id);
    return st;
}

det_status store_user_named(struct db *db, const char *username, struct arena *mem,
                            struct user *ret_row, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &user_sql[USER_NAMED], err);
    bool found = false;
    det_status st;

    db_bind_str(&q, username);
    st = user_get(&q, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "user '%s' not found", username);
    return st;
}

det_status store_user_list(struct db *db, struct arena *mem, struct user **ret_rows,
                           uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &user_sql[USER_LIST], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, user_fields, sizeof(**ret_rows), mem, &rows);

    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

det_status store_user_list_of_group(struct db *db, int64_t group_id, struct arena *mem,
                                    struct user **ret_rows, uint32_t *ret_count,
                                    struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &user_sql[USER_LIST_OF_GROUP], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, group_id);
    st = rows_get(&q, user_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

det_status store_user_clash(struct db *db, int64_t id, const char *name,
                            struct arena *mem, const char **ret_username,
                            struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &user_sql[USER_CLASH], err);
    const char *username = NULL;

    db_bind_i64(&q, id);
    db_bind_str(&q, name);
    if (db_next(&q))
        username = db_col_str(&q, mem);
    if (!q.status)
        *ret_username = username;
    return q.status;
}

det_status store_user_count_admins(struct db *db, const struct admin_rule *rule,
                                   int64_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &user_sql[rule->is_rbac ? USER_ROLE_ADMINS : USER_ADMINS], err);
    int64_t count = 0;

    db_bind_bool(&q, rule->counts_remote);
    if (db_next(&q))
        count = db_col_i64(&q);
    if (!q.status)
        *ret_count = count;
    return q.status;
}
