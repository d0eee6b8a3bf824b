/* SPDX-License-Identifier: Apache-2.0 */
/* experiments.c - reads, changes, deletes and acts on experiments. */
#include "master/api/experiments/experiments.h"

#include <inttypes.h>
#include <string.h>

#include "config/config_load.h"
#include "config/config_report.h"
#include "config/metric/metric_goal.h"
#include "config/metric/metric_missing.h"
#include "data/json/json.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/background/collector.h"
#include "master/background/janitor.h"
#include "master/changes/change_notes.h"
#include "master/request/access.h"
#include "model/experiment_text.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_delete.h"
#include "store/experiment/experiment_edit.h"
#include "store/experiment/trial_view.h"
#include "store/experiment/unmanaged.h"
#include "store/metric/metric_names.h"
#include "store/roster/roster_share.h"
#include "store/space/project.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "store/task/queue.h"
#include "wire/bodies.h"
#include "wire/queries.h"

/* ---- reading --------------------------------------------------------------------- */

static void fill_query(struct experiment_query *query,
                       const struct experiments_query *in)
{
    query->name = in->name;
    query->description = in->description;
    query->labels = in->labels;
    query->has_archived = in->has_archived;
    query->archived = in->archived;
    query->users = in->users;
    query->user_ids = in->user_ids;
    query->ids = in->incl;
    query->not_ids = in->not_in;
    query->id_gt = in->gt;
    query->id_gte = in->gte;
    query->id_lt = in->lt;
    query->id_lte = in->lte;
    query->project_id = in->project_id;
    query->hides_archived_spaces = in->has_archived && !in->archived && !in->project_id;
    query->without_config = in->exclude_config;
    query->sort = in->sort_by;
    query->is_descending = listing_is_descending(in->order_by);
    query->page.offset = in->offset;
    query->page.limit = in->limit;
}

det_status api_list_experiments(struct request *req)
{
    const struct experiments_query *in = req->query;
    struct experiment_query query = {0};
    struct project_view project;
    struct experiment_view *rows;
    uint32_t count = 0;
    det_status st = listing_live_states(&in->states, experiment_state_names,
                                        &query.states, req->err);

    fill_query(&query, in);
    if (!st && in->project_id)
        st = store_project_get(req->db, in->project_id, &req->mem, &project, req->err);
    if (!st)
        st = access_scope(req, &query.scope);
    if (!st)
        st = store_experiment_list(req->db, &query, &req->mem, &rows, &count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "experiments");
    for (uint32_t i = 0; !st && i < count; i++)
        st = render_experiment(req, NULL, &rows[i], false);
    jw_end_array(&req->w);
    render_page(&req->w, &query.page);
    jw_end_object(&req->w);
    return st;
}

