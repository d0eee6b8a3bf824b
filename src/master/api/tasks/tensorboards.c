/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboards.c - TensorBoards: jobs without slots that show the metrics of experiments.
 *
 * A TensorBoard is a generic job with the entrypoint 'det internal tensorboard', which reads
 * the experiments and trials to show from its environment.  It is killed, logged and listed
 * like other jobs.  The replies here have the shape that this API's clients expect. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "config/config_report.h"
#include "config/job_config.h"
#include "data/json/json.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/placement.h"
#include "master/api/render.h"
#include "master/api/submit.h"
#include "master/request/access.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/page.h"
#include "store/space/workspace.h"
#include "store/task/allocation.h"
#include "store/task/job.h"
#include "store/task/proxy.h"
#include "wire/job_bodies.h"
#include "wire/queries.h"

enum { DEFAULT_TIMEOUT_S = 300, MOST_SOURCES = 10000 };

struct launch {
    struct job_config config;
    struct job row;
    const char *sources; /* JSON */
    const char *files;   /* tar.gz, in the request's memory until the commit */
    size_t files_len;
    char task_id[UUID_TEXT];
    char name[SUBMIT_NAME_SIZE];
    struct placement place;
};

/* ---- showing --------------------------------------------------------------------- */

struct board {
    struct job_view job;
    struct allocation *runs;
    uint32_t run_count;
    bool is_ready;
};

static det_status load_board(struct request *req, const char *task_id,
                             struct board *ret_board)
{
    struct board board = {0};
    struct proxy_row proxy;
    det_status st = store_job_get(req->db, task_id, &req->mem, &board.job, req->err);

    if (!st && strcmp(board.job.type, JOB_TENSORBOARD))
        st = DET_NOT_FOUND;
    if (st == DET_NOT_FOUND)
        return err_set(req->err, st, "tensorboard '%s' not found", task_id);
    if (!st)
        st = store_allocations_of_task(req->db, task_id, &req->mem, &board.runs,
                                       &board.run_count, req->err);
    if (st)
        return st;
    st = store_proxy_of_task(req->db, task_id, &req->mem, &proxy, NULL);
    board.is_ready = !st;
    if (st && st != DET_NOT_FOUND)
        return err_default(req->err, st);
    *ret_board = board;
    return DET_OK;
}

/* A TensorBoard counts as running once its page can be opened. */
static const char *state_of(const struct board *board)
{
    enum allocation_state state =
        board->run_count ? board->runs[0].state : ALLOCATION_PENDING;

    if (job_is_terminal(board->job.row.state))
        return "STATE_TERMINATED";
    if (board->job.row.state == JOB_STOPPING_CANCELED)
        return "STATE_TERMINATING";
    switch (state) {
    case ALLOCATION_PENDING:
    case ALLOCATION_ASSIGNED:
        return "STATE_QUEUED";
    case ALLOCATION_PULLING:
        return "STATE_PULLING";
    case ALLOCATION_RUNNING:
        return board->is_ready ? "STATE_RUNNING" : "STATE_STARTING";
    case ALLOCATION_STARTING:
        return "STATE_STARTING";
    case ALLOCATION_TERMINATING:
    case ALLOCATION_TERMINATED: /* the job itself is not over yet */
    case ALLOCATION_STATES:
        return "STATE_TERMINATING";
    }
    assert(!"not a state of an allocation");
    return "STATE_TERMINATING";
}

static det_status render_sources(struct request *req, const char *text)
{
    struct json *tree = NULL;
    det_status st =
        text ? json_parse(text, strlen(text), &req->mem, &tree, req->err) : DET_OK;

    if (st)
        return st;
    jw_json(&req->w, "experimentIds", json_get(tree, "experimentIds"));
    jw_json(&req->w, "trialIds", json_get(tree, "trialIds"));
    return DET_OK;
}

