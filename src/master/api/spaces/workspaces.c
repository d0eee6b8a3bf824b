/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - workspaces: lists, changes, pins and their end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/mask.h"
#include "core/core.h"
#include "data/text_order.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/api/spaces/spaces.h"
#include "master/background/janitor.h"
#include "master/request/access.h"
#include "master/storage_roots.h"
#include "model/name.h"
#include "store/page.h"
#include "store/space/space_delete.h"
#include "store/space/workspace.h"
#include "wire/queries.h"
#include "wire/space_bodies.h"

/* ---- showing --------------------------------------------------------------------- */

static void render_task_user(struct json_writer *w, const struct task_user *user)
{
    if (!task_user_is_set(user)) {
        jw_null(w, "agentUserGroup");
        return;
    }
    jw_object(w, "agentUserGroup");
    if (user->has_uid)
        jw_i64(w, "agentUid", user->uid);
    else
        jw_null(w, "agentUid");
    if (user->has_gid)
        jw_i64(w, "agentGid", user->gid);
    else
        jw_null(w, "agentGid");
    jw_str(w, "agentUser", user->user);
    jw_str(w, "agentGroup", user->group);
    jw_end_object(w);
}

/* With its secrets masked. */
static det_status render_storage(struct request *req, const char *storage)
{
    struct json *tree = json_new(&req->mem, JSON_OBJECT);
    struct json *own;
    det_status st;

    if (!storage) {
        jw_null(&req->w, "checkpointStorageConfig");
        return DET_OK;
    }
    st = json_parse(storage, strlen(storage), &req->mem, &own, req->err);
    if (st)
        return st;
    json_set(&req->mem, tree, "checkpoint_storage", own);
    tree = config_mask(CONFIG_EXPERIMENT, tree, &req->mem);
    if (!tree)
        return err_default(req->err, DET_NOMEM);
    jw_json(&req->w, "checkpointStorageConfig", json_get(tree, "checkpoint_storage"));
    return DET_OK;
}

static det_status render_workspace(struct request *req, const char *key,
                                   const struct workspace_view *view, bool with_storage)
{
    const struct workspace *row = &view->row;
    struct json_writer *w = &req->w;
    det_status st;

    jw_object(w, key);
    jw_i64(w, "id", row->id);
    jw_str(w, "name", row->name);
    jw_bool(w, "archived", row->is_archived);
    jw_bool(w, "immutable", row->is_immutable);
    jw_bool(w, "pinned", view->pinned_us != 0);
    jw_time(w, "pinnedAt", view->pinned_us);
    jw_i64(w, "userId", row->owner_id);
    jw_str(w, "username", view->username);
    jw_i64(w, "numProjects", view->num_projects);
    jw_i64(w, "numExperiments", view->num_experiments);
    spaces_render_state(w, row->state, row->error);
    render_task_user(w, &row->task_user);
    st = render_storage(req, with_storage ? row->storage : NULL);
    jw_str(w, "defaultComputePool", row->compute_pool);
    jw_str(w, "defaultAuxPool", row->aux_pool);
    jw_end_object(w);
    return st;
}

