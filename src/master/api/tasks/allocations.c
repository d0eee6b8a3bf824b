/* SPDX-License-Identifier: Apache-2.0 */
/* allocations.c - calls of running task processes, and reports of their supervisors. */
#include <inttypes.h>
#include <string.h>

#include "data/utf8.h"
#include "master/api/api.h"
#include "master/api/render.h"
#include "master/heart/heart.h"
#include "master/heart/journal.h"
#include "master/heart/rendezvous.h"
#include "master/request/waits.h"
#include "master/rm/agents.h"
#include "store/heart/mark.h"
#include "store/store.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "wire/bodies.h"
#include "wire/queries.h"

enum { PREEMPTION_WAIT_MOST_S = 120, MEETING_WAIT_S = 60 };
enum { REASON_BYTES = 1 << 10, DATA_BYTES = 64 << 10, UUID_BYTES = 256 };

static det_status find_allocation(struct request *req, struct allocation *ret_row)
{
    if (!strchr(req->arg[0], '.'))
        return err_set(req->err, DET_INVALID, "'%s' is not an allocation's id",
                       req->arg[0]);
    return store_allocation_get(req->db, req->arg[0], &req->mem, ret_row, req->err);
}

static det_status find_running(struct request *req, struct allocation *ret_row)
{
    det_status st = find_allocation(req, ret_row);

    if (!st && ret_row->state == ALLOCATION_TERMINATED)
        st = err_set(req->err, DET_STATE, "allocation %s is over", ret_row->name);
    return st;
}

