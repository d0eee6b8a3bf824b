/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_table.c - the table of experiments: a page of small rows, found in memory
 * (store/roster/roster.h), and one action on many experiments.
 *
 * An action runs in chunks, so it does not block the heart or the writer: a chunk is one
 * batch of the heart and one job of the writer.  Each experiment is refused on its own, and a
 * refused one is not changed. */
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
#include "store/roster/roster_find.h"
#include "store/roster/roster_view.h"
#include "store/space/project.h"
#include "store/store.h"
#include "wire/page_bodies.h"
#include "wire/queries.h"

enum {
    PAGE_LIMIT = 50,
    PAGE_MOST = 10000, /* rows with more than their id */
    ACT_AT_ONCE = 500,
    ACT_MOST = 200000,
    VIEW_MEMORY = 1 << 20,
};

/* ---- a row ----------------------------------------------------------------------- */

/* A row of the reply; the names are those of the reply. */
struct shown {
    int64_t id;
    const char *name;
    const char *description;
    int64_t description_length;
    const char *labels;
    const char *state;
    double progress;
    bool has_progress;
    int64_t owner;
    const char *username;
    int64_t start_time;
    int64_t end_time;
    double duration;
    int64_t trials;
    const char *searcher_type;
    const char *searcher_metric;
    bool smaller_is_better;
    double best_metric;
    bool has_best_metric;
    int64_t best_trial_id;
    bool has_best_trial_id;
    const char *resource_pool;
    bool archived;
    bool unmanaged;
    int64_t parent_id;
    bool has_parent_id;
    int64_t notes_length;
    int64_t checkpoint_size;
    int64_t checkpoints;
    int64_t priority;
    int64_t project_id;
    const char *project_name;
    int64_t workspace_id;
    const char *workspace_name;
};

static const struct field shown_fields[] = {
    FIELD(I64, shown, id, "its id"),
    FIELD(STR, shown, name, "its name"),
    FIELD(STR, shown, description, "the first 300 characters of its description"),
    FIELD(I64, shown, description_length, "length of the whole description"),
    FIELD(JSON, shown, labels, "its labels"),
    FIELD(STR, shown, state, "its state"),
    FIELD_OPTIONAL(F64, shown, progress, "0 to 1"),
    FIELD(I64, shown, owner, "user id of its owner"),
    FIELD(STR, shown, username, "user name of its owner"),
    FIELD(TIME, shown, start_time, "start time"),
    FIELD(TIME, shown, end_time, "end time"),
    FIELD(F64, shown, duration, "seconds, until now or its end"),
    FIELD(I64, shown, trials, "how many"),
    FIELD(STR, shown, searcher_type, "its search method"),
    FIELD(STR, shown, searcher_metric, "the metric of its search"),
    FIELD(BOOL, shown, smaller_is_better,
          "whether smaller values of that metric are better"),
    FIELD_OPTIONAL(F64, shown, best_metric, "the best value of that metric"),
    FIELD_OPTIONAL(I64, shown, best_trial_id, "the trial with that value"),
    FIELD(STR, shown, resource_pool, "its resource pool"),
    FIELD(BOOL, shown, archived, "whether it is archived"),
    FIELD(BOOL, shown, unmanaged, "whether it is unmanaged"),
    FIELD_OPTIONAL(I64, shown, parent_id, "the experiment it was forked from"),
    FIELD(I64, shown, notes_length, "characters"),
    FIELD(I64, shown, checkpoint_size, "bytes"),
    FIELD(I64, shown, checkpoints, "how many"),
    FIELD(I64, shown, priority, "1 to 99, lower first"),
    FIELD(I64, shown, project_id, "its project"),
    FIELD(STR, shown, project_name, "the name of that"),
    FIELD(I64, shown, workspace_id, "its workspace"),
    FIELD(STR, shown, workspace_name, "the name of that"),
    FIELD_END,
};

/* A search counts ended trials as done, however they ended.  If the experiment ended before
 * its search, that progress is meaningless. */
static bool has_progress(const struct roster_view *view)
{
    return view->progress < 1 ||
           (view->state != EXPERIMENT_CANCELED && view->state != EXPERIMENT_ERROR);
}

static struct shown shown_of(const struct roster_view *view, int64_t now_us)
{
    int64_t end_us = view->end_us ? view->end_us : now_us;