static det_status reply_workspace(struct request *req, int64_t id, bool is_new)
{
    struct workspace_view view;
    det_status st = store_workspace_get(req->db, id, req->caller.user_id, &req->mem,
                                        &view, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_workspace(req, "workspace", &view, true);
    if (is_new) {
        jw_object(&req->w, "namespaceBindings");
        jw_end_object(&req->w);
    }
    jw_end_object(&req->w);
    return st;
}

det_status api_get_workspace(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : reply_workspace(req, id, false);
}

/* ---- the list -------------------------------------------------------------------- */

static bool is_wanted(const struct workspaces_query *in,
                      const struct workspace_view *view)
{
    const char *exact = in->name_case_sensitive;

    if (in->name && *in->name && !text_is_same(in->name, view->row.name))
        return false;
    if (exact && *exact && strcmp(exact, view->row.name) != 0)
        return false;
    if (in->has_archived && in->archived != view->row.is_archived)
        return false;
    if (in->has_pinned && in->pinned != (view->pinned_us != 0))
        return false;
    return spaces_is_owner(&in->users, &in->user_ids, view->username,
                           view->row.owner_id);
}

/* Ties go by number, as the rows came. */
static int by_name(const void *a, const void *b)
{
    const struct workspace *x = &((const struct workspace_view *)a)->row;
    const struct workspace *y = &((const struct workspace_view *)b)->row;
    int order = text_order(x->name, y->name);

    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static det_status sort_views(struct request *req, struct workspace_view *views,
                             uint32_t count)
{
    const char *sort = ((const struct workspaces_query *)req->query)->sort_by;

    if (!sort || !strcmp(sort, "SORT_BY_UNSPECIFIED") || !strcmp(sort, "SORT_BY_ID"))
        return DET_OK;
    if (strcmp(sort, "SORT_BY_NAME") != 0)
        return err_set(req->err, DET_INVALID, "workspaces cannot be sorted by '%s'",
                       sort);
    qsort(views, count, sizeof(*views), by_name);
    return DET_OK;
}

det_status api_list_workspaces(struct request *req)
{
    const struct workspaces_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct scope scope;
    struct workspace_view *views;
    uint32_t count = 0;
    uint32_t kept = 0;
    det_status st = access_scope(req, &scope);

    if (!st)
        st = store_workspace_list(req->db, req->caller.user_id, &req->mem, &views,
                                  &count, req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (scope_has(&scope, views[i].row.id) && is_wanted(in, &views[i]))
            views[kept++] = views[i];
    if (!st)
        st = sort_views(req, views, kept);
    if (!st)
        st = listing_cut_page(&page, kept, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "workspaces");
    for (int64_t i = page.start; !st && i < page.end; i++)
        st = render_workspace(
            req, NULL, &views[listing_is_descending(in->order_by) ? kept - 1 - i : i],
            false);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return st;
}

/* ---- reading a body -------------------------------------------------------------- */

/* What a call wants to change; NULL and false: nothing. */
struct wish {
    int64_t id; /* 0: a new one */
    const char *name;
    bool has_storage;
    const char *storage; /* NULL: none */
    const char *compute_pool;
    const char *aux_pool;
    bool has_task_user;
    struct task_user task_user;
    bool is_archived; /* the new state of archive and unarchive */
};

static det_status read_number(const struct json *group, const char *key, bool *ret_has,
                              int64_t *ret_value, struct err *err)
{
    const struct json *value = json_find(group, key);

    *ret_has = !json_is_null(value);
    *ret_value = json_i64(value, -1);
    if (*ret_has && (*ret_value < 0 || *ret_value >= UINT32_MAX))
        return err_set(err, DET_INVALID,
                       "agentUserGroup: %s must be a number from 0 to 4294967294", key);
    return DET_OK;
}

static det_status read_text(const struct json *group, const char *key,
                            const char **ret_text, struct err *err)
{
    const struct json *value = json_find(group, key);
    const char *text = json_str(value, NULL);

    if (!json_is_null(value) && (!text || strpbrk(text, "/: \t\r\n") || *text == '-'))
        return err_set(err, DET_INVALID,
                       "agentUserGroup: %s must be a name without spaces, '/' and ':'",
                       key);
    *ret_text = text && *text ? text : NULL;
    return DET_OK;
}

static det_status read_task_user(const struct json *group, struct wish *wish,
                                 struct err *err)
{
    struct task_user *user = &wish->task_user;
    det_status st;

    wish->has_task_user = !json_is_null(group);
    if (!wish->has_task_user)
        return DET_OK;
    if (group->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "agentUserGroup is %s; expected an object",
                       json_kind_name(group->kind));
    st = read_number(group, "agentUid", &user->has_uid, &user->uid, err);
    if (!st)
        st = read_number(group, "agentGid", &user->has_gid, &user->gid, err);
    if (!st)
        st = read_text(group, "agentUser", &user->user, err);
    if (!st)
        st = read_text(group, "agentGroup", &user->group, err);
    return st;
}

/* The same checks as for the key of an experiment: as that of the smallest one. */
static det_status check_storage(struct request *req, const struct json *storage)
{
    static const char smallest[] = "{\"entrypoint\": \"x\", \"searcher\": {\"name\": "
                                   "\"single\", \"metric\": \"x\", \"max_length\": 1}}";
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    struct experiment_defaults defaults = {.name = "x"};
    struct experiment_config config;
    struct json *tree;
    det_status st = json_parse(smallest, strlen(smallest), &req->mem, &tree, req->err);

    if (st)
        return st;
    json_set(&req->mem, tree, "checkpoint_storage", json_copy(&req->mem, storage));
    st = experiment_config_load_tree(tree, &defaults, &req->mem, &report, &config,
                                     req->err);
    if (!st)
        st = storage_roots_check(req->master, &config, &req->mem, req->err);
    return st ? err_prefix(req->err, "checkpointStorageConfig") : DET_OK;
}

/* {} means none. */
static det_status read_storage(struct request *req, const struct json *storage,
                               struct wish *wish)
{
    det_status st;

    if (json_is_null(storage))
        return DET_OK;
    if (storage->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID,
                       "checkpointStorageConfig is %s; expected an object",
                       json_kind_name(storage->kind));
    wish->has_storage = true;
    if (!storage->list.count)
        return DET_OK;
    st = check_storage(req, storage);
    if (st)
        return st;
    wish->storage = json_text(&req->mem, storage);
    return wish->storage ? DET_OK : DET_NOMEM;
}

static det_status check_pool(struct request *req, const char *name)
{
    if (!name || !*name || core_config_pool(&req->master->core_config, name))
        return DET_OK;
    return err_set(req->err, DET_INVALID,
                   "unable to bind a resource pool that does not exist or is not "
                   "available to the workspace: there is no pool '%s'",
                   name);
}

static det_status check_wish(struct request *req, const struct wish *wish)
{
    det_status st = DET_OK;

    if (wish->name || !wish->id)
        st = given_name_check("a workspace's name", wish->name, SPACE_NAME_MOST,
                              req->err);
    if (!st)
        st = check_pool(req, wish->compute_pool);
    if (!st)
        st = check_pool(req, wish->aux_pool);
    return st;
}

/* ---- changing -------------------------------------------------------------------- */

static void apply_wish(struct workspace *row, const struct wish *wish)
{
    if (wish->name)
        row->name = wish->name;
    if (wish->has_storage)
        row->storage = wish->storage;
    if (wish->compute_pool)
        row->compute_pool = wish->compute_pool;
    if (wish->aux_pool)
        row->aux_pool = wish->aux_pool;
    if (wish->has_task_user)
        row->task_user = wish->task_user;
}

static det_status write_new(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct wish *wish = req->state;
    int64_t now_us = master_now_us(req->master);
    struct workspace row = {.owner_id = req->caller.user_id,
                            .created_us = now_us,
                            .state = "",
                            .error = "",
                            .compute_pool = "",
                            .aux_pool = ""};
    det_status st;

    apply_wish(&row, wish);
    st = store_workspace_add(db, &row, &wish->id, err);
    return st ? st : store_workspace_pin(db, wish->id, row.owner_id, now_us, err);
}

/* Its tasks may run as somebody who cannot enter the data directory yet. */
static void note_task_user(struct request *req)
{
    const struct wish *wish = req->state;

    if (task_user_is_set(&wish->task_user) && req->master->on_link)
        req->master->on_link(req->master->fatal_arg);
}

static det_status reply_new(struct request *req)
{
    note_task_user(req);
    return reply_workspace(req, ((struct wish *)req->state)->id, true);
}

static det_status reply_changed(struct request *req)
{
    note_task_user(req);
    return reply_workspace(req, ((struct wish *)req->state)->id, false);
}

static det_status wish_new(struct request *req, struct wish **ret_wish)
{
    struct wish *wish = arena_new(&req->mem, struct wish);

    if (!wish)
        return DET_NOMEM;
    req->state = wish;
    *ret_wish = wish;
    return DET_OK;
}

/* What creating and changing have in common, once the names of the body are in the wish. */
static det_status read_wish(struct request *req, struct wish *wish,
                            const struct json *task_user, const struct json *storage)
{
    det_status st = check_wish(req, wish);

    if (!st)
        st = read_task_user(task_user, wish, req->err);
    return st ? st : read_storage(req, storage, wish);
}

static det_status refuse_kubernetes(struct request *req)
{
    return err_set(req->err, DET_INVALID,
                   "namespaces and quotas need Kubernetes, which this cluster does not "
                   "use");
}

det_status api_create_workspace(struct request *req)
{
    const struct create_workspace_body *body = req->body;
    struct wish *wish;
    det_status st = wish_new(req, &wish);

    if (st)
        return st;
    if (json_first(body->cluster_namespace_meta) ||
        json_first(body->cluster_quota_pairs))
        return refuse_kubernetes(req);
    wish->name = body->name;
    wish->compute_pool = body->default_compute_pool;
    wish->aux_pool = body->default_aux_pool;
    st = read_wish(req, wish, body->agent_user_group, body->checkpoint_storage_config);
    return st ? st : request_write(req, write_new, reply_new);
}

static det_status write_change(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct wish *wish = req->state;
    struct workspace_view view;
    det_status st = store_workspace_get(db, wish->id, 0, &req->mem, &view, err);

    if (!st)
        st = workspace_check_open(&view.row, "be changed", err);
    if (st)
        return st;
    apply_wish(&view.row, wish);
    return store_workspace_put(db, &view.row, err);
}

det_status api_patch_workspace(struct request *req)
{
    const struct patch_workspace_body *body = req->body;
    struct wish *wish;
    det_status st = wish_new(req, &wish);

    if (!st)
        st = request_id(req, 0, &wish->id);
    if (st)
        return st;
    wish->name = body->name;
    wish->compute_pool = body->default_compute_resource_pool;
    wish->aux_pool = body->default_aux_resource_pool;
    st = read_wish(req, wish, body->agent_user_group, body->checkpoint_storage_config);
    return st ? st : request_write(req, write_change, reply_changed);
}

static det_status write_archived(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct wish *wish = req->state;
    struct workspace_view view;
    det_status st = store_workspace_get(db, wish->id, 0, &req->mem, &view, err);

    if (!st && view.row.is_immutable)
        st = err_set(err, DET_STATE,
                     "workspace (%" PRId64 ") is immutable and cannot be %s", wish->id,
                     wish->is_archived ? "archived" : "unarchived");
    if (st)
        return st;
    view.row.is_archived = wish->is_archived;
    return store_workspace_put(db, &view.row, err);
}

static det_status set_archived(struct request *req, bool is_archived)
{
    struct wish *wish;
    det_status st = wish_new(req, &wish);

    if (!st)
        st = request_id(req, 0, &wish->id);
    if (st)
        return st;
    wish->is_archived = is_archived;
    return request_write(req, write_archived, NULL);
}

det_status api_archive_workspace(struct request *req)
{
    return set_archived(req, true);
}

det_status api_unarchive_workspace(struct request *req)
{
    return set_archived(req, false);
}

/* ---- pins ------------------------------------------------------------------------ */

static det_status pin(struct db *db, struct request *req, int64_t now_us,
                      struct err *err)
{
    struct workspace_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_workspace_get(db, id, 0, &req->mem, &view, err);
    return st ? st : store_workspace_pin(db, id, req->caller.user_id, now_us, err);
}

static det_status write_pin(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);

    return pin(db, req, master_now_us(req->master), err);
}

static det_status write_unpin(struct write_job *job, struct db *db, struct err *err)
{
    return pin(db, REQUEST_OF(job), 0, err);
}

det_status api_pin_workspace(struct request *req)
{
    return request_write(req, write_pin, NULL);
}

det_status api_unpin_workspace(struct request *req)
{
    return request_write(req, write_unpin, NULL);
}

/* ---- deleting -------------------------------------------------------------------- */

struct deletion {
    bool is_gone; /* the first member: spaces_reply_completed() reads it */
    int64_t id;
    struct field_i64s jobs;
};

static det_status write_deleting(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct deletion *deletion = req->state;
    det_status st =
        store_workspace_set_deleting(db, deletion->id, &deletion->is_gone, err);

    return st ? st
              : store_workspace_jobs(db, deletion->id, &req->mem, &deletion->jobs, err);
}

/* After the mark nothing new can come; what still runs is killed. */
static det_status kill_jobs(struct request *req)
{
    struct deletion *deletion = req->state;
    size_t count = deletion->jobs.count;
    struct heart_item *items = arena_array(&req->mem, struct heart_item, count + 1);

    janitor_wake(req->master->janitor);
    if (!count)
        return spaces_reply_completed(req);
    if (!items)
        return DET_NOMEM;
    for (size_t i = 0; i < count; i++) {
        items[i].event.kind = EVENT_JOB_ACTION;
        items[i].event.job_action.job_id = deletion->jobs.at[i];
        items[i].event.job_action.action = ACTION_KILL;
    }
    return request_events(req, items, count, spaces_reply_completed);
}

det_status api_delete_workspace(struct request *req)
{
    struct deletion *deletion = arena_new(&req->mem, struct deletion);
    det_status st;

    if (!deletion)
        return DET_NOMEM;
    st = request_id(req, 0, &deletion->id);
    req->state = deletion;
    return st ? st : request_write(req, write_deleting, kill_jobs);
}

/* ---- pools and Kubernetes -------------------------------------------------------- */

det_status api_list_workspace_pools(struct request *req)
{
    const struct list_query *in = req->query;
    const struct core_config *config = &req->master->core_config;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct workspace_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_workspace_get(req->db, id, 0, &req->mem, &view, req->err);
    if (!st)
        st = listing_cut_page(&page, config->pool_count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "resourcePools");
    for (int64_t i = page.start; i < page.end; i++)
        jw_str(&req->w, NULL, config->pool[i].name);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_list_namespaces(struct request *req)
{
    struct workspace_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_workspace_get(req->db, id, 0, &req->mem, &view, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_object(&req->w, "namespaceBindings");
    jw_end_object(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_bind_namespaces(struct request *req)
{
    return refuse_kubernetes(req);
}

det_status api_unbind_namespaces(struct request *req)
{
    return refuse_kubernetes(req);
}

det_status api_set_quota(struct request *req)
{
    return refuse_kubernetes(req);
}

det_status api_get_quotas(struct request *req)
{
    return refuse_kubernetes(req);
}
