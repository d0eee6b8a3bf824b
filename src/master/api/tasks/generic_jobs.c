/* SPDX-License-Identifier: Apache-2.0 */
/* generic_jobs.c - generic jobs, which this API calls generic tasks.
 *
 * A job is submitted like an experiment (a YAML text and a folder), but has one task and no
 * search.  The id of that task names it in the other calls. */
#include <inttypes.h>
#include <string.h>

#include "base/rng.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/job_config.h"
#include "data/yaml/yaml.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/placement.h"
#include "master/api/render.h"
#include "master/api/submit.h"
#include "master/api/tasks/tasks.h"
#include "master/request/access.h"
#include "store/page.h"
#include "store/task/allocation.h"
#include "store/task/job.h"
#include "wire/job_bodies.h"
#include "wire/queries.h"

struct submission {
    struct job_config config;
    struct job row;
    const char *files; /* tar.gz, in the request's memory until the commit */
    size_t files_len;
    char task_id[UUID_TEXT];
    char name[SUBMIT_NAME_SIZE];
    struct placement place;
};

/* ---- making ---------------------------------------------------------------------- */

static det_status load_config(struct request *req, struct submission *state)
{
    const struct create_generic_task_body *body = req->body;
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    const struct job_defaults defaults = {
        .task_container_defaults =
            json_get(req->master->config, "task_container_defaults"),
        .name = state->name,
        .compute_pool = state->place.workspace.compute_pool,
        .aux_pool = state->place.workspace.aux_pool,
    };
    unsigned char random[16];
    det_status st = rng_secret(random, sizeof(random), req->err);

    if (st)
        return st;
    uuid_format(random, state->task_id);
    submit_make_name("Job", random, state->name);
    st = job_config_load(body->config, strlen(body->config), &defaults, &req->mem,
                         &report, &state->config, req->err);
    return st ? err_prefix(req->err, "invalid job configuration")
              : submit_check_size("DET_TASK_CONFIG", state->config.json, req->err);
}

/* projectId, else workspaceId, else the workspace that the configuration names. */
static det_status choose_place(struct request *req, struct submission *state)
{
    const struct create_generic_task_body *body = req->body;
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    struct json *tree = NULL;

    if (body->project_id && body->workspace_id)
        return err_set(req->err, DET_INVALID,
                       "projectId and workspaceId exclude each other: a project is in "
                       "one workspace");
    /* what is wrong with the text, load_config() says */
    if (config_parse(body->config, strlen(body->config), &report, &tree, NULL) ==
        DET_NOMEM)
        return err_default(req->err, DET_NOMEM);
    return placement_of_job(req, body->project_id, body->workspace_id,
                            json_str(json_get(tree, "workspace"), NULL), &state->place);
}

/* A fork without files uses the files of its original. */
static det_status load_files(struct request *req, struct submission *state)
{
    CLEANUP(buf_done) struct buf tgz = request_buf(req, SUBMIT_FILES_LIMIT);
    const struct create_generic_task_body *body = req->body;
    struct job_view from;
    det_status st = DET_OK;

    if (body->forked_from && *body->forked_from)
        st = store_job_get(req->db, body->forked_from, &req->mem, &from, req->err);
    if (st)
        return err_prefix(req->err, "forkedFrom");
    if (body->forked_from && *body->forked_from &&
        !submit_has_files(body->context_directory))
        st = store_job_files(req->db, from.row.id, &tgz, req->err);
    else
        st = submit_pack_files("contextDirectory", body->context_directory, &tgz,
                               req->err);
    if (st)
        return st;
    state->files_len = tgz.len;
    state->files = arena_keep(&req->mem, &tgz);
    return state->files ? DET_OK : DET_NOMEM;
}