static det_status render_board(struct request *req, const char *key,
                               const struct board *board)
{
    const struct job *row = &board->job.row;
    struct json_writer *w = &req->w;
    det_status st;

    jw_object(w, key);
    jw_str(w, "id", row->task_id);
    jw_str(w, "description", board->job.name);
    jw_str(w, "state", state_of(board));
    jw_time(w, "startTime", row->start_us);
    jw_time(w, "endTime", row->end_us);
    jw_null(w, "container");
    st = render_sources(req, board->job.sources);
    jw_str(w, "displayName", board->job.username);
    jw_i64(w, "userId", row->owner_id);
    jw_str(w, "username", board->job.username);
    jw_str(w, "serviceAddress", arena_printf(&req->mem, "/proxy/%s/", row->task_id));
    jw_str(w, "resourcePool", row->resource_pool);
    jw_str(w, "exitStatus",
           board->run_count && board->runs[0].exit_reason ? board->runs[0].exit_reason
                                                          : "");
    jw_str(w, "jobId", row->task_id);
    jw_i64(w, "workspaceId", board->job.workspace_id);
    jw_str(w, "workspaceName", board->job.workspace_name);
    jw_end_object(w);
    return st;
}

static det_status reply_board(struct request *req, const char *task_id,
                              bool with_config)
{
    struct board board;
    det_status st = load_board(req, task_id, &board);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_board(req, "tensorboard", &board);
    if (with_config)
        jw_raw(&req->w, "config", board.job.config);
    if (req->item) {
        jw_array(&req->w, "warnings");
        jw_end_array(&req->w);
    }
    jw_end_object(&req->w);
    return st;
}

det_status api_get_tensorboard(struct request *req)
{
    return reply_board(req, req->arg[0], true);
}

/* ---- the list -------------------------------------------------------------------- */

static bool is_wanted(const struct tensorboards_query *in, const struct job_view *job)
{
    bool is_listed = !in->users.count && !in->user_ids.count;

    for (size_t i = 0; i < in->users.count; i++)
        is_listed = is_listed || !strcmp(in->users.at[i], job->username);
    for (size_t i = 0; i < in->user_ids.count; i++)
        is_listed = is_listed || in->user_ids.at[i] == job->row.owner_id;
    return is_listed && !strcmp(job->type, JOB_TENSORBOARD) &&
           (!in->workspace_id || in->workspace_id == job->workspace_id);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct job_view *)a)->name,
                  ((const struct job_view *)b)->name);
}

/* The rows come with the newest first. */
static void sort_rows(const struct tensorboards_query *in, struct job_view *rows,
                      uint32_t count)
{
    bool is_by_name = in->sort_by && !strcmp(in->sort_by, "SORT_BY_DESCRIPTION");
    bool is_ascending = in->order_by && !strcmp(in->order_by, "ORDER_BY_ASC");

    if (is_by_name)
        qsort(rows, count, sizeof(*rows), by_name);
    if (is_by_name == is_ascending)
        return;
    for (uint32_t i = 0; i < count / 2; i++) {
        struct job_view other = rows[i];

        rows[i] = rows[count - 1 - i];
        rows[count - 1 - i] = other;
    }
}

static det_status list_rows(struct request *req, struct job_view **ret_rows,
                            uint32_t *ret_count)
{
    const struct tensorboards_query *in = req->query;
    struct page whole = {0};
    uint32_t count = 0;
    uint32_t kept = 0;
    struct workspace_view workspace;
    det_status st = DET_OK;

    /* one that the caller may not see does not exist */
    if (in->workspace_id)
        st = access_check_as(req, ROUTE_ID_get_workspace, ROUTE_OBJECT_workspace,
                             in->workspace_id);
    if (!st && in->workspace_id)
        st = store_workspace_get(req->db, in->workspace_id, 0, &req->mem, &workspace,
                                 req->err);
    if (!st)
        st = store_job_list(req->db, in->all, &whole, &req->mem, ret_rows, &count,
                            req->err);

    for (uint32_t i = 0; !st && i < count; i++)
        if (is_wanted(in, &(*ret_rows)[i]) &&
            access_shows(req, ROUTE_OBJECT_task, (*ret_rows)[i].row.task_id))
            (*ret_rows)[kept++] = (*ret_rows)[i];
    if (!st)
        sort_rows(in, *ret_rows, kept);
    *ret_count = kept;
    return st;
}

det_status api_list_tensorboards(struct request *req)
{
    const struct tensorboards_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct job_view *rows;
    uint32_t count = 0;
    det_status st = list_rows(req, &rows, &count);

    access_names_nothing(req);
    if (!st)
        st = listing_cut_page(&page, count, req->err);
    jw_object(&req->w, NULL);
    jw_array(&req->w, "tensorboards");
    for (int64_t i = page.start; !st && i < page.end; i++) {
        struct board board;

        st = load_board(req, rows[i].row.task_id, &board);
        if (!st)
            st = render_board(req, NULL, &board);
    }
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return st;
}

