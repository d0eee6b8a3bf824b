/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/reports/checkpoints.h"

#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/api/reports/metrics.h"
#include "master/changes/change_notes.h"
#include "master/changes/changes.h"
#include "master/heart/journal.h"
#include "master/request/access.h"
#include "model/checkpoint_keep.h"
#include "store/checkpoint/checkpoint.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/page.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "wire/bodies.h"
#include "wire/queries.h"

enum { METADATA_BYTES = 1 << 20 };

/* ---- reporting ------------------------------------------------------------------- */

struct report_state {
    struct checkpoint row;
    int64_t run_id;
};

/* The allocation that the body names, the newest of the task that it names, or the caller's.
 * Whether the caller may report for it is checked later, also for a task. */
static det_status find_maker(struct request *req, const struct checkpoint_body *body,
                             struct allocation *ret_allocation)
{
    struct allocation *rows;
    uint32_t count;
    det_status st;

    if (body->allocation_id && *body->allocation_id)
        return store_allocation_get(req->db, body->allocation_id, &req->mem,
                                    ret_allocation, req->err);
    if ((!body->task_id || !*body->task_id) && req->caller.allocation)
        return store_allocation_get(req->db, req->caller.allocation, &req->mem,
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

/* The total of {"path": size, ...}; 0 for NULL and null. */
static det_status sum_sizes(const struct json *resources, int64_t *ret_total,
                            struct err *err)
{
    int64_t total = 0;

    if (!json_is_null(resources) && resources->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "resources is %s; expected paths and sizes",
                       json_kind_name(resources->kind));
    json_each(item, resources) {
        int64_t size = json_i64(item, -1);

        if (size < 0 || __builtin_add_overflow(total, size, &total))
            return err_set(err, DET_INVALID,
                           "the size of '%.200s' is not a number of bytes", item->key);
    }
    *ret_total = total;
    return DET_OK;
}

static det_status check_metadata(const struct json *metadata, struct err *err)
{
    const struct json *steps = json_get(metadata, "steps_completed");

    if (!steps)
        return err_set(err, DET_INVALID, "metadata.steps_completed is missing");
    if (json_i64(steps, -1) < 0)
        return err_set(err, DET_INVALID,
                       "metadata.steps_completed is not a whole number >= 0");
    return DET_OK;
}

static det_status check_body(const struct checkpoint_body *body, struct err *err)
{
    if (!uuid_is_valid(body->uuid))
        return err_set(err, DET_INVALID, "'%s' is not a checkpoint's uuid", body->uuid);
    if (body->state && strcmp(body->state, "STATE_COMPLETED") &&
        strcmp(body->state, "STATE_UNSPECIFIED"))
        return err_set(err, DET_INVALID, "the state is '%s'; expected STATE_COMPLETED",
                       body->state);
    return check_metadata(body->metadata, err);
}

/* Limits the size, because lists read the whole text. */
static det_status metadata_text(const struct json *metadata, struct arena *mem,
                                const char **ret_text, struct err *err)
{
    const char *text = json_text(mem, metadata);

    if (!text)
        return err_default(err, DET_NOMEM);
    if (strlen(text) > METADATA_BYTES)
        return err_set(err, DET_TOO_LARGE, "metadata is larger than %d MB",
                       METADATA_BYTES >> 20);
    *ret_text = text;
    return DET_OK;
}

/* Files that a run left behind (the key `keep`).  They are not a state to start from and
 * have no metric, so they count nowhere, and only people delete them. */
static bool is_kept_files(const struct json *metadata)
{
    return strcmp(json_str(json_get(metadata, "kind"), ""), CHECKPOINT_KEPT_FILES) == 0;
}

det_status checkpoints_from_body(const struct checkpoint_body *body,
                                 const struct allocation *maker, int64_t now_us,
                                 struct arena *mem, struct checkpoint *ret_row,
                                 struct err *err)
{
    const char *resources = "{}";
    const char *metadata;
    int64_t size_bytes;
    det_status st = check_body(body, err);

    if (!st)
        st = sum_sizes(body->resources, &size_bytes, err);
    if (!st)
        st = metadata_text(body->metadata, mem, &metadata, err);
    if (st)
        return st;
    if (!json_is_null(body->resources))
        resources = json_text(mem, body->resources);
    if (!resources)
        return err_default(err, DET_NOMEM);
    *ret_row = (struct checkpoint){
        .uuid = body->uuid,
        .task_id = maker->task_id,
        .allocation_id = maker->name,
        .trial_id = maker->trial_id,
        .experiment_id = maker->experiment_id,
        .state = CHECKPOINT_COMPLETED,
        .steps_completed = json_i64(json_get(body->metadata, "steps_completed"), 0),
        .metadata = metadata,
        .resources = resources,
        .size_bytes = size_bytes,
        .report_us = body->report_time ? body->report_time : now_us,
        .storage_id = body->storage_id,
        .is_archived = is_kept_files(body->metadata),
    };
    return DET_OK;
}

det_status checkpoints_write(struct db *db, const struct checkpoint *row,
                             int64_t run_id, struct err *err)
{
    struct core_event event = {.kind = EVENT_CHECKPOINTED};
    bool is_new;
    det_status st = store_checkpoint_add(db, row, &is_new, err);

    if (st || !is_new || row->is_archived)
        return st;
    event.checkpointed.trial_id = row->trial_id;
    event.checkpointed.run_id = run_id;
    event.checkpointed.uuid = row->uuid;
    event.checkpointed.steps = row->steps_completed;
    return journal_add(db, &event, err);
}

static det_status write_checkpoint(struct write_job *job, struct db *db,
                                   struct err *err)
{
    struct report_state *state = REQUEST_OF(job)->state;

    return checkpoints_write(db, &state->row, state->run_id, err);
}

static void note_reported(struct request *req)
{
    const struct report_state *state = req->state;
    struct changes *changes = req->master->changes;

    changes_note(changes, CHANGE_CHECKPOINT, state->row.trial_id,
                 state->row.experiment_id);
    changes_note(changes, CHANGE_EXPERIMENT, state->row.experiment_id, 0);
}

det_status api_report_checkpoint(struct request *req)
{
    const struct checkpoint_body *body = req->body;
    struct report_state *state = arena_new(&req->mem, struct report_state);
    struct allocation maker;
    det_status st = check_body(body, req->err); /* before any lookup */

    if (!st)
        st = find_maker(req, body, &maker);
    if (!st)
        st = access_check(req, ROUTE_OBJECT_allocation, maker.name);
    if (!st && !maker.trial_id)
        st = err_set(req->err, DET_STATE,
                     "task %s is a job: only trials have checkpoints", maker.task_id);
    if (!st && !state)
        st = DET_NOMEM;
    if (!st)
        st = checkpoints_from_body(body, &maker, master_now_us(req->master), &req->mem,
                                   &state->row, req->err);
    if (st)
        return st;
    state->run_id = maker.run_id;
    req->state = state;
    req->committed = note_reported;
    return request_write(req, write_checkpoint, metrics_notify_heart);
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
    st = render_checkpoint(req, "checkpoint", &row);
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
    {"SORT_BY_UNSPECIFIED", CHECKPOINT_BY_END_TIME},
    {"SORT_BY_UUID", CHECKPOINT_BY_UUID},
    {"SORT_BY_TRIAL_ID", CHECKPOINT_BY_TRIAL},
    {"SORT_BY_BATCH_NUMBER", CHECKPOINT_BY_STEPS},
    {"SORT_BY_END_TIME", CHECKPOINT_BY_END_TIME},
    {"SORT_BY_STATE", CHECKPOINT_BY_STATE},
    {"SORT_BY_SEARCHER_METRIC", CHECKPOINT_BY_METRIC},
};

/* The store keeps only the searcher's metric with each checkpoint. */
static det_status find_sort(const struct checkpoints_query *in, const char *metric,
                            enum checkpoint_sort *ret_sort, struct err *err)
{
    if (in->sort_by_metric && *in->sort_by_metric) {
        if (!metric || strcmp(metric, in->sort_by_metric))
            return err_set(err, DET_INVALID,
                           "checkpoints cannot be sorted by the metric '%s', only by "
                           "the searcher's%s%s",
                           in->sort_by_metric, metric ? ", " : "",
                           metric ? metric : "");
        *ret_sort = CHECKPOINT_BY_METRIC;
        return DET_OK;
    }
    if (!in->sort_by_attr || !*in->sort_by_attr)
        return DET_OK;
    for (size_t i = 0; i < ARRAY_LEN(sorts); i++)
        if (!strcmp(sorts[i].name, in->sort_by_attr)) {
            *ret_sort = sorts[i].sort;
            return DET_OK;
        }
    return err_set(err, DET_INVALID, "checkpoints cannot be sorted by '%s'",
                   in->sort_by_attr);
}

static det_status list_checkpoints(struct request *req, struct checkpoint_query *query,
                                   const char *metric)
{
    const struct checkpoints_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct checkpoint *rows;
    uint32_t count;
    int64_t total;
    det_status st =
        listing_states(&in->states, checkpoint_state_names, &query->states, req->err);

    if (query->states & TO(CHECKPOINT_PARTIALLY_DELETED))
        query->states |= TO(CHECKPOINT_DELETING); /* the reference calls both so */
    query->is_descending = listing_is_descending(in->order_by);
    query->offset = in->offset;
    query->limit = in->limit;
    if (!st)
        st = find_sort(in, metric, &query->sort, req->err);
    if (!st)
        st = store_checkpoint_list(req->db, query, &req->mem, &rows, &count, &total,
                                   req->err);
    if (!st)
        st = listing_cut_page(&page, total, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "checkpoints");
    for (uint32_t i = 0; i < count && !st; i++)
        st = render_checkpoint(req, NULL, &rows[i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
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
    return st ? st : list_checkpoints(req, &query, experiment.searcher_metric);
}

det_status api_list_trial_checkpoints(struct request *req)
{
    struct checkpoint_query query = {0};
    struct experiment_view experiment;
    struct trial_view trial;
    det_status st = request_id(req, 0, &query.trial_id);

    if (!st)
        st = store_trial_get(req->db, query.trial_id, &req->mem, &trial, req->err);
    if (!st)
        st = store_experiment_get(req->db, trial.row.experiment_id, &req->mem,
                                  &experiment, req->err);
    return st ? st : list_checkpoints(req, &query, experiment.searcher_metric);
}

/* ---- changing -------------------------------------------------------------------- */

static det_status write_resources(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);

    json_each(item, json_find(req->tree, "checkpoints")) {
        const struct json *resources = json_path(item, "resources.resources");
        const char *uuid = json_str(json_find(item, "uuid"), "");
        det_status st;

        if (json_is_null(resources))
            continue;
        st = store_checkpoint_set_resources(db, uuid, resources, &req->mem, err);
        if (st)
            return st;
    }
    return DET_OK;
}

static det_status resources_written(struct request *req)
{
    change_notes_checkpoints(req, json_first(json_find(req->tree, "checkpoints")),
                             UINT32_MAX);
    return DET_OK;
}

det_status api_patch_checkpoints(struct request *req)
{
    const struct json *list = json_find(req->tree, "checkpoints");

    if (!list || list->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "the body needs a list of checkpoints");
    access_names_nothing(req);
    json_each(item, list) {
        const char *uuid = json_str(json_find(item, "uuid"), "");
        struct checkpoint row;
        int64_t size_bytes;
        det_status st = access_check(req, ROUTE_OBJECT_checkpoint, uuid);

        if (!st)
            st = store_checkpoint_get(req->db, uuid, &req->mem, &row, req->err);
        if (!st)
            st = sum_sizes(json_path(item, "resources.resources"), &size_bytes,
                           req->err);
        if (st)
            return st;
    }
    return request_write(req, write_resources, resources_written);
}

static det_status write_metadata(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);

    return store_checkpoint_set_metadata(db, req->arg[0], req->state, err);
}

static det_status metadata_written(struct request *req)
{
    const struct json uuid = {.kind = JSON_STRING,
                              .string = {req->arg[0], strlen(req->arg[0])}};

    change_notes_checkpoints(req, &uuid, 1);
    return reply_checkpoint(req);
}

det_status api_post_checkpoint_metadata(struct request *req)
{
    const struct json *metadata = json_path(req->tree, "checkpoint.metadata");
    const char *text;
    det_status st;

    if (!metadata || metadata->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "checkpoint.metadata must be an object");
    st = metadata_text(metadata, &req->mem, &text, req->err);
    if (st)
        return st;
    req->state = (void *)(uintptr_t)text;
    return request_write(req, write_metadata, metadata_written);
}