static det_status reply_created(struct request *req)
{
    const struct submission *state = req->state;

    jw_object(&req->w, NULL);
    jw_str(&req->w, "taskId", state->task_id);
    jw_array(&req->w, "warnings");
    if (req->item->exceeds_slots)
        jw_str(&req->w, NULL, "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED");
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status submit_job(struct request *req, struct submission *state)
{
    const struct create_generic_task_body *body = req->body;
    const struct job_config *config = &state->config;
    struct core_event event = {.kind = EVENT_JOB_SUBMITTED};

    state->row = (struct job){
        .task_id = state->task_id,
        .owner_id = req->caller.user_id,
        .resource_pool = config->resource_pool,
        .priority = config->priority,
        .weight = config->weight,
        .slots = config->slots,
        .is_single_node = config->is_single_node,
        .is_pausable = !body->no_pause,
        .preemption_timeout_us = config->preemption_timeout_s * 1000000,
    };
    event.job_submitted.row = &state->row;
    event.job_submitted.name = config->name;
    event.job_submitted.config = config->json;
    event.job_submitted.forked_from =
        body->forked_from && *body->forked_from ? body->forked_from : NULL;
    event.job_submitted.workspace_id = state->place.workspace.id;
    event.job_submitted.files = state->files;
    event.job_submitted.files_len = state->files_len;
    req->state = state;
    return request_event(req, &event, reply_created);
}

det_status api_create_generic_task(struct request *req)
{
    const struct create_generic_task_body *body = req->body;
    struct submission *state = arena_new(&req->mem, struct submission);
    det_status st;

    if (!state)
        return DET_NOMEM;
    if (body->parent_id && *body->parent_id)
        return err_set(req->err, DET_UNSUPPORTED,
                       "parentId: jobs below another job are not built yet");
    st = choose_place(req, state);
    if (!st && body->forked_from && *body->forked_from)
        st = access_check_name_as(req, ROUTE_ID_get_task_config, ROUTE_OBJECT_task,
                                  body->forked_from);
    if (!st)
        st = load_config(req, state);
    if (!st)
        st = load_files(req, state);
    request_drop_body(req);
    return st ? st : submit_job(req, state);
}

/* ---- actions ----------------------------------------------------- */

/* The job in the path; the task of a trial has its own error. */
static det_status find_job(struct request *req, struct job_view *ret_job)
{
    struct allocation *rows;
    uint32_t count = 0;
    det_status st = store_job_get(req->db, req->arg[0], &req->mem, ret_job, req->err);

    if (st != DET_NOT_FOUND)
        return st;
    st = store_allocations_of_task(req->db, req->arg[0], &req->mem, &rows, &count,
                                   req->err);
    if (st || !count)
        return st ? st
                  : err_set(req->err, DET_NOT_FOUND, "task '%s' not found",
                            req->arg[0]);
    return err_set(req->err, DET_INVALID,
                   "task '%s' is not a job: it is trial %" PRId64
                   " of experiment %" PRId64 "; act on the experiment instead",
                   req->arg[0], rows[0].trial_id, rows[0].experiment_id);
}

static det_status act_on_job(struct request *req, enum experiment_action action)
{
    struct core_event event = {.kind = EVENT_JOB_ACTION};
    struct job_view job;
    det_status st = find_job(req, &job);

    if (st)
        return st;
    if (job_is_terminal(job.row.state) && action == ACTION_KILL)
        return DET_OK; /* as with experiments */
    if (job_is_terminal(job.row.state))
        return err_set(req->err, DET_STATE, "task '%s' has ended: it is %s",
                       job.row.task_id, job_state_names[job.row.state]);
    event.job_action.job_id = job.row.id;
    event.job_action.action = action;
    return request_event(req, &event, NULL);
}

det_status api_kill_task(struct request *req)
{
    return act_on_job(req, ACTION_KILL);
}

det_status api_pause_task(struct request *req)
{
    return act_on_job(req, ACTION_PAUSE);
}

det_status api_unpause_task(struct request *req)
{
    return act_on_job(req, ACTION_ACTIVATE);
}

/* ---- reading --------------------------------------------------------------------- */

det_status api_get_task_config(struct request *req)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *tree;
    struct job_view job;
    det_status st = find_job(req, &job);

    if (!st)
        st = json_parse(job.config, strlen(job.config), &req->mem, &tree, req->err);
    if (st)
        return st;
    yaml_write(&text, tree);
    jw_object(&req->w, NULL);
    jw_strn(&req->w, "config", text.data, text.len);
    jw_end_object(&req->w);
    return text.status;
}

/* Who sees only some of them gets a page of those: all are read, and the page is cut here. */
static det_status list_rows(struct request *req, bool with_ended, struct page *page,
                            struct job_view **ret_rows)
{
    struct page whole = {0};
    struct scope scope;
    uint32_t count = 0, kept = 0;
    det_status st = access_scope(req, &scope);

    if (!st)
        st = store_job_list(req->db, with_ended, scope.is_all ? page : &whole,
                            &req->mem, ret_rows, &count, req->err);
    if (st || scope.is_all)
        return st;
    for (uint32_t i = 0; i < count; i++)
        if (access_shows(req, ROUTE_OBJECT_task, (*ret_rows)[i].row.task_id))
            (*ret_rows)[kept++] = (*ret_rows)[i];
    st = listing_cut_page(page, kept, req->err);
    *ret_rows += page->start;
    return st;
}

det_status api_list_generic_tasks(struct request *req)
{
    const struct generic_tasks_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct job_view *rows = NULL;
    det_status st = list_rows(req, in->all, &page, &rows);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "tasks");
    for (int64_t i = 0; i < page.end - page.start; i++)
        tasks_render_job(&req->w, NULL, &rows[i], NULL, 0);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}
