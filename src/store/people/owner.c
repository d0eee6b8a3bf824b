/* SPDX-License-Identifier: Apache-2.0 */
#include "store/people/owner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/memory/arena.h"
#include "data/text.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum {
    OWNER_OF_USER,
    OWNER_OF_EXPERIMENT,
    OWNER_OF_TRIAL,
    OWNER_OF_CHECKPOINT,
    OWNER_OF_ALLOCATION,
    OWNER_OF_TASK,
    OWNER_OF_WORKSPACE,
    OWNER_OF_PROJECT,
    OWNER_OF_GROUP,
    OWNER_OF_TOKEN,
};

/* Columns: owner, second owner, workspace, experiment, trial, allocation, task, is a job.  An
 * experiment whose project is gone has workspace 0, where no role applies. */
#define EXPERIMENTS " JOIN experiments e ON e.id = "
#define PROJECT     " LEFT JOIN projects p ON p.id = e.project_id"

static const struct sql owner_sql[] = {
    SQL(OWNER_OF_USER, "SELECT id, 0, 0, 0, 0, 0, '', FALSE FROM users WHERE id = $1"),
    SQL(OWNER_OF_EXPERIMENT,
        "SELECT e.owner_id, 0, COALESCE(p.workspace_id, 0), e.id, 0, 0, '', FALSE"
        "  FROM experiments e" PROJECT " WHERE e.id = $1"),
    SQL(OWNER_OF_TRIAL,
        "SELECT e.owner_id, 0, COALESCE(p.workspace_id, 0), e.id, t.id, 0, t.task_id,"
        "  FALSE FROM trials t" EXPERIMENTS "t.experiment_id" PROJECT
        " WHERE t.id = $1"),
    SQL(OWNER_OF_CHECKPOINT,
        "SELECT e.owner_id, 0, COALESCE(p.workspace_id, 0), e.id, c.trial_id, 0,"
        "  c.task_id, FALSE FROM checkpoints c" EXPERIMENTS "c.experiment_id" PROJECT
        " WHERE c.uuid = $1"),
    SQL(OWNER_OF_ALLOCATION,
        "SELECT COALESCE(e.owner_id, j.owner_id), 0,"
        "  COALESCE(p.workspace_id, j.workspace_id, 0), a.experiment_id, a.trial_id,"
        "  a.id, a.task_id, j.id IS NOT NULL"
        "  FROM allocations a LEFT JOIN experiments e ON e.id = a.experiment_id" PROJECT
        "  LEFT JOIN jobs j ON j.id = a.job_id"
        " WHERE a.name = $1 ORDER BY a.id DESC LIMIT 1"),
    SQL(OWNER_OF_TASK,
        "SELECT e.owner_id, 0, COALESCE(p.workspace_id, 0), e.id, t.id, 0, t.task_id,"
        "  FALSE FROM trials t" EXPERIMENTS "t.experiment_id" PROJECT
        " WHERE t.task_id = $1"
        " UNION ALL SELECT owner_id, 0, workspace_id, 0, 0, 0, task_id, TRUE"
        "  FROM jobs WHERE task_id = $1"),
    SQL(OWNER_OF_WORKSPACE, "SELECT owner_id, 0, id, 0, 0, 0, '', FALSE"
                            "  FROM workspaces WHERE id = $1"),
    SQL(OWNER_OF_PROJECT,
        "SELECT p.owner_id, w.owner_id, w.id, 0, 0, 0, '', FALSE FROM projects p"
        "  JOIN workspaces w ON w.id = p.workspace_id WHERE p.id = $1"),
    SQL(OWNER_OF_GROUP, "SELECT 0, 0, 0, 0, 0, 0, '', FALSE FROM user_groups"
                        " WHERE id = $1"),
    SQL(OWNER_OF_TOKEN, "SELECT user_id, 0, 0, 0, 0, 0, '', FALSE FROM sessions"
                        " WHERE id = $1 AND is_access_token"),
};
const struct sql_table owner_sql_table = SQL_TABLE(owner_sql);

static const struct {
    int sql;
    bool is_text; /* its name is not a number */
} finders[] = {
    [ROUTE_OBJECT_user] = {OWNER_OF_USER, false},
    [ROUTE_OBJECT_experiment] = {OWNER_OF_EXPERIMENT, false},
    [ROUTE_OBJECT_trial] = {OWNER_OF_TRIAL, false},
    [ROUTE_OBJECT_checkpoint] = {OWNER_OF_CHECKPOINT, true},
    [ROUTE_OBJECT_allocation] = {OWNER_OF_ALLOCATION, true},
    [ROUTE_OBJECT_task] = {OWNER_OF_TASK, true},
    [ROUTE_OBJECT_workspace] = {OWNER_OF_WORKSPACE, false},
    [ROUTE_OBJECT_project] = {OWNER_OF_PROJECT, false},
    [ROUTE_OBJECT_group] = {OWNER_OF_GROUP, false},
    [ROUTE_OBJECT_token] = {OWNER_OF_TOKEN, false},
};

static det_status read_object(struct db_query *q, enum route_object kind,
                              struct arena *mem, struct rights_object *ret_object)
{
    struct rights_object object = {.kind = kind};

    if (!db_next(q))
        return q->status ? q->status : DET_NOT_FOUND;
    object.owner_id = db_col_i64(q);
    object.co_owner_id = db_col_i64(q);
    object.workspace_id = db_col_i64(q);
    object.experiment_id = db_col_i64(q);
    object.trial_id = db_col_i64(q);
    object.allocation_id = db_col_i64(q);
    object.task_id = db_col_str(q, mem);
    object.is_job = db_col_bool(q);
    if (!q->status)
        *ret_object = object;
    return q->status;
}

det_status store_owner_find(struct db *db, enum route_object kind, const char *name,
                            struct arena *mem, struct rights_object *ret_object,
                            struct err *err)
{
    int64_t id = 0;
    det_status st = DET_NOT_FOUND;

    assert(kind > ROUTE_OBJECT_none && kind < ROUTE_OBJECT_list);
    if (finders[kind].is_text || parse_i64(name, &id)) {
        CLEANUP(db_query_done)
        struct db_query q = db_query(db, &owner_sql[finders[kind].sql], err);

        if (finders[kind].is_text)
            db_bind_str(&q, name);
        else
            db_bind_i64(&q, id);
        st = read_object(&q, kind, mem, ret_object);
    }
    if (st == DET_NOT_FOUND)
        return err_set(err, st, "%s '%s' not found", route_object_names[kind], name);
    return st;
}

det_status store_owner_find_id(struct db *db, enum route_object kind, int64_t id,
                               struct arena *mem, struct rights_object *ret_object,
                               struct err *err)
{
    char name[24];

    snprintf(name, sizeof(name), "%" PRId64, id);
    return store_owner_find(db, kind, name, mem, ret_object, err);
}
