/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.c - reported, shown, changed. */
#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/show.h"
#include "master/heart.h"
#include "master/journal.h"
#include "store/data.h"
#include "store/views.h"
#include "wire/bodies.h"
#include "wire/queries.h"

/* ---- reporting ------------------------------------------------------------------- */

struct report_state {
    struct checkpoint row;
    int64_t run_id;
};

/* Who made it: the allocation it names, else the newest of the task it names. */
static det_status find_maker(struct request *req, const struct checkpoint_body *body,
                             struct allocation *ret_allocation)
{
    struct allocation *rows;
    uint32_t count;
    det_status st;

    if (req->caller.allocation)
        return store_allocation_get(req->db, req->caller.allocation, &req->mem,
                                    ret_allocation, req->err);
    if (body->allocation_id && *body->allocation_id)
        return store_allocation_get(req->db, body->allocation_id, &req->mem,
                                    ret_allocation, req->err);
    if (!body->task_id || !*body->task_id)
        return err_set(req->err, DET_INVALID,
                       "a checkpoint needs the allocationId or taskId that made it");
    st = store_allocations_of_task(req->db, body->task_id, &req->mem, &rows, &count,
                                   req->err);
    if (!st && !count)
        st = err_set(req->err, DET_NOT_FOUND, "task '%s' not found", body->task_id);
    if (!st)
        *ret_allocation = rows[0];
    return st;
}

static int64_t sum_sizes(const struct json *resources)
{
    int64_t total = 0;

    json_each(item, resources)
        total += json_i64(item, 0);
    return total;
}

static det_status check_body(const struct checkpoint_body *body, struct err *err)
{
    if (!uuid_is_valid(body->uuid))
        return err_set(err, DET_INVALID, "'%s' is not a checkpoint's uuid", body->uuid);
    if (body->state && strcmp(body->state, "STATE_COMPLETED") &&
        strcmp(body->state, "STATE_UNSPECIFIED"))
        return err_set(err, DET_INVALID, "the state is '%s'; expected STATE_COMPLETED",
                       body->state);
    if (!body->metadata || !json_get(body->metadata, "steps_completed"))
        return err_set(err, DET_INVALID, "metadata.steps_completed is missing");
    return DET_OK;
}

static det_status write_checkpoint(struct write_job *job, struct db *db,
                                   struct err *err)
{
    struct report_state *state = REQUEST_OF(job)->state;
    struct core_event event = {.kind = EVENT_CHECKPOINTED};
    bool is_new;
    det_status st = store_checkpoint_add(db, &state->row, &is_new, err);

    if (st || !is_new)
        return st;
    event.checkpointed.trial_id = state->row.trial_id;
    event.checkpointed.run_id = state->run_id;
    event.checkpointed.uuid = state->row.uuid;
    event.checkpointed.steps = state->row.steps_completed;
    return journal_add(db, &event, err);
}

static det_status reported(struct request *req)
{
    heart_journal(req->master->heart);
    return DET_OK;
}

det_status api_report_checkpoint(struct request *req)
{
    const struct checkpoint_body *body = req->body;
    struct report_state *state = arena_new(&req->mem, struct report_state);
    struct allocation maker;
    det_status st = check_body(body, req->err);

    if (!st)
        st = find_maker(req, body, &maker);
    if (st)
        return st;
    if (!state)
        return DET_NOMEM;
    state->run_id = maker.run_id;
    state->row = (struct checkpoint){
        .uuid = body->uuid,
        .task_id = maker.task_id,
        .allocation_id = maker.name,
        .trial_id = maker.trial_id,
        .experiment_id = maker.experiment_id,
        .state = CHECKPOINT_COMPLETED,
        .steps_completed = json_i64(json_get(body->metadata, "steps_completed"), 0),
        .metadata = json_text(&req->mem, body->metadata),
        .resources = body->resources ? json_text(&req->mem, body->resources) : "{}",
        .size_bytes = sum_sizes(body->resources),
        .report_us = body->report_time ? body->report_time : master_now_us(req->master),
        .storage_id = body->storage_id,
    };
    if (req->mem.has_failed)
        return DET_NOMEM;
    req->state = state;
    return request_write(req, write_checkpoint, reported);
}

/* ---- showing --------------------------------------------------------------------- */

