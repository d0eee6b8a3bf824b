/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_table.c - the table of experiments: a page of small rows, found in memory
 * (store/roster/roster.h). */
#include "master/api/pages/experiment_table.h"

#include <string.h>

#include "master/api/api.h"
#include "master/request/access.h"
#include "model/table_query.h"
#include "store/experiment/experiment.h"
#include "store/roster/roster_group.h"
#include "store/roster/roster_view.h"
#include "store/space/project.h"
#include "wire/queries.h"

enum {
    PAGE_LIMIT = 50,
    PAGE_MOST = 10000, /* rows with more than their id */
    VIEW_MEMORY = 1 << 20,
    CELLS_MOST = 100, /* hyperparameters and metrics of a page */
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
    FIELD(F64, shown, duration, "seconds, until now or its end, without pauses"),
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
    const struct work_span span = WORK_SPAN(view);

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
        .duration = (double)work_time_us(&span, now_us) / 1e6,
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

static bool is_cell_name(const char *name)
{
    return !strncmp(name, "hp.", 3) || !strncmp(name, "validation.", 11);
}

/* The fields named in `names`, separated by commas, and always the id.  NULL: all.
 * Hyperparameters and metrics go to `cells`. */
static det_status columns_from(const char *names, struct arena *mem,
                               const struct field **ret_fields,
                               struct field_strs *cells, struct err *err)
{
    struct field *fields = arena_array(mem, struct field, ARRAY_LEN(shown_fields));
    bool is_wanted[ARRAY_LEN(shown_fields)] = {true};
    size_t count = 0;

    cells->at = arena_array(mem, const char *, CELLS_MOST);
    if (!fields || !cells->at)
        return DET_NOMEM;
    for (const char *at = names; at && *at; at += strspn(at, ",")) {
        char *name = arena_strndup(mem, at, strcspn(at, ","));
        const struct field *field = name ? field_find(shown_fields, name) : NULL;

        if (!name)
            return DET_NOMEM;
        at += strlen(name);
        if (field)
            is_wanted[field - shown_fields] = true;
        else if (!is_cell_name(name))
            return err_set(err, DET_INVALID, "experiments have no column '%.100s'",
                           name);
        else if (cells->count >= CELLS_MOST)
            return err_set(err, DET_INVALID,
                           "columns names more than %d hyperparameters and metrics",
                           CELLS_MOST);
        else
            cells->at[cells->count++] = name;
    }
    for (size_t i = 0; shown_fields[i].name; i++)
        if (!names || is_wanted[i])
            fields[count++] = shown_fields[i];
    *ret_fields = fields;
    return DET_OK;
}

/* A name that is no fixed order is a hyperparameter or metric. */
static void sort_from(const char *text, struct roster_query *query)
{
    const char *name = text && *text ? text : "-id";

    query->is_descending = *name == '-';
    name += *name == '-';
    for (uint32_t i = 0; roster_sort_names[i]; i++)
        if (!strcmp(roster_sort_names[i], name)) {
            query->sort = (enum roster_sort)i;
            return;
        }
    query->sort_column = name;
}

static det_status filter_from(struct request *req, const char *text,
                              struct roster_query *query)
{
    if (!text || !*text)
        return DET_OK;
    query->filter = arena_new(&req->mem, struct table_query);
    if (!query->filter)
        return err_default(req->err, DET_NOMEM);
    return table_query_parse(text, &req->mem, query->filter, req->err);
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
static bool is_wanted_project(const struct experiment_columns_query *in,
                              enum roster_archived archived,
                              const struct project_place *project)
{
    bool is_asked_for = in->project_ids.count || in->workspace_id;

    if (in->workspace_id && in->workspace_id != project->workspace_id)
        return false;
    if (!is_asked_for && archived == ROSTER_NOT_ARCHIVED && project->is_archived)
        return false;
    return is_listed(&in->project_ids, project->id);
}

det_status table_projects(struct request *req,
                          const struct experiment_columns_query *in,
                          enum roster_archived archived,
                          const struct field_i64s **ret_projects)
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
            is_wanted_project(in, archived, &projects[i]))
            ids->at[ids->count++] = projects[i].id;
    *ret_projects = ids && ids->count < count ? ids : NULL; /* all: no filter */
    return st;
}

static det_status query_from(struct request *req,
                             const struct find_experiments_query *in,
                             struct roster_query *ret_query)
{
    const struct experiment_columns_query where = {in->project_ids, in->workspace_id};
    struct roster_query *query = ret_query;
    det_status st = archived_from(in->archived, &query->archived, req->err);

    sort_from(in->sort, query);
    if (!st)
        st = filter_from(req, in->query, query);
    if (!st)
        st = roster_states_from(&in->states, &req->mem, &query->states, req->err);
    if (!st)
        st = table_projects(req, &where, query->archived, &query->projects);
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

static void render_cells(struct json_writer *w, const struct field_strs *names,
                         const struct query_cell *cells)
{
    jw_object(w, "cells");
    for (size_t i = 0; i < names->count; i++)
        table_render_cell(w, names->at[i], &cells[i]);
    jw_end_object(w);
}

static det_status render_rows(struct request *req, const struct roster_page *page,
                              const struct field *fields,
                              const struct roster_query *query)
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
        shown = shown_of(&view, query->now_us);
        jw_object(&req->w, NULL);
        fields_write(&req->w, fields, &shown);
        if (query->cells.count)
            render_cells(&req->w, &query->cells, &page->cells[i * query->cells.count]);
        jw_end_object(&req->w);
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

    if (!st && in->by.count)
        return table_render_groups(req, &query);
    if (!st && in->metrics.count)
        return err_set(req->err, DET_INVALID,
                       "metrics needs by: single experiments have no mean");
    if (!st)
        st = columns_from(in->columns, &req->mem, &fields, &query.cells, req->err);
    if (st)
        return st;
    has_rows = fields[1].name || query.cells.count; /* more than the id */
    if (has_rows && (query.limit < 0 || query.limit > PAGE_MOST))
        query.limit = PAGE_MOST;
    st = store_roster_find(req->master->store, req->db, &query, &req->mem, &page,
                           req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "experiments");
    if (has_rows)
        st = render_rows(req, &page, fields, &query);
    else
        render_ids(&req->w, &page);
    jw_end_array(&req->w);
    render_counts(&req->w, &page, in->values);
    jw_end_object(&req->w);
    return st;
}
