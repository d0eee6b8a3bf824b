/* SPDX-License-Identifier: Apache-2.0 */
#include "store/space/workspace.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "model/field.h"
#include "model/permission.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/setting.h"
#include "store/sql_tables.h"

#define COLUMNS                                                                        \
    "id, name, owner_id, is_archived, is_immutable, created_us, state, error,"         \
    " storage, compute_pool, aux_pool, agent_uid, agent_gid, agent_user, agent_group"
#define VIEW                                                                           \
    "SELECT w.id, w.name, w.owner_id, w.is_archived, w.is_immutable, w.created_us,"    \
    "  w.state, w.error, w.storage, w.compute_pool, w.aux_pool, w.agent_uid,"          \
    "  w.agent_gid, w.agent_user, w.agent_group, COALESCE(u.username, ''),"            \
    "  (SELECT COUNT(*) FROM projects p WHERE p.workspace_id = w.id),"                 \
    "  (SELECT COUNT(*) FROM projects p JOIN experiments e ON e.project_id = p.id"     \
    "   WHERE p.workspace_id = w.id),"                                                 \
    "  COALESCE(n.pinned_us, 0)"                                                       \
    " FROM workspaces w LEFT JOIN users u ON u.id = w.owner_id"                        \
    " LEFT JOIN workspace_pins n ON n.workspace_id = w.id AND n.user_id = $1"

enum {
    WORKSPACE_ADD,
    WORKSPACE_PUT,
    WORKSPACE_GET,
    WORKSPACE_NAMED,
    WORKSPACE_LIST,
    WORKSPACE_PIN,
    WORKSPACE_UNPIN,
    WORKSPACE_ROLE,
};

static const struct sql workspace_sql[] = {
    SQL(WORKSPACE_ADD, "INSERT INTO workspaces (" COLUMNS ")"
                       " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,"
                       "  $13, $14, $15)"),
    SQL(WORKSPACE_PUT,
        "UPDATE workspaces SET name = $2, owner_id = $3, is_archived = $4,"
        "  is_immutable = $5, created_us = $6, state = $7, error = $8, storage = $9,"
        "  compute_pool = $10, aux_pool = $11, agent_uid = $12, agent_gid = $13,"
        "  agent_user = $14, agent_group = $15"
        " WHERE id = $1"),
    SQL(WORKSPACE_GET, VIEW " WHERE w.id = $2"),
    SQL(WORKSPACE_NAMED, VIEW " WHERE w.name = $2"),
    SQL(WORKSPACE_LIST, VIEW " ORDER BY w.id"),
    SQL(WORKSPACE_PIN,
        "INSERT INTO workspace_pins (workspace_id, user_id, pinned_us)"
        " VALUES ($1, $2, $3) ON CONFLICT (user_id, workspace_id) DO NOTHING"),
    SQL(WORKSPACE_UNPIN,
        "DELETE FROM workspace_pins WHERE workspace_id = $1 AND user_id = $2"),
    SQL(WORKSPACE_ROLE,
        "INSERT INTO role_assignments (workspace_id, user_id, group_id, role_id)"
        " VALUES ($1, $2, 0, $3)"),
};
const struct sql_table workspace_sql_table = SQL_TABLE(workspace_sql);

/* ---- rows ------------------------------------------------------------------------ */

static const struct field workspace_fields[] = {
    FIELD(I64, workspace, id, "its number"),
    FIELD(STR, workspace, name, "its name"),
    FIELD(I64, workspace, owner_id, "its owner"),
    FIELD(BOOL, workspace, is_archived, "archived"),
    FIELD(BOOL, workspace, is_immutable, "cannot be changed"),
    FIELD(I64, workspace, created_us, "when it was made"),
    FIELD(STR, workspace, state, "DELETING, DELETE_FAILED or nothing"),
    FIELD(STR, workspace, error, "why it could not be deleted"),
    FIELD(STR, workspace, storage, "its checkpoint storage"),
    FIELD(STR, workspace, compute_pool, "its default pool for tasks with slots"),
    FIELD(STR, workspace, aux_pool, "its default pool for tasks without"),
    FIELD_END,
};

static void bind_number(struct db_query *q, bool has, int64_t value)
{
    if (has)
        db_bind_i64(q, value);
    else
        db_bind_null(q);
}

static det_status put_row(struct db *db, int sql, const struct workspace *row,
                          struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &workspace_sql[sql], err);
    const struct task_user *user = &row->task_user;
    det_status st;

    db_bind_record(&q, workspace_fields, row);
    bind_number(&q, user->has_uid, user->uid);
    bind_number(&q, user->has_gid, user->gid);
    db_bind_str(&q, user->user);
    db_bind_str(&q, user->group);
    st = db_run(&q);
    if (st == DET_EXISTS)
        return err_set(err, st,
                       "avoid names equal to other workspaces: there is a workspace "
                       "'%s' already",
                       row->name);
    return st;
}

static det_status give_role(struct db *db, const struct workspace *row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &workspace_sql[WORKSPACE_ROLE], err);

    db_bind_i64(&q, row->id);
    db_bind_i64(&q, row->owner_id);
    db_bind_i64(&q, ROLE_WORKSPACE_ADMIN);
    return db_run(&q);
}

det_status store_workspace_add(struct db *db, const struct workspace *row,
                               int64_t *ret_id, struct err *err)
{
    struct workspace added = *row;
    det_status st = store_number_next(db, "store.workspace", 1, &added.id, err);

    added.id += SPACE_FIRST; /* which the migration made */
    if (!st)
        st = put_row(db, WORKSPACE_ADD, &added, err);
    if (!st)
        st = give_role(db, &added, err);
    if (!st)
        *ret_id = added.id;
    return st;
}