det_status api_get_allocation(struct request *req)
{
    struct allocation row;
    det_status st = find_allocation(req, &row);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    render_allocation(&req->w, "allocation", &row);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- preemption ------------------------------------------------------------------ */

/* Answers true as soon as the allocation must stop or has ended, and false at the
 * deadline. */
static det_status wait_for_preemption(struct request *req)
{
    const char *key = waits_key_allocation(&req->mem, req->arg[0]);
    const int64_t *deadline_us = req->state;
    struct allocation row;
    uint64_t mark;
    bool must_stop;
    det_status st;

    if (!key)
        return DET_NOMEM;
    mark = waits_mark(req->master->waits, key);
    st = find_allocation(req, &row);
    if (st)
        return st;
    must_stop = row.is_preempted || row.is_killed || row.state == ALLOCATION_TERMINATED;
    if (!must_stop && !request_is_due(req, *deadline_us))
        return request_wait(req, key, mark, *deadline_us, wait_for_preemption);
    jw_object(&req->w, NULL);
    jw_bool(&req->w, "preempt", must_stop);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status set_deadline(struct request *req, int64_t seconds)
{
    int64_t *deadline_us = arena_new(&req->mem, int64_t);

    if (!deadline_us)
        return DET_NOMEM;
    *deadline_us = request_mono_us(req) + seconds * 1000000;
    req->state = deadline_us;
    return DET_OK;
}

det_status api_get_preemption(struct request *req)
{
    const struct preemption_query *query = req->query;
    int64_t seconds = MAX(MIN(query->timeout_seconds, PREEMPTION_WAIT_MOST_S), 0);
    det_status st = set_deadline(req, seconds);

    return st ? st : wait_for_preemption(req);
}

static det_status preempt_event(struct request *req, enum core_event_kind kind)
{
    struct core_event event = {.kind = kind};
    struct allocation row;
    det_status st = find_allocation(req, &row);

    if (st)
        return st;
    event.preempt.allocation_id = row.id;
    return request_event(req, &event, NULL);
}

det_status api_ack_preemption(struct request *req)
{
    return preempt_event(req, EVENT_PREEMPT_ACKNOWLEDGED);
}

det_status api_pend_preemption(struct request *req)
{
    return preempt_event(req, EVENT_PREEMPT_REQUESTED);
}

det_status api_kill_allocation(struct request *req)
{
    struct core_event event = {.kind = EVENT_RUN_KILL};
    struct allocation row;
    det_status st = find_running(req, &row);

    if (st)
        return st;
    event.run_kill.allocation_id = row.id;
    return request_event(req, &event, NULL);
}

/* ---- states and exits of shares -------------------------------------------------- */

static det_status state_event(struct request *req, int64_t rank,
                              enum allocation_state state)
{
    struct core_event event = {.kind = EVENT_SHARE_STATE};
    struct allocation row;
    det_status st = find_running(req, &row);

    if (st)
        return st;
    event.share_state.allocation_id = row.id;
    event.share_state.rank = rank;
    event.share_state.state = state;
    return request_event(req, &event, NULL);
}

det_status api_share_state(struct request *req)
{
    const struct share_state_body *body = req->body;
    int state = fsm_find(&allocation_fsm, body->state);

    if (state != ALLOCATION_PULLING && state != ALLOCATION_STARTING &&
        state != ALLOCATION_RUNNING)
        return err_set(
            req->err, DET_INVALID,
            "the state '%s' is unknown; expected PULLING, STARTING or RUNNING",
            body->state);
    return state_event(req, body->rank, (enum allocation_state)state);
}

/* For harnesses that report this themselves. */
det_status api_allocation_ready(struct request *req)
{
    return state_event(req, 0, ALLOCATION_RUNNING);
}

det_status api_allocation_waiting(struct request *req)
{
    struct allocation row;

    return find_allocation(req, &row);
}

/* Nothing to store: the share already names the devices. */
det_status api_allocation_accelerators(struct request *req)
{
    struct allocation row;

    return find_allocation(req, &row);
}

static det_status find_share(struct request *req, const struct allocation *row,
                             int64_t rank, const struct share **ret_share)
{
    struct share *shares;
    uint32_t count = 0;
    det_status st =
        store_shares_of(req->db, row->id, &req->mem, &shares, &count, req->err);

    for (uint32_t i = 0; !st && i < count; i++)
        if (shares[i].rank == rank) {
            *ret_share = &shares[i];
            return DET_OK;
        }
    return st ? st
              : err_set(req->err, DET_INVALID, "allocation %s has no rank %" PRId64,
                        row->name, rank);
}

/* A sign of life of the machine while its agent is silent.  The supervisor learns here what
 * the agent would have told it: whether its task must end. */
det_status api_share_alive(struct request *req)
{
    const struct share_alive_body *body = req->body;
    const struct share *share;
    struct allocation row;
    det_status st = find_allocation(req, &row);

    if (!st)
        st = find_share(req, &row, body->rank, &share);
    if (st)
        return st;
    if (row.state == ALLOCATION_TERMINATED || share->has_exited)
        return err_set(req->err, DET_STATE, "allocation %s is over", row.name);
    agents_task_heard(req->master->agents, share->agent);
    jw_object(&req->w, NULL);
    jw_bool(&req->w, "mustEnd", row.is_killed);
    jw_i64(&req->w, "againMs", agents_beat_us(req->master->agents) / 1000);
    jw_end_object(&req->w);
    return DET_OK;
}

struct exit_state {
    struct core_event event;
    const char *sender;
};

/* Both the supervisor and the agent may report an exit; the first report counts.  Each of
 * them delivers reports and output before, so the supervisor's credential ends here. */
static det_status write_exit(struct write_job *job, struct db *db, struct err *err)
{
    struct exit_state *state = REQUEST_OF(job)->state;
    bool is_new;
    det_status st = store_mark_advance(db, state->sender, 1, &is_new, err);

    if (!st)
        st = store_share_deliver(db, state->event.share_exited.allocation_id,
                                 state->event.share_exited.rank, err);
    return st || !is_new ? st : journal_add(db, &state->event, err);
}

static det_status exit_written(struct request *req)
{
    auth_drop_cache(req->master->auth); /* the credential may have ended */
    heart_journal(req->master->heart);
    return DET_OK;
}

static det_status report_exit(struct request *req, const struct allocation *row)
{
    const struct share_exit_body *body = req->body;
    struct exit_state *state = arena_new(&req->mem, struct exit_state);
    const char *reason = body->reason ? body->reason : "";
    const struct share *share;
    uint32_t kind = EXIT_CLEAN;
    /* a mark for an invalid rank would stay forever */
    det_status st = find_share(req, row, body->rank, &share);

    if (st)
        return st;
    while (exit_kind_names[kind] && strcmp(exit_kind_names[kind], body->exit))
        kind++;
    if (!exit_kind_names[kind])
        return err_set(req->err, DET_INVALID, "the exit '%s' is unknown", body->exit);
    if (!state)
        return DET_NOMEM;
    state->event.kind = EVENT_SHARE_EXITED;
    state->event.share_exited.allocation_id = row->id;
    state->event.share_exited.rank = body->rank;
    state->event.share_exited.exit = (enum exit_kind)kind;
    state->event.share_exited.code = body->code;
    state->event.share_exited.is_final = body->is_final;
    state->event.share_exited.reason = arena_strndup(
        &req->mem, reason, utf8_valid(reason, strnlen(reason, REASON_BYTES)));
    state->sender = arena_printf(&req->mem, "exit %s/%" PRId64, row->name, body->rank);
    if (req->mem.has_failed)
        return DET_NOMEM;
    req->state = state;
    return request_write(req, write_exit, exit_written);
}

det_status api_share_exit(struct request *req)
{
    struct allocation row;
    det_status st = find_allocation(req, &row);

    return st ? st : report_exit(req, &row);
}

det_status api_agent_exit(struct request *req)
{
    struct allocation row;
    det_status st =
        store_allocation_get(req->db, req->arg[1], &req->mem, &row, req->err);

    if (st == DET_NOT_FOUND) /* deleted with its experiment */
        return DET_OK;
    return st ? st : report_exit(req, &row);
}

/* ---- meetings -------------------------------------------------------------------- */

struct meeting_state {
    const char *name;
    const char *guest;
    const char *key;       /* of the allocation, whose end also ends the meeting */
    const char *container; /* rendezvous: of the caller */
    handler_fn *reply;
    struct gathered all;
};

static det_status check_running(struct request *req, struct allocation *ret_row)
{
    struct allocation row;
    det_status st = find_allocation(req, &row);

    if (!st && row.state >= ALLOCATION_TERMINATING)
        st = err_set(req->err, DET_STATE, "allocation %s is ending", row.name);
    if (!st)
        *ret_row = row;
    return st;
}

static det_status wait_for_all(struct request *req)
{
    struct meeting_state *state = req->state;
    uint64_t mark = waits_mark(req->master->waits, state->key);
    struct allocation row;
    det_status st = check_running(req, &row);

    if (!st)
        st = rendezvous_read(req->master->rendezvous, state->name, state->guest,
                             &req->mem, &state->all, req->err);
    if (st)
        return st;
    if (state->all.count)
        return state->reply(req);
    if (request_is_due(req, INT64_MAX))
        return DET_TIMEOUT; /* the client has left */
    return request_wait(req, state->key, mark,
                        request_mono_us(req) + MEETING_WAIT_S * 1000000, wait_for_all);
}

static det_status join_meeting(struct request *req, struct meeting_state *state,
                               uint32_t seats, const char *data)
{
    struct allocation row;
    bool is_full;
    det_status st = check_running(req, &row);

    if (!st && seats > MAX(row.slots, row.shares) && seats > 1)
        st = err_set(req->err, DET_INVALID,
                     "numPeers is %u; allocation %s has at most %" PRId64 " processes",
                     seats, row.name, MAX(row.slots, row.shares));
    state->key = waits_key_allocation(&req->mem, req->arg[0]);
    if (!st && req->mem.has_failed)
        st = DET_NOMEM;
    if (!st)
        st = rendezvous_join(req->master->rendezvous, state->name, seats, state->guest,
                             data, &is_full, req->err);
    if (st)
        return st;
    if (is_full)
        waits_wake(req->master->waits, state->key);
    req->state = state;
    return wait_for_all(req);
}

static det_status reply_rendezvous(struct request *req)
{
    struct meeting_state *state = req->state;
    int64_t rank = 0;

    jw_object(&req->w, NULL);
    jw_object(&req->w, "rendezvousInfo");
    jw_array(&req->w, "addresses");
    for (uint32_t i = 0; i < state->all.count; i++) {
        /* "<container> <slots> <address>" */
        const char *slots = strchr(state->all.data[i], ' ');

        if (!strncmp(state->all.data[i], state->container, strlen(state->container)))
            rank = i;
        jw_str(&req->w, NULL, strchr(slots + 1, ' ') + 1);
    }
    jw_end_array(&req->w);
    jw_i64(&req->w, "rank", rank);
    jw_array(&req->w, "slots");
    for (uint32_t i = 0; i < state->all.count; i++)
        jw_i64(&req->w, NULL, strtoll(strchr(state->all.data[i], ' '), NULL, 10));
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

static const char *address_of(struct request *req, const char *agent)
{
    struct agent *rows;
    struct json *list;
    uint32_t count;

    if (store_agent_list(req->db, &req->mem, &rows, &count, NULL))
        return "127.0.0.1";
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(rows[i].name, agent) && rows[i].addresses &&
            !json_parse(rows[i].addresses, strlen(rows[i].addresses), &req->mem, &list,
                        NULL))
            return json_str(json_first(list), "127.0.0.1");
    return "127.0.0.1";
}

det_status api_allocation_rendezvous(struct request *req)
{
    struct meeting_state *state = arena_new(&req->mem, struct meeting_state);
    const struct share *mine = NULL;
    struct share *shares;
    struct allocation row;
    struct json *slots;
    uint32_t count;
    det_status st = find_allocation(req, &row);

    if (!st)
        st = store_shares_of(req->db, row.id, &req->mem, &shares, &count, req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (!strcmp(shares[i].container_id, req->arg[1]))
            mine = &shares[i];
    if (!st && !mine)
        st = err_set(req->err, DET_INVALID, "allocation %s has no resources '%s'",
                     row.name, req->arg[1]);
    if (!st)
        st = json_parse(mine->slots, strlen(mine->slots), &req->mem, &slots, req->err);
    if (st)
        return st;
    if (!state)
        return DET_NOMEM;
    state->reply = reply_rendezvous;
    state->container = mine->container_id;
    state->name = arena_printf(&req->mem, "%s rendezvous", row.name);
    state->guest = arena_printf(&req->mem, "%06" PRId64, mine->rank);
    return join_meeting(req, state, count,
                        arena_printf(&req->mem, "%s %zu %s", mine->container_id,
                                     slots->list.count, address_of(req, mine->agent)));
}

static det_status reply_gathered(struct request *req)
{
    struct meeting_state *state = req->state;

    jw_object(&req->w, NULL);
    jw_array(&req->w, "data");
    for (uint32_t i = 0; i < state->all.count; i++)
        jw_raw(&req->w, NULL, state->all.data[i]);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_allocation_all_gather(struct request *req)
{
    struct meeting_state *state = arena_new(&req->mem, struct meeting_state);
    const char *guest = json_str(json_find(req->tree, "request_uuid"), "");
    const struct json *data = json_find(req->tree, "data");
    int64_t peers = json_i64(json_find(req->tree, "num_peers"), 0);
    const char *text;

    if (!*guest || strlen(guest) > UUID_BYTES || !data || peers < 1 ||
        peers > UINT32_MAX)
        return err_set(req->err, DET_INVALID,
                       "all_gather needs requestUuid, numPeers >= 1 and data");
    text = json_text(&req->mem, data);
    if (!state || !text)
        return DET_NOMEM;
    if (strlen(text) > DATA_BYTES)
        return err_set(req->err, DET_TOO_LARGE, "data is larger than %d KB",
                       DATA_BYTES >> 10);
    state->reply = reply_gathered;
    state->name = arena_printf(&req->mem, "%s all_gather", req->arg[0]);
    state->guest = guest;
    return join_meeting(req, state, (uint32_t)peers, text);
}
