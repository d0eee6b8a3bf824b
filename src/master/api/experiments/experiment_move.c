/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_move.c - experiments that change their project, one or many at once.
 *
 * Only the row in the database says where an experiment is; the heart does not know.  Each
 * experiment of a bulk call is refused on its own, and a refused one stays. */
#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/changes/change_notes.h"
#include "master/changes/changes.h"
#include "master/request/access.h"
#include "store/experiment/experiment.h"
#include "store/space/project.h"
#include "wire/space_bodies.h"

enum { MOVE_MOST = 10000 };

/* ---- one ------------------------------------------------------------------------- */

static det_status write_move(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct move_experiment_body *body = req->body;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : store_project_take(db, body->destination_project_id, id, err);
}

det_status api_move_experiment(struct request *req)
{
    const struct move_experiment_body *body = req->body;
    det_status st = access_check_as(req, ROUTE_ID_create_experiment,
                                    ROUTE_OBJECT_project, body->destination_project_id);

    req->committed = change_notes_path_experiment;
    return st ? st : request_write(req, write_move, NULL);
}

/* ---- many ------------------------------------------------------------------------ */

struct move {
    int64_t id;
    const char *error; /* "": moved */
};

struct moves {
    int64_t from; /* a project, or -1 */
    int64_t to;
    struct move *at;
    size_t count;
};

static const char *keep_error(struct request *req, const struct err *err)
{
    const char *text = arena_strdup(&req->mem, err->text);

    return text ? text : "out of memory";
}

/* The experiments that a filter finds. */
static det_status find_ids(struct request *req, struct moves *moves)
{
    const struct move_experiments_body *body = req->body;
    struct experiment_filters in = {0};
    struct experiment_query query = {.without_config = true, .page.limit = -1};
    struct experiment_view *rows;
    uint32_t count = 0;
    det_status st =
        fields_read(experiment_filters_fields, body->filters, &req->mem, &in, req->err);

    if (!st)
        st = access_scope(req, &query.scope);
    if (!st)
        st =
            listing_states(&in.states, experiment_state_names, &query.states, req->err);
    query.name = in.name;
    query.description = in.description;
    query.labels = in.labels;
    query.has_archived = true; /* an archived one cannot be moved */
    query.archived = in.has_archived && in.archived;
    query.user_ids = in.user_ids;
    query.not_ids = in.excluded_experiment_ids;
    query.project_id = moves->from > 0 ? moves->from : in.project_id;
    if (!st)
        st = store_experiment_list(req->db, &query, &req->mem, &rows, &count, req->err);
    moves->at = st ? NULL : arena_array(&req->mem, struct move, count + 1);
    if (!st && !moves->at)
        return DET_NOMEM;
    for (uint32_t i = 0; !st && i < count; i++)
        moves->at[moves->count++].id = rows[i].row.id;
    return st;
}

static det_status read_ids(struct request *req, struct moves *moves)
{
    const struct move_experiments_body *body = req->body;
    const struct field_i64s *ids = &body->experiment_ids;

    if (!json_is_null(body->filters))
        return find_ids(req, moves);
    moves->at = arena_array(&req->mem, struct move, ids->count + 1);
    if (!moves->at)
        return DET_NOMEM;
    for (size_t i = 0; i < ids->count; i++)
        moves->at[moves->count++].id = ids->at[i];
    return DET_OK;
}

/* Sets the error of an experiment that the caller may not move, or that is elsewhere. */
static det_status check_move(struct request *req, const struct moves *moves,
                             struct move *move)
{
    struct experiment_view view;
    struct err err = {0};
    struct err *own = req->err;
    det_status st;

    req->err = &err;
    st = store_experiment_get(req->db, move->id, &req->mem, &view, &err);
    if (!st && moves->from >= 0 && view.row.project_id != moves->from)
        st = err_set(&err, DET_NOT_FOUND, "experiment '%" PRId64 "' not found",
                     move->id);
    if (!st)
        st = access_check_as(req, ROUTE_ID_move_experiment, ROUTE_OBJECT_experiment,
                             move->id);
    req->err = own;
    move->error = st ? keep_error(req, &err) : "";
    return st == DET_NOMEM ? st : DET_OK;
}

static det_status write_moves(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct moves *moves = req->state;
    det_status st = DET_OK;

    for (size_t i = 0; i < moves->count && !st; i++) {
        struct move *move = &moves->at[i];
        struct err own = {0};

        if (*move->error)
            continue;
        st = store_project_take(db, moves->to, move->id, &own);
        if (st == DET_STATE || st == DET_NOT_FOUND) {
            move->error = keep_error(req, &own);
            st = DET_OK;
        }
        if (st)
            return err_set(err, st, "%s", own.text);
    }
    return st;
}

static void note_moves(struct request *req)
{
    const struct moves *moves = req->state;

    for (size_t i = 0; i < moves->count; i++)
        if (!*moves->at[i].error)
            changes_note(req->master->changes, CHANGE_EXPERIMENT, moves->at[i].id, 0);
}

static det_status reply_moves(struct request *req)
{
    const struct moves *moves = req->state;

    jw_object(&req->w, NULL);
    jw_array(&req->w, "results");
    for (size_t i = 0; i < moves->count; i++) {
        jw_object(&req->w, NULL);
        jw_i64(&req->w, "id", moves->at[i].id);
        jw_str(&req->w, "error", moves->at[i].error);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

/* A destination that takes nothing refuses the whole call. */
static det_status check_destination(struct request *req, int64_t id)
{
    struct project_view to;
    det_status st =
        access_check_as(req, ROUTE_ID_create_experiment, ROUTE_OBJECT_project, id);

    if (!st)
        st = store_project_get(req->db, id, &req->mem, &to, req->err);
    return st ? st : project_check_open(&to, req->err);
}

/* A project, or -1. */
static det_status read_source(struct request *req, int64_t *ret_id)
{
    if (!strcmp(req->arg[0], "-1")) {
        *ret_id = -1;
        return DET_OK;
    }
    return request_id(req, 0, ret_id);
}

det_status api_move_experiments(struct request *req)
{
    const struct move_experiments_body *body = req->body;
    struct moves *moves = arena_new(&req->mem, struct moves);
    det_status st;

    if (!moves)
        return DET_NOMEM;
    req->state = moves;
    moves->to = body->destination_project_id;
    access_names_nothing(req); /* what is named is checked one by one */
    st = read_source(req, &moves->from);
    if (!st)
        st = check_destination(req, moves->to);
    if (!st)
        st = read_ids(req, moves);
    if (!st && moves->count > MOVE_MOST)
        st = err_set(req->err, DET_TOO_LARGE,
                     "at most %d experiments can be moved at once", MOVE_MOST);
    for (size_t i = 0; i < moves->count && !st; i++)
        st = check_move(req, moves, &moves->at[i]);
    req->committed = note_moves;
    return st ? st : request_write(req, write_moves, reply_moves);
}
