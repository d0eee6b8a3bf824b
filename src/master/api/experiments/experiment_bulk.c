/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_bulk.c - calls that act on many experiments: those of a project, chosen by their
 * ids or by a filter, and that of the WebUI's table.  experiment_actions.h does the work. */
#include <string.h>

#include "master/api/api.h"
#include "master/api/experiments/experiment_actions.h"
#include "master/api/listing.h"
#include "master/request/access.h"
#include "store/experiment/experiment.h"
#include "store/roster/roster_share.h"
#include "wire/page_bodies.h"
#include "wire/space_bodies.h"

/* ---- which experiments ----------------------------------------------------------- */

/* A project, or -1 for all. */
static det_status read_project(struct request *req, int64_t *ret_id)
{
    if (!strcmp(req->arg[0], "-1")) {
        *ret_id = 0;
        return DET_OK;
    }
    return request_id(req, 0, ret_id);
}

static uint32_t states_found(enum act_finds finds)
{
    uint32_t ended = 0;

    for (int i = 0; i < EXPERIMENT_STATES; i++)
        if (experiment_is_terminal((enum experiment_state)i) &&
            i != EXPERIMENT_DELETING)
            ended |= 1U << i;
    switch (finds) {
    case ACT_FINDS_ALL:
        break;
    case ACT_FINDS_ACTIVE:
        return 1U << EXPERIMENT_ACTIVE;
    case ACT_FINDS_PAUSED:
        return 1U << EXPERIMENT_PAUSED;
    case ACT_FINDS_LIVE:
        return ((1U << EXPERIMENT_STATES) - 1) & ~ended & ~(1U << EXPERIMENT_DELETING);
    case ACT_FINDS_ENDED:
        return ended;
    }
    return 0;
}

static det_status query_from(struct request *req, const struct act_row *row,
                             const struct json *filters, struct experiment_query *query)
{
    struct experiment_filters in = {0};
    det_status st =
        fields_read(experiment_filters_fields, filters, &req->mem, &in, req->err);

    if (!st)
        st = access_scope(req, &query->scope);
    if (!st)
        st = listing_live_states(&in.states, experiment_state_names, &query->states,
                                 req->err);
    if (!in.states.count)
        query->states = states_found(row->finds);
    query->name = in.name;
    query->description = in.description;
    query->labels = in.labels;
    query->has_archived = in.has_archived || row->archived != ACT_ANY_ARCHIVED;
    query->archived =
        in.has_archived ? in.archived : row->archived == ACT_ONLY_ARCHIVED;
    query->user_ids = in.user_ids;
    query->not_ids = in.excluded_experiment_ids;
    query->project_id = in.project_id;
    return st;
}

/* The experiments that a filter finds. */
static det_status find_ids(struct request *req, const struct json *filters,
                           struct experiment_act *act)
{
    struct experiment_query query = {.without_config = true, .page.limit = -1};
    struct experiment_view *rows;
    uint32_t count = 0;
    int64_t *ids;
    det_status st = query_from(req, act->row, filters, &query);

    if (act->only_in)
        query.project_id = act->only_in;
    if (!st)
        st = store_experiment_list(req->db, &query, &req->mem, &rows, &count, req->err);
    ids = st ? NULL : arena_array(&req->mem, int64_t, count + 1);
    if (!st && !ids)
        return DET_NOMEM;
    for (uint32_t i = 0; !st && i < count; i++)
        ids[i] = rows[i].row.id;
    act->ids = ids;
    act->count = count;
    return st;
}

/* Acts on the experiments of a body with experimentIds and filters; `act` has the argument
 * of the action. */
static det_status act_in_project(struct request *req, const char *action,
                                 const struct field_i64s *ids,
                                 const struct json *filters, struct experiment_act act)
{
    det_status st = read_project(req, &act.only_in);

    act.row = act_row_find(action, req->err);
    if (!act.row)
        return DET_INVALID;
    access_names_nothing(req); /* what is named is checked one by one */
    act.ids = ids->at;
    act.count = ids->count;
    if (!st && !json_is_null(filters))
        st = find_ids(req, filters, &act);
    return st ? st : experiment_act(req, &act);
}

/* ---- the calls of a project ------------------------------------------------------ */

static det_status act_plainly(struct request *req, const char *action)
{
    const struct many_experiments_body *body = req->body;

    return act_in_project(req, action, &body->experiment_ids, body->filters,
                          (struct experiment_act){0});
}

det_status api_activate_experiments(struct request *req)
{
    return act_plainly(req, "activate");
}

det_status api_pause_experiments(struct request *req)
{
    return act_plainly(req, "pause");
}

det_status api_cancel_experiments(struct request *req)
{
    return act_plainly(req, "cancel");
}

det_status api_kill_experiments(struct request *req)
{
    return act_plainly(req, "kill");
}

det_status api_archive_experiments(struct request *req)
{
    return act_plainly(req, "archive");
}

det_status api_unarchive_experiments(struct request *req)
{
    return act_plainly(req, "unarchive");
}

det_status api_delete_experiments(struct request *req)
{
    return act_plainly(req, "delete");
}

det_status api_move_experiments(struct request *req)
{
    const struct move_experiments_body *body = req->body;
    struct experiment_act act = {.to_project = body->destination_project_id};

    return act_in_project(req, "move", &body->experiment_ids, body->filters, act);
}

det_status api_retain_logs_of_experiments(struct request *req)
{
    const struct retain_many_logs_body *body = req->body;
    struct experiment_act act = {.log_days = body->num_days};

    return act_in_project(req, "retain_logs", &body->experiment_ids, body->filters,
                          act);
}

/* ---- the call of the table ------------------------------------------------------- */

det_status api_act_on_experiments(struct request *req)
{
    const struct act_on_experiments_body *body = req->body;
    struct experiment_act act = {
        .row = act_row_find(body->action, req->err),
        .label = body->label,
        .to_project = body->project_id,
        .log_days = body->num_days,
        .ids = body->ids.at,
        .count = body->ids.count,
    };
    det_status st = act.row ? DET_OK : DET_INVALID;

    if (!st && act.label)
        st = store_roster_check_share(req->master->store, req->db, req->caller.user_id,
                                      req->err);
    return st ? st : experiment_act(req, &act);
}
