/* SPDX-License-Identifier: Apache-2.0 */
/* project_notes.c - the notes of projects, and who looked at which project. */
#include <string.h>

#include "master/api/api.h"
#include "master/api/spaces/spaces.h"
#include "master/request/access.h"
#include "store/space/project.h"
#include "wire/space_bodies.h"

enum {
    NOTES_MOST = 100,
    NOTES_BYTES_MOST = 1 << 20,
    VISITS_MOST = 500,
};

/* ---- notes ----------------------------------------------------------------------- */

struct notes_state {
    int64_t id;
    struct json *add;  /* one note to append */
    const char *notes; /* all of them; the result, too */
};

static det_status reply_notes(struct request *req)
{
    const struct notes_state *state = req->state;

    jw_object(&req->w, NULL);
    jw_raw(&req->w, "notes", state->notes);
    jw_end_object(&req->w);
    return DET_OK;
}

static struct json *note_of(struct arena *mem, const char *name, const char *contents)
{
    struct json *note = json_new(mem, JSON_OBJECT);

    json_set(mem, note, "name", json_new_str(mem, name ? name : ""));
    json_set(mem, note, "contents", json_new_str(mem, contents ? contents : ""));
    return note;
}

static det_status notes_text(struct arena *mem, const struct json *notes,
                             const char **ret_text, struct err *err)
{
    const char *text = json_text(mem, notes);

    if (!text || mem->has_failed)
        return err_default(err, DET_NOMEM);
    if (notes->list.count > NOTES_MOST || strlen(text) > NOTES_BYTES_MOST)
        return err_set(err, DET_TOO_LARGE,
                       "a project has at most %d notes with 1 MiB in all", NOTES_MOST);
    *ret_text = text;
    return DET_OK;
}

static det_status write_notes(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct notes_state *state = req->state;
    struct project_view view;
    struct json *list;
    det_status st = store_project_get(db, state->id, &req->mem, &view, err);

    if (!st && state->add) {
        st = json_parse(view.row.notes, strlen(view.row.notes), &req->mem, &list, err);
        if (!st)
            json_push(list, json_copy(&req->mem, state->add));
        if (!st)
            st = notes_text(&req->mem, list, &state->notes, err);
    }
    if (st)
        return st;
    view.row.notes = state->notes;
    return store_project_put(db, &view.row, err);
}

static det_status state_new(struct request *req, struct notes_state **ret_state)
{
    struct notes_state *state = arena_new(&req->mem, struct notes_state);

    if (!state)
        return DET_NOMEM;
    req->state = state;
    *ret_state = state;
    return request_id(req, 0, &state->id);
}

det_status api_add_project_note(struct request *req)
{
    const struct note_body *body = req->body;
    struct notes_state *state;
    det_status st = state_new(req, &state);

    if (st)
        return st;
    state->add = note_of(&req->mem, body->name, body->contents);
    return state->add ? request_write(req, write_notes, reply_notes) : DET_NOMEM;
}

det_status api_put_project_notes(struct request *req)
{
    const struct notes_body *body = req->body;
    struct json *list = json_new(&req->mem, JSON_ARRAY);
    struct notes_state *state;
    det_status st = state_new(req, &state);

    if (st)
        return st;
    if (body->notes->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "notes is %s; expected a list",
                       json_kind_name(body->notes->kind));
    json_each(note, body->notes) {
        if (note->kind != JSON_OBJECT)
            return err_set(req->err, DET_INVALID,
                           "a note is %s; expected an object with name and contents",
                           json_kind_name(note->kind));
        json_push(list, note_of(&req->mem, json_str(json_find(note, "name"), ""),
                                json_str(json_find(note, "contents"), "")));
    }
    st = notes_text(&req->mem, list, &state->notes, req->err);
    return st ? st : request_write(req, write_notes, reply_notes);
}

/* ---- visits ---------------------------------------------------------------------- */

det_status api_list_active_projects(struct request *req)
{
    const struct activity_query *in = req->query;
    struct scope scope;
    struct project_view *views;
    uint32_t count = 0;
    det_status st = access_scope(req, &scope);

    if (!st && (in->limit < 0 || in->limit > VISITS_MOST))
        st = err_set(req->err, DET_INVALID, "limit must be 1 to %d", VISITS_MOST);
    if (!st)
        st = store_project_visited(req->db, req->caller.user_id,
                                   in->limit ? in->limit : VISITS_MOST, &req->mem,
                                   &views, &count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "projects");
    for (uint32_t i = 0; i < count; i++)
        if (scope_has(&scope, views[i].row.workspace_id))
            spaces_render_project(&req->w, NULL, &views[i]);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status write_visit(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct activity_body *body = req->body;
    struct project_view view;
    det_status st = store_project_get(db, body->entity_id, &req->mem, &view, err);

    return st ? st
              : store_project_visit(db, body->entity_id, req->caller.user_id,
                                    master_now_us(req->master), err);
}

det_status api_post_activity(struct request *req)
{
    const struct activity_body *body = req->body;
    det_status st = access_check_id(req, ROUTE_OBJECT_project, body->entity_id);

    if (st)
        return st;
    if (strcmp(body->activity_type, "ACTIVITY_TYPE_GET") != 0 ||
        strcmp(body->entity_type, "ENTITY_TYPE_PROJECT") != 0)
        return err_set(req->err, DET_INVALID,
                       "the only activity is ACTIVITY_TYPE_GET of ENTITY_TYPE_PROJECT");
    return request_write(req, write_visit, NULL);
}