static det_status reply_checkpoint(struct request *req)
{
    struct checkpoint row;
    det_status st;

    if (!uuid_is_valid(req->arg[0]))
        return err_set(req->err, DET_INVALID, "'%s' is not a checkpoint's uuid",
                       req->arg[0]);
    st = store_checkpoint_get(req->db, req->arg[0], &req->mem, &row, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = show_checkpoint(req, "checkpoint", &row);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_checkpoint(struct request *req)
{
    return reply_checkpoint(req);
}

static const struct {
    const char *name;
    enum checkpoint_sort sort;
} sorts[] = {
    {"SORT_BY_UUID", CHECKPOINT_BY_UUID},
    {"SORT_BY_TRIAL_ID", CHECKPOINT_BY_TRIAL},
    {"SORT_BY_BATCH_NUMBER", CHECKPOINT_BY_STEPS},
    {"SORT_BY_END_TIME", CHECKPOINT_BY_END_TIME},
    {"SORT_BY_STATE", CHECKPOINT_BY_STATE},
    {"SORT_BY_SEARCHER_METRIC", CHECKPOINT_BY_METRIC},
};

static det_status list_checkpoints(struct request *req, struct checkpoint_query *query)
{
    const struct checkpoints_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct checkpoint *rows;
    uint32_t count;
    int64_t total;
    det_status st =
        states_from(&in->states, checkpoint_state_names, &query->states, req->err);

    query->is_descending = is_descending(in->order_by);
    query->offset = in->offset;
    query->limit = in->limit;
    if (in->sort_by_metric && *in->sort_by_metric)
        query->sort = CHECKPOINT_BY_METRIC;
    for (size_t i = 0; i < ARRAY_LEN(sorts) && in->sort_by_attr; i++)
        if (!strcmp(sorts[i].name, in->sort_by_attr))
            query->sort = sorts[i].sort;
    if (!st)
        st = store_checkpoint_list(req->db, query, &req->mem, &rows, &count, &total,
                                   req->err);
    if (!st)
        st = page_cut(&page, total, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "checkpoints");
    for (uint32_t i = 0; i < count && !st; i++)
        st = show_checkpoint(req, NULL, &rows[i]);
    jw_end_array(&req->w);
    show_page(&req->w, &page);
    jw_end_object(&req->w);
    return st;
}

det_status api_list_experiment_checkpoints(struct request *req)
{
    struct checkpoint_query query = {0};
    struct experiment_view experiment;
    det_status st = request_id(req, 0, &query.experiment_id);

    if (!st)
        st = store_experiment_get(req->db, query.experiment_id, &req->mem, &experiment,
                                  req->err);
    return st ? st : list_checkpoints(req, &query);
}

det_status api_list_trial_checkpoints(struct request *req)
{
    struct checkpoint_query query = {0};
    struct trial_view trial;
    det_status st = request_id(req, 0, &query.trial_id);

    if (!st)
        st = store_trial_get(req->db, query.trial_id, &req->mem, &trial, req->err);
    return st ? st : list_checkpoints(req, &query);
}

/* ---- changing -------------------------------------------------------------------- */

static det_status write_resources(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);

    json_each(item, json_find(req->tree, "checkpoints")) {
        const struct json *resources = json_path(item, "resources.resources");
        const char *uuid = json_str(json_find(item, "uuid"), "");
        det_status st;

        if (!resources)
            continue;
        st = store_checkpoint_set_resources(db, uuid, resources, &req->mem, err);
        if (st)
            return st;
    }
    return DET_OK;
}

det_status api_patch_checkpoints(struct request *req)
{
    const struct json *list = json_find(req->tree, "checkpoints");

    if (!list || list->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "the body needs a list of checkpoints");
    json_each(item, list) {
        const char *uuid = json_str(json_find(item, "uuid"), "");
        struct checkpoint row;
        det_status st = store_checkpoint_get(req->db, uuid, &req->mem, &row, req->err);

        if (st)
            return st;
        if (req->caller.trial_id && row.trial_id != req->caller.trial_id)
            return err_set(req->err, DET_FORBIDDEN,
                           "a task's token opens only its own task");
    }
    return request_write(req, write_resources, NULL);
}

static det_status write_metadata(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);

    return store_checkpoint_set_metadata(db, req->arg[0], req->state, err);
}

det_status api_post_checkpoint_metadata(struct request *req)
{
    const struct json *metadata = json_path(req->tree, "checkpoint.metadata");

    if (!metadata || metadata->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "checkpoint.metadata must be an object");
    req->state = json_text(&req->mem, metadata);
    if (!req->state)
        return DET_NOMEM;
    return request_write(req, write_metadata, reply_checkpoint);
}
