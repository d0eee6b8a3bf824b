/* SPDX-License-Identifier: Apache-2.0 */
#include "store/space/space_delete.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_delete.h"
#include "store/space/project.h"
#include "store/space/workspace.h"
#include "store/sql_tables.h"

#define NOT_OVER "state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"

enum {
    EXPERIMENTS_OF,
    EXPERIMENT_FAILED,
    PROJECTS_OF,
    JOBS_OF,
    PROJECTS_DELETING,
    WORKSPACES_DELETING,
    PROJECT_FAILED,
    PROJECT_MARK,
    WORKSPACE_MARK,
    DELETE_VISITS,
    DELETE_PROJECT,
    DELETE_PINS,
    DELETE_ROLES,
    DELETE_WORKSPACE,
};

static const struct sql space_delete_sql[] = {
    SQL(EXPERIMENTS_OF, "SELECT id FROM experiments WHERE project_id = $1"
                        "  AND state <> 'DELETING' ORDER BY id"),
    /* one that will not be deleted */
    SQL(EXPERIMENT_FAILED, "SELECT id FROM experiments WHERE project_id = $1"
                           "  AND state <> 'DELETING' ORDER BY id LIMIT 1"),
    SQL(PROJECTS_OF, "SELECT id FROM projects WHERE workspace_id = $1 ORDER BY id"),
    SQL(JOBS_OF, "SELECT id FROM jobs WHERE workspace_id = $1 AND " NOT_OVER),
    SQL(PROJECTS_DELETING,
        "SELECT p.id, (SELECT COUNT(*) FROM experiments e WHERE e.project_id = p.id)"
        "  FROM projects p WHERE p.state = '" SPACE_DELETING "' ORDER BY p.id"),
    SQL(WORKSPACES_DELETING,
        "SELECT w.id, (SELECT COUNT(*) FROM projects p WHERE p.workspace_id = w.id) +"
        "  (SELECT COUNT(*) FROM jobs WHERE workspace_id = w.id AND " NOT_OVER ")"
        "  FROM workspaces w WHERE w.state = '" SPACE_DELETING "' ORDER BY w.id"),
    SQL(PROJECT_FAILED, "SELECT id FROM projects WHERE workspace_id = $1"
                        "  AND state <> '" SPACE_DELETING "' ORDER BY id LIMIT 1"),
    SQL(PROJECT_MARK, "UPDATE projects SET state = $2, error = $3 WHERE id = $1"),
    SQL(WORKSPACE_MARK, "UPDATE workspaces SET state = $2, error = $3 WHERE id = $1"),
    SQL(DELETE_VISITS, "DELETE FROM project_visits WHERE project_id = $1"),
    SQL(DELETE_PROJECT, "DELETE FROM projects WHERE id = $1"),
    SQL(DELETE_PINS, "DELETE FROM workspace_pins WHERE workspace_id = $1"),
    SQL(DELETE_ROLES, "DELETE FROM role_assignments WHERE workspace_id = $1"),
    SQL(DELETE_WORKSPACE, "DELETE FROM workspaces WHERE id = $1"),
};
const struct sql_table space_delete_sql_table = SQL_TABLE(space_delete_sql);

static det_status list_ids(struct db *db, int sql, int64_t id, struct arena *mem,
                           struct field_i64s *ret_ids, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &space_delete_sql[sql], err);

    db_bind_i64(&q, id);
    return numbers_get(&q, mem, ret_ids);
}

static det_status mark(struct db *db, int sql, int64_t id, const char *state,
                       const char *error, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &space_delete_sql[sql], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, state);
    db_bind_str(&q, error);
    return db_run(&q);
}

/* ---- marking --------------------------------------------------------------------- */

static det_status drop_project(struct db *db, int64_t id, struct err *err)
{
    det_status st = run_with_id(db, &space_delete_sql[DELETE_VISITS], id, err);

    return st ? st : run_with_id(db, &space_delete_sql[DELETE_PROJECT], id, err);
}

static det_status drop_workspace(struct db *db, int64_t id, struct err *err)
{
    det_status st = run_with_id(db, &space_delete_sql[DELETE_PINS], id, err);

    if (!st)
        st = run_with_id(db, &space_delete_sql[DELETE_ROLES], id, err);
    return st ? st : run_with_id(db, &space_delete_sql[DELETE_WORKSPACE], id, err);
}

static det_status mark_experiments(struct db *db, const struct field_i64s *ids,
                                   struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < ids->count; i++) {
        st = store_experiment_set_deleting(db, ids->at[i], err);
        if (st == DET_STATE)
            return err_prefix(err, "experiment %" PRId64, ids->at[i]);
    }
    return st;
}

static det_status mark_project(struct db *db, int64_t id, bool *ret_is_gone,
                               struct arena *mem, struct err *err)
{
    struct project_view view;
    struct field_i64s ids = {0};
    det_status st = store_project_get(db, id, mem, &view, err);

