/* SPDX-License-Identifier: Apache-2.0 */
/* run_records.c - the environment of each run: code, packages, hardware.  It lets people
 * compare and repeat runs. */
#include <inttypes.h>
#include <string.h>

#include "config/experiment_config.h"
#include "data/json/json.h"
#include "master/api/api.h"
#include "master/changes/changes.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "store/task/run_record.h"
#include "wire/bodies.h"

enum { RECORD_BYTES = 4 << 20 };

struct record_state {
    int64_t allocation_id;
    int64_t trial_id; /* 0: a job's */
    const char *text;
};

static det_status write_record(struct write_job *job, struct db *db, struct err *err)
{
    const struct request *req = REQUEST_OF(job);
    const struct share_record_body *body = req->body;
    const struct record_state *state = req->state;
    det_status st = store_share_check_open(db, state->allocation_id, body->rank, err);

    return st ? st
              : store_run_record_put(db, state->allocation_id, body->rank, state->text,
                                     err);
}

static void note_record(struct request *req)
{
    const struct record_state *state = req->state;

    if (state->trial_id)
        changes_note(req->master->changes, CHANGE_TRIAL, state->trial_id,
                     req->experiment_id);
}

det_status api_share_record(struct request *req)
{
    const struct share_record_body *body = req->body;
    struct record_state *state = arena_new(&req->mem, struct record_state);
    struct allocation row;
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, &row, req->err);

    if (st)
        return st;
    if (!body->record || body->record->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "the record must be an object");
    if (body->rank < 0 || body->rank >= row.shares)
        return err_set(req->err, DET_INVALID, "allocation %s has no rank %" PRId64,
                       row.name, body->rank);
    if (!state)
        return DET_NOMEM;
    state->allocation_id = row.id;
    state->trial_id = row.trial_id;
    state->text = json_text(&req->mem, body->record);
    if (!state->text)
        return DET_NOMEM;
    if (strlen(state->text) > RECORD_BYTES)
        return err_set(req->err, DET_TOO_LARGE, "a record must have at most %d MB",
                       RECORD_BYTES >> 20);
    req->state = state;
    req->experiment_id = row.experiment_id;
    req->committed = note_record;
    return request_write(req, write_record, NULL);
}

static void render_runs(struct json_writer *w, const struct run_record *rows,
                        uint32_t count)
{
    jw_array(w, "runs");
    for (uint32_t i = 0; i < count; i++) {
        jw_object(w, NULL);
        jw_str(w, "allocationId", rows[i].allocation);
        jw_i64(w, "runId", rows[i].run_id);
        jw_i64(w, "rank", rows[i].rank);
        jw_str(w, "agent", rows[i].agent);
        jw_raw(w, "record", rows[i].record);
        jw_end_object(w);
    }
    jw_end_array(w);
}

det_status api_get_trial_environment(struct request *req)
{
    struct json_writer *w = &req->w;
    struct experiment_config config;
    struct experiment_view experiment;
    struct trial_view trial;
    struct run_record *rows;
    uint32_t count = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (!st)
        st = store_experiment_get(req->db, trial.row.experiment_id, &req->mem,
                                  &experiment, req->err);
    if (!st)
        st =
            experiment_config_open(experiment.row.config, strlen(experiment.row.config),
                                   &req->mem, &config, req->err);
    if (!st)
        st = store_run_records(req->db, id, &req->mem, &rows, &count, req->err);
    if (st)
        return st;
    jw_object(w, NULL);
    jw_i64(w, "trialId", id);
    jw_i64(w, "experimentId", trial.row.experiment_id);
    jw_i64(w, "experimentSeed", config.seed);
    jw_i64(w, "trialSeed", trial.row.seed);
    jw_raw(w, "hparams", trial.row.hparams);
    jw_raw(w, "config", experiment.row.config);
    render_runs(w, rows, count);
    jw_end_object(w);
    return DET_OK;
}
