/* SPDX-License-Identifier: Apache-2.0 */
/* job_queue.c - the queue and the resource pools, derived from the rows of live tasks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/cluster/disabled_slots.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/request/access.h"
#include "store/page.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "store/task/queue.h"
#include "wire/queries.h"

static void render_job(struct request *req, const struct queue_view *job)
{
    struct json_writer *w = &req->w;
    char id[24];
    char type[64];

    snprintf(id, sizeof(id), "%" PRId64, job->experiment_id);
    snprintf(type, sizeof(type), "TYPE_%s", job->type);
    jw_object(w, NULL);
    jw_object(w, "full");
    jw_str(w, "jobId", job->job_id);
    jw_str(w, "entityId", job->job ? job->job_id : id);
    jw_str(w, "type", type);
    jw_str(w, "name", job->name);
    jw_str(w, "username", job->username);
    jw_i64(w, "userId", job->owner_id);
    jw_i64(w, "workspaceId", job->workspace_id);
    jw_str(w, "resourcePool", job->resource_pool);
    jw_time(w, "submissionTime", job->submitted_us);
    jw_i64(w, "requestedSlots", job->requested);
    jw_i64(w, "allocatedSlots", job->allocated);
    jw_bool(w, "isPreemptible", job->is_preemptible);
    jw_i64(w, "priority", job->priority);
    jw_real(w, "weight", job->weight);
    jw_real(w, "progress", job->progress);
    jw_object(w, "summary");
    jw_str(w, "state", job->is_scheduled ? "STATE_SCHEDULED" : "STATE_QUEUED");
    render_jobs_ahead(req, job->resource_pool, job->ahead);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

/* Keeps the jobs of one pool; NULL or "": all. */
static uint32_t keep_pool(struct queue_view *jobs, uint32_t count, const char *pool)
{
    uint32_t kept = 0;

    if (!pool || !*pool)
        return count;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(jobs[i].resource_pool, pool))
            jobs[kept++] = jobs[i];
    return kept;
}

static uint32_t keep_visible(struct request *req, struct queue_view *jobs,
                             uint32_t count)
{
    uint32_t kept = 0;

    access_names_nothing(req);
    for (uint32_t i = 0; i < count; i++)
        if (jobs[i].experiment_id
                ? access_shows_id(req, ROUTE_OBJECT_experiment, jobs[i].experiment_id)
                : access_shows(req, ROUTE_OBJECT_task, jobs[i].job_id))
            jobs[kept++] = jobs[i];
    return kept;
}

