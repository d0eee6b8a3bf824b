/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/request/request.h"
#include "model/field.h"
#include "model/records.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/removal.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/metric/metric_rows.h"
#include "store/metric/metric_summary.h"
#include "store/page.h"
#include "store/people/user.h"

void render_user(struct json_writer *w, const char *key, const struct user *user)
{
    jw_object(w, key);
    jw_i64(w, "id", user->id);
    jw_str(w, "username", user->username);
    jw_bool(w, "admin", user->is_admin);
    jw_bool(w, "active", user->is_active);
    jw_bool(w, "remote", user->is_remote);
    jw_str(w, "displayName", user->display_name ? user->display_name : "");
    if (user->agent_user) {
        jw_object(w, "agentUserGroup");
        jw_i64(w, "agentUid", user->agent_uid);
        jw_i64(w, "agentGid", user->agent_gid);
        jw_str(w, "agentUser", user->agent_user);
        jw_str(w, "agentGroup", user->agent_group);
        jw_end_object(w);
    } else {
        jw_null(w, "agentUserGroup");
    }
    jw_time(w, "modifiedAt", user->modified_us);
    jw_time(w, "lastAuthAt", user->last_auth_us);
    jw_end_object(w);
}

/* ACTIVE is shown as the state of its allocations. */
static void render_state(struct json_writer *w, const char *stored, uint32_t live)
{
    char text[64];

    snprintf(text, sizeof(text), "STATE_%s",
             live != LIVE_NONE ? live_state_names[live] : stored);
    jw_str(w, "state", text);
}

static void render_experiment_texts(struct json_writer *w,
                                    const struct experiment_view *v)
{
    jw_i64(w, "id", v->row.id);
    jw_str(w, "jobId", v->row.job_id);
    jw_str(w, "name", v->name);
    jw_str(w, "description", v->description ? v->description : "");
    jw_str(w, "notes", v->notes ? v->notes : "");
    jw_raw(w, "labels", v->labels ? v->labels : "[]");
    jw_raw(w, "config", v->row.config);
    jw_str(w, "originalConfig", v->row.original_config);
    jw_str(w, "searcherType", v->searcher_type);
    jw_str(w, "searcherMetric", v->searcher_metric ? v->searcher_metric : "");
    jw_str(w, "username", v->username);
    jw_i64(w, "userId", v->row.owner_id);
    jw_str(w, "displayName", v->display_name ? v->display_name : "");
    jw_i64(w, "projectId", v->row.project_id);
    jw_i64(w, "projectOwnerId", v->project_owner_id);
    jw_str(w, "projectName", v->project_name);
    jw_i64(w, "workspaceId", v->workspace_id);
    jw_str(w, "workspaceName", v->workspace_name);
    jw_bool(w, "parentArchived", v->is_parent_archived);
    jw_str(w, "resourcePool", v->row.resource_pool);
}

/* A search counts ended trials as done, however they ended.  If the experiment ended before
 * its search, that progress is meaningless. */
static void render_progress(struct json_writer *w, const struct experiment *row)
{
    if (row->progress >= 1 &&
        (row->state == EXPERIMENT_CANCELED || row->state == EXPERIMENT_ERROR))
        jw_null(w, "progress");
    else
        jw_real(w, "progress", row->progress);
}

static void render_experiment_numbers(struct json_writer *w,
                                      const struct experiment_view *v, int64_t now_us)
{
    const struct work_span span = WORK_SPAN(&v->row);

    render_state(w, experiment_state_names[v->row.state], v->live_state);
    jw_time(w, "startTime", v->row.start_us);
    jw_time(w, "endTime", v->row.end_us);
    jw_time(w, "pausedSince", v->row.paused_since_us);
    jw_real(w, "pausedSeconds", (double)v->row.paused_us / 1e6);
    jw_i64(w, "duration", work_time_us(&span, now_us) / 1000000);
    jw_bool(w, "archived", v->is_archived);
    jw_i64(w, "numTrials", v->num_trials);
    render_progress(w, &v->row);
    jw_i64(w, "priority", v->row.priority);
    if (v->row.parent_id)
        jw_i64(w, "forkedFrom", v->row.parent_id);
    else
        jw_null(w, "forkedFrom");
    if (v->best_trial_id)
        jw_i64(w, "bestTrialId", v->best_trial_id);
    else
        jw_null(w, "bestTrialId");
    if (v->has_best_metric)
        jw_real(w, "bestTrialSearcherMetric", v->best_metric);
    else
        jw_null(w, "bestTrialSearcherMetric");
    jw_i64(w, "checkpointCount", v->checkpoint_count);
    jw_i64_str(w, "checkpointSize", v->checkpoint_size);
    jw_i64(w, "modelDefinitionSize", v->files_size);
    jw_bool(w, "unmanaged", v->is_unmanaged);
    if (v->external_id)
        jw_str(w, "externalExperimentId", v->external_id);
}

