/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c - the queue and the pools, derived from the rows of what runs or waits. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/show.h"
#include "store/views.h"
#include "wire/queries.h"

/* An experiment with allocations that are not over. */
struct job {
    int64_t experiment_id;
    struct experiment_view view;
    int64_t requested;
    int64_t allocated;
    bool is_scheduled;
    int64_t ahead;
};

static int by_place(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    if (x->view.row.priority != y->view.row.priority)
        return x->view.row.priority < y->view.row.priority ? -1 : 1;
    if (x->view.row.submitted_us != y->view.row.submitted_us)
        return x->view.row.submitted_us < y->view.row.submitted_us ? -1 : 1;
    return (x->experiment_id > y->experiment_id) -
           (x->experiment_id < y->experiment_id);
}

static struct job *job_of(struct job *jobs, uint32_t *count, int64_t experiment_id)
{
    for (uint32_t i = 0; i < *count; i++)
        if (jobs[i].experiment_id == experiment_id)
            return &jobs[i];
    jobs[*count] = (struct job){.experiment_id = experiment_id};
    return &jobs[(*count)++];
}

static det_status load_jobs(struct request *req, const char *pool,
                            struct job **ret_jobs, uint32_t *ret_count)
{
    struct allocation *rows;
    struct job *jobs;
    uint32_t row_count, count = 0;
    det_status st =
        store_allocations_live(req->db, &req->mem, &rows, &row_count, req->err);