det_status api_list_jobs(struct request *req)
{
    const struct jobs_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct queue_view *jobs;
    uint32_t count = 0;
    det_status st = store_queue_list(req->db, &req->mem, &jobs, &count, req->err);

    if (!st)
        count = keep_visible(req, jobs, keep_pool(jobs, count, in->resource_pool));
    if (!st)
        st = listing_cut_page(&page, count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "jobs");
    for (int64_t i = page.start; i < page.end; i++)
        render_job(
            req,
            &jobs[listing_is_descending(in->order_by) ? (int64_t)count - 1 - i : i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- changing the queue ---------------------------------------------------------- */

/* All updates are checked before the first is applied, so a list with an invalid one changes
 * nothing.  (Only the heart can refuse a pool that is too small; then the list ends at that
 * update.) */
struct update_state {
    struct core_event *events;
    uint32_t count;
    uint32_t done;
};

static det_status read_update(struct request *req, const struct json *update,
                              struct core_event *event)
{
    const struct json *priority = json_find(update, "priority");
    const struct json *weight = json_find(update, "weight");
    const struct json *pool = json_find(update, "resource_pool");
    const char *name = json_str(json_find(update, "job_id"), "");
    int actions = !json_is_null(priority) + !json_is_null(weight) + !json_is_null(pool);
    det_status st;

    if (actions != 1)
        return err_set(
            req->err, DET_INVALID,
            "an update takes exactly one of priority, weight and resourcePool");
    event->kind = EVENT_EXPERIMENT_RESOURCES;
    event->resources.max_slots = -2;
    event->resources.priority = json_i64(priority, 0);
    (void)json_number(weight, &event->resources.weight);
    event->resources.resource_pool = json_str(pool, NULL);
    if (!json_is_null(priority) &&
        (event->resources.priority < 1 || event->resources.priority > 99))
        return err_set(req->err, DET_INVALID,
                       "a priority must be a number from 1 to 99");
    if (!json_is_null(weight) && !(event->resources.weight > 0))
        return err_set(req->err, DET_INVALID, "a weight must be above 0");
    if (!json_is_null(pool) &&
        !core_config_pool(&req->master->core_config, json_str(pool, "")))
        return err_set(req->err, DET_INVALID, "there is no resource pool '%s'",
                       json_str(pool, ""));
    st = store_queue_find(req->db, name, &event->resources.experiment_id,
                          &event->resources.job_id, req->err);
    if (st)
        return st;
    if (!event->resources.job_id)
        return access_check_named(req, ROUTE_OBJECT_experiment,
                                  event->resources.experiment_id, "job", name);
    event->kind = EVENT_JOB_RESOURCES;
    st = access_check(req, ROUTE_OBJECT_task, name);
    return st == DET_NOT_FOUND ? err_set(req->err, st, "job '%s' not found", name) : st;
}

static det_status next_update(struct request *req)
{
    struct update_state *state = req->state;

    if (state->done == state->count)
        return DET_OK;
    return request_event(req, &state->events[state->done++], next_update);
}

det_status api_update_jobs(struct request *req)
{
    const struct json *updates = json_find(req->tree, "updates");
    struct update_state *state = arena_new(&req->mem, struct update_state);

    if (!updates || updates->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "the body needs a list of updates");
    if (!state)
        return DET_NOMEM;
    state->events = arena_array(&req->mem, struct core_event, updates->list.count + 1);
    if (!state->events)
        return DET_NOMEM;
    json_each(update, updates) {
        det_status st = read_update(req, update, &state->events[state->count++]);

        if (st)
            return st;
    }
    req->state = state;
    return next_update(req);
}

/* ---- pools ----------------------------------------------------------------------- */

struct pool_sums {
    int64_t agents;
    int64_t slots;
    int64_t off; /* disabled slots that are free */
    int64_t used;
    int64_t aux;
    int64_t slots_per_agent;
    int64_t queued; /* jobs */
    int64_t scheduled;
    bool has_cuda;
};

/* The rows that pools are computed from, read once for all pools. */
struct pool_rows {
    struct agent *agents; /* by id */
    struct allocation *allocations;
    struct queue_view *jobs;
    struct share *shares;
    int64_t *off; /* per agent */
    uint32_t agent_count, allocation_count, job_count, share_count;
};

static int by_id(const void *a, const void *b)
{
    const struct agent *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static det_status subtract_held(struct request *req, struct pool_rows *rows,
                                struct json *const *disabled, const struct share *share)
{
    struct agent key = {.id = share->agent_id};
    const struct agent *agent =
        bsearch(&key, rows->agents, rows->agent_count, sizeof(key), by_id);
    struct json *held;
    size_t at;
    det_status st;

    if (!agent)
        return DET_OK;
    at = (size_t)(agent - rows->agents);
    st = json_parse(share->slots, strlen(share->slots), &req->mem, &held, req->err);
    if (st)
        return st;
    json_each(slot, held)
        rows->off[at] -= disabled_slots_has(agent, disabled[at], json_i64(slot, -1));
    return DET_OK;
}

/* A draining slot still holds its task, so it counts as used, not as disabled.  The same
 * holds for a slot whose share has ended while other shares of its allocation run: the
 * allocation counts with all its slots until it ends. */
static det_status count_off(struct request *req, struct pool_rows *rows)
{
    struct json **disabled =
        arena_array(&req->mem, struct json *, (size_t)rows->agent_count + 1);
    det_status st = DET_OK;

    rows->off = arena_array(&req->mem, int64_t, (size_t)rows->agent_count + 1);
    if (!disabled || !rows->off)
        return err_default(req->err, DET_NOMEM);
    for (uint32_t i = 0; i < rows->agent_count && !st; i++) {
        const struct agent *agent = &rows->agents[i];

        st = disabled_slots_parse(req, agent, &disabled[i]);
        if (!st)
            rows->off[i] =
                agent->is_enabled ? (int64_t)disabled[i]->list.count : agent->slots;
    }
    for (uint32_t i = 0; i < rows->share_count && !st; i++)
        st = subtract_held(req, rows, disabled, &rows->shares[i]);
    return st;
}

static det_status read_pool_rows(struct request *req, struct pool_rows *ret_rows)
{
    struct pool_rows rows = {0};
    det_status st =
        store_agent_list(req->db, &req->mem, &rows.agents, &rows.agent_count, req->err);

    if (!st)
        st = store_allocations_live(req->db, &req->mem, &rows.allocations,
                                    &rows.allocation_count, req->err);
    if (!st)
        st =
            store_queue_list(req->db, &req->mem, &rows.jobs, &rows.job_count, req->err);
    if (!st)
        st = store_shares_live(req->db, &req->mem, &rows.shares, &rows.share_count,
                               req->err);
    if (!st)
        st = count_off(req, &rows);
    if (!st)
        *ret_rows = rows;
    return st;
}

static struct pool_sums sum_pool(const struct pool_rows *rows, const char *name)
{
    struct pool_sums sums = {0};

    for (uint32_t i = 0; i < rows->agent_count; i++) {
        const struct agent *agent = &rows->agents[i];

        if (strcmp(agent->resource_pool, name) || !agent->is_connected)
            continue;
        sums.agents++;
        sums.slots += agent->slots;
        sums.off += rows->off[i];
        sums.slots_per_agent = MAX(sums.slots_per_agent, agent->slots);
        sums.has_cuda |= strstr(agent->devices, "\"cuda\"") != NULL;
    }
    for (uint32_t i = 0; i < rows->allocation_count; i++) {
        const struct allocation *allocation = &rows->allocations[i];

        if (strcmp(allocation->resource_pool, name) ||
            allocation->state == ALLOCATION_PENDING)
            continue;
        sums.used += allocation->slots;
        sums.aux += allocation->slots == 0;
    }
    for (uint32_t i = 0; i < rows->job_count; i++) {
        if (strcmp(rows->jobs[i].resource_pool, name))
            continue;
        sums.scheduled += rows->jobs[i].is_scheduled;
        sums.queued += !rows->jobs[i].is_scheduled;
    }
    return sums;
}

/* Empty fields of cloud providers that clients require. */
static void render_provider_blanks(struct json_writer *w)
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
}

/* "fair_share" is SCHEDULER_TYPE_FAIR_SHARE. */
static void render_scheduler(struct json_writer *w, const char *policy)
{
    char type[64];
    int len = snprintf(type, sizeof(type), "SCHEDULER_TYPE_%s", policy);

    for (int i = 0; i < MIN(len, (int)sizeof(type) - 1); i++)
        if (type[i] >= 'a' && type[i] <= 'z')
            type[i] = (char)(type[i] - 'a' + 'A');
    jw_str(w, "schedulerType", type);
}

static const char *pool_description(const struct master *master, const char *name)
{
    json_each(pool, json_get(master->config, "resource_pools"))
        if (!strcmp(json_str(json_get(pool, "pool_name"), ""), name))
            return json_str(json_get(pool, "description"), "");
    return "";
}

static void render_pool(struct request *req, const struct core_pool *pool,
                        const struct pool_rows *rows)
{
    const struct core_config *config = &req->master->core_config;
    struct json_writer *w = &req->w;
    struct pool_sums sums = sum_pool(rows, pool->name);

    jw_object(w, NULL);
    jw_str(w, "name", pool->name);
    jw_str(w, "description", pool_description(req->master, pool->name));
    jw_str(w, "type", "RESOURCE_POOL_TYPE_STATIC");
    jw_i64(w, "numAgents", sums.agents);
    jw_i64(w, "slotsAvailable", sums.slots);
    jw_i64(w, "slotsUsed", sums.used);
    jw_i64(w, "slotsDisabled", sums.off);
    jw_str(w, "slotType", sums.has_cuda ? "TYPE_CUDA" : "TYPE_CPU");
    jw_i64(w, "auxContainerCapacity", sums.agents * pool->config.max_aux_per_agent);
    jw_i64(w, "auxContainersRunning", sums.aux);
    jw_bool(w, "defaultComputePool",
            !config->needs_pool_name &&
                !strcmp(pool->name, config->default_compute_pool));
    jw_bool(w, "defaultAuxPool",
            !config->needs_pool_name && !strcmp(pool->name, config->default_aux_pool));
    jw_bool(w, "preemptible", pool->config.is_preemptive);
    jw_i64(w, "minAgents", 0);
    jw_i64(w, "maxAgents", 0);
    jw_i64(w, "slotsPerAgent", sums.slots_per_agent);
    jw_i64(w, "auxContainerCapacityPerAgent", pool->config.max_aux_per_agent);
    render_scheduler(w, pool->config.policy);
    jw_str(w, "schedulerFittingPolicy",
           pool->config.fits_worst ? "FITTING_POLICY_WORST" : "FITTING_POLICY_BEST");
    jw_i64(w, "defaultPriority", pool->default_priority);
    jw_object(w, "stats");
    jw_i64(w, "queuedCount", sums.queued);
    jw_i64(w, "scheduledCount", sums.scheduled);
    jw_end_object(w);
    render_provider_blanks(w);
    jw_end_object(w);
}

det_status api_list_pools(struct request *req)
{
    const struct core_config *config = &req->master->core_config;
    const struct list_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct pool_rows rows;
    det_status st = listing_cut_page(&page, config->pool_count, req->err);

    if (!st)
        st = read_pool_rows(req, &rows);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "resourcePools");
    for (int64_t i = page.start; i < page.end; i++)
        render_pool(req, &config->pool[i], &rows);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}
