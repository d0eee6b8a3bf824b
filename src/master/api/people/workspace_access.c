/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_access.c - who may do what in a workspace, and why.
 *
 * Mode rbac: each user has the permissions of all roles that the user has in the workspace or
 * on the cluster, directly or through a group; each of these assignments is a reason.
 * Administrators have all.
 *
 * Mode basic: the rows of the route table tell who may what (rights_in_basic()).  The reasons
 * are: administrator, owner of the workspace, or any user. */
#include "master/api/api.h"
#include "master/api/people/role_render.h"
#include "master/api/render.h"
#include "master/request/request.h"
#include "model/permission.h"
#include "store/people/group.h"
#include "store/people/owner.h"
#include "store/people/role_assignment.h"
#include "store/people/user.h"

/* Everything that is looked at, read once. */
struct access_view {
    struct rights_object workspace;
    struct user *user;
    uint32_t users;
    struct role_assignment *local; /* in the workspace */
    uint32_t locals;
    struct role_assignment *global; /* on the cluster */
    uint32_t globals;
};

static uint64_t workspace_mask(void)
{
    uint64_t mask = 0;

    for (int i = 0; i < PERMISSION_COUNT; i++)
        if (!permissions[i].is_cluster_only)
            mask |= UINT64_C(1) << i;
    return mask;
}

/* ---- mode basic ----------------------------------------------------------------------- */

static uint64_t basic_mask(enum rights_basic least, enum rights_basic most)
{
    uint64_t mask = 0;

    for (int i = 0; i < PERMISSION_COUNT; i++) {
        enum rights_basic need = rights_in_basic((enum permission)i);

        if (!permissions[i].is_cluster_only && need >= least && need <= most)
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

static void render_reason(struct json_writer *w, const char *kind)
{
    jw_object(w, NULL);
    jw_str(w, "kind", kind);
    jw_end_object(w);
}

static void render_basic_user(struct json_writer *w, const struct access_view *view,
                              const struct user *user)
{
    bool is_owner = user->id == view->workspace.owner_id;
    uint64_t all = basic_mask(RIGHTS_OF_ALL, RIGHTS_OF_ALL);
    uint64_t own = basic_mask(RIGHTS_OF_OWNER, RIGHTS_OF_OWNER);

    if (user->is_admin)
        all = basic_mask(RIGHTS_OF_ALL, RIGHTS_OF_ADMINS);
    else if (is_owner)
        all |= basic_mask(RIGHTS_OF_WORKSPACE_OWNER, RIGHTS_OF_WORKSPACE_OWNER);
    jw_object(w, NULL);
    render_user(w, "user", user);
    jw_array(w, "reasons");
    if (user->is_admin)
        render_reason(w, "administrator");
    if (is_owner)
        render_reason(w, "owner");
    if (!user->is_admin && !is_owner)
        render_reason(w, "user");
    jw_end_array(w);
    render_permissions(w, "permissions", all);
    render_permissions(w, "ownPermissions", own & ~all);
    jw_end_object(w);
}

/* ---- mode rbac ------------------------------------------------------------------------ */

struct reason_list {
    uint64_t mask;
    struct reason {
        const struct role *role;
        const struct role_assignment *row;
        struct group group; /* of row->group_id */
    } * at;
    size_t count;
};

static bool is_member(const struct group *groups, uint32_t count, int64_t group_id,
                      struct group *ret_group)
{
    for (uint32_t i = 0; i < count; i++)
        if (groups[i].id == group_id) {
            *ret_group = groups[i];
            return true;
        }
    return false;
}

static void add_reasons(struct reason_list *list, const struct user *user,
                        const struct group *groups, uint32_t group_count,
                        const struct role_assignment *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct reason *reason = &list->at[list->count];
        const struct role *role = role_find(rows[i].role_id);

        if (!role || !(role->mask & workspace_mask()))
            continue;
        if (rows[i].user_id
                ? rows[i].user_id != user->id
                : !is_member(groups, group_count, rows[i].group_id, &reason->group))
            continue;
        reason->role = role;
        reason->row = &rows[i];
        list->mask |= role->mask & workspace_mask();
        list->count++;
    }
}

static det_status find_reasons(struct request *req, const struct access_view *view,
                               const struct user *user, struct reason_list *ret_list)
{
    struct group_query query = {.user_id = user->id};
    struct group *groups;
    uint32_t count = 0;
    det_status st =
        store_group_list(req->db, &query, &req->mem, &groups, &count, req->err);

    *ret_list = (struct reason_list){0};
    ret_list->at =
        arena_array(&req->mem, struct reason, view->locals + view->globals + 1);
    if (!st && !ret_list->at)
        st = DET_NOMEM;
    if (st)
        return st;
    add_reasons(ret_list, user, groups, count, view->global, view->globals);
    add_reasons(ret_list, user, groups, count, view->local, view->locals);
    return DET_OK;
}

static void render_role_reason(struct json_writer *w, const struct reason *reason)
{
    bool by_group = !reason->row->user_id;

    jw_object(w, NULL);
    jw_str(w, "kind", by_group ? "group" : "role");
    jw_i64(w, "roleId", reason->role->id);
    jw_str(w, "roleName", reason->role->name);
    jw_bool(w, "scopeCluster", !reason->row->workspace_id);
    if (by_group) {
        jw_i64(w, "groupId", reason->group.id);
        jw_str(w, "groupName", reason->group.name);
    }
    jw_end_object(w);
}

static det_status render_rbac_user(struct request *req, const struct access_view *view,
                                   const struct user *user)
{
    struct reason_list list;
    det_status st = find_reasons(req, view, user, &list);

    if (st || (!list.count && !user->is_admin))
        return st;
    if (user->is_admin)
        list.mask = workspace_mask();
    jw_object(&req->w, NULL);
    render_user(&req->w, "user", user);
    jw_array(&req->w, "reasons");
    if (user->is_admin)
        render_reason(&req->w, "administrator");
    for (size_t i = 0; i < list.count; i++)
        render_role_reason(&req->w, &list.at[i]);
    jw_end_array(&req->w);
    render_permissions(&req->w, "permissions", list.mask);
    render_permissions(&req->w, "ownPermissions", 0);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- the call ------------------------------------------------------------------------- */

static det_status read_view(struct request *req, int64_t id, struct access_view *view)
{
    det_status st = store_owner_find_id(req->db, ROUTE_OBJECT_workspace, id, &req->mem,
                                        &view->workspace, req->err);

    if (!st)
        st = store_user_list(req->db, &req->mem, &view->user, &view->users, req->err);
    if (!st)
        st = store_role_list(req->db, ROLES_IN_WORKSPACE, id, &req->mem, &view->local,
                             &view->locals, req->err);
    if (!st)
        st = store_role_list(req->db, ROLES_IN_WORKSPACE, 0, &req->mem, &view->global,
                             &view->globals, req->err);
    return st;
}

det_status api_get_workspace_access(struct request *req)
{
    struct access_view view = {0};
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = read_view(req, id, &view);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_i64(&req->w, "workspaceId", id);
    jw_str(&req->w, "mode", req->master->is_rbac ? "rbac" : "basic");
    jw_array(&req->w, "users");
    for (uint32_t i = 0; !st && i < view.users; i++) {
        if (!view.user[i].is_active)
            continue;
        if (req->master->is_rbac)
            st = render_rbac_user(req, &view, &view.user[i]);
        else
            render_basic_user(&req->w, &view, &view.user[i]);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}