    return (struct shown){
        .id = view->id,
        .name = view->name,
        .description = view->description,
        .description_length = view->description_length,
        .labels = view->labels,
        .state = view->live_state ? live_state_names[view->live_state]
                                  : experiment_state_names[view->state],
        .progress = view->progress,
        .has_progress = has_progress(view),
        .owner = view->owner_id,
        .username = view->username,
        .start_time = view->start_us,
        .end_time = view->end_us,
        .duration = view->start_us ? (double)(end_us - view->start_us) / 1e6 : 0,
        .trials = view->trials,
        .searcher_type = view->searcher_type,
        .searcher_metric = view->searcher_metric,
        .smaller_is_better = view->smaller_is_better,
        .best_metric = view->best_metric,
        .has_best_metric = view->has_best_metric,
        .best_trial_id = view->best_trial_id,
        .has_best_trial_id = view->best_trial_id > 0,
        .resource_pool = view->resource_pool,
        .archived = view->is_archived,
        .unmanaged = view->is_unmanaged,
        .parent_id = view->parent_id,
        .has_parent_id = view->parent_id > 0,
        .notes_length = view->notes_length,
        .project_id = view->project_id,
        .project_name = view->project_name,
        .workspace_id = view->workspace_id,
        .workspace_name = view->workspace_name,
        .checkpoint_size = view->checkpoint_size,
        .checkpoints = view->checkpoint_count,
        .priority = view->priority,
    };
}

/* ---- the query ----------------------------------------------------------- */

/* The fields named in `names`, separated by commas, and always the id.  NULL: all. */
static det_status columns_from(const char *names, struct arena *mem,
                               const struct field **ret_fields, struct err *err)
{
    struct field *fields = arena_array(mem, struct field, ARRAY_LEN(shown_fields));
    bool is_wanted[ARRAY_LEN(shown_fields)] = {true};
    size_t count = 0;

    if (!fields)
        return DET_NOMEM;
    for (const char *at = names; at && *at; at += strspn(at, ",")) {
        char *name = arena_strndup(mem, at, strcspn(at, ","));
        const struct field *field = name ? field_find(shown_fields, name) : NULL;

        if (!name)
            return DET_NOMEM;
        if (!field)
            return err_set(err, DET_INVALID, "experiments have no column '%.100s'",
                           name);
        is_wanted[field - shown_fields] = true;
        at += strlen(name);
    }
    for (size_t i = 0; shown_fields[i].name; i++)
        if (!names || is_wanted[i])
            fields[count++] = shown_fields[i];
    *ret_fields = fields;
    return DET_OK;
}

static det_status sort_from(const char *text, struct roster_query *query,
                            struct err *err)
{
    const char *name = text && *text ? text : "-id";

    query->is_descending = *name == '-';
    name += *name == '-';
    for (uint32_t i = 0; roster_sort_names[i]; i++)
        if (!strcmp(roster_sort_names[i], name)) {
            query->sort = (enum roster_sort)i;
            return DET_OK;
        }
    return err_set(err, DET_INVALID, "experiments cannot be sorted by '%.100s'", name);
}

static det_status archived_from(const char *text, enum roster_archived *ret_archived,
                                struct err *err)
{
    static const struct {
        const char *text;
        enum roster_archived archived;
    } known[] = {{"", ROSTER_NOT_ARCHIVED},      {"no", ROSTER_NOT_ARCHIVED},
                 {"false", ROSTER_NOT_ARCHIVED}, {"yes", ROSTER_ARCHIVED},
                 {"true", ROSTER_ARCHIVED},      {"both", ROSTER_ALL}};

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (!strcmp(text ? text : "", known[i].text)) {
            *ret_archived = known[i].archived;
            return DET_OK;
        }
    return err_set(err, DET_INVALID, "archived is '%.100s'; expected no, yes or both",
                   text);
}

/* "STATE_RUNNING" or "RUNNING", or several separated by commas. */
static det_status roster_states_from(const struct field_strs *names, struct arena *mem,
                                     uint32_t *ret_set, struct err *err)
{
    static const char prefix[] = "STATE_";

    for (size_t i = 0; i < names->count; i++)
        for (const char *at = names->at[i]; *at; at += strspn(at, ",")) {
            char *name = arena_strndup(mem, at, strcspn(at, ","));
            uint32_t state = 0;

            if (!name)
                return DET_NOMEM;
            at += strlen(name);
            if (!strncmp(name, prefix, sizeof(prefix) - 1))
                name += sizeof(prefix) - 1;
            while (roster_state_names[state] && strcmp(roster_state_names[state], name))
                state++;
            if (!roster_state_names[state])
                return err_set(err, DET_INVALID, "there is no state '%.100s'", name);
            *ret_set |= 1U << state;
        }
    return DET_OK;
}

