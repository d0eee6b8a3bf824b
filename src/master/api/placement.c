/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/placement.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/buf.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "master/api/api.h"
#include "master/request/access.h"
#include "store/space/project.h"

enum { PROJECTS_NAMED = 8 }; /* in an error message */

/* ---- experiments ----------------------------------------------------------------- */

/* A text that is not YAML names nothing here; the loader will say what is wrong. */
static det_status read_names(struct request *req, const char *config,
                             const char **ret_workspace, const char **ret_project)
{
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    struct json *tree = NULL;
    det_status st =
        config ? config_parse(config, strlen(config), &report, &tree, NULL) : DET_OK;

    *ret_workspace = json_str(json_get(tree, "workspace"), "");
    *ret_project = json_str(json_get(tree, "project"), "");
    return st == DET_NOMEM ? err_default(req->err, st) : DET_OK;
}

/* A name that was never made is told with what to do.  In mode rbac it may be hidden, and
 * the sentence says that already. */
static det_status advise_workspace(struct request *req, det_status st, const char *name)
{
    if (st == DET_NOT_FOUND && !req->master->is_rbac)
        return err_set(req->err, st,
                       "workspace '%s' not found: make it with 'det workspace create "
                       "%s', or name one that 'det workspace list' shows",
                       name, name);
    return st;
}

static det_status advise_project(struct request *req, det_status st,
                                 const struct workspace *in, const char *name)
{
    CLEANUP(buf_done) struct buf names = BUF_INIT;
    struct project_view *views = NULL;
    uint32_t count = 0;

    if (st != DET_NOT_FOUND || req->master->is_rbac ||
        store_project_list(req->db, in->id, &req->mem, &views, &count, NULL))
        return st;
    for (uint32_t i = 0; i < count && i < PROJECTS_NAMED; i++)
        buf_printf(&names, "%s'%s'", i ? ", " : "", views[i].row.name);
    if (names.status)
        return st;
    return err_set(req->err, st,
                   "project '%s' not found in workspace '%s', which has %s%s: make it "
                   "with 'det project create %s %s'",
                   name, in->name, count ? names.data : "no projects",
                   count > PROJECTS_NAMED ? " and others" : "", in->name, name);
}

static det_status find_named(struct request *req, const char *config,
                             struct project_view *ret_project)
{
    const char *workspace;
    const char *project;
    struct workspace_view view;
    det_status st = read_names(req, config, &workspace, &project);

    if (st)
        return st;
    if (!*workspace && !*project)
        return store_project_get(req->db, SPACE_FIRST, &req->mem, ret_project,
                                 req->err);
    if (!*workspace || !*project)
        return err_set(req->err, DET_INVALID,
                       "the configuration names a %s, but no %s: name both, or neither",
                       *workspace ? "workspace" : "project",
                       *workspace ? "project" : "workspace");
    st = store_workspace_named(req->db, workspace, &req->mem, &view, req->err);
    if (!st)
        st = access_check_named(req, ROUTE_OBJECT_workspace, view.row.id, "workspace",
                                workspace);
    if (st)
        return advise_workspace(req, st, workspace);
    st = store_project_named(req->db, view.row.id, project, &req->mem, ret_project,
                             req->err);
    return advise_project(req, st, &view.row, project);
}

static det_status fill(struct request *req, int64_t workspace_id,
                       struct placement *placement)
{
    struct workspace_view view;
    struct json *storage = NULL;
    det_status st =
        store_workspace_get(req->db, workspace_id, 0, &req->mem, &view, req->err);

    if (!st && view.row.storage)
        st = json_parse(view.row.storage, strlen(view.row.storage), &req->mem, &storage,
                        req->err);
    if (st)
        return st;
    placement->workspace = view.row;
    placement->storage = storage;
    return DET_OK;
}

det_status placement_of_experiment(struct request *req, int64_t project_id,
                                   const char *config, struct placement *ret_placement)
{
    struct project_view project;
    struct placement placement = {0};
    det_status st;

    access_names_nothing(
        req); /* until a project is found, nothing is shown but errors */
    st = project_id
             ? store_project_get(req->db, project_id, &req->mem, &project, req->err)
             : find_named(req, config, &project);
    if (!st)
        st = access_check_id(req, ROUTE_OBJECT_project, project.row.id);
    if (!st)
        st = project_check_open(&project, req->err);
    if (!st)
        st = fill(req, project.row.workspace_id, &placement);
    if (st)
        return st;
    placement.project_id = project.row.id;
    placement.project_name = project.row.name;
    placement.project_owner_id = project.row.owner_id;
    *ret_placement = placement;
    return DET_OK;
}

/* ---- jobs ------------------------------------------------------------------------ */

static det_status find_workspace(struct request *req, int64_t project_id,
                                 const char *name, int64_t *ret_id)
{
    struct project_view project;
    struct workspace_view workspace;
    det_status st;

    if (project_id) {
        st = access_check_id(req, ROUTE_OBJECT_project, project_id);
        if (!st)
            st = store_project_get(req->db, project_id, &req->mem, &project, req->err);
        if (!st)
            st = project_check_open(&project, req->err);
        *ret_id = st ? 0 : project.row.workspace_id;
        return st;
    }
    *ret_id = SPACE_FIRST;
    if (!name || !*name)
        return DET_OK;
    st = store_workspace_named(req->db, name, &req->mem, &workspace, req->err);
    if (!st)
        st = access_check_named(req, ROUTE_OBJECT_workspace, workspace.row.id,
                                "workspace", name);
    st = advise_workspace(req, st, name);
    *ret_id = st ? 0 : workspace.row.id;
    return st;
}

det_status placement_of_job(struct request *req, int64_t project_id,
                            int64_t workspace_id, const char *workspace_name,
                            struct placement *ret_placement)
{
    struct placement placement = {0};
    int64_t id = workspace_id;
    det_status st = DET_OK;

    access_names_nothing(req);
    if (!id)
        st = find_workspace(req, project_id, workspace_name, &id);
    if (!st)
        st = access_check_id(req, ROUTE_OBJECT_workspace, id);
    if (!st)
        st = fill(req, id, &placement);
    if (!st && (placement.workspace.is_archived || *placement.workspace.state))
        st = err_set(req->err, DET_NOT_FOUND,
                     "workspace '%" PRId64 "' not found: it is %s", id,
                     placement.workspace.is_archived ? "archived" : "being deleted");
    if (st)
        return st;
    *ret_placement = placement;
    return DET_OK;
}