/* ---- making ---------------------------------------------------------------------- */

/* Python programs also accept an unambiguous prefix of an option. */
static bool may_mean(const char *word, const char *name)
{
    size_t len = strcspn(word, "=");

    return !strncmp(word, name, strlen(name)) ||
           (len > strlen("--") && !strncmp(word, name, len));
}

/* Refuses options that change where it listens or what it shows. */
static det_status check_arguments(const struct json *config, struct err *err)
{
    static const char *const ours[] = {"--host",   "--port",        "--path_prefix",
                                       "--logdir", "--logdir_spec", "--bind_all"};

    json_each(item, json_get(config, "tensorboard_args")) {
        const char *word = json_str(item, "");

        for (size_t i = 0; i < ARRAY_LEN(ours); i++)
            if (may_mean(word, ours[i]))
                return err_set(err, DET_INVALID,
                               "tensorboard_args: %s is set by the platform", ours[i]);
    }
    return DET_OK;
}

/* Sets the entrypoint and 0 slots, whatever the configuration says. */
static void set_fixed_keys(struct request *req, struct json *tree, const char *name)
{
    static const char *const words[] = {"det", "internal", "tensorboard"};
    const struct json *timeout = json_get(req->master->config, "tensorboard_timeout");
    struct json *entrypoint = json_new(&req->mem, JSON_ARRAY);
    struct json *resources = json_get(tree, "resources");

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        json_push(entrypoint, json_new_str(&req->mem, words[i]));
    json_set(&req->mem, tree, "entrypoint", entrypoint);
    if (!resources || resources->kind != JSON_OBJECT) {
        resources = json_new(&req->mem, JSON_OBJECT);
        json_set(&req->mem, tree, "resources", resources);
    }
    json_set(&req->mem, resources, "slots", json_new_i64(&req->mem, 0));
    if (json_is_null(json_get(tree, "name")))
        json_set(
            &req->mem, tree, "name",
            json_new_str(&req->mem, json_str(json_get(tree, "description"), name)));
    if (json_is_null(json_get(tree, "idle_timeout")))
        json_set(&req->mem, tree, "idle_timeout",
                 json_new_i64(&req->mem, json_i64(timeout, DEFAULT_TIMEOUT_S)));
}

static det_status load_config(struct request *req, struct launch *launch)
{
    const struct launch_tensorboard_body *body = req->body;
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    const struct job_defaults defaults = {
        .task_container_defaults =
            json_get(req->master->config, "task_container_defaults"),
        .name = launch->name,
        .aux_pool = launch->place.workspace.aux_pool,
    };
    struct json *tree;
    unsigned char random[16];
    det_status st = rng_secret(random, sizeof(random), req->err);

    if (st)
        return st;
    uuid_format(random, launch->task_id);
    submit_make_name("TensorBoard", random, launch->name);
    if (!json_is_null(body->config) && body->config->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "config is %s; expected an object",
                       json_kind_name(body->config->kind));
    tree = json_is_null(body->config) ? json_new(&req->mem, JSON_OBJECT)
                                      : json_copy(&req->mem, body->config);
    if (!tree)
        return DET_NOMEM;
    set_fixed_keys(req, tree, launch->name);
    st = job_config_load_tree(tree, &defaults, &req->mem, &report, &launch->config,
                              req->err);
    if (!st)
        st = check_arguments(launch->config.tree, req->err);
    return st ? err_prefix(req->err, "invalid TensorBoard configuration")
              : submit_check_size("DET_TASK_CONFIG", launch->config.json, req->err);
}

