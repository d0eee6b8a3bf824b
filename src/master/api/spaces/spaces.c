/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/spaces/spaces.h"

#include <stdio.h>
#include <string.h>

#include "master/api/api.h"
#include "model/field.h"
#include "store/space/project.h"

bool spaces_is_owner(const struct field_strs *users, const struct field_i64s *ids,
                     const char *username, int64_t user_id)
{
    bool is_listed = !users->count && !ids->count;

    for (size_t i = 0; i < users->count; i++)
        is_listed = is_listed || !strcmp(users->at[i], username);
    for (size_t i = 0; i < ids->count; i++)
        is_listed = is_listed || ids->at[i] == user_id;
    return is_listed;
}

void spaces_render_state(struct json_writer *w, const char *state, const char *error)
{
    char text[64];

    snprintf(text, sizeof(text), "WORKSPACE_STATE_%s", *state ? state : "UNSPECIFIED");
    jw_str(w, "state", text);
    jw_str(w, "errorMessage", error);
}

det_status spaces_reply_completed(struct request *req)
{
    const bool *is_gone = req->state;

    jw_object(&req->w, NULL);
    jw_bool(&req->w, "completed", *is_gone);
    jw_end_object(&req->w);
    return DET_OK;
}

void spaces_render_project(struct json_writer *w, const char *key,
                           const struct project_view *view)
{
    const struct project *row = &view->row;

    jw_object(w, key);
    jw_i64(w, "id", row->id);
    jw_str(w, "name", row->name);
    jw_str(w, "key", row->project_key);
    jw_str(w, "description", row->description);
    jw_i64(w, "workspaceId", row->workspace_id);
    jw_str(w, "workspaceName", view->workspace_name);
    jw_i64(w, "userId", row->owner_id);
    jw_str(w, "username", view->username);
    jw_bool(w, "archived", project_is_archived(view));
    jw_bool(w, "immutable", row->is_immutable);
    spaces_render_state(w, row->state, row->error);
    jw_raw(w, "notes", row->notes);
    jw_i64(w, "numExperiments", view->num_experiments);
    jw_i64(w, "numActiveExperiments", view->num_active);
    jw_i64(w, "numRuns", view->num_runs);
    jw_time(w, "lastExperimentStartedAt", view->last_start_us);
    jw_end_object(w);
}

det_status spaces_path_project(struct request *req, struct project_view *ret_view)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : store_project_get(req->db, id, &req->mem, ret_view, req->err);
}
