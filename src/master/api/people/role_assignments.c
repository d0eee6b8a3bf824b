/* SPDX-License-Identifier: Apache-2.0 */
/* role_assignments.c - assigns roles to users and groups, and removes them.  A call does all
 * that its body asks for, or nothing. */
#include <inttypes.h>

#include "master/api/api.h"
#include "master/api/people/user_rules.h"
#include "master/request/access.h"
#include "master/request/request.h"
#include "model/permission.h"
#include "store/people/group.h"
#include "store/people/owner.h"
#include "store/people/role_assignment.h"
#include "store/people/user.h"
#include "wire/people_bodies.h"

struct assign_state {
    bool removes;
    struct role_assignment *row;
    size_t count;
};

/* ---- reading the body ---------------------------------------------------------------- */

static det_status check_scope(const struct role_assignment_part *part,
                              const struct role *role, struct err *err)
{
    if (part->has_scope_workspace_id && part->scope_workspace_id <= 0)
        return err_set(err, DET_INVALID,
                       "scopeWorkspaceId must be a workspace's number");
    if (part->has_scope_workspace_id && part->scope_cluster)
        return err_set(err, DET_INVALID,
                       "give either scopeWorkspaceId or scopeCluster, not both");
    if (!part->has_scope_workspace_id && part->has_scope_cluster &&
        !part->scope_cluster)
        return err_set(err, DET_INVALID,
                       "say where the role applies: scopeWorkspaceId, or scopeCluster");
    if (part->has_scope_workspace_id && !role_fits_workspace(role))
        return err_set(err, DET_INVALID,
                       "a global-only permission cannot be assigned to a local scope: "
                       "the role %s is for the whole cluster",
                       role->name);
    return DET_OK;
}

/* Adds one row, after all checks that need no write. */
static det_status add_row(struct request *req, struct assign_state *state,
                          int64_t user_id, int64_t group_id,
                          const struct role_assignment_part *part)
{
    const struct role *role = role_find(part->role.role_id);
    struct role_assignment row = {.role_id = part->role.role_id,
                                  .user_id = user_id,
                                  .group_id = group_id,
                                  .workspace_id = part->scope_workspace_id};
    det_status st;

    if (!role)
        return err_set(req->err, DET_NOT_FOUND,
                       "there is no role %" PRId64 "; 'det rbac list-roles' shows all",
                       part->role.role_id);
    st = check_scope(part, role, req->err);
    if (!st)
        st = access_check_role(req, role, row.workspace_id);
    if (!st)
        state->row[state->count++] = row;
    return st;
}

static det_status read_rows(struct request *req, struct assign_state *state)
{
    const struct role_assignments_body *body = req->body;
    const struct user_role_part *users = body->user_role_assignments.at;
    const struct group_role_part *groups = body->group_role_assignments.at;
    size_t most =
        body->user_role_assignments.count + body->group_role_assignments.count;
    det_status st = DET_OK;

    if (!most)
        return err_set(req->err, DET_INVALID,
                       "must specify at least one group or user assignment");
    state->row = arena_array(&req->mem, struct role_assignment, most);
    if (!state->row)
        return DET_NOMEM;
    for (size_t i = 0; !st && i < body->user_role_assignments.count; i++)
        st = add_row(req, state, users[i].user_id, 0, &users[i].role_assignment);
    for (size_t i = 0; !st && i < body->group_role_assignments.count; i++)
        st = add_row(req, state, 0, groups[i].group_id, &groups[i].role_assignment);
    return st;
}

/* ---- writing ------------------------------------------------------------------------- */

/* The user or group and the workspace exist. */
static det_status find_ends(struct request *req, struct db *db,
                            const struct role_assignment *row, struct err *err)
{
    struct rights_object workspace;
    struct user user;
    struct group group;
    det_status st;

    if (row->user_id)
        st = store_user_get(db, row->user_id, &req->mem, &user, err);
    else
        st = store_group_get(db, row->group_id, &req->mem, &group, err);
    if (!st && row->workspace_id)
        st = store_owner_find_id(db, ROUTE_OBJECT_workspace, row->workspace_id,
                                 &req->mem, &workspace, err);
    return st;
}

/* The flag of an administrator allows the same.  In mode rbac it goes with the role; in mode
 * basic roles decide nothing, so the role stays as long as the flag. */
static det_status drop_admin_flag(struct request *req, struct db *db,
                                  const struct role_assignment *row, struct err *err)
{
    struct user user;
    det_status st;

    if (row->role_id != ROLE_CLUSTER_ADMIN || !row->user_id)
        return DET_OK;
    st = store_user_get(db, row->user_id, &req->mem, &user, err);
    if (st || !user.is_admin)
        return st;
    if (!req->master->is_rbac)
        return err_set(err, DET_STATE,
                       "user '%s' is an administrator and therefore has the role "
                       "ClusterAdmin; 'det user edit %s --admin false' removes both",
                       user.username, user.username);
    user.is_admin = false;
    user.modified_us = master_now_us(req->master);
    return store_user_put(db, &user, err);
}

static det_status write_rows(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct assign_state *state = req->state;
    struct admin_count before;
    det_status st = admin_count_begin(req, db, &before, err);

    for (size_t i = 0; !st && i < state->count; i++) {
        st = find_ends(req, db, &state->row[i], err);
        if (!st)
            st = state->removes ? store_role_unassign(db, &state->row[i], err)
                                : store_role_assign(db, &state->row[i], err);
        if (!st && state->removes)
            st = drop_admin_flag(req, db, &state->row[i], err);
    }
    return st ? st : admin_count_check(db, &before, err);
}

static det_status change_roles(struct request *req, bool removes)
{
    struct assign_state *state = arena_new(&req->mem, struct assign_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    state->removes = removes;
    st = read_rows(req, state);
    req->state = state;
    return st ? st : request_write(req, write_rows, NULL);
}

det_status api_add_role_assignments(struct request *req)
{
    return change_roles(req, false);
}

det_status api_remove_role_assignments(struct request *req)
{
    return change_roles(req, true);
}