static bool is_listed(const struct field_i64s *ids, int64_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->at[i] == id)
            return true;
    return !ids->count;
}

/* Experiments of an archived project or workspace are hidden like archived ones, unless
 * that is what was asked for. */
static bool is_wanted_project(const struct find_experiments_query *in,
                              const struct roster_query *query,
                              const struct project_place *project)
{
    bool is_asked_for = in->project_ids.count || in->workspace_id;

    if (in->workspace_id && in->workspace_id != project->workspace_id)
        return false;
    if (!is_asked_for && query->archived == ROSTER_NOT_ARCHIVED && project->is_archived)
        return false;
    return is_listed(&in->project_ids, project->id);
}

/* The projects whose experiments may be shown. */
static det_status projects_from(struct request *req,
                                const struct find_experiments_query *in,
                                struct roster_query *query)
{
    struct scope scope;
    struct project_place *projects;
    struct field_i64s *ids;
    uint32_t count = 0;
    det_status st = access_scope(req, &scope);

    if (!st)
        st = store_project_places(req->db, &req->mem, &projects, &count, req->err);
    ids = st ? NULL : arena_new(&req->mem, struct field_i64s);
    if (ids)
        ids->at = arena_array(&req->mem, int64_t, count + 1);
    if (!st && req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    for (uint32_t i = 0; !st && i < count; i++)
        if (scope_has(&scope, projects[i].workspace_id) &&
            is_wanted_project(in, query, &projects[i]))
            ids->at[ids->count++] = projects[i].id;
    query->projects = ids && ids->count < count ? ids : NULL; /* all: no filter */
    return st;
}

static det_status query_from(struct request *req,
                             const struct find_experiments_query *in,
                             struct roster_query *ret_query)
{
    struct roster_query *query = ret_query;
    det_status st = sort_from(in->sort, query, req->err);

    if (!st)
        st = archived_from(in->archived, &query->archived, req->err);
    if (!st)
        st = roster_states_from(&in->states, &req->mem, &query->states, req->err);
    if (!st)
        st = projects_from(req, in, query);
    query->search = in->search;
    query->users = in->users;
    query->labels = in->labels;
    query->searchers = in->searcher;
    query->pools = in->pool;
    query->offset = in->offset;
    query->limit = in->has_limit ? in->limit : PAGE_LIMIT;
    query->now_us = master_now_us(req->master);
    query->with_values = in->values;
    return st;
}

/* ---- a page ---------------------------------------------------------------------- */

static det_status render_rows(struct request *req, const struct roster_page *page,
                              const struct field *fields, int64_t now_us)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(VIEW_MEMORY);

    for (size_t i = 0; i < page->count; i++) {
        struct roster_view view;
        struct shown shown;
        bool is_there;
        det_status st =
            store_roster_view(req->db, page->ids[i], &mem, &view, &is_there, req->err);

        if (st)
            return st;
        if (!is_there)
            continue; /* just deleted */
        shown = shown_of(&view, now_us);
        fields_write_object(&req->w, NULL, fields, &shown);
        arena_clear(&mem);
    }
    return DET_OK;
}

static void render_ids(struct json_writer *w, const struct roster_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        jw_object(w, NULL);
        jw_i64(w, "id", page->ids[i]);
        jw_end_object(w);
    }
}

