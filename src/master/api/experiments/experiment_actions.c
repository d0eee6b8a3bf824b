/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_actions.c - see experiment_actions.h. */
#include "master/api/experiments/experiment_actions.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/experiments/experiments.h"
#include "master/background/janitor.h"
#include "master/changes/changes.h"
#include "master/request/access.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_delete.h"
#include "store/experiment/experiment_edit.h"
#include "store/experiment/unmanaged.h"
#include "store/space/project.h"
#include "store/store.h"

enum {
    ACT_AT_ONCE = 500,
    ACT_MOST = 200000,
};

/* clang-format off */
static const struct act_row act_rows[] = {
    {"pause", ACT_EVENT, ACTION_PAUSE, ROUTE_ID_pause_experiment, ACT_FINDS_ACTIVE, ACT_NOT_ARCHIVED},
    {"activate", ACT_EVENT, ACTION_ACTIVATE, ROUTE_ID_activate_experiment, ACT_FINDS_PAUSED, ACT_NOT_ARCHIVED},
    {"cancel", ACT_EVENT, ACTION_CANCEL, ROUTE_ID_cancel_experiment, ACT_FINDS_LIVE, ACT_NOT_ARCHIVED},
    {"kill", ACT_EVENT, ACTION_KILL, ROUTE_ID_kill_experiment, ACT_FINDS_LIVE, ACT_NOT_ARCHIVED},
    {"archive", ACT_ARCHIVE, 0, ROUTE_ID_archive_experiment, ACT_FINDS_ENDED, ACT_NOT_ARCHIVED},
    {"unarchive", ACT_UNARCHIVE, 0, ROUTE_ID_unarchive_experiment, ACT_FINDS_ENDED, ACT_ONLY_ARCHIVED},
    {"delete", ACT_DELETE, 0, ROUTE_ID_delete_experiment, ACT_FINDS_ENDED, ACT_ANY_ARCHIVED},
    {"label", ACT_LABEL, 0, ROUTE_ID_put_label, ACT_FINDS_ALL, ACT_ANY_ARCHIVED},
    {"unlabel", ACT_UNLABEL, 0, ROUTE_ID_delete_label, ACT_FINDS_ALL, ACT_ANY_ARCHIVED},
    {"move", ACT_MOVE, 0, ROUTE_ID_move_experiment, ACT_FINDS_ALL, ACT_NOT_ARCHIVED},
    {"retain_logs", ACT_RETAIN, 0, ROUTE_ID_retain_experiment_logs, ACT_FINDS_ALL, ACT_ANY_ARCHIVED},
};
/* clang-format on */

const struct act_row *act_row_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(act_rows); i++)
        if (!strcmp(act_rows[i].name, name))
            return &act_rows[i];
    (void)err_set(err, DET_INVALID,
                  "the action '%.100s' is unknown; expected pause, activate, cancel, "
                  "kill, archive, unarchive, delete, label, unlabel, move or "
                  "retain_logs",
                  name);
    return NULL;
}

struct act {
    struct experiment_act what;
    size_t done;         /* number of ids done; grows only after a commit */
    size_t at, end;      /* the current chunk */
    const char **errors; /* by place; NULL: no error */
    struct heart_item *items;
    size_t *places; /* of the items */
    size_t item_count;
    size_t *unmanaged; /* places of the chunk that the writer ends */
    size_t unmanaged_count;
};

