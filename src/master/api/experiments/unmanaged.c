/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.c - experiments and trials that the master only records.
 *
 * They get only their numbers from the heart: no slots, no allocations, no search.  Their
 * program reports by the usual calls, or in batches (api_trial_reports(),
 * api_trial_output()), and sets their state by PATCH.  An external id makes these calls
 * repeatable: an existing record is found, not created again. */
#include "master/api/experiments/unmanaged.h"

#include <inttypes.h>
#include <string.h>

#include "base/rng.h"
#include "master/api/api.h"
#include "master/api/experiments/experiment_create.h"
#include "master/api/experiments/trials.h"
#include "master/changes/change_notes.h"
#include "master/request/access.h"
#include "model/experiment_text.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/experiment/unmanaged.h"
#include "store/store.h"
#include "wire/bodies.h"

enum { EXTERNAL_ID_MOST = 256 };

static det_status check_external_id(struct request *req, const char *id)
{
    if (!id || !*id || strlen(id) > EXTERNAL_ID_MOST)
        return err_set(req->err, DET_INVALID,
                       "an external id must have 1 to %d characters", EXTERNAL_ID_MOST);
    return DET_OK;
}

/* ---- experiments ----------------------------------------------------------------- */

/* Two callers may have asked at once: replies with the one that exists. */
static det_status reply_found(struct request *req)
{
    int64_t id = 0;
    det_status st = store_unmanaged_find(req->db, req->arg[0], &id, req->err);

    if (!st && !id)
        st = err_set(req->err, DET_BUSY,
                     "the experiment with external id '%s' was just deleted; try "
                     "again",
                     req->arg[0]);
    return st ? st : experiment_create_reply(req, id, false);
}

det_status api_put_experiment(struct request *req)
{
    const struct put_experiment_body *body = req->body;
    int64_t id = 0;
    det_status st = check_external_id(req, req->arg[0]);

    if (!st)
        st = store_unmanaged_find(req->db, req->arg[0], &id, req->err);
    if (st)
        return st;
    if (id) {
        st = access_check_as(req, ROUTE_ID_get_experiment, ROUTE_OBJECT_experiment, id);
        return st ? st : experiment_create_reply(req, id, false);
    }
    if (!body->create_experiment_request.config)
        return err_set(req->err, DET_INVALID,
                       "there is no experiment with external id '%s', and "
                       "createExperimentRequest has no config to create one",
                       req->arg[0]);
    return experiment_create_unmanaged(req, &body->create_experiment_request,
                                       req->arg[0], reply_found);
}

/* ---- trials ---------------------------------------------------------------------- */

det_status unmanaged_trial_get(struct request *req, int64_t id,
                               struct trial_view *ret_trial)
{
    det_status st = store_trial_get(req->db, id, &req->mem, ret_trial, req->err);

    if (!st && !ret_trial->is_unmanaged)
        st = err_set(req->err, DET_STATE,
                     "trial %" PRId64 " is run by this cluster: only its own task may "
                     "change it",
                     id);
    return st;
}

/* Replies with the one that exists, as with experiments. */
static det_status reply_trial(struct request *req)
{
    const struct trial *row = req->state;
    int64_t id = 0;
    det_status st = store_unmanaged_find_trial(req->db, row->experiment_id,
                                               row->task_id, &id, req->err);

    if (!st && !id)
        st = err_set(req->err, DET_STATE,
                     "experiment %" PRId64 " is being deleted: no trial can be added",
                     row->experiment_id);
    return st ? st : trials_reply(req, id);
}

static const char *make_task_id(struct request *req, int64_t experiment_id,
                                const char *request_id)
{
    return arena_printf(&req->mem, "%" PRId64 ".%s", experiment_id, request_id);
}