    if (!st && view.row.is_immutable)
        st = err_set(err, DET_STATE,
                     "project (%" PRId64 ") is immutable and cannot be deleted", id);
    if (!st)
        st = list_ids(db, EXPERIMENTS_OF, id, mem, &ids, err);
    if (!st)
        st = mark_experiments(db, &ids, err);
    if (st)
        return st;
    *ret_is_gone = !view.num_experiments;
    return *ret_is_gone ? drop_project(db, id, err)
                        : mark(db, PROJECT_MARK, id, SPACE_DELETING, "", err);
}

det_status store_project_set_deleting(struct db *db, int64_t id, bool *ret_is_gone,
                                      struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);

    return mark_project(db, id, ret_is_gone, &mem, err);
}

det_status store_workspace_jobs(struct db *db, int64_t id, struct arena *mem,
                                struct field_i64s *ret_ids, struct err *err)
{
    return list_ids(db, JOBS_OF, id, mem, ret_ids, err);
}

det_status store_workspace_set_deleting(struct db *db, int64_t id, bool *ret_is_gone,
                                        struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct workspace_view view;
    struct field_i64s projects = {0};
    struct field_i64s jobs = {0};
    bool is_empty = true;
    det_status st = store_workspace_get(db, id, 0, &mem, &view, err);

    if (!st && view.row.is_immutable)
        st = err_set(err, DET_STATE,
                     "workspace (%" PRId64 ") is immutable and cannot be deleted", id);
    if (!st)
        st = list_ids(db, PROJECTS_OF, id, &mem, &projects, err);
    if (!st)
        st = list_ids(db, JOBS_OF, id, &mem, &jobs, err);
    for (size_t i = 0; !st && i < projects.count; i++) {
        bool is_gone = false;

        st = mark_project(db, projects.at[i], &is_gone, &mem, err);
        is_empty = is_empty && is_gone;
    }
    if (st)
        return st;
    *ret_is_gone = is_empty && !jobs.count;
    return *ret_is_gone ? drop_workspace(db, id, err)
                        : mark(db, WORKSPACE_MARK, id, SPACE_DELETING, "", err);
}

/* ---- steps ----------------------------------------------------------------------- */

/* A space that is DELETING, and how much is left in it. */
struct remains {
    int64_t id;
    int64_t left;
};

static const struct field remains_fields[] = {
    FIELD(I64, remains, id, "its number"),
    FIELD(I64, remains, left, "what is left in it"),
    FIELD_END,
};

static det_status list_remains(struct db *db, int sql, struct arena *mem,
                               struct row_list *ret_rows, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &space_delete_sql[sql], err);

    return rows_get(&q, remains_fields, sizeof(struct remains), mem, ret_rows);
}

static det_status project_step(struct db *db, const struct remains *project,
                               struct arena *mem, bool *did, struct err *err)
{
    struct field_i64s failed = {0};
    det_status st;

    if (!project->left) {
        *did = true;
        return drop_project(db, project->id, err);
    }
    st = list_ids(db, EXPERIMENT_FAILED, project->id, mem, &failed, err);
    if (st || !failed.count)
        return st;
    *did = true;
    return mark(
        db, PROJECT_MARK, project->id, SPACE_DELETE_FAILED,
        arena_printf(mem, "experiment %" PRId64 " could not be deleted", failed.at[0]),
        err);
}

static det_status workspace_step(struct db *db, const struct remains *workspace,
                                 struct arena *mem, bool *did, struct err *err)
{
    struct field_i64s failed = {0};
    det_status st;

    if (!workspace->left) {
        *did = true;
        return drop_workspace(db, workspace->id, err);
    }
    st = list_ids(db, PROJECT_FAILED, workspace->id, mem, &failed, err);
    if (st || !failed.count)
        return st;
    *did = true;
    return mark(
        db, WORKSPACE_MARK, workspace->id, SPACE_DELETE_FAILED,
        arena_printf(mem, "project %" PRId64 " could not be deleted", failed.at[0]),
        err);
}

det_status store_space_delete_step(struct db *db, bool *ret_did, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct row_list rows = {0};
    det_status st = list_remains(db, PROJECTS_DELETING, &mem, &rows, err);
    const struct remains *at = rows.at;

    *ret_did = false;
    for (uint32_t i = 0; !st && i < rows.count; i++)
        st = project_step(db, &at[i], &mem, ret_did, err);
    if (!st)
        st = list_remains(db, WORKSPACES_DELETING, &mem, &rows, err);
    at = rows.at;
    for (uint32_t i = 0; !st && i < rows.count; i++)
        st = workspace_step(db, &at[i], &mem, ret_did, err);
    return st;
}
