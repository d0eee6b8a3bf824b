/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - tasks that run or wait, and one task by its id. */
#include "master/api/tasks/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/text.h"
#include "master/api/api.h"
#include "master/api/render.h"
#include "master/request/access.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/experiment/unmanaged.h"
#include "store/task/allocation.h"
#include "store/task/job.h"
#include "store/task/proxy.h"
#include "store/task/queue.h"

/* The rows of live tasks, read once for all summaries. */
struct live {
    struct allocation *allocations;
    struct share *shares; /* ordered by allocation, like the allocations */
    struct queue_view *jobs;
    uint32_t allocation_count, share_count, job_count;
};

static det_status read_live(struct request *req, struct live *ret_live)
{
    struct live live = {0};
    det_status st = store_allocations_live(req->db, &req->mem, &live.allocations,
                                           &live.allocation_count, req->err);

    if (!st)
        st = store_shares_live(req->db, &req->mem, &live.shares, &live.share_count,
                               req->err);
    if (!st)
        st =
            store_queue_list(req->db, &req->mem, &live.jobs, &live.job_count, req->err);
    if (!st)
        *ret_live = live;
    return st;
}

/* Renders the shares of one allocation, which start at or after *at; moves *at on. */
static det_status render_resources(struct request *req, const struct allocation *row,
                                   const struct live *live, uint32_t *at)
{
    struct json_writer *w = &req->w;
    det_status st = DET_OK;

    while (*at < live->share_count && live->shares[*at].allocation_id < row->id)
        (*at)++;
    jw_array(w, "resources");
    for (; *at < live->share_count && live->shares[*at].allocation_id == row->id;
         (*at)++) {
        const struct share *share = &live->shares[*at];
        struct json *slots;

        st =
            json_parse(share->slots, strlen(share->slots), &req->mem, &slots, req->err);
        if (st)
            break;
        jw_object(w, NULL);
        jw_str(w, "resourcesId", share->container_id);
        jw_str(w, "resourcesType", "docker-container");
        jw_str(w, "allocationId", row->name);
        jw_object(w, "agentDevices");
        jw_object(w, share->agent);
        jw_array(w, "devices");
        json_each(slot, slots) {
            jw_object(w, NULL);
            jw_i64(w, "id", json_i64(slot, 0));
            jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
        jw_end_object(w);
        jw_str(w, "containerId", share->container_id);
        jw_null(w, "started");
        jw_null(w, "exited");
        jw_end_object(w);
    }
    jw_end_array(w);
    return st;
}

/* The queue entry of an allocation's experiment or job; NULL: it has just ended. */
static const struct queue_view *queue_of(const struct live *live,
                                         const struct allocation *row)
{
    for (uint32_t i = 0; i < live->job_count; i++)
        if (live->jobs[i].experiment_id == row->experiment_id &&
            live->jobs[i].job == row->job_id)
            return &live->jobs[i];
    return NULL;
}

static const char *title_of(struct request *req, const struct allocation *row,
                            const struct queue_view *of)
{
    if (row->job_id)
        return of ? of->name : "";
    return arena_printf(&req->mem, "Trial %" PRId64 " (Experiment %" PRId64 ")",
                        row->trial_id, row->experiment_id);
}

static det_status render_summary(struct request *req, const struct allocation *row,
                                 const struct live *live, uint32_t *at)
{
    struct json_writer *w = &req->w;
    const struct queue_view *of = queue_of(live, row);
    det_status st;

    jw_object(w, row->name);
    jw_str(w, "taskId", row->task_id);
    jw_str(w, "allocationId", row->name);
    jw_str(w, "name", title_of(req, row, of));
    jw_time(w, "registeredTime", row->request_us);
    jw_str(w, "resourcePool", row->resource_pool);
    jw_i64(w, "slotsNeeded", row->slots);
    jw_str(w, "schedulerType", render_policy(req, row->resource_pool));
    jw_i64(w, "priority", of ? of->priority : 0);
    jw_str(w, "state", allocation_state_names[row->state]);
    jw_array(w, "proxyPorts");
    jw_end_array(w);
    st = render_resources(req, row, live, at);
    jw_end_object(w);
    return st;
}

det_status api_list_tasks(struct request *req)
{
    struct live live = {0};
    uint32_t at = 0;
    det_status st = read_live(req, &live);

    jw_object(&req->w, NULL);
    jw_object(&req->w, "allocationIdToSummary");
    access_names_nothing(req);
    for (uint32_t i = 0; !st && i < live.allocation_count; i++)
        if (access_shows(req, ROUTE_OBJECT_task, live.allocations[i].task_id))
            st = render_summary(req, &live.allocations[i], &live, &at);
    jw_end_object(&req->w);
    jw_end_object(&req->w);
    return st;
}

/* ---- one task ----------------------------------------------------------------- */

static det_status refuse_unknown(struct request *req)
{
    return err_set(req->err, DET_NOT_FOUND, "task '%s' not found", req->arg[0]);
}

static void render_runs(struct json_writer *w, const struct allocation *rows,
                        uint32_t count)
{
    jw_array(w, "allocations");
    for (uint32_t i = 0; i < count; i++)
        render_allocation(w, NULL, &rows[i]);
    jw_end_array(w);
}

static det_status render_trial_task(struct request *req, int64_t trial_id,
                                    const struct allocation *rows, uint32_t count)
{
    struct json_writer *w = &req->w;
    struct trial_view trial;
    det_status st = store_trial_get(req->db, trial_id, &req->mem, &trial, req->err);

    if (st)
        return st;
    jw_object(w, "task");
    jw_str(w, "taskId", req->arg[0]);
    jw_str(w, "taskType", "TASK_TYPE_TRIAL");
    jw_time(w, "startTime", trial.row.start_us);
    jw_time(w, "endTime", trial.row.end_us);
    render_runs(w, rows, count);
    jw_end_object(w);
    return DET_OK;
}

/* "name" and the fields after it are our additions. */
void tasks_render_job(struct json_writer *w, const char *key,
                      const struct job_view *job, const struct allocation *runs,
                      uint32_t count)
{
    char state[64];

    snprintf(state, sizeof(state), "GENERIC_TASK_STATE_%s",
             job_state_names[job->row.state]);
    jw_object(w, key);
    jw_str(w, "taskId", job->row.task_id);
    jw_str(w, "taskType",
           strcmp(job->type, JOB_TENSORBOARD) ? "TASK_TYPE_GENERIC"
                                              : "TASK_TYPE_TENSORBOARD");
    jw_str(w, "taskState", state);
    jw_time(w, "startTime", job->row.start_us);
    jw_time(w, "endTime", job->row.end_us);
    jw_str(w, "forkedFrom", job->forked_from);
    jw_bool(w, "noPause", !job->row.is_pausable);
    if (job->config)
        jw_str(w, "config", job->config);
    render_runs(w, runs, count);
    jw_str(w, "name", job->name);
    jw_str(w, "username", job->username);
    jw_i64(w, "userId", job->row.owner_id);
    jw_i64(w, "slots", job->row.slots);
    jw_str(w, "resourcePool", job->row.resource_pool);
    jw_i64(w, "priority", job->row.priority);
    jw_i64(w, "workspaceId", job->workspace_id);
    jw_str(w, "workspaceName", job->workspace_name);
    jw_end_object(w);
}

/* A TensorBoard is ready when its page can be opened. */
static det_status check_ready(struct request *req, struct allocation *rows,
                              uint32_t count)
{
    struct proxy_row proxy;
    det_status st =
        store_proxy_of_task(req->db, req->arg[0], &req->mem, &proxy, req->err);

    for (uint32_t i = 0; st == DET_NOT_FOUND && i < count; i++)
        rows[i].is_ready = false;
    return st == DET_NOT_FOUND ? DET_OK : st;
}

static det_status render_job_task(struct request *req, struct allocation *rows,
                                  uint32_t count)
{
    struct job_view job;
    det_status st = store_job_by_id(req->db, rows[0].job_id, &req->mem, &job, req->err);

    if (!st && !strcmp(job.type, JOB_TENSORBOARD))
        st = check_ready(req, rows, count);
    if (!st)
        tasks_render_job(&req->w, "task", &job, rows, count);
    return st;
}

/* A managed task has at least one run from its submission on. */
static det_status find_runs(struct request *req, struct allocation **ret_rows,
                            uint32_t *ret_count)
{
    det_status st = store_allocations_of_task(req->db, req->arg[0], &req->mem, ret_rows,
                                              ret_count, req->err);

    return !st && !*ret_count ? refuse_unknown(req) : st;
}

/* An unmanaged trial has no runs; its task is "<experiment>.<external id>". */
static det_status find_unmanaged(struct request *req, int64_t *ret_trial)
{
    const char *task = req->arg[0];
    const char *dot = strchr(task, '.');
    const char *number =
        dot ? arena_strndup(&req->mem, task, (size_t)(dot - task)) : "";
    int64_t experiment = 0;
    det_status st = DET_OK;

    *ret_trial = 0;
    if (!number)
        return DET_NOMEM;
    if (parse_i64(number, &experiment))
        st = store_unmanaged_find_trial(req->db, experiment, task, ret_trial, req->err);
    return !st && !*ret_trial ? refuse_unknown(req) : st;
}

det_status api_get_task(struct request *req)
{
    struct allocation *rows = NULL;
    uint32_t count = 0;
    int64_t trial_id = 0;
    det_status st = find_runs(req, &rows, &count);

    if (st == DET_NOT_FOUND)
        st = find_unmanaged(req, &trial_id);
    else if (!st)
        trial_id = rows[0].trial_id;
    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = trial_id ? render_trial_task(req, trial_id, rows, count)
                  : render_job_task(req, rows, count);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_context(struct request *req)
{
    CLEANUP(buf_done) struct buf tgz = request_buf(req, 0);
    struct allocation *rows;
    uint32_t count = 0;
    det_status st = find_runs(req, &rows, &count);

    if (!st)
        st = rows[0].job_id ? store_job_files(req->db, rows[0].job_id, &tgz, req->err)
                            : store_experiment_files(req->db, rows[0].experiment_id,
                                                     &tgz, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_base64(&req->w, "b64Tgz", tgz.data, tgz.len);
    jw_end_object(&req->w);
    return DET_OK;
}
