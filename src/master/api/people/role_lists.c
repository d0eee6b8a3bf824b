/* SPDX-License-Identifier: Apache-2.0 */
/* role_lists.c - roles with their assignments. */
#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/people/groups.h"
#include "master/api/people/role_render.h"
#include "master/api/render.h"
#include "master/request/request.h"
#include "model/permission.h"
#include "store/people/group.h"
#include "store/people/owner.h"
#include "store/people/role_assignment.h"
#include "store/people/user.h"
#include "wire/people_bodies.h"

/* ---- by role, by user ---------------------------------------------------------------- */

static det_status find_role(const struct request *req, int64_t id,
                            const struct role **ret_role)
{
    *ret_role = role_find(id);
    return *ret_role ? DET_OK
                     : err_set(req->err, DET_NOT_FOUND,
                               "there is no role %" PRId64
                               "; 'det rbac list-roles' shows all",
                               id);
}

static det_status render_by_id(struct request *req, int64_t id)
{
    const struct role *role;
    struct role_assignment *rows;
    uint32_t count = 0;
    det_status st = find_role(req, id, &role);

    if (!st)
        st = store_role_list(req->db, ROLES_BY_ROLE, id, &req->mem, &rows, &count,
                             req->err);
    if (!st)
        render_role_with(&req->w, role, rows, count);
    return st;
}

det_status api_get_roles_by_ids(struct request *req)
{
    const struct roles_by_ids_body *body = req->body;
    det_status st = DET_OK;

    jw_object(&req->w, NULL);
    jw_array(&req->w, "roles");
    for (size_t i = 0; !st && i < body->role_ids.count; i++)
        st = render_by_id(req, body->role_ids.at[i]);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}

static void render_roles_with(struct request *req, const char *key,
                              const struct role_assignment *rows, uint32_t count)
{
    jw_array(&req->w, key);
    for (int i = 0; i < ROLE_COUNT; i++)
        for (uint32_t k = 0; k < count; k++)
            if (rows[k].role_id == roles[i].id) {
                render_role_with(&req->w, &roles[i], rows, count);
                break;
            }
    jw_end_array(&req->w);
}

det_status api_get_roles_of_user(struct request *req)
{
    struct role_assignment *rows;
    struct user user;
    uint32_t count = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_user_get(req->db, id, &req->mem, &user, req->err);
    if (!st)
        st = store_role_list(req->db, ROLES_OF_USER, id, &req->mem, &rows, &count,
                             req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    render_roles_with(req, "roles", rows, count);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- by workspace -------------------------------------------------------------------- */

/* Keeps the rows whose user or group has `part` in its name. */
static det_status keep_named(struct request *req, const char *part,
                             struct role_assignment *rows, uint32_t *count)
{
    uint32_t kept = 0;
    det_status st = DET_OK;

    for (uint32_t i = 0; !st && i < *count; i++) {
        struct user user = {0};
        struct group group = {0};

        if (rows[i].user_id)
            st = store_user_get(req->db, rows[i].user_id, &req->mem, &user, req->err);
        else
            st =
                store_group_get(req->db, rows[i].group_id, &req->mem, &group, req->err);
        if (!st && (strcasestr(user.username ? user.username : group.name, part) ||
                    (user.display_name && strcasestr(user.display_name, part))))
            rows[kept++] = rows[i];
    }
    *count = kept;
    return st;
}

static bool is_repeated(const struct role_assignment *rows, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (rows[k].user_id == rows[i].user_id && rows[k].group_id == rows[i].group_id)
            return true;
    return false;
}

static det_status render_holders(struct request *req,
                                 const struct role_assignment *rows, uint32_t count)
{
    det_status st = DET_OK;

    jw_array(&req->w, "groups");
    for (uint32_t i = 0; !st && i < count; i++)
        if (rows[i].group_id && !is_repeated(rows, i))
            st = groups_render(req, NULL, rows[i].group_id);
    jw_end_array(&req->w);
    jw_array(&req->w, "usersAssignedDirectly");
    for (uint32_t i = 0; !st && i < count; i++) {
        struct user user;

        if (!rows[i].user_id || is_repeated(rows, i))
            continue;
        st = store_user_get(req->db, rows[i].user_id, &req->mem, &user, req->err);
        if (!st)
            render_user(&req->w, NULL, &user);
    }
    jw_end_array(&req->w);
    return st;
}

det_status api_get_workspace_roles(struct request *req)
{
    const struct workspace_roles_query *query = req->query;
    struct rights_object workspace;
    struct role_assignment *rows;
    uint32_t count = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_owner_find_id(req->db, ROUTE_OBJECT_workspace, id, &req->mem,
                                 &workspace, req->err);
    if (!st)
        st = store_role_list(req->db, ROLES_IN_WORKSPACE, id, &req->mem, &rows, &count,
                             req->err);
    if (!st && query->name && *query->name)
        st = keep_named(req, query->name, rows, &count);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_holders(req, rows, count);
    render_roles_with(req, "assignments", rows, count);
    jw_end_object(&req->w);
    return st;
}
