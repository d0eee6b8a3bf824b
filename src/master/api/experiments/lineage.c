/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.c - the ancestors, forks and start checkpoints of an experiment. */
#include "store/experiment/lineage.h"

#include "master/api/api.h"
#include "store/checkpoint/checkpoint.h"
#include "store/experiment/experiment.h"

enum { KIN_MOST = 200, STARTS_MOST = 50 };

static void render_kin(struct json_writer *w, const char *key, const struct kin *kin,
                       uint32_t count)
{
    jw_array(w, key);
    for (uint32_t i = 0; i < count; i++) {
        jw_object(w, NULL);
        jw_i64(w, "id", kin[i].id);
        jw_bool(w, "isGone", kin[i].is_gone);
        if (!kin[i].is_gone) {
            jw_str(w, "name", kin[i].name);
            jw_str(w, "state", experiment_state_names[kin[i].state]);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* A checkpoint and its trial; an unknown one has only its uuid. */
static det_status render_start(struct request *req, const char *uuid)
{
    struct checkpoint row;
    det_status st = store_checkpoint_get(req->db, uuid, &req->mem, &row, req->err);

    if (st && st != DET_NOT_FOUND)
        return st;
    jw_object(&req->w, NULL);
    jw_str(&req->w, "uuid", uuid);
    jw_bool(&req->w, "isGone", st != DET_OK);
    if (!st) {
        jw_str(&req->w, "state", checkpoint_wire_state(row.state));
        jw_i64(&req->w, "trialId", row.trial_id);
        jw_i64(&req->w, "experimentId", row.experiment_id);
        jw_i64(&req->w, "steps", row.steps_completed);
    }
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status render_starts(struct request *req, int64_t id)
{
    struct field_strs uuids;
    det_status st = store_experiment_warm_starts(req->db, id, STARTS_MOST, &req->mem,
                                                 &uuids, req->err);

    jw_array(&req->w, "checkpoints");
    for (size_t i = 0; !st && i < uuids.count; i++)
        st = render_start(req, uuids.at[i]);
    jw_end_array(&req->w);
    return st;
}

det_status api_get_lineage(struct request *req)
{
    struct experiment_view view;
    struct kin *kin;
    uint32_t count = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (!st)
        st = store_experiment_ancestors(req->db, id, KIN_MOST, &req->mem, &kin, &count,
                                        req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    render_kin(&req->w, "ancestors", kin, count);
    st = store_experiment_children(req->db, id, KIN_MOST, &req->mem, &kin, &count,
                                   req->err);
    if (!st)
        render_kin(&req->w, "forks", kin, count);
    if (!st)
        st = render_starts(req, id);
    jw_end_object(&req->w);
    return st;
}