/* All experiments and trials must exist. */
static det_status check_sources(struct request *req)
{
    const struct launch_tensorboard_body *body = req->body;
    size_t count = body->experiment_ids.count + body->trial_ids.count;
    det_status st = DET_OK;

    if (!count)
        return err_set(req->err, DET_INVALID,
                       "name at least one experiment or trial to show");
    if (count > MOST_SOURCES)
        return err_set(req->err, DET_INVALID,
                       "at most %d experiments and trials can be shown at once",
                       MOST_SOURCES);
    for (size_t i = 0; !st && i < body->experiment_ids.count; i++) {
        struct experiment_view row;

        st = access_check_as(req, ROUTE_ID_get_experiment, ROUTE_OBJECT_experiment,
                             body->experiment_ids.at[i]);
        if (!st)
            st = store_experiment_get(req->db, body->experiment_ids.at[i], &req->mem,
                                      &row, req->err);
    }
    for (size_t i = 0; !st && i < body->trial_ids.count; i++) {
        struct trial_view row;

        st = access_check_as(req, ROUTE_ID_get_trial, ROUTE_OBJECT_trial,
                             body->trial_ids.at[i]);
        if (!st)
            st = store_trial_get(req->db, body->trial_ids.at[i], &req->mem, &row,
                                 req->err);
    }
    return st;
}

static det_status read_sources(struct request *req, struct launch *launch)
{
    const struct launch_tensorboard_body *body = req->body;
    CLEANUP(buf_done) struct buf tgz = request_buf(req, SUBMIT_FILES_LIMIT);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    det_status st = check_sources(req);

    if (!st)
        st = submit_pack_files("files", body->files, &tgz, req->err);
    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64s(&w, "experimentIds", body->experiment_ids.at, body->experiment_ids.count);
    jw_i64s(&w, "trialIds", body->trial_ids.at, body->trial_ids.count);
    jw_end_object(&w);
    launch->sources = arena_strndup(&req->mem, text.data, text.len);
    launch->files_len = tgz.len;
    launch->files = arena_keep(&req->mem, &tgz);
    return launch->sources && launch->files && !text.status ? DET_OK : DET_NOMEM;
}

static det_status reply_launched(struct request *req)
{
    const struct launch *launch = req->state;

    return reply_board(req, launch->task_id, true);
}

static det_status submit_board(struct request *req, struct launch *launch)
{
    const struct job_config *config = &launch->config;
    struct core_event event = {.kind = EVENT_JOB_SUBMITTED};

    launch->row = (struct job){
        .task_id = launch->task_id,
        .owner_id = req->caller.user_id,
        .resource_pool = config->resource_pool,
        .priority = config->priority,
        .weight = config->weight,
        .slots = 0,
        .is_pausable = false,
        .preemption_timeout_us = config->preemption_timeout_s * 1000000,
    };
    event.job_submitted.row = &launch->row;
    event.job_submitted.name = config->name;
    event.job_submitted.config = config->json;
    event.job_submitted.type = JOB_TENSORBOARD;
    event.job_submitted.sources = launch->sources;
    event.job_submitted.workspace_id = launch->place.workspace.id;
    event.job_submitted.files = launch->files;
    event.job_submitted.files_len = launch->files_len;
    req->state = launch;
    return request_event(req, &event, reply_launched);
}

det_status api_launch_tensorboard(struct request *req)
{
    const struct launch_tensorboard_body *body = req->body;
    struct launch *launch = arena_new(&req->mem, struct launch);
    det_status st;

    if (!launch)
        return DET_NOMEM;
    if (!json_is_null(body->filters))
        return err_set(req->err, DET_UNSUPPORTED,
                       "filters: not built yet; name the experiments");
    if (body->template_name && *body->template_name)
        return err_set(req->err, DET_UNSUPPORTED,
                       "templateName: templates are not built yet");
    st = placement_of_job(req, 0, body->workspace_id,
                          json_str(json_get(body->config, "workspace"), NULL),
                          &launch->place);
    if (!st)
        st = read_sources(req, launch);
    if (!st)
        st = load_config(req, launch);
    return st ? st : submit_board(req, launch);
}

/* ---- ending ---------------------------------------------------------------------- */

static det_status reply_killed(struct request *req)
{
    return reply_board(req, req->arg[0], false);
}

det_status api_kill_tensorboard(struct request *req)
{
    struct core_event event = {.kind = EVENT_JOB_ACTION};
    struct board board;
    det_status st = load_board(req, req->arg[0], &board);

    if (st)
        return st;
    if (job_is_terminal(board.job.row.state))
        return reply_killed(req);
    event.job_action.job_id = board.job.row.id;
    event.job_action.action = ACTION_KILL;
    return request_event(req, &event, reply_killed);
}
