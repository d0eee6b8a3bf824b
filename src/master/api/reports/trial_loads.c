/* SPDX-License-Identifier: Apache-2.0 */
/* trial_loads.c - the load of the machines that trials run on: supervisors measure it for
 * every trial, unless its configuration says no (rm/spec.c). */
#include <inttypes.h>
#include <string.h>

#include "data/json/json.h"
#include "master/api/api.h"
#include "store/experiment/trial_load.h"
#include "store/experiment/trial_view.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "wire/bodies.h"

enum { LOAD_BYTES = 64 << 10 };

struct load_state {
    int64_t allocation_id;
    int64_t trial_id;
    struct trial_load load;
};

static det_status write_load(struct write_job *job, struct db *db, struct err *err)
{
    const struct request *req = REQUEST_OF(job);
    const struct share_load_body *body = req->body;
    const struct load_state *state = req->state;
    det_status st = store_share_check_open(db, state->allocation_id, body->rank, err);

    return st ? st : store_trial_load_add(db, state->trial_id, &state->load, err);
}

static det_status find_agent(struct request *req, const struct allocation *row,
                             int64_t rank, const char **ret_agent)
{
    struct share *shares;
    uint32_t count = 0;
    det_status st =
        store_shares_of(req->db, row->id, &req->mem, &shares, &count, req->err);

    for (uint32_t i = 0; !st && i < count; i++)
        if (shares[i].rank == rank && shares[i].agent) {
            *ret_agent = shares[i].agent;
            return DET_OK;
        }
    return st ? st
              : err_set(req->err, DET_INVALID, "allocation %s has no rank %" PRId64,
                        row->name, rank);
}

det_status api_share_load(struct request *req)
{
    const struct share_load_body *body = req->body;
    struct load_state *state = arena_new(&req->mem, struct load_state);
    struct allocation row;
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, &row, req->err);

    if (!st && !state)
        st = DET_NOMEM;
    if (!st && !row.trial_id)
        st = err_set(req->err, DET_INVALID,
                     "allocation %s is of a job; only the load of trials is kept",
                     row.name);
    if (!st && (!body->load || body->load->kind != JSON_OBJECT))
        st = err_set(req->err, DET_INVALID, "the load must be an object");
    if (!st)
        st = find_agent(req, &row, body->rank, &state->load.agent);
    if (st)
        return st;
    state->allocation_id = row.id;
    state->trial_id = row.trial_id;
    state->load.time_us =
        body->time_us > 0 ? body->time_us : master_now_us(req->master);
    state->load.load = json_text(&req->mem, body->load);
    if (!state->load.load)
        return DET_NOMEM;
    if (strlen(state->load.load) > LOAD_BYTES)
        return err_set(req->err, DET_TOO_LARGE, "a load must have at most %d KB",
                       LOAD_BYTES >> 10);
    req->state = state;
    return request_write(req, write_load, NULL);
}

det_status api_get_trial_load(struct request *req)
{
    struct json_writer *w = &req->w;
    struct trial_view trial;
    struct trial_load *rows;
    uint32_t count = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (!st)
        st = store_trial_loads(req->db, id, &req->mem, &rows, &count, req->err);
    if (st)
        return st;
    jw_object(w, NULL);
    jw_array(w, "loads");
    for (uint32_t i = 0; i < count; i++) {
        jw_object(w, NULL);
        jw_str(w, "agent", rows[i].agent);
        jw_time(w, "time", rows[i].time_us);
        jw_raw(w, "load", rows[i].load);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
    return DET_OK;
}
