/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_move.c - an experiment changes its project; for many at once see
 * experiment_bulk.c.
 *
 * Only the row in the database says where an experiment is; the heart does not know. */
#include "master/api/api.h"
#include "master/changes/change_notes.h"
#include "master/request/access.h"
#include "store/space/project.h"
#include "wire/space_bodies.h"

static det_status write_move(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct move_experiment_body *body = req->body;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : store_project_take(db, body->destination_project_id, id, err);
}

det_status api_move_experiment(struct request *req)
{
    const struct move_experiment_body *body = req->body;
    det_status st = access_check_as(req, ROUTE_ID_create_experiment,
                                    ROUTE_OBJECT_project, body->destination_project_id);

    req->committed = change_notes_path_experiment;
    return st ? st : request_write(req, write_move, NULL);
}