static det_status no_workspace(int64_t id, struct err *err)
{
    return err_set(err, DET_NOT_FOUND, "workspace '%" PRId64 "' not found", id);
}

det_status store_workspace_put(struct db *db, const struct workspace *row,
                               struct err *err)
{
    det_status st = put_row(db, WORKSPACE_PUT, row, err);

    return !st && !db_changes(db) ? no_workspace(row->id, err) : st;
}

/* ---- views ----------------------------------------------------------------------- */

static void read_number(struct db_query *q, bool *ret_has, int64_t *ret_value)
{
    *ret_has = !db_col_is_null(q);
    *ret_value = db_col_i64(q);
}

static void read_view(struct db_query *q, struct arena *mem,
                      struct workspace_view *view)
{
    struct task_user *user = &view->row.task_user;

    db_read(q, workspace_fields, &view->row, mem);
    read_number(q, &user->has_uid, &user->uid);
    read_number(q, &user->has_gid, &user->gid);
    user->user = db_col_str(q, mem);
    user->group = db_col_str(q, mem);
    view->username = db_col_str(q, mem);
    view->num_projects = db_col_i64(q);
    view->num_experiments = db_col_i64(q);
    view->pinned_us = db_col_i64(q);
}

det_status store_workspace_get(struct db *db, int64_t id, int64_t user_id,
                               struct arena *mem, struct workspace_view *ret_view,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &workspace_sql[WORKSPACE_GET], err);
    struct workspace_view view = {0};

    db_bind_i64(&q, user_id);
    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status : no_workspace(id, err);
    read_view(&q, mem, &view);
    if (!q.status)
        *ret_view = view;
    return q.status;
}

det_status store_workspace_named(struct db *db, const char *name, struct arena *mem,
                                 struct workspace_view *ret_view, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &workspace_sql[WORKSPACE_NAMED], err);
    struct workspace_view view = {0};

    db_bind_i64(&q, 0);
    db_bind_str(&q, name);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "workspace '%s' not found", name);
    read_view(&q, mem, &view);
    if (!q.status)
        *ret_view = view;
    return q.status;
}

det_status store_workspace_list(struct db *db, int64_t user_id, struct arena *mem,
                                struct workspace_view **ret_views, uint32_t *ret_count,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &workspace_sql[WORKSPACE_LIST], err);
    VEC(struct workspace_view) rows = {0};
    struct workspace_view *views;
    bool has_room = true;

    db_bind_i64(&q, user_id);
    while (has_room && db_next(&q)) {
        struct workspace_view view = {0};

        read_view(&q, mem, &view);
        has_room = vec_push(&rows, view);
    }
    views = arena_array(mem, struct workspace_view, rows.count + 1);
    for (size_t i = 0; views && i < rows.count; i++)
        views[i] = rows.at[i];
    if (!q.status && views && has_room) {
        *ret_views = views;
        *ret_count = (uint32_t)rows.count;
    }
    vec_done(&rows);
    if (!q.status && (!has_room || !views))
        return err_default(err, DET_NOMEM);
    return q.status;
}

det_status store_workspace_pin(struct db *db, int64_t id, int64_t user_id,
                               int64_t now_us, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &workspace_sql[now_us ? WORKSPACE_PIN : WORKSPACE_UNPIN], err);

    db_bind_i64(&q, id);
    db_bind_i64(&q, user_id);
    if (now_us)
        db_bind_i64(&q, now_us);
    return db_run(&q);
}

/* ---- rules ----------------------------------------------------------------------- */

det_status workspace_check_open(const struct workspace *row, const char *what,
                                struct err *err)
{
    if (row->is_immutable)
        return err_set(err, DET_STATE,
                       "workspace (%" PRId64 ") is immutable and cannot %s", row->id,
                       what);
    if (row->is_archived)
        return err_set(err, DET_STATE,
                       "workspace (%" PRId64 ") is archived and cannot %s", row->id,
                       what);
    if (*row->state)
        return err_set(err, DET_STATE,
                       "workspace (%" PRId64 ") is being deleted and cannot %s",
                       row->id, what);
    return DET_OK;
}

struct task_user task_user_merge(const struct task_user *base,
                                 const struct task_user *over)
{
    return (struct task_user){
        .has_uid = over->has_uid || base->has_uid,
        .uid = over->has_uid ? over->uid : base->uid,
        .has_gid = over->has_gid || base->has_gid,
        .gid = over->has_gid ? over->gid : base->gid,
        .user = over->user ? over->user : base->user,
        .group = over->group ? over->group : base->group,
    };
}

bool task_user_is_set(const struct task_user *user)
{
    return user->has_uid || user->has_gid || user->user || user->group;
}

det_status workspace_task_user(struct db *db, int64_t id, const struct task_user *own,
                               struct arena *mem, struct task_user *ret_user,
                               bool *ret_is_set, struct err *err)
{
    struct workspace_view view;
    det_status st =
        id ? store_workspace_get(db, id, 0, mem, &view, err) : DET_NOT_FOUND;

    if (st == DET_NOT_FOUND)
        view.row.task_user = (struct task_user){0};
    else if (st)
        return st;
    *ret_user = task_user_merge(own, &view.row.task_user);
    *ret_is_set = task_user_is_set(&view.row.task_user);
    return DET_OK;
}
