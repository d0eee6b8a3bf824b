/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_create.c - from a YAML text and a folder of files to an experiment. */
#include "master/api/experiments/experiment_create.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "data/yaml/yaml.h"
#include "master/api/api.h"
#include "master/api/placement.h"
#include "master/api/render.h"
#include "master/api/submit.h"
#include "master/request/access.h"
#include "master/storage_roots.h"
#include "search/preview.h"
#include "search/searcher.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/collect.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_continue.h"
#include "store/roster/roster_share.h"
#include "store/store.h"
#include "wire/bodies.h"

struct create_state {
    struct experiment_config config;
    const char *files; /* tar.gz, in the request's memory until the commit */
    size_t files_len;
    size_t uncounted; /* of them, while the body counts for them */
    char job_id[UUID_TEXT];
    char name[SUBMIT_NAME_SIZE];
    const char *warm_start; /* a checkpoint's uuid; NULL: none */
    struct placement place;
};

/* ---- files ----------------------------------------------------------------------- */

/* A fork without files uses its parent's. */
static det_status load_files(struct request *req, struct create_state *state)
{
    CLEANUP(buf_done) struct buf tgz = request_buf(req, SUBMIT_FILES_LIMIT);
    const struct create_experiment_body *body = req->body;
    bool is_parents = body->parent_id && !submit_has_files(body->model_definition);
    det_status st;

    if (!is_parents)
        tgz.part.from = NULL; /* not counted twice: see dispatch_body_limit() */
    if (is_parents)
        st = store_experiment_files(req->db, body->parent_id, &tgz, req->err);
    else
        st = submit_pack_files("modelDefinition", body->model_definition, &tgz,
                               req->err);
    if (st)
        return st;
    state->files_len = tgz.len;
    state->uncounted = is_parents ? 0 : tgz.len;
    state->files = arena_keep(&req->mem, &tgz);
    return state->files ? DET_OK : DET_NOMEM;
}

/* After it, the archive counts, and the body is gone. */
static det_status take_files(struct request *req, struct create_state *state,
                             det_status before)
{
    det_status st = before ? before : load_files(req, state);

    request_drop_body(req);
    if (!st && !allowance_part_take(&req->mem.part, state->uncounted))
        st = DET_NOMEM; /* request_run_handler() makes it DET_BUSY */
    return st;
}

/* Without an entrypoint the folder itself is imported, so it must be a Python package. */
static det_status check_entrypoint(struct request *req,
                                   const struct create_state *state)
{
    const struct create_experiment_body *body = req->body;

    if (state->config.entrypoint || body->parent_id)
        return DET_OK;
    json_each(file, body->model_definition)
        if (!strcmp(json_str(json_find(file, "path"), ""), "__init__.py"))
            return DET_OK;
    return err_set(
        req->err, DET_INVALID,
        "managed experiments require entrypoint: none is given, and the folder "
        "has no __init__.py to import instead");
}

/* ---- configuration --------------------------------------------------------------- */

static det_status load_config(struct request *req, const char *text,
                              struct create_state *state)
{
    struct config_report report = CONFIG_REPORT(&req->mem, NULL);
    struct master *master = req->master;
    struct experiment_defaults defaults = {
        .workspace_storage = state->place.storage,
        .checkpoint_storage = json_get(master->config, "checkpoint_storage"),
        .checkpoint_directory = master->checkpoint_directory,
        .task_container_defaults = json_get(master->config, "task_container_defaults"),
        .seed = (uint32_t)(master_now_us(master) / 1000000),
        .name = state->name,
        .compute_pool = state->place.workspace.compute_pool,
        .aux_pool = state->place.workspace.aux_pool,
    };
    unsigned char random[16];
    det_status st = rng_secret(random, sizeof(random), req->err);

    if (st)
        return st;
    if (json_is_null(defaults.checkpoint_storage))
        defaults.checkpoint_storage = NULL;
    uuid_format(random, state->job_id);
    submit_make_name("Experiment", random, state->name);
    st = experiment_config_load(text, strlen(text), &defaults, &req->mem, &report,
                                &state->config, req->err);
    if (!st)
        st = storage_roots_check(master, &state->config, &req->mem, req->err);
    return st ? err_prefix(req->err, "invalid experiment configuration") : DET_OK;
}

/* ---- warm start ------------------------------------------------------------------ */

