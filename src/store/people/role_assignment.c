/* SPDX-License-Identifier: Apache-2.0 */
/* role_assignment.c - rows of `role_assignments`. */
#include "store/people/role_assignment.h"

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "model/field.h"
#include "model/permission.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

#define ROLE_COLUMNS "a.role_id, a.user_id, a.group_id, a.workspace_id"
#define ROLE_ORDER   " ORDER BY 1, 4, 2, 3"

enum {
    ROLE_LIST_OF_USER = ROLES_OF_USER,
    ROLE_LIST_OF_GROUP = ROLES_OF_GROUP,
    ROLE_LIST_IN_WORKSPACE = ROLES_IN_WORKSPACE,
    ROLE_LIST_BY_ROLE = ROLES_BY_ROLE,
    ROLE_ASSIGN,
    ROLE_UNASSIGN,
    ROLE_DROP_OF_WORKSPACE,
};

static const struct sql role_sql[] = {
    SQL(ROLE_LIST_OF_USER,
        "SELECT " ROLE_COLUMNS " FROM role_assignments a"
        "  WHERE a.user_id = $1 AND a.group_id = 0"
        " UNION SELECT " ROLE_COLUMNS "  FROM group_members m JOIN role_assignments a"
        "    ON a.user_id = 0 AND a.group_id = m.group_id"
        "  WHERE m.user_id = $1" ROLE_ORDER),
    SQL(ROLE_LIST_OF_GROUP, "SELECT " ROLE_COLUMNS " FROM role_assignments a"
                            " WHERE a.user_id = 0 AND a.group_id = $1" ROLE_ORDER),
    SQL(ROLE_LIST_IN_WORKSPACE, "SELECT " ROLE_COLUMNS " FROM role_assignments a"
                                " WHERE a.workspace_id = $1" ROLE_ORDER),
    SQL(ROLE_LIST_BY_ROLE, "SELECT " ROLE_COLUMNS " FROM role_assignments a"
                           " WHERE a.role_id = $1" ROLE_ORDER),
    SQL(ROLE_ASSIGN, "INSERT INTO role_assignments"
                     " (role_id, user_id, group_id, workspace_id)"
                     " VALUES ($1, $2, $3, $4)"),
    SQL(ROLE_UNASSIGN, "DELETE FROM role_assignments WHERE role_id = $1"
                       " AND user_id = $2 AND group_id = $3 AND workspace_id = $4"),
    SQL(ROLE_DROP_OF_WORKSPACE, "DELETE FROM role_assignments WHERE workspace_id = $1"),
};
const struct sql_table role_assignment_sql_table = SQL_TABLE(role_sql);

static const struct field role_assignment_fields[] = {
    FIELD(I64, role_assignment, role_id, "the role"),
    FIELD(I64, role_assignment, user_id, "the user who has it"),
    FIELD(I64, role_assignment, group_id, "the group that has it"),
    FIELD(I64, role_assignment, workspace_id, "where"),
    FIELD_END,
};

det_status store_role_assign(struct db *db, const struct role_assignment *row,
                             struct err *err)
{
    det_status st =
        row_put(db, &role_sql[ROLE_ASSIGN], role_assignment_fields, row, err);

    if (st == DET_EXISTS)
        return err_set(err, DET_EXISTS,
                       "row already exists: this role is assigned there already");
    return st;
}

det_status store_role_unassign(struct db *db, const struct role_assignment *row,
                               struct err *err)
{
    det_status st =
        row_put(db, &role_sql[ROLE_UNASSIGN], role_assignment_fields, row, err);

    if (!st && !db_changes(db))
        return err_set(err, DET_NOT_FOUND, "this role is not assigned there");
    return st;
}

det_status store_role_follow_admin(struct db *db, int64_t user_id, bool is_admin,
                                   struct err *err)
{
    struct role_assignment row = {.role_id = ROLE_CLUSTER_ADMIN, .user_id = user_id};
    det_status st = is_admin ? store_role_assign(db, &row, err)
                             : store_role_unassign(db, &row, err);

    return st == DET_EXISTS || st == DET_NOT_FOUND ? DET_OK : st;
}

det_status store_role_assign_creator(struct db *db, int64_t workspace_id,
                                     int64_t user_id, struct err *err)
{
    struct role_assignment row = {.role_id = ROLE_WORKSPACE_ADMIN,
                                  .user_id = user_id,
                                  .workspace_id = workspace_id};

    return store_role_assign(db, &row, err);
}

det_status store_roles_drop_of_workspace(struct db *db, int64_t workspace_id,
                                         struct err *err)
{
    return run_with_id(db, &role_sql[ROLE_DROP_OF_WORKSPACE], workspace_id, err);
}

det_status store_role_list(struct db *db, enum role_list what, int64_t id,
                           struct arena *mem, struct role_assignment **ret_rows,
                           uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &role_sql[what], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, id);
    st = rows_get(&q, role_assignment_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}