/* The queue's view of a live experiment. */
static det_status render_job_summary(struct request *req,
                                     const struct experiment_view *view)
{
    struct json_writer *w = &req->w;
    struct queue_view *jobs;
    struct allocation delayed;
    uint32_t count = 0;
    int64_t ahead = 0;
    bool is_delayed = false;
    bool is_scheduled = view->live_state != LIVE_QUEUED;
    det_status st;

    if (view->live_state == LIVE_NONE) {
        jw_null(w, "jobSummary");
        return DET_OK;
    }
    st = store_queue_list(req->db, &req->mem, &jobs, &count, req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (jobs[i].experiment_id == view->row.id) {
            ahead = jobs[i].ahead;
            is_scheduled = jobs[i].is_scheduled;
        }
    if (!st)
        st = store_allocation_delayed(req->db, view->row.id, &req->mem, &delayed,
                                      &is_delayed, req->err);
    jw_object(w, "jobSummary");
    jw_str(w, "state", is_scheduled ? "STATE_SCHEDULED" : "STATE_QUEUED");
    render_jobs_ahead(req, view->row.resource_pool, ahead);
    if (is_delayed) {
        jw_time(w, "retryTime", delayed.retry_us);
        jw_str(w, "waitReason", delayed.wait_reason);
    }
    jw_end_object(w);
    return st;
}

/* What 'det experiment create' printed about the metric's goal.  The complete
 * configuration does not tell whether the user said something, so the submitted one is
 * read. */
static det_status find_goal_doubt(struct request *req,
                                  const struct experiment_view *view,
                                  const char **ret_doubt)
{
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    const char *metric = view->searcher_metric;
    const char *written = view->row.original_config;
    struct json *tree = NULL;
    det_status st;

    if (!metric || !written || !metric_goal_is_larger(metric))
        return DET_OK;
    st = config_parse(written, strlen(written), &report, &tree, NULL);
    if (st == DET_NOMEM)
        return err_default(req->err, st);
    if (!st)
        *ret_doubt = metric_goal_doubt(json_get(tree, "searcher"), &req->mem);
    return DET_OK;
}

/* What the trial's log says about a validation without the metric.  As soon as one has
 * it, there is a best trial and no doubt. */
static det_status find_missing_doubt(struct request *req,
                                     const struct experiment_view *view,
                                     const char **ret_doubt)
{
    const char **names = NULL;
    uint32_t count = 0;
    int64_t trial_id = 0;
    struct metric_list list;
    det_status st = DET_OK;

    if (!view->searcher_metric || view->has_best_metric)
        return DET_OK;
    st = store_validation_names(req->db, view->row.id, &req->mem, &trial_id, &names,
                                &count, req->err);
    if (st || !trial_id)
        return st;
    list = (struct metric_list){names, count};
    *ret_doubt =
        metric_missing_doubt(view->searcher_metric, trial_id, &list, &req->mem);
    if (*ret_doubt && experiment_is_terminal(view->row.state))
        *ret_doubt =
            arena_printf(&req->mem, "no trial could be compared: %s", *ret_doubt);
    return req->mem.has_failed ? err_default(req->err, DET_NOMEM) : DET_OK;
}

static det_status render_metric_doubt(struct request *req,
                                      const struct experiment_view *view)
{
    const char *missing = NULL;
    const char *goal = NULL;
    det_status st = find_missing_doubt(req, view, &missing);

    if (!st && !missing)
        st = find_goal_doubt(req, view, &goal);
    if (missing || goal)
        jw_str(&req->w, "metricDoubt", missing ? missing : goal);
    if (missing)
        jw_bool(&req->w, "metricIsMissing", true);
    return st;
}

/* startTime is when the experiment was submitted; until its first run gets slots, it has
 * not begun.  An unmanaged experiment waits for nothing. */
static det_status render_begin(struct request *req, const struct experiment_view *view)
{
    int64_t begin_us = view->row.start_us;
    det_status st = DET_OK;

    if (!view->is_unmanaged)
        st = store_allocation_first_us(req->db, view->row.id, &begin_us, req->err);
    if (!st)
        jw_time(&req->w, "beginTime", begin_us);
    return st;
}

static det_status reply_experiment(struct request *req, int64_t id)
{
    struct experiment_view view;
    det_status st = store_experiment_get(req->db, id, &req->mem, &view, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_experiment(req, "experiment", &view, true);
    jw_raw(&req->w, "config", view.row.config);
    if (!st)
        st = render_metric_doubt(req, &view);
    if (!st)
        st = render_begin(req, &view);
    if (!st)
        st = render_job_summary(req, &view);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_experiment(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : reply_experiment(req, id);
}

det_status api_get_model_def(struct request *req)
{
    CLEANUP(buf_done) struct buf tgz = request_buf(req, 0);
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_files(req->db, id, &tgz, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_base64(&req->w, "b64Tgz", tgz.data, tgz.len);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_best_metric(struct request *req)
{
    int64_t id;
    double metric;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_best_metric(req->db, id, &metric, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_real(&req->w, "metric", metric);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_metric_names(struct request *req)
{
    struct experiment_view view;
    struct json *names;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (!st)
        st = store_metric_names(req->db, id, &req->mem, &names, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_json(&req->w, "metricNames", names);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- actions -------------------------------------------------------------------- */

/* The heart does not know ended experiments; these are the reference's statuses. */
det_status experiments_answer_ended(int64_t id, enum experiment_state state,
                                    enum experiment_action action, struct err *err)
{
    switch (action) {
    case ACTION_CANCEL:
    case ACTION_KILL:
        return DET_OK;
    case ACTION_PAUSE:
        return err_set(err, DET_STATE,
                       "experiment %" PRId64
                       " is %s already: there is nothing to pause",
                       id, experiment_state_names[state]);
    case ACTION_ACTIVATE:
        break;
    }
    return err_set(err, DET_NOT_FOUND,
                   "experiment %" PRId64 " is %s already: continue it, or fork it, "
                   "instead of activating it",
                   id, experiment_state_names[state]);
}

det_status experiments_refuse_unmanaged(int64_t id, struct err *err)
{
    return err_set(err, DET_STATE,
                   "experiment %" PRId64
                   " is unmanaged: this master does not run it, so "
                   "it can only be canceled or killed",
                   id);
}

static det_status write_end(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : store_unmanaged_end(db, id, master_now_us(req->master), err);
}

/* Its trials have ended with it. */
static det_status note_ended(struct request *req)
{
    change_notes_path_experiment(req);
    change_notes_path_trials(req);
    return DET_OK;
}

/* An unmanaged experiment can only be ended: its program may be gone. */
static det_status act_on_unmanaged(struct request *req, int64_t id,
                                   enum experiment_action action)
{
    if (action == ACTION_CANCEL || action == ACTION_KILL)
        return request_write(req, write_end, note_ended);
    return experiments_refuse_unmanaged(id, req->err);
}

static det_status act_on_experiment(struct request *req, enum experiment_action action)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_ACTION};
    struct experiment_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (st)
        return st;
    if (experiment_is_terminal(view.row.state))
        return experiments_answer_ended(id, view.row.state, action, req->err);
    if (view.is_unmanaged)
        return act_on_unmanaged(req, id, action);
    event.action.experiment_id = id;
    event.action.action = action;
    return request_event(req, &event, NULL);
}

det_status api_activate_experiment(struct request *req)
{
    return act_on_experiment(req, ACTION_ACTIVATE);
}

det_status api_pause_experiment(struct request *req)
{
    return act_on_experiment(req, ACTION_PAUSE);
}

det_status api_cancel_experiment(struct request *req)
{
    return act_on_experiment(req, ACTION_CANCEL);
}

det_status api_kill_experiment(struct request *req)
{
    return act_on_experiment(req, ACTION_KILL);
}

/* ---- changing -------------------------------------------------------------------- */

struct patch_state {
    int64_t id;
    struct experiment_patch patch;
    bool is_archived;
    const char *add_label;
    const char *drop_label;
    const char *labels; /* the result */
};

static det_status patch_state_new(struct request *req, struct patch_state **ret_state)
{
    struct patch_state *state = arena_new(&req->mem, struct patch_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = request_id(req, 0, &state->id);
    req->committed = change_notes_path_experiment;
    state->patch.save_experiment_best = -1;
    state->patch.save_trial_best = -1;
    state->patch.save_trial_latest = -1;
    req->state = state;
    *ret_state = state;
    return st;
}

static det_status write_archived(struct write_job *job, struct db *db, struct err *err)
{
    struct patch_state *state = REQUEST_OF(job)->state;

    return store_experiment_archive(db, state->id, state->is_archived, err);
}

static det_status set_archived(struct request *req, bool is_archived)
{
    struct patch_state *state;
    det_status st = patch_state_new(req, &state);

    if (st)
        return st;
    state->is_archived = is_archived;
    return request_write(req, write_archived, NULL);
}

det_status api_archive_experiment(struct request *req)
{
    return set_archived(req, true);
}

det_status api_unarchive_experiment(struct request *req)
{
    return set_archived(req, false);
}

static det_status write_patch(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct patch_state *state = req->state;

    return store_experiment_patch(db, state->id, &state->patch, &req->mem, err);
}

static det_status reply_patched(struct request *req)
{
    struct patch_state *state = req->state;

    return reply_experiment(req, state->id);
}

static det_status patch_resources(struct request *req)
{
    const struct patch_experiment_body *body = req->body;
    struct patch_state *state = req->state;
    const struct patch_resources *in = &body->resources;
    struct core_event event = {.kind = EVENT_EXPERIMENT_RESOURCES};

    event.resources.experiment_id = state->id;
    event.resources.priority = in->has_priority ? in->priority : 0;
    event.resources.weight = in->has_weight ? in->weight : 0;
    event.resources.max_slots = in->has_max_slots ? in->max_slots : -2;
    return request_event(req, &event, reply_patched);
}

static bool has_resources(const struct patch_resources *in)
{
    return in->has_priority || in->has_weight || in->has_max_slots;
}

static det_status after_patch(struct request *req)
{
    const struct patch_experiment_body *body = req->body;
    struct patch_state *state = req->state;

    if (state->patch.has_gc)
        collector_wake(req->master->collector);
    return has_resources(&body->resources) ? patch_resources(req) : reply_patched(req);
}

/* Checks before anything is written: a refusal by the heart must not leave half a patch. */
static det_status check_resources(struct request *req, int64_t id,
                                  const struct patch_resources *in)
{
    struct experiment_view view;
    det_status st;

    if (in->has_priority && (in->priority < 1 || in->priority > 99))
        return err_set(req->err, DET_INVALID,
                       "priority is %" PRId64 "; expected 1 to 99", in->priority);
    if (in->has_weight && !(in->weight > 0))
        return err_set(req->err, DET_INVALID, "weight must be above 0");
    if (in->has_max_slots && in->max_slots < -1)
        return err_set(req->err, DET_INVALID,
                       "maxSlots is %" PRId64 "; expected 0 or more, or -1 for no cap",
                       in->max_slots);
    st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (!st && experiment_is_terminal(view.row.state))
        return err_set(req->err, DET_NOT_FOUND,
                       "experiment '%" PRId64 "' has no resources: it is %s already",
                       id, experiment_state_names[view.row.state]);
    return st;
}

static det_status check_labels(const struct json *labels, struct err *err)
{
    if (labels->kind != JSON_ARRAY)
        return err_set(err, DET_INVALID, "labels is %s; expected a list of strings",
                       json_kind_name(labels->kind));
    json_each(label, labels)
        if (label->kind != JSON_STRING || !*label->string.text)
            return err_set(err, DET_INVALID,
                           "a label must be a string that is not empty");
    return experiment_labels_check(labels, err);
}

static det_status check_texts(const struct patch_experiment_body *body, struct err *err)
{
    det_status st =
        experiment_text_check("the name", body->name, EXPERIMENT_NAME_MOST, err);

    if (!st)
        st = experiment_text_check("the description", body->description,
                                   EXPERIMENT_DESCRIPTION_MOST, err);
    if (!st)
        st = experiment_text_check("the text of the notes", body->notes,
                                   EXPERIMENT_NOTES_MOST, err);
    return st;
}

/* Short ones pass: they may shorten what is there. */
static det_status check_share(struct request *req,
                              const struct patch_experiment_body *body)
{
    enum { SHORT_TEXT = 1024 };
    size_t len = body->description ? strlen(body->description) : 0;

    json_each(label, body->labels)
        len += label->string.len;
    return len <= SHORT_TEXT ? DET_OK
                             : store_roster_check_share(req->master->store, req->db,
                                                        req->caller.user_id, req->err);
}

static det_status check_patch(struct request *req, int64_t id,
                              const struct patch_experiment_body *body)
{
    det_status st = check_texts(body, req->err);

    if (st)
        return st;
    if (body->name && !body->name[strspn(body->name, " \t\r\n")])
        return err_set(req->err, DET_INVALID, "the name must not be empty");
    if (body->labels)
        st = check_labels(body->labels, req->err);
    if (!st)
        st = check_share(req, body);
    if (!st && has_resources(&body->resources))
        st = check_resources(req, id, &body->resources);
    return st;
}

det_status api_patch_experiment(struct request *req)
{
    const struct patch_experiment_body *body = req->body;
    const struct patch_storage *gc = &body->checkpoint_storage;
    struct patch_state *state;
    det_status st = patch_state_new(req, &state);

    if (!st)
        st = check_patch(req, state->id, body);
    if (st)
        return st;
    state->patch.name = body->name;
    state->patch.description = body->description;
    state->patch.notes = body->notes;
    state->patch.notes_before = body->notes_before;
    if (body->labels)
        state->patch.labels = json_text(&req->mem, body->labels);
    if (req->mem.has_failed)
        return DET_NOMEM;
    state->patch.has_gc = gc->has_save_experiment_best || gc->has_save_trial_best ||
                          gc->has_save_trial_latest;
    if (gc->has_save_experiment_best)
        state->patch.save_experiment_best = gc->save_experiment_best;
    if (gc->has_save_trial_best)
        state->patch.save_trial_best = gc->save_trial_best;
    if (gc->has_save_trial_latest)
        state->patch.save_trial_latest = gc->save_trial_latest;
    return request_write(req, write_patch, after_patch);
}

static det_status change_labels(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct patch_state *state = req->state;

    return store_experiment_relabel(db, state->id, state->add_label, state->drop_label,
                                    &req->mem, &state->labels, err);
}

static det_status reply_labels(struct request *req)
{
    struct patch_state *state = req->state;

    jw_object(&req->w, NULL);
    jw_raw(&req->w, "labels", state->labels);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_put_label(struct request *req)
{
    struct patch_state *state;
    det_status st = patch_state_new(req, &state);

    if (!st)
        st = store_roster_check_share(req->master->store, req->db, req->caller.user_id,
                                      req->err);
    if (st)
        return st;
    state->add_label = req->arg[1];
    return request_write(req, change_labels, reply_labels);
}

det_status api_delete_label(struct request *req)
{
    struct patch_state *state;
    det_status st = patch_state_new(req, &state);

    if (st)
        return st;
    state->drop_label = req->arg[1];
    return request_write(req, change_labels, reply_labels);
}

det_status experiments_check_retention(int64_t days, struct err *err)
{
    if (days < -1 || days > 32767)
        return err_set(err, DET_INVALID,
                       "numDays is %" PRId64 "; expected -1 (for ever) to 32767", days);
    return DET_OK;
}

static det_status set_retention(struct request *req, struct patch_state *state)
{
    const struct retain_logs_body *body = req->body;
    det_status st = experiments_check_retention(body->num_days, req->err);

    if (st)
        return st;
    state->patch.has_log_retention = true;
    state->patch.log_retention_days = body->num_days;
    return request_write(req, write_patch, NULL);
}

det_status api_retain_experiment_logs(struct request *req)
{
    struct patch_state *state;
    det_status st = patch_state_new(req, &state);

    return st ? st : set_retention(req, state);
}

/* All trials of an experiment share one retention. */
det_status api_retain_trial_logs(struct request *req)
{
    struct patch_state *state;
    struct trial_view trial;
    det_status st = patch_state_new(req, &state);

    if (!st)
        st = store_trial_get(req->db, state->id, &req->mem, &trial, req->err);
    if (st)
        return st;
    state->id = trial.row.experiment_id;
    req->committed = NULL; /* the path names a trial, and no page shows the retention */
    return set_retention(req, state);
}

/* ---- deleting -------------------------------------------------------------------- */

static det_status mark_deleting(struct write_job *job, struct db *db, struct err *err)
{
    struct patch_state *state = REQUEST_OF(job)->state;

    return store_experiment_set_deleting(db, state->id, err);
}

static det_status wake_janitor(struct request *req)
{
    janitor_wake(req->master->janitor);
    return DET_OK;
}

det_status api_delete_experiment(struct request *req)
{
    struct patch_state *state;
    det_status st = patch_state_new(req, &state);

    return st ? st : request_write(req, mark_deleting, wake_janitor);
}