/* searcher.source_trial_id wins over searcher.source_checkpoint_uuid. */
static det_status find_source(struct request *req,
                              const struct experiment_config *config,
                              const char **ret_uuid)
{
    det_status st = store_trial_still_there(req->db, config->source_trial_id, &req->mem,
                                            ret_uuid, req->err);

    if (!st && !*ret_uuid)
        st = err_set(req->err, DET_INVALID,
                     "trial %" PRId64 " has no checkpoint, or all it had were deleted",
                     config->source_trial_id);
    return st ? err_prefix(req->err, "searcher.source_trial_id") : DET_OK;
}

static det_status find_warm_start(struct request *req, const struct create_state *state,
                                  const char **ret_uuid)
{
    const struct experiment_config *config = &state->config;
    struct checkpoint row;
    det_status st;

    *ret_uuid = NULL;
    if (config->source_trial_id) {
        st = access_check_as(req, ROUTE_ID_list_trial_checkpoints, ROUTE_OBJECT_trial,
                             config->source_trial_id);
        return st ? st : find_source(req, config, ret_uuid);
    }
    if (!config->source_checkpoint_uuid)
        return DET_OK;
    st = access_check_name_as(req, ROUTE_ID_get_checkpoint, ROUTE_OBJECT_checkpoint,
                              config->source_checkpoint_uuid);
    if (!st)
        st = store_checkpoint_get(req->db, config->source_checkpoint_uuid, &req->mem,
                                  &row, req->err);
    if (!st && row.state != CHECKPOINT_COMPLETED)
        st = err_set(req->err, DET_INVALID,
                     "no trial can start from checkpoint '%s': it is %s", row.uuid,
                     checkpoint_wire_state(row.state));
    if (st)
        return err_prefix(req->err, "searcher.source_checkpoint_uuid");
    *ret_uuid = row.uuid;
    return DET_OK;
}

/* ---- the call -------------------------------------------------------------------- */

