/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - rows of `user_groups` and `group_members`. */
#include "store/people/group.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/setting.h"
#include "store/sql_tables.h"

#define GROUP_COLUMNS                                                                  \
    "g.id, g.name, (SELECT COUNT(*) FROM group_members m WHERE m.group_id = g.id)"
/* $1: the name or NULL; $2: a member or 0 */
#define GROUP_WANTED                                                                   \
    " FROM user_groups g WHERE ($1 IS NULL OR g.name = $1)"                            \
    " AND ($2 = 0 OR EXISTS (SELECT 1 FROM group_members n"                            \
    "  WHERE n.group_id = g.id AND n.user_id = $2))"

enum {
    GROUP_ADD,
    GROUP_RENAME,
    GROUP_DROP,
    GROUP_DROP_MEMBERS,
    GROUP_DROP_ROLES,
    GROUP_GET,
    GROUP_LIST,
    GROUP_JOIN,
    GROUP_LEAVE,
};

static const struct sql group_sql[] = {
    SQL(GROUP_ADD, "INSERT INTO user_groups (id, name) VALUES ($1, $2)"),
    SQL(GROUP_RENAME, "UPDATE user_groups SET name = $2 WHERE id = $1"),
    SQL(GROUP_DROP, "DELETE FROM user_groups WHERE id = $1"),
    SQL(GROUP_DROP_MEMBERS, "DELETE FROM group_members WHERE group_id = $1"),
    SQL(GROUP_DROP_ROLES,
        "DELETE FROM role_assignments WHERE user_id = 0 AND group_id = $1"),
    SQL(GROUP_GET, "SELECT " GROUP_COLUMNS " FROM user_groups g WHERE g.id = $1"),
    SQL(GROUP_LIST, "SELECT " GROUP_COLUMNS GROUP_WANTED " ORDER BY g.id"),
    SQL(GROUP_JOIN, "INSERT INTO group_members (group_id, user_id) VALUES ($1, $2)"),
    SQL(GROUP_LEAVE, "DELETE FROM group_members WHERE group_id = $1 AND user_id = $2"),
};
const struct sql_table group_sql_table = SQL_TABLE(group_sql);

static const struct field group_fields[] = {
    FIELD(I64, group, id, "its number"),
    FIELD(STR, group, name, "its name"),
    FIELD(I64, group, members, "how many users belong to it"),
    FIELD_END,
};

static det_status group_missing(struct err *err, int64_t id)
{
    return err_set(err, DET_NOT_FOUND, "group '%" PRId64 "' not found", id);
}

static det_status put_name(struct db *db, int sql, int64_t id, const char *name,
                           struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &group_sql[sql], err);
    det_status st;

    db_bind_i64(&q, id);
    db_bind_str(&q, name);
    st = db_run(&q);
    if (st == DET_EXISTS)
        return err_set(err, DET_EXISTS,
                       "duplicate record: there is a group '%s' already", name);
    return st;
}

det_status store_group_add(struct db *db, const char *name, int64_t *ret_id,
                           struct err *err)
{
    int64_t id;
    det_status st = store_number_next(db, "store.group", 1, &id, err);

    if (!st)
        st = put_name(db, GROUP_ADD, id, name, err);
    if (!st)
        *ret_id = id;
    return st;
}

det_status store_group_rename(struct db *db, int64_t id, const char *name,
                              struct err *err)
{
    det_status st = put_name(db, GROUP_RENAME, id, name, err);

    if (!st && !db_changes(db))
        return group_missing(err, id);
    return st;
}

det_status store_group_drop(struct db *db, int64_t id, struct err *err)
{
    det_status st = run_with_id(db, &group_sql[GROUP_DROP], id, err);

    if (!st && !db_changes(db))
        return group_missing(err, id);
    if (!st)
        st = run_with_id(db, &group_sql[GROUP_DROP_MEMBERS], id, err);
    if (!st)
        st = run_with_id(db, &group_sql[GROUP_DROP_ROLES], id, err);
    return st;
}

det_status store_group_get(struct db *db, int64_t id, struct arena *mem,
                           struct group *ret_row, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &group_sql[GROUP_GET], err);
    struct group row = {0};
    bool found = false;
    det_status st;

    db_bind_i64(&q, id);
    st = row_get(&q, group_fields, mem, &row, &found);
    if (!st && !found)
        return group_missing(err, id);
    if (!st)
        *ret_row = row;
    return st;
}

det_status store_group_list(struct db *db, const struct group_query *query,
                            struct arena *mem, struct group **ret_rows,
                            uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &group_sql[GROUP_LIST], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_str(&q, query->name);
    db_bind_i64(&q, query->user_id);
    st = rows_get(&q, group_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

static det_status change_member(struct db *db, int sql, int64_t group_id,
                                int64_t user_id, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &group_sql[sql], err);

    db_bind_i64(&q, group_id);
    db_bind_i64(&q, user_id);
    return db_run(&q);
}

det_status store_group_join(struct db *db, int64_t group_id, int64_t user_id,
                            struct err *err)
{
    return change_member(db, GROUP_JOIN, group_id, user_id, err);
}

det_status store_group_leave(struct db *db, int64_t group_id, int64_t user_id,
                             bool *ret_was_member, struct err *err)
{
    det_status st = change_member(db, GROUP_LEAVE, group_id, user_id, err);

    if (!st)
        *ret_was_member = db_changes(db) > 0;
    return st;
}