static det_status make_trial(struct request *req, const struct create_trial_body *body,
                             const char *request_id)
{
    struct trial *row = arena_new(&req->mem, struct trial);
    struct core_event event = {.kind = EVENT_UNMANAGED_TRIAL};
    struct experiment_view experiment;
    det_status st = access_check_id(req, ROUTE_OBJECT_experiment, body->experiment_id);

    if (!st)
        st = store_experiment_get(req->db, body->experiment_id, &req->mem, &experiment,
                                  req->err);
    if (st)
        return st;
    if (!row)
        return DET_NOMEM;
    if (!experiment.is_unmanaged)
        return err_set(req->err, DET_STATE,
                       "experiment %" PRId64 " is run by this cluster: its searcher "
                       "creates its trials",
                       body->experiment_id);
    if (!json_is_null(body->hparams) && body->hparams->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "hparams is %s; expected an object",
                       json_kind_name(body->hparams->kind));
    st = experiment_hparams_check(body->hparams, req->err);
    if (st)
        return st;
    *row = (struct trial){
        .experiment_id = body->experiment_id,
        .request_id = request_id,
        .task_id = make_task_id(req, body->experiment_id, request_id),
        .hparams =
            json_is_null(body->hparams) ? "{}" : json_text(&req->mem, body->hparams),
        .start_us = master_now_us(req->master),
    };
    if (req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    event.unmanaged_trial = req->state = row;
    return request_event(req, &event, reply_trial);
}

det_status api_create_trial(struct request *req)
{
    char *uuid = arena_alloc(&req->mem, UUID_TEXT);
    unsigned char random[16];
    det_status st = rng_secret(random, sizeof(random), req->err);

    if (!uuid)
        return DET_NOMEM;
    if (st)
        return st;
    uuid_format(random, uuid);
    return make_trial(req, req->body, uuid);
}

det_status api_put_trial(struct request *req)
{
    const struct put_trial_body *body = req->body;
    int64_t experiment = body->create_trial_request.experiment_id;
    const char *task;
    int64_t id = 0;
    det_status st = check_external_id(req, body->external_trial_id);

    if (st)
        return st;
    task = make_task_id(req, experiment, body->external_trial_id);
    if (!task)
        return DET_NOMEM;
    st = access_check_id(req, ROUTE_OBJECT_experiment, experiment);
    if (!st)
        st = store_unmanaged_find_trial(req->db, experiment, task, &id, req->err);
    if (st)
        return st;
    return id ? trials_reply(req, id)
              : make_trial(req, &body->create_trial_request, body->external_trial_id);
}

/* ---- the state of a trial -------------------------------------------------------------- */

static const struct {
    const char *name;
    enum trial_state state;
} states[] = {
    {"STATE_RUNNING", TRIAL_ACTIVE},      {"STATE_ACTIVE", TRIAL_ACTIVE},
    {"STATE_COMPLETED", TRIAL_COMPLETED}, {"STATE_ERROR", TRIAL_ERROR},
    {"STATE_CANCELED", TRIAL_CANCELED},
};

static det_status read_state(struct request *req, const char *name, uint32_t *ret_state)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (!strcmp(states[i].name, name)) {
            *ret_state = states[i].state;
            return DET_OK;
        }
    return err_set(req->err, DET_INVALID,
                   "the state is '%s'; expected STATE_RUNNING, STATE_COMPLETED, "
                   "STATE_ERROR or STATE_CANCELED",
                   name);
}

static det_status write_state(struct write_job *job, struct db *db, struct err *err)
{
    return store_unmanaged_put(db, REQUEST_OF(job)->state, err);
}

static det_status state_written(struct request *req)
{
    const struct unmanaged_state *state = req->state;

    return trials_reply(req, state->trial_id);
}

/* Without a state this is only a sign of life, which the master does not need. */
det_status api_patch_trial(struct request *req)
{
    const struct patch_trial_body *body = req->body;
    struct unmanaged_state *state = arena_new(&req->mem, struct unmanaged_state);
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!state)
        return DET_NOMEM;
    if (!st)
        st = unmanaged_trial_get(req, id, &trial);
    if (st)
        return st;
    *state = (struct unmanaged_state){.trial_id = id,
                                      .state = trial.row.state,
                                      .start_us = body->start_time,
                                      .end_us = trial.row.end_us,
                                      .run_id = body->trial_run_id};
    if (body->state)
        st = read_state(req, body->state, &state->state);
    if (st)
        return st;
    if (state->state == TRIAL_ACTIVE)
        state->end_us = 0;
    else if (body->end_time)
        state->end_us = body->end_time;
    else if (!state->end_us)
        state->end_us = master_now_us(req->master);
    req->state = state;
    req->experiment_id = trial.row.experiment_id;
    req->committed = change_notes_path_trial;
    return request_write(req, write_state, state_written);
}