static void render_values(struct json_writer *w, const char *key,
                          const struct roster_values *values)
{
    jw_array(w, key);
    for (size_t i = 0; i < values->count; i++) {
        jw_object(w, NULL);
        jw_str(w, "name", values->at[i].name);
        jw_i64(w, "count", values->at[i].count);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void render_counts(struct json_writer *w, const struct roster_page *page,
                          bool with_values)
{
    jw_i64(w, "offset", page->start);
    jw_i64(w, "total", page->total);
    jw_i64(w, "all", page->all);
    jw_object(w, "states");
    for (uint32_t i = 0; i < ROSTER_STATES; i++)
        if (page->states[i])
            jw_i64(w, roster_state_names[i], page->states[i]);
    jw_end_object(w);
    if (!with_values)
        return;
    jw_object(w, "values");
    render_values(w, "users", &page->users);
    render_values(w, "labels", &page->labels);
    render_values(w, "searchers", &page->searchers);
    render_values(w, "pools", &page->pools);
    jw_end_object(w);
}

det_status api_find_experiments(struct request *req)
{
    const struct find_experiments_query *in = req->query;
    const struct field *fields = NULL;
    struct roster_query query = {0};
    struct roster_page page = {0};
    bool has_rows;
    det_status st = query_from(req, in, &query);

    if (!st)
        st = columns_from(in->columns, &req->mem, &fields, req->err);
    if (st)
        return st;
    has_rows = fields[1].name; /* more than the id */
    if (has_rows && (query.limit < 0 || query.limit > PAGE_MOST))
        query.limit = PAGE_MOST;
    st = store_roster_find(req->master->store, req->db, &query, &req->mem, &page,
                           req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "experiments");
    if (has_rows)
        st = render_rows(req, &page, fields, query.now_us);
    else
        render_ids(&req->w, &page);
    jw_end_array(&req->w);
    render_counts(&req->w, &page, in->values);
    jw_end_object(&req->w);
    return st;
}

/* ---- one action on many --------------------------------------------------------- */

enum act_kind {
    ACT_EVENT,
    ACT_ARCHIVE,
    ACT_UNARCHIVE,
    ACT_DELETE,
    ACT_LABEL,
    ACT_UNLABEL
};

struct act {
    enum act_kind kind;
    enum experiment_action action; /* of ACT_EVENT */
    enum route_id same_as;         /* the call that does this to one experiment */
    const char *label;
    const int64_t *ids;
    size_t count;
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

    if (act->kind == ACT_DELETE)
        janitor_wake(req->master->janitor);
    jw_object(w, NULL);
    jw_array(w, "results");
    for (size_t i = 0; i < act->count; i++) {
        jw_object(w, NULL);
        jw_i64(w, "id", act->ids[i]);
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
    act->end = MIN(act->count, act->at + ACT_AT_ONCE);
}

/* ---- rows that the writer changes ------------------------------------------------ */

static det_status change_one(const struct act *act, int64_t id, struct db *db,
                             struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    const char *labels;

    switch (act->kind) {
    case ACT_ARCHIVE:
    case ACT_UNARCHIVE:
        return store_experiment_archive(db, id, act->kind == ACT_ARCHIVE, err);
    case ACT_DELETE:
        return store_experiment_set_deleting(db, id, err);
    case ACT_LABEL:
        return store_experiment_relabel(db, id, act->label, NULL, &mem, &labels, err);
    case ACT_UNLABEL:
        return store_experiment_relabel(db, id, NULL, act->label, &mem, &labels, err);
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
        det_status st = act->errors[i] ? DET_OK : change_one(act, act->ids[i], db, err);

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
            changes_note(req->master->changes, CHANGE_EXPERIMENT, act->ids[i],
                         act->ids[i]);
}

static det_status change_next(struct request *req)
{
    struct act *act = req->state;

    req->committed = note_changed;
    choose_chunk(act);
    return act->at < act->count ? request_write(req, write_changes, change_next)
                                : reply_results(req);
}

/* ---- actions of the heart --------------------------------------------------------- */

static det_status write_ends(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct act *act = req->state;
    det_status st = DET_OK;

    for (size_t i = 0; i < act->unmanaged_count && !st; i++)
        st = store_unmanaged_end(db, act->ids[act->unmanaged[i]],
                                 master_now_us(req->master), err);
    return st;
}

static void note_ended(struct request *req)
{
    struct act *act = req->state;

    act->done = act->end;
    for (size_t i = 0; i < act->unmanaged_count; i++) {
        int64_t id = act->ids[act->unmanaged[i]];

        changes_note(req->master->changes, CHANGE_EXPERIMENT, id, id);
    }
}

/* Decides whether one experiment is refused, or changed by the heart or the writer. */
static det_status plan_one(struct request *req, size_t place)
{
    struct act *act = req->state;
    int64_t id = act->ids[place];
    struct experiment_standing standing = {0};
    det_status st = store_experiment_standing(req->db, id, &standing, req->err);
    struct heart_item *item;

    if (!st && experiment_is_terminal(standing.state))
        st = experiments_answer_ended(id, standing.state, act->action, req->err);
    else if (!st && standing.is_unmanaged && act->action != ACTION_CANCEL &&
             act->action != ACTION_KILL)
        st = experiments_refuse_unmanaged(id, req->err);
    else if (!st && standing.is_unmanaged)
        act->unmanaged[act->unmanaged_count++] = place;
    else if (!st) {
        item = &act->items[act->item_count];
        *item = (struct heart_item){.event.kind = EVENT_EXPERIMENT_ACTION};
        item->event.action.experiment_id = id;
        item->event.action.action = act->action;
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
    if (act->at == act->count)
        return reply_results(req);
    return act->item_count
               ? request_events(req, act->items, act->item_count, after_events)
               : end_chunk(req);
}

/* ---- the call ------------------------------------------------------------------- */

static det_status kind_from(const char *name, struct act *act, struct err *err)
{
    static const struct {
        const char *name;
        enum act_kind kind;
        enum experiment_action action;
        enum route_id same_as;
    } known[] = {{"pause", ACT_EVENT, ACTION_PAUSE, ROUTE_ID_pause_experiment},
                 {"activate", ACT_EVENT, ACTION_ACTIVATE, ROUTE_ID_activate_experiment},
                 {"cancel", ACT_EVENT, ACTION_CANCEL, ROUTE_ID_cancel_experiment},
                 {"kill", ACT_EVENT, ACTION_KILL, ROUTE_ID_kill_experiment},
                 {"archive", ACT_ARCHIVE, 0, ROUTE_ID_archive_experiment},
                 {"unarchive", ACT_UNARCHIVE, 0, ROUTE_ID_unarchive_experiment},
                 {"delete", ACT_DELETE, 0, ROUTE_ID_delete_experiment},
                 {"label", ACT_LABEL, 0, ROUTE_ID_put_label},
                 {"unlabel", ACT_UNLABEL, 0, ROUTE_ID_delete_label}};

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (!strcmp(known[i].name, name)) {
            act->kind = known[i].kind;
            act->action = known[i].action;
            act->same_as = known[i].same_as;
            return DET_OK;
        }
    return err_set(err, DET_INVALID,
                   "the action '%.100s' is unknown; expected pause, activate, cancel, "
                   "kill, archive, unarchive, delete, label or unlabel",
                   name);
}

static det_status act_new(struct request *req,
                          const struct act_on_experiments_body *body,
                          struct act **ret_act)
{
    struct act *act = arena_new(&req->mem, struct act);
    size_t chunk = MIN(body->ids.count, (size_t)ACT_AT_ONCE) + 1;

    if (!act)
        return DET_NOMEM;
    act->label = body->label;
    act->ids = body->ids.at;
    act->count = body->ids.count;
    act->errors = arena_array(&req->mem, const char *, act->count + 1);
    act->items = arena_array(&req->mem, struct heart_item, chunk);
    act->places = arena_array(&req->mem, size_t, chunk);
    act->unmanaged = arena_array(&req->mem, size_t, chunk);
    req->state = act;
    *ret_act = act;
    return req->mem.has_failed ? DET_NOMEM : DET_OK;
}

/* What the caller may not do to one experiment is refused for that one. */
static det_status check_rights(struct request *req, struct act *act)
{
    access_names_nothing(req);
    for (size_t i = 0; i < act->count; i++) {
        det_status st =
            access_check_as(req, act->same_as, ROUTE_OBJECT_experiment, act->ids[i]);

        if (st == DET_FORBIDDEN || st == DET_NOT_FOUND)
            keep_error(req, i, st, req->err->text);
        else if (st)
            return st;
    }
    return DET_OK;
}

det_status api_act_on_experiments(struct request *req)
{
    const struct act_on_experiments_body *body = req->body;
    struct act *act;
    det_status st;

    if (body->ids.count > ACT_MOST)
        return err_set(req->err, DET_TOO_LARGE, "%zu ids at once; at most %d",
                       body->ids.count, ACT_MOST);
    st = act_new(req, body, &act);
    if (!st)
        st = kind_from(body->action, act, req->err);
    if (st)
        return st;
    if ((act->kind == ACT_LABEL || act->kind == ACT_UNLABEL) &&
        (!act->label || !*act->label))
        return err_set(req->err, DET_INVALID, "'%s' needs a label that is not empty",
                       body->action);
    st = check_rights(req, act);
    if (st)
        return st;
    return act->kind == ACT_EVENT ? act_next(req) : change_next(req);
}