det_status experiment_create_reply(struct request *req, int64_t id, bool exceeds_slots)
{
    struct experiment_view view;
    det_status st = store_experiment_get(req->db, id, &req->mem, &view, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_experiment(req, "experiment", &view, true);
    jw_raw(&req->w, "config", view.row.config);
    jw_array(&req->w, "warnings");
    if (exceeds_slots)
        jw_str(&req->w, NULL, "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED");
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}

det_status experiment_create_reply_created(struct request *req)
{
    return experiment_create_reply(req, req->item->id, req->item->exceeds_slots);
}

static det_status reply_valid(struct request *req, const struct create_state *state)
{
    struct experiment_view view = {
        .row = {.config = state->config.json,
                .original_config = "",
                .job_id = "",
                .resource_pool = state->config.resource_pool,
                .state = EXPERIMENT_PAUSED,
                .project_id = state->place.project_id,
                .start_us = master_now_us(req->master)},
        .project_name = state->place.project_name,
        .project_owner_id = state->place.project_owner_id,
        .workspace_id = state->place.workspace.id,
        .workspace_name = state->place.workspace.name,
        .name = state->config.name,
        .username = req->caller.username,
        .searcher_type = state->config.searcher_name,
    };
    det_status st;

    jw_object(&req->w, NULL);
    st = render_experiment(req, "experiment", &view, false);
    jw_raw(&req->w, "config", state->config.json);
    jw_array(&req->w, "warnings");
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}

static det_status submit_experiment(struct request *req)
{
    const struct create_experiment_body *body = req->body;
    struct create_state *state = req->state;
    struct core_event event = {.kind = EVENT_EXPERIMENT_SUBMITTED};

    event.submitted.warm_start = state->warm_start;
    event.submitted.owner_id = req->caller.user_id;
    event.submitted.project_id = state->place.project_id;
    event.submitted.parent_id = body->parent_id;
    event.submitted.job_id = state->job_id;
    event.submitted.config = state->config.json;
    event.submitted.original_config = body->config;
    event.submitted.name = state->config.name;
    event.submitted.description = state->config.description;
    event.submitted.labels = json_text(&req->mem, state->config.labels);
    event.submitted.files = state->files;
    event.submitted.files_len = state->files_len;
    event.submitted.warning = state->config.metric_doubt;
    event.submitted.activate = body->activate;
    if (req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    return request_event(req, &event, experiment_create_reply_created);
}

/* Holds the checkpoint before the event, so it cannot be collected in between.  If the heart
 * refuses the experiment, the checkpoint stays held, which does no harm. */
static det_status hold_warm_start(struct write_job *job, struct db *db, struct err *err)
{
    struct create_state *state = REQUEST_OF(job)->state;

    return store_checkpoint_hold(db, state->warm_start, err);
}

static det_status check_ids(struct request *req, struct create_state *state)
{
    const struct create_experiment_body *body = req->body;
    struct experiment_view parent;
    det_status st =
        placement_of_experiment(req, body->project_id, body->config, &state->place);

    if (!st && body->parent_id)
        st = access_check_as(req, ROUTE_ID_get_model_def, ROUTE_OBJECT_experiment,
                             body->parent_id);
    if (!st && !body->validate_only)
        st = store_roster_check_share(req->master->store, req->db, req->caller.user_id,
                                      req->err);
    if (st || !body->parent_id)
        return st;
    return store_experiment_get(req->db, body->parent_id, &req->mem, &parent, req->err);
}

/* The master does not run it, so it needs neither files nor slots. */
det_status experiment_create_unmanaged(struct request *req,
                                       const struct create_experiment_body *body,
                                       const char *external_id, handler_fn *then)
{
    struct create_state *state = arena_new(&req->mem, struct create_state);
    struct experiment *row = arena_new(&req->mem, struct experiment);
    struct core_event event = {.kind = EVENT_UNMANAGED_EXPERIMENT};
    det_status st;

    if (!state || !row)
        return DET_NOMEM;
    req->body = body;
    st = check_ids(req, state);
    if (!st)
        st = load_config(req, body->config, state);
    if (st || body->validate_only)
        return st ? st : reply_valid(req, state);
    *row = (struct experiment){.state = EXPERIMENT_ACTIVE,
                               .job_id = state->job_id,
                               .owner_id = req->caller.user_id,
                               .project_id = state->place.project_id,
                               .parent_id = body->parent_id,
                               .config = state->config.json,
                               .original_config = body->config,
                               .resource_pool = "",
                               .max_slots = -1,
                               .submitted_us = master_now_us(req->master),
                               .start_us = master_now_us(req->master)};
    event.unmanaged.row = row;
    event.unmanaged.name = state->config.name;
    event.unmanaged.description = state->config.description;
    event.unmanaged.labels = json_text(&req->mem, state->config.labels);
    event.unmanaged.external_id = external_id;
    if (req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    return request_event(req, &event, then);
}

det_status api_create_experiment(struct request *req)
{
    const struct create_experiment_body *body = req->body;
    struct create_state *state = arena_new(&req->mem, struct create_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    if (body->template_name && *body->template_name)
        return err_set(req->err, DET_UNSUPPORTED,
                       "templates are not built; send the whole configuration");
    if (body->unmanaged)
        return experiment_create_unmanaged(req, body, NULL,
                                           experiment_create_reply_created);
    st = check_ids(req, state);
    if (!st)
        st = load_config(req, body->config, state);
    if (!st)
        st = submit_check_size("DET_EXPERIMENT_CONFIG", state->config.json, req->err);
    if (!st)
        st = find_warm_start(req, state, &state->warm_start);
    if (!st && body->validate_only)
        return reply_valid(req, state);
    if (!st)
        st = check_entrypoint(req, state);
    st = take_files(req, state, st);
    if (st)
        return st;
    req->state = state;
    return state->warm_start ? request_write(req, hold_warm_start, submit_experiment)
                             : submit_experiment(req);
}

/* ---- preview --------------------------------------------------------------------- */

det_status api_preview_search(struct request *req)
{
    CLEANUP(buf_done) struct buf yaml = BUF_INIT;
    const struct json *config = json_find(req->tree, "config");
    struct create_state state = {0};
    struct json *trials;
    det_status st;

    if (!config || config->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "the body needs a config object");
    json_write(&yaml, config); /* JSON is YAML */
    if (yaml.status)
        return yaml.status;
    st = load_config(req, yaml.data, &state);
    if (!st)
        st = search_preview(state.config.searcher, state.config.hyperparameters,
                            &req->mem, &trials, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_object(&req->w, "summary");
    jw_json(&req->w, "config", state.config.searcher);
    jw_json(&req->w, "trials", trials);
    jw_end_object(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}
