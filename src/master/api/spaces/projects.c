/* SPDX-License-Identifier: Apache-2.0 */
/* projects.c - projects: lists, changes, moves and their end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/text_order.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/api/spaces/spaces.h"
#include "master/background/janitor.h"
#include "master/request/access.h"
#include "model/name.h"
#include "store/page.h"
#include "store/space/project.h"
#include "store/space/space_delete.h"
#include "store/space/workspace.h"
#include "wire/space_bodies.h"

enum { DESCRIPTION_MOST = 16384 };

/* ---- showing --------------------------------------------------------------------- */

static det_status reply_view(struct request *req, const struct project_view *view)
{
    jw_object(&req->w, NULL);
    spaces_render_project(&req->w, "project", view);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_project(struct request *req)
{
    struct project_view view;
    det_status st = spaces_path_project(req, &view);

    return st ? st : reply_view(req, &view);
}

det_status api_get_project_by_key(struct request *req)
{
    char key[PROJECT_KEY_MOST + 1];
    struct project_view view;
    det_status st;

    access_names_nothing(req);
    if (project_read_key(req->arg[0], key, NULL))
        return err_set(req->err, DET_NOT_FOUND, "project '%s' not found", req->arg[0]);
    st = store_project_by_key(req->db, key, &req->mem, &view, req->err);
    if (!st)
        st = access_check_named(req, ROUTE_OBJECT_project, view.row.id, "project", key);
    return st ? st : reply_view(req, &view);
}

/* ---- the list -------------------------------------------------------------------- */

static bool is_wanted(const struct projects_query *in, const struct project_view *view)
{
    if (in->name && *in->name && !text_is_same(in->name, view->row.name))
        return false;
    if (in->has_archived && in->archived != view->row.is_archived)
        return false;
    return spaces_is_owner(&in->users, &in->user_ids, view->username,
                           view->row.owner_id);
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_id(const void *a, const void *b)
{
    const struct project_view *x = a, *y = b;

    return by_number(x->row.id, y->row.id);
}

static int by_creation(const void *a, const void *b)
{
    const struct project_view *x = a, *y = b;
    int order = by_number(x->row.created_us, y->row.created_us);

    return order ? order : by_id(a, b);
}

static int by_start(const void *a, const void *b)
{
    const struct project_view *x = a, *y = b;
    int order = by_number(x->last_start_us, y->last_start_us);

    return order ? order : by_id(a, b);
}

static int by_name(const void *a, const void *b)
{
    const struct project_view *x = a, *y = b;
    int order = text_order(x->row.name, y->row.name);

    return order ? order : by_id(a, b);
}

static int by_description(const void *a, const void *b)
{
    const struct project_view *x = a, *y = b;
    int order = text_order(x->row.description, y->row.description);

    return order ? order : by_id(a, b);
}

static const struct {
    const char *name;
    int (*order)(const void *a, const void *b);
} sorts[] = {
    {"SORT_BY_UNSPECIFIED", by_id},
    {"SORT_BY_ID", by_id},
    {"SORT_BY_CREATION_TIME", by_creation},
    {"SORT_BY_LAST_EXPERIMENT_START_TIME", by_start},
    {"SORT_BY_NAME", by_name},
    {"SORT_BY_DESCRIPTION", by_description},
};

static det_status sort_views(struct request *req, struct project_view *views,
                             uint32_t count)
{
    const char *sort = ((const struct projects_query *)req->query)->sort_by;

    if (!sort)
        return DET_OK;
    for (size_t i = 0; i < ARRAY_LEN(sorts); i++)
        if (!strcmp(sorts[i].name, sort)) {
            qsort(views, count, sizeof(*views), sorts[i].order);
            return DET_OK;
        }
    return err_set(req->err, DET_INVALID, "projects cannot be sorted by '%s'", sort);
}

/* Those that the caller may see and asks for. */
static det_status list_views(struct request *req, int64_t workspace_id,
                             struct project_view **ret_views, uint32_t *ret_count)
{
    struct scope scope;
    struct workspace_view workspace;
    uint32_t count = 0;
    uint32_t kept = 0;
    det_status st = access_scope(req, &scope);

    if (!st && workspace_id)
        st = store_workspace_get(req->db, workspace_id, 0, &req->mem, &workspace,
                                 req->err);
    if (!st && workspace_id && !scope_has(&scope, workspace_id))
        st =
            err_set(req->err, DET_NOT_FOUND,
                    "workspace '%" PRId64 "' not found, please check your permissions.",
                    workspace_id);
    if (!st)
        st = store_project_list(req->db, workspace_id, &req->mem, ret_views, &count,
                                req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (scope_has(&scope, (*ret_views)[i].row.workspace_id) &&
            is_wanted(req->query, &(*ret_views)[i]))
            (*ret_views)[kept++] = (*ret_views)[i];
    *ret_count = kept;
    return st;
}

det_status api_list_projects(struct request *req)
{
    const struct projects_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct project_view *views;
    uint32_t count = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = list_views(req, id, &views, &count);
    if (!st)
        st = sort_views(req, views, count);
    if (!st)
        st = listing_cut_page(&page, count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "projects");
    for (int64_t i = page.start; i < page.end; i++)
        spaces_render_project(
            &req->w, NULL,
            &views[listing_is_descending(in->order_by) ? count - 1 - i : i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- making and changing --------------------------------------------------------- */

struct change {
    int64_t id; /* 0: a new one */
    int64_t workspace_id;
    const char *name; /* NULL: unchanged, and the rest too */
    const char *description;
    const char *key; /* upper case */
    bool is_archived;
};

static det_status reply_change(struct request *req)
{
    const struct change *change = req->state;
    struct project_view view;
    det_status st = store_project_get(req->db, change->id, &req->mem, &view, req->err);

    return st ? st : reply_view(req, &view);
}

/* `key` "" is the same as none. */
static det_status change_new(struct request *req, const char *name,
                             const char *description, const char *key,
                             struct change **ret_change)
{
    struct change *change = arena_new(&req->mem, struct change);
    char upper[PROJECT_KEY_MOST + 1];
    det_status st = DET_OK;

    if (!change)
        return DET_NOMEM;
    req->state = change;
    *ret_change = change;
    change->name = name;
    change->description = description;
    if (description && strlen(description) > DESCRIPTION_MOST)
        return err_set(req->err, DET_INVALID,
                       "a project's description has at most %d bytes; put longer texts "
                       "into its notes",
                       DESCRIPTION_MOST);
    if (key && *key) {
        st = project_read_key(key, upper, req->err);
        change->key = st ? NULL : arena_strdup(&req->mem, upper);
    }
    return !st && req->mem.has_failed ? DET_NOMEM : st;
}

static det_status write_new(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct change *change = req->state;
    struct project row = {
        .workspace_id = change->workspace_id,
        .name = change->name,
        .description = change->description ? change->description : "",
        .project_key = change->key,
        .owner_id = req->caller.user_id,
        .created_us = master_now_us(req->master),
        .state = "",
        .error = "",
        .notes = "[]",
    };
    struct workspace_view workspace;
    det_status st =
        store_workspace_get(db, row.workspace_id, 0, &req->mem, &workspace, err);

    if (!st)
        st = workspace_check_open(&workspace.row, "add new projects", err);
    return st ? st : store_project_add(db, &row, &change->id, err);
}

det_status api_create_project(struct request *req)
{
    const struct create_project_body *body = req->body;
    struct change *change;
    det_status st = change_new(req, body->name, body->description, body->key, &change);

    if (!st)
        st = request_id(req, 0, &change->workspace_id);
    if (!st)
        st =
            given_name_check("a project's name", body->name, SPACE_NAME_MOST, req->err);
    return st ? st : request_write(req, write_new, reply_change);
}

static det_status write_change(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct change *change = req->state;
    struct project_view view;
    det_status st = store_project_get(db, change->id, &req->mem, &view, err);

    if (st)
        return st;
    if (view.row.is_immutable || project_is_archived(&view))
        return err_set(err, DET_STATE,
                       "project (%" PRId64 ") is %s and cannot have attributes updated",
                       change->id, view.row.is_immutable ? "immutable" : "archived");
    if (change->name)
        view.row.name = change->name;
    if (change->description)
        view.row.description = change->description;
    if (change->key)
        view.row.project_key = change->key;
    return store_project_put(db, &view.row, err);
}

det_status api_patch_project(struct request *req)
{
    const struct patch_project_body *body = req->body;
    struct change *change;
    det_status st = change_new(req, body->name, body->description, body->key, &change);

    if (!st)
        st = request_id(req, 0, &change->id);
    if (!st && body->name)
        st =
            given_name_check("a project's name", body->name, SPACE_NAME_MOST, req->err);
    return st ? st : request_write(req, write_change, reply_change);
}

/* ---- archiving ------------------------------------------------------------------- */

static det_status write_archived(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct change *change = req->state;
    struct project_view view;
    det_status st = store_project_get(db, change->id, &req->mem, &view, err);

    if (st)
        return st;
    if (view.row.is_immutable)
        return err_set(err, DET_STATE,
                       "project (%" PRId64 ") is immutable and cannot be %s",
                       change->id, change->is_archived ? "archived" : "unarchived");
    if (view.workspace_is_archived)
        return err_set(err, DET_STATE,
                       "This project belongs to an archived workspace. To make "
                       "changes, first unarchive the workspace.");
    view.row.is_archived = change->is_archived;
    return store_project_put(db, &view.row, err);
}

static det_status set_archived(struct request *req, bool is_archived)
{
    struct change *change;
    det_status st = change_new(req, NULL, NULL, NULL, &change);

    if (!st)
        st = request_id(req, 0, &change->id);
    if (st)
        return st;
    change->is_archived = is_archived;
    return request_write(req, write_archived, NULL);
}

det_status api_archive_project(struct request *req)
{
    return set_archived(req, true);
}

det_status api_unarchive_project(struct request *req)
{
    return set_archived(req, false);
}

/* ---- moving ---------------------------------------------------------------------- */

static det_status check_move(const struct project_view *view,
                             const struct workspace *to, struct err *err)
{
    int64_t id = view->row.id;

    if (view->row.is_immutable)
        return err_set(err, DET_STATE,
                       "project (%" PRId64 ") is immutable and cannot be moved", id);
    if (view->workspace_is_archived)
        return err_set(err, DET_STATE,
                       "workspace (%" PRId64
                       ") is archived and cannot have projects moved from it",
                       view->row.workspace_id);
    if (view->row.is_archived || *view->row.state)
        return err_set(err, DET_STATE,
                       "project (%" PRId64 ") is %s and cannot be moved", id,
                       view->row.is_archived ? "archived" : "being deleted");
    return workspace_check_open(to, "add new projects", err);
}

static det_status write_move(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct change *change = req->state;
    struct workspace_view to;
    struct project_view view;
    det_status st = store_project_get(db, change->id, &req->mem, &view, err);

    if (!st)
        st = store_workspace_get(db, change->workspace_id, 0, &req->mem, &to, err);
    if (!st)
        st = check_move(&view, &to.row, err);
    if (st)
        return st;
    view.row.workspace_id = change->workspace_id;
    st = store_project_put(db, &view.row, err);
    if (st == DET_EXISTS)
        return err_set(err, st,
                       "project with name '%s' already exists in target workspace",
                       view.row.name);
    return st;
}

det_status api_move_project(struct request *req)
{
    const struct move_project_body *body = req->body;
    struct change *change;
    det_status st = change_new(req, NULL, NULL, NULL, &change);

    if (!st)
        st = request_id(req, 0, &change->id);
    if (!st)
        st = access_check_as(req, ROUTE_ID_create_project, ROUTE_OBJECT_workspace,
                             body->destination_workspace_id);
    if (st)
        return st;
    change->workspace_id = body->destination_workspace_id;
    return request_write(req, write_move, NULL);
}

/* ---- deleting -------------------------------------------------------------------- */

static det_status write_deleting(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    bool *is_gone = req->state;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : store_project_set_deleting(db, id, is_gone, err);
}

static det_status reply_deleted(struct request *req)
{
    janitor_wake(req->master->janitor);
    return spaces_reply_completed(req);
}

det_status api_delete_project(struct request *req)
{
    req->state = arena_new(&req->mem, bool);
    return req->state ? request_write(req, write_deleting, reply_deleted) : DET_NOMEM;
}