det_status render_experiment(struct request *req, const char *key,
                             const struct experiment_view *view, bool with_trials)
{
    struct json_writer *w = &req->w;
    struct field_i64s ids = {0};
    struct field_i64s forks = {0};
    det_status st = DET_OK;

    if (with_trials)
        st = store_experiment_trial_ids(req->db, view->row.id, &req->mem, &ids,
                                        req->err);
    if (with_trials && !st)
        st = store_experiment_forks(req->db, view->row.id, &req->mem, &forks, req->err);
    if (st)
        return st;
    jw_object(w, key);
    render_experiment_texts(w, view);
    render_experiment_numbers(w, view, master_now_us(req->master));
    jw_i64s(w, "trialIds", ids.at, ids.count);
    /* our addition: the other direction of forkedFrom */
    jw_i64s(w, "forks", forks.at, forks.count);
    jw_end_object(w);
    return DET_OK;
}

static void render_validation(struct json_writer *w, const char *key,
                              const char *metrics, int64_t steps, int64_t time_us)
{
    if (!metrics) {
        jw_null(w, key);
        return;
    }
    jw_object(w, key);
    jw_object(w, "metrics");
    jw_raw(w, "avgMetrics", metrics);
    jw_array(w, "batchMetrics");
    jw_end_array(w);
    jw_end_object(w);
    jw_i64(w, "numInputs", 0);
    jw_i64(w, "totalBatches", steps);
    jw_time(w, "endTime", time_us);
    jw_end_object(w);
}

/* "DIG-7": how people name a trial of a project. */
static void render_local_id(struct json_writer *w, const struct trial_view *v)
{
    char text[32];

    snprintf(text, sizeof(text), "%s-%" PRId64, v->project_key ? v->project_key : "",
             v->local_number);
    jw_str(w, "localId", v->project_key && v->local_number ? text : NULL);
}

static void render_trial_numbers(struct json_writer *w, const struct trial_view *v,
                                 int64_t now_us)
{
    jw_i64(w, "id", v->row.id);
    jw_i64(w, "experimentId", v->row.experiment_id);
    render_local_id(w, v);
    render_state(w, trial_state_names[v->row.state], v->live_state);
    jw_i64(w, "restarts", v->row.restarts);
    jw_raw(w, "hparams", v->row.hparams);
    jw_time(w, "startTime", v->row.start_us);
    jw_time(w, "endTime", v->row.end_us);
    jw_i64(w, "totalBatchesProcessed", v->total_batches);
    jw_str(w, "runnerState", v->runner_state ? v->runner_state : "");
    jw_str(w, "taskId", v->row.task_id);
    jw_array(w, "taskIds");
    jw_str(w, NULL, v->row.task_id);
    jw_end_array(w);
    jw_i64(w, "checkpointCount", v->checkpoint_count);
    jw_i64_str(w, "totalCheckpointSize", v->checkpoint_size);
    jw_real(w, "wallClockTime",
            (double)trial_on_slots_us(v->on_slots_us, now_us) / 1e6);
    jw_str(w, "exitReason", v->exit_reason); /* our addition */
    jw_str(w, "warmStartCheckpointUuid", v->row.warm_start ? v->row.warm_start : "");
    jw_str(w, "logPolicyMatched", v->log_policy_matched);
    jw_raw(w, "metadata", v->metadata);
    if (v->has_best)
        jw_real(w, "searcherMetricValue", v->best_metric);
    else
        jw_null(w, "searcherMetricValue");
}

void render_checkpoint_outline(struct json_writer *w, const char *key,
                               const struct checkpoint *row)
{
    char state[64];

    jw_object(w, key);
    jw_str(w, "uuid", row->uuid);
    snprintf(state, sizeof(state), "STATE_%s", checkpoint_wire_state(row->state));
    jw_str(w, "state", state);
    jw_i64(w, "totalBatches", row->steps_completed);
    jw_time(w, "endTime", row->report_us);
    jw_raw(w, "resources", row->resources);
    jw_raw(w, "metadata", row->metadata);
    jw_end_object(w);
}

det_status render_trial(struct request *req, const char *key,
                        const struct trial_view *view)
{
    CLEANUP(buf_done) struct buf summary = BUF_INIT;
    struct checkpoint best;
    struct json_writer *w = &req->w;
    bool has_best = false;
    det_status st = store_metric_summary(req->db, view->row.id, &summary, req->err);

    if (!st)
        st = store_checkpoint_best(req->db, view->row.id, &req->mem, &best, &has_best,
                                   req->err);
    if (st)
        return st;
    jw_object(w, key);
    render_trial_numbers(w, view, master_now_us(req->master));
    render_validation(w, "bestValidation", view->best_validation, view->best_steps,
                      view->best_validation_us);
    render_validation(w, "latestValidation", view->latest_validation,
                      view->latest_validation_steps, view->latest_validation_us);
    if (has_best)
        render_checkpoint_outline(w, "bestCheckpoint", &best);
    else
        jw_null(w, "bestCheckpoint");
    jw_raw(w, "summaryMetrics", summary.data);
    jw_end_object(w);
    return DET_OK;
}