    if (st)
        return st;
    jobs = arena_array(&req->mem, struct job, row_count + 1);
    if (!jobs)
        return DET_NOMEM;
    for (uint32_t i = 0; i < row_count; i++) {
        struct job *job;

        if (pool && *pool && strcmp(rows[i].resource_pool, pool))
            continue;
        job = job_of(jobs, &count, rows[i].experiment_id);
        job->requested += rows[i].slots;
        if (rows[i].state > ALLOCATION_PENDING) {
            job->allocated += rows[i].slots;
            job->is_scheduled = true;
        }
    }
    for (uint32_t i = 0; i < count && !st; i++)
        st = store_experiment_get(req->db, jobs[i].experiment_id, &req->mem,
                                  &jobs[i].view, req->err);
    qsort(jobs, count, sizeof(*jobs), by_place);
    for (uint32_t i = 0, waiting = 0; i < count; i++) {
        jobs[i].ahead = waiting;
        waiting += !jobs[i].is_scheduled;
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return st;
}

static void show_job(struct json_writer *w, const struct job *job)
{
    char id[24];

    snprintf(id, sizeof(id), "%" PRId64, job->experiment_id);
    jw_object(w, NULL);
    jw_object(w, "full");
    jw_str(w, "jobId", job->view.row.job_id);
    jw_str(w, "entityId", id);
    jw_str(w, "type", "TYPE_EXPERIMENT");
    jw_str(w, "name", job->view.name);
    jw_str(w, "username", job->view.username);
    jw_i64(w, "userId", job->view.row.owner_id);
    jw_i64(w, "workspaceId", 1);
    jw_str(w, "resourcePool", job->view.row.resource_pool);
    jw_time(w, "submissionTime", job->view.row.submitted_us);
    jw_i64(w, "requestedSlots", job->requested);
    jw_i64(w, "allocatedSlots", job->allocated);
    jw_bool(w, "isPreemptible", true);
    jw_i64(w, "priority", job->view.row.priority);
    jw_real(w, "weight", job->view.row.weight);
    jw_real(w, "progress", job->view.row.progress);
    jw_object(w, "summary");
    jw_str(w, "state", job->is_scheduled ? "STATE_SCHEDULED" : "STATE_QUEUED");
    jw_i64(w, "jobsAhead", job->ahead);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

det_status api_list_jobs(struct request *req)
{
    const struct jobs_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct job *jobs;
    uint32_t count;
    det_status st = load_jobs(req, in->resource_pool, &jobs, &count);

    if (!st)
        st = page_cut(&page, count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "jobs");
    for (int64_t i = page.start; i < page.end; i++)
        show_job(&req->w,
                 &jobs[is_descending(in->order_by) ? (int64_t)count - 1 - i : i]);
    jw_end_array(&req->w);
    show_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- changing the queue ---------------------------------------------------------- */

struct update_state {
    const struct json *next; /* the update to be done */
};

static det_status find_job(struct request *req, const char *job_id, int64_t *ret_id)
{
    struct experiment_query query = {.page = {.limit = -1}};
    struct experiment_view *rows;
    uint32_t count;
    det_status st;

    for (uint32_t s = 0; s < EXPERIMENT_COMPLETED; s++)
        query.states |= TO(s);
    st = store_experiment_list(req->db, &query, &req->mem, &rows, &count, req->err);
    for (uint32_t i = 0; i < count && !st; i++)
        if (!strcmp(rows[i].row.job_id, job_id)) {
            *ret_id = rows[i].row.id;
            return DET_OK;
        }
    return st ? st : err_set(req->err, DET_NOT_FOUND, "job '%s' not found", job_id);
}

static det_status next_update(struct request *req)
{
    struct update_state *state = req->state;
    const struct json *update = state->next;
    struct core_event event = {.kind = EVENT_EXPERIMENT_RESOURCES};
    const struct json *priority = json_find(update, "priority");
    const struct json *weight = json_find(update, "weight");
    const struct json *pool = json_find(update, "resource_pool");
    int actions = !json_is_null(priority) + !json_is_null(weight) + !json_is_null(pool);
    det_status st;

    if (!update)
        return DET_OK;
    state->next = update->next;
    if (actions != 1)
        return err_set(
            req->err, DET_INVALID,
            "an update takes exactly one of priority, weight and resourcePool");
    event.resources.max_slots = -2;
    event.resources.priority = json_i64(priority, 0);
    (void)json_number(weight, &event.resources.weight);
    event.resources.resource_pool = json_str(pool, NULL);
    if (!json_is_null(priority) &&
        (event.resources.priority < 1 || event.resources.priority > 99))
        return err_set(req->err, DET_INVALID, "a priority is a number from 1 to 99");
    if (!json_is_null(weight) && !(event.resources.weight > 0))
        return err_set(req->err, DET_INVALID, "a weight must be above 0");
    st = find_job(req, json_str(json_find(update, "job_id"), ""),
                  &event.resources.experiment_id);
    return st ? st : request_event(req, &event, next_update);
}

det_status api_update_jobs(struct request *req)
{
    const struct json *updates = json_find(req->tree, "updates");
    struct update_state *state = arena_new(&req->mem, struct update_state);

    if (!updates || updates->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "the body needs a list of updates");
    if (!state)
        return DET_NOMEM;
    state->next = updates->list.first;
    req->state = state;
    return next_update(req);
}

/* ---- pools ----------------------------------------------------------------------- */

struct pool_sums {
    int64_t agents;
    int64_t slots;
    int64_t used;
    int64_t aux;
    int64_t slots_per_agent;
    bool has_cuda;
};

static det_status sum_pool(struct request *req, const char *name,
                           struct pool_sums *sums)
{
    struct allocation *allocations;
    struct agent *agents;
    uint32_t agent_count, count;
    det_status st =
        store_agent_list(req->db, &req->mem, &agents, &agent_count, req->err);

    if (!st)
        st = store_allocations_live(req->db, &req->mem, &allocations, &count, req->err);
    if (st)
        return st;
    for (uint32_t i = 0; i < agent_count; i++) {
        if (strcmp(agents[i].resource_pool, name) || !agents[i].is_connected)
            continue;
        sums->agents++;
        sums->slots += agents[i].slots;
        sums->slots_per_agent = MAX(sums->slots_per_agent, agents[i].slots);
        sums->has_cuda |= strstr(agents[i].devices, "\"cuda\"") != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(allocations[i].resource_pool, name) ||
            allocations[i].state == ALLOCATION_PENDING)
            continue;
        sums->used += allocations[i].slots;
        sums->aux += allocations[i].slots == 0;
    }
    return DET_OK;
}

/* Strings and numbers of cloud providers that clients insist on seeing. */
static void show_provider_blanks(struct json_writer *w)
{
    static const char *const texts[] = {"location",
                                        "imageId",
                                        "instanceType",
                                        "accelerator",
                                        "agentDockerImage",
                                        "agentDockerNetwork",
                                        "agentDockerRuntime",
                                        "agentFluentImage",
                                        "containerStartupScript",
                                        "startupScript",
                                        "masterUrl",
                                        "masterCertName",
                                        "clusterName",
                                        "resourceManagerName"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        jw_str(w, texts[i], "");
    jw_real(w, "maxIdleAgentPeriod", 0);
    jw_real(w, "maxAgentStartingPeriod", 0);
    jw_object(w, "details");
    jw_end_object(w);
    jw_object(w, "resourceManagerMetadata");
    jw_end_object(w);
    jw_object(w, "stats");
    jw_i64(w, "queuedCount", 0);
    jw_i64(w, "scheduledCount", 0);
    jw_end_object(w);
}

static det_status show_pool(struct request *req, const struct core_pool *pool)
{
    const struct core_config *config = &req->master->core_config;
    struct json_writer *w = &req->w;
    struct pool_sums sums = {0};
    det_status st = sum_pool(req, pool->name, &sums);

    if (st)
        return st;
    jw_object(w, NULL);
    jw_str(w, "name", pool->name);
    jw_str(w, "description", "");
    jw_str(w, "type", "RESOURCE_POOL_TYPE_STATIC");
    jw_i64(w, "numAgents", sums.agents);
    jw_i64(w, "slotsAvailable", sums.slots);
    jw_i64(w, "slotsUsed", sums.used);
    jw_str(w, "slotType", sums.has_cuda ? "TYPE_CUDA" : "TYPE_CPU");
    jw_i64(w, "auxContainerCapacity", sums.agents * pool->config.max_aux_per_agent);
    jw_i64(w, "auxContainersRunning", sums.aux);
    jw_bool(w, "defaultComputePool", !strcmp(pool->name, config->default_compute_pool));
    jw_bool(w, "defaultAuxPool", !strcmp(pool->name, config->default_aux_pool));
    jw_bool(w, "preemptible", pool->config.is_preemptive);
    jw_i64(w, "minAgents", 0);
    jw_i64(w, "maxAgents", 0);
    jw_i64(w, "slotsPerAgent", sums.slots_per_agent);
    jw_i64(w, "auxContainerCapacityPerAgent", pool->config.max_aux_per_agent);
    jw_str(w, "schedulerType", "SCHEDULER_TYPE_PRIORITY");
    jw_str(w, "schedulerFittingPolicy",
           pool->config.fits_worst ? "FITTING_POLICY_WORST" : "FITTING_POLICY_BEST");
    jw_i64(w, "defaultPriority", pool->default_priority);
    show_provider_blanks(w);
    jw_end_object(w);
    return DET_OK;
}

det_status api_list_pools(struct request *req)
{
    const struct core_config *config = &req->master->core_config;
    const struct list_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    det_status st = page_cut(&page, config->pool_count, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "resourcePools");
    for (int64_t i = page.start; i < page.end && !st; i++)
        st = show_pool(req, &config->pool[i]);
    jw_end_array(&req->w);
    show_page(&req->w, &page);
    jw_end_object(&req->w);
    return st;
}
