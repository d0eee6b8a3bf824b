/* SPDX-License-Identifier: Apache-2.0 */
/* roles.c - the fixed roles, and the roles of one user or group. */
#include <stdlib.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/people/role_render.h"
#include "master/api/render.h"
#include "master/request/request.h"
#include "model/permission.h"
#include "store/page.h"
#include "store/people/group.h"
#include "store/people/role_assignment.h"
#include "wire/people_bodies.h"

enum { ROLES_MOST = 500 };

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct role *const *)a)->name,
                  (*(const struct role *const *)b)->name);
}

/* By name. */
static det_status reply_roles(struct request *req, bool only_for_workspaces)
{
    const struct search_roles_body *body = req->body;
    struct page page = {.offset = body->offset, .limit = body->limit};
    const struct role *list[ROLE_COUNT];
    int64_t count = 0;
    det_status st;

    if (body->limit < 1 || body->limit > ROLES_MOST)
        return err_set(req->err, DET_INVALID, "limit is required and must be 1 to %d",
                       ROLES_MOST);
    for (int i = 0; i < ROLE_COUNT; i++)
        if (!only_for_workspaces || role_fits_workspace(&roles[i]))
            list[count++] = &roles[i];
    qsort(list, (size_t)count, sizeof(list[0]), compare_names);
    st = listing_cut_page(&page, count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "roles");
    for (int64_t i = page.start; i < page.end; i++)
        render_role(&req->w, NULL, list[i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_search_roles(struct request *req)
{
    return reply_roles(req, false);
}

det_status api_search_assignable_roles(struct request *req)
{
    const struct search_roles_body *body = req->body;

    return reply_roles(req, body->has_workspace_id && body->workspace_id);
}

static det_status reply_summary(struct request *req, enum role_list what, int64_t id)
{
    struct role_assignment *rows;
    uint32_t count = 0;
    det_status st =
        store_role_list(req->db, what, id, &req->mem, &rows, &count, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    render_role_summary(&req->w, rows, count);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_permissions_summary(struct request *req)
{
    return reply_summary(req, ROLES_OF_USER, req->caller.user_id);
}

det_status api_get_roles_of_group(struct request *req)
{
    struct group group;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_group_get(req->db, id, &req->mem, &group, req->err);
    return st ? st : reply_summary(req, ROLES_OF_GROUP, id);
}