static void render_training(struct json_writer *w, const struct checkpoint *row,
                            const struct experiment_view *experiment,
                            const struct trial_view *trial, const struct json *metrics)
{
    jw_object(w, "training");
    jw_i64(w, "trialId", row->trial_id);
    jw_i64(w, "experimentId", row->experiment_id);
    jw_raw(w, "experimentConfig", experiment->row.config);
    jw_raw(w, "hparams", trial->row.hparams);
    jw_object(w, "trainingMetrics");
    jw_raw(w, "avgMetrics", "{}");
    jw_array(w, "batchMetrics");
    jw_end_array(w);
    jw_end_object(w);
    jw_object(w, "validationMetrics");
    if (metrics)
        jw_json(w, "avgMetrics", metrics);
    else
        jw_raw(w, "avgMetrics", "{}");
    jw_array(w, "batchMetrics");
    jw_end_array(w);
    jw_end_object(w);
    if (row->has_searcher_metric)
        jw_real(w, "searcherMetric", row->searcher_metric);
    else
        jw_null(w, "searcherMetric");
    jw_end_object(w);
}

/* Our addition: that the checkpoint is being deleted, and why it is not gone yet. */
static det_status render_removal(struct request *req, const struct checkpoint *row,
                                 struct arena *mem)
{
    struct json_writer *w = &req->w;
    struct removal removal;
    bool found = false;
    det_status st =
        store_removal_get(req->db, row->uuid, mem, &removal, &found, req->err);

    if (st || !found)
        return st;
    jw_object(w, "deletion");
    jw_time(w, "since", removal.since_us);
    jw_str(w, "agent", removal.agent);
    jw_bool(w, "shared", removal.is_shared);
    jw_i64(w, "tries", removal.tries);
    jw_time(w, "nextTry", removal.next_us);
    jw_str(w, "error", removal.error);
    jw_end_object(w);
    return DET_OK;
}

det_status render_checkpoint(struct request *req, const char *key,
                             const struct checkpoint *row)
{
    /* Its own memory: a list renders thousands, one after the other. */
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct json_writer *w = &req->w;
    struct experiment_view experiment;
    struct trial_view trial;
    struct json *metrics;
    char state[64];
    det_status st = store_trial_get(req->db, row->trial_id, &mem, &trial, req->err);

    if (!st)
        st = store_experiment_get(req->db, row->experiment_id, &mem, &experiment,
                                  req->err);
    if (!st)
        st = store_metric_at(req->db, row->trial_id, "validation", row->steps_completed,
                             &mem, &metrics, req->err);
    if (st)
        return st;
    jw_object(w, key);
    jw_str(w, "uuid", row->uuid);
    jw_str(w, "taskId", row->task_id);
    jw_str(w, "allocationId", row->allocation_id);
    jw_time(w, "reportTime", row->report_us);
    jw_raw(w, "resources", row->resources);
    jw_raw(w, "metadata", row->metadata);
    snprintf(state, sizeof(state), "STATE_%s", checkpoint_wire_state(row->state));
    jw_str(w, "state", state);
    jw_i64(w, "storageId", row->storage_id);
    render_training(w, row, &experiment, &trial, metrics);
    jw_bool(w, "held", row->is_held);
    jw_bool(w, "archived", row->is_archived);
    if (row->state == CHECKPOINT_DELETING)
        st = render_removal(req, row, &mem);
    jw_end_object(w);
    return st;
}

void render_allocation(struct json_writer *w, const char *key,
                       const struct allocation *row)
{
    char state[64];

    snprintf(state, sizeof(state), "STATE_%s",
             row->state <= ALLOCATION_ASSIGNED ? "QUEUED"
                                               : allocation_state_names[row->state]);
    jw_object(w, key);
    jw_str(w, "allocationId", row->name);
    jw_str(w, "taskId", row->task_id);
    jw_str(w, "state", state);
    jw_bool(w, "isReady", row->is_ready);
    jw_time(w, "startTime", row->start_us);
    jw_time(w, "endTime", row->end_us);
    jw_i64(w, "slots", row->slots);
    jw_str(w, "exitReason", row->exit_reason);
    if (row->end_us)
        jw_i64(w, "statusCode", row->exit_code);
    else
        jw_null(w, "statusCode");
    jw_end_object(w);
}

const char *render_policy(const struct request *req, const char *pool)
{
    const struct core_pool *it = core_config_pool(&req->master->core_config, pool);

    return it ? it->config.policy : "priority";
}

void render_jobs_ahead(struct request *req, const char *pool, int64_t ahead)
{
    bool is_ordered = !strcmp(render_policy(req, pool), "priority");

    jw_i64(&req->w, "jobsAhead", is_ordered ? ahead : -1);
}

void render_page(struct json_writer *w, const struct page *page)
{
    jw_object(w, "pagination");
    jw_i64(w, "offset", page->offset);
    jw_i64(w, "limit", page->limit);
    jw_i64(w, "startIndex", page->start);
    jw_i64(w, "endIndex", page->end);
    jw_i64(w, "total", page->total);
    jw_end_object(w);
}