static det_status reply_results(struct request *req)
{
    const struct act *act = req->state;
    struct json_writer *w = &req->w;

    if (act->what.row->kind == ACT_DELETE)
        janitor_wake(req->master->janitor);
    jw_object(w, NULL);
    jw_array(w, "results");
    for (size_t i = 0; i < act->what.count; i++) {
        jw_object(w, NULL);
        jw_i64(w, "id", act->what.ids[i]);
        jw_str(w, "error", act->errors[i] ? act->errors[i] : "");
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    return DET_OK;
}

/* Whether only this experiment is refused. */
static bool is_refusal(det_status status)
{
    return status == DET_NOT_FOUND || status == DET_STATE || status == DET_INVALID;
}

/* If memory is short, the error has a default text: no error would mean success. */
static void keep_error(struct request *req, size_t place, det_status status,
                       const char *text)
{
    struct act *act = req->state;
    const char *copy = *text ? arena_strdup(&req->mem, text) : NULL;

    act->errors[place] = copy ? copy : det_status_text(status);
}

/* A handler that fails may run again (request.c) and then finds the same chunk. */
static void choose_chunk(struct act *act)
{
    act->at = act->done;
    act->end = MIN(act->what.count, act->at + ACT_AT_ONCE);
}

/* ---- rows that the writer changes ------------------------------------------------ */

static det_status change_one(const struct experiment_act *what, int64_t id,
                             struct db *db, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct experiment_patch patch = {.has_log_retention = true,
                                     .log_retention_days = what->log_days,
                                     .save_experiment_best = -1,
                                     .save_trial_best = -1,
                                     .save_trial_latest = -1};
    const char *labels;

    switch (what->row->kind) {
    case ACT_ARCHIVE:
    case ACT_UNARCHIVE:
        return store_experiment_archive(db, id, what->row->kind == ACT_ARCHIVE, err);
    case ACT_DELETE:
        return store_experiment_set_deleting(db, id, err);
    case ACT_LABEL:
        return store_experiment_relabel(db, id, what->label, NULL, &mem, &labels, err);
    case ACT_UNLABEL:
        return store_experiment_relabel(db, id, NULL, what->label, &mem, &labels, err);
    case ACT_MOVE:
        return store_project_take(db, what->to_project, id, err);
    case ACT_RETAIN:
        return store_experiment_patch(db, id, &patch, &mem, err);
    case ACT_EVENT:
        break;
    }
    assert(!"the heart does this");
    return DET_OK;
}

static det_status write_changes(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct act *act = req->state;

    for (size_t i = act->at; i < act->end; i++) {
        det_status st =
            act->errors[i] ? DET_OK : change_one(&act->what, act->what.ids[i], db, err);

        if (st && !is_refusal(st))
            return st;
        if (st)
            keep_error(req, i, st, err->text);
    }
    return DET_OK;
}

/* After the commit. */
static void note_changed(struct request *req)
{
    struct act *act = req->state;

    act->done = act->end;
    for (size_t i = act->at; i < act->end; i++)
        if (!act->errors[i])
            changes_note(req->master->changes, CHANGE_EXPERIMENT, act->what.ids[i],
                         act->what.ids[i]);
}

static det_status change_next(struct request *req)
{
    struct act *act = req->state;

    req->committed = note_changed;
    choose_chunk(act);
    return act->at < act->what.count ? request_write(req, write_changes, change_next)
                                     : reply_results(req);
}

/* ---- actions of the heart --------------------------------------------------------- */

static det_status write_ends(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct act *act = req->state;
    det_status st = DET_OK;

    for (size_t i = 0; i < act->unmanaged_count && !st; i++)
        st = store_unmanaged_end(db, act->what.ids[act->unmanaged[i]],
                                 master_now_us(req->master), err);
    return st;
}

static void note_ended(struct request *req)
{
    struct act *act = req->state;

    act->done = act->end;
    for (size_t i = 0; i < act->unmanaged_count; i++) {
        int64_t id = act->what.ids[act->unmanaged[i]];

        changes_note(req->master->changes, CHANGE_EXPERIMENT, id, id);
    }
}

/* Decides whether one experiment is refused, or changed by the heart or the writer. */
static det_status plan_one(struct request *req, size_t place)
{
    struct act *act = req->state;
    int64_t id = act->what.ids[place];
    struct experiment_standing standing = {0};
    det_status st = store_experiment_standing(req->db, id, &standing, req->err);
    struct heart_item *item;

    if (!st && experiment_is_terminal(standing.state))
        st = experiments_answer_ended(id, standing.state, act->what.row->action,
                                      req->err);
    else if (!st && standing.is_unmanaged && act->what.row->action != ACTION_CANCEL &&
             act->what.row->action != ACTION_KILL)
        st = experiments_refuse_unmanaged(id, req->err);
    else if (!st && standing.is_unmanaged)
        act->unmanaged[act->unmanaged_count++] = place;
    else if (!st) {
        item = &act->items[act->item_count];
        *item = (struct heart_item){.event.kind = EVENT_EXPERIMENT_ACTION};
        item->event.action.experiment_id = id;
        item->event.action.action = act->what.row->action;
        act->places[act->item_count++] = place;
    }
    if (!st || !is_refusal(st))
        return st;
    keep_error(req, place, st, req->err->text);
    return DET_OK;
}

static handler_fn act_next;

/* The heart is done: continues with the writer's part, or with the next chunk. */
static det_status end_chunk(struct request *req)
{
    struct act *act = req->state;

    if (act->unmanaged_count)
        return request_write(req, write_ends, act_next);
    act->done = act->end;
    return request_move(req, req->home, act_next);
}

static det_status after_events(struct request *req)
{
    struct act *act = req->state;

    for (size_t i = 0; i < act->item_count; i++)
        if (act->items[i].status)
            keep_error(req, act->places[i], act->items[i].status,
                       act->items[i].err.text);
    return end_chunk(req);
}

static det_status act_next(struct request *req)
{
    struct act *act = req->state;

    req->committed = note_ended;
    choose_chunk(act);
    act->item_count = act->unmanaged_count = 0;
    for (size_t i = act->at; i < act->end; i++) {
        det_status st = act->errors[i] ? DET_OK : plan_one(req, i);

        if (st)
            return st;
    }
    if (act->at == act->what.count)
        return reply_results(req);
    return act->item_count
               ? request_events(req, act->items, act->item_count, after_events)
               : end_chunk(req);
}

/* ---- the call ------------------------------------------------------------------- */

static det_status act_new(struct request *req, const struct experiment_act *what,
                          struct act **ret_act)
{
    struct act *act = arena_new(&req->mem, struct act);
    size_t chunk = MIN(what->count, (size_t)ACT_AT_ONCE) + 1;

    if (!act)
        return DET_NOMEM;
    act->what = *what;
    act->errors = arena_array(&req->mem, const char *, what->count + 1);
    act->items = arena_array(&req->mem, struct heart_item, chunk);
    act->places = arena_array(&req->mem, size_t, chunk);
    act->unmanaged = arena_array(&req->mem, size_t, chunk);
    req->state = act;
    *ret_act = act;
    return req->mem.has_failed ? DET_NOMEM : DET_OK;
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

static det_status check_argument(struct request *req, const struct experiment_act *what)
{
    switch (what->row->kind) {
    case ACT_LABEL:
    case ACT_UNLABEL:
        if (!what->label || !*what->label)
            return err_set(req->err, DET_INVALID,
                           "'%s' needs a label that is not empty", what->row->name);
        return DET_OK;
    case ACT_MOVE:
        return check_destination(req, what->to_project);
    case ACT_RETAIN:
        return experiments_check_retention(what->log_days, req->err);
    case ACT_EVENT:
    case ACT_ARCHIVE:
    case ACT_UNARCHIVE:
    case ACT_DELETE:
        break;
    }
    return DET_OK;
}

/* Within a project, experiments of other projects do not exist.  Nor do archived ones for
 * actions of the heart: they cannot be live. */
static det_status check_place(struct request *req, const struct experiment_act *what,
                              int64_t id)
{
    struct experiment_standing standing;
    det_status st;

    if (!what->only_in)
        return DET_OK;
    st = store_experiment_standing(req->db, id, &standing, req->err);
    if (!st && (standing.project_id != what->only_in ||
                (what->row->kind == ACT_EVENT && standing.is_archived)))
        st = err_set(req->err, DET_NOT_FOUND, "experiment '%" PRId64 "' not found", id);
    return st;
}

/* What the caller may not do to one experiment is refused for that one. */
static det_status check_rights(struct request *req, struct act *act)
{
    const struct experiment_act *what = &act->what;

    access_names_nothing(req);
    for (size_t i = 0; i < what->count; i++) {
        det_status st = check_place(req, what, what->ids[i]);

        if (!st)
            st = access_check_as(req, what->row->same_as, ROUTE_OBJECT_experiment,
                                 what->ids[i]);
        if (st == DET_FORBIDDEN || st == DET_NOT_FOUND)
            keep_error(req, i, st, req->err->text);
        else if (st)
            return st;
    }
    return DET_OK;
}

det_status experiment_act(struct request *req, const struct experiment_act *what)
{
    struct act *act;
    det_status st;

    if (what->count > ACT_MOST)
        return err_set(req->err, DET_TOO_LARGE, "%zu ids at once; at most %d",
                       what->count, ACT_MOST);
    st = act_new(req, what, &act);
    if (!st)
        st = check_argument(req, what);
    if (!st)
        st = check_rights(req, act);
    if (st)
        return st;
    return what->row->kind == ACT_EVENT ? act_next(req) : change_next(req);
}
