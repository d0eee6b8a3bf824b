/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - see request.h.
 *
 * Ownership: the request owns itself.  send_reply() or the end of its stream frees it, and
 * nobody may touch it afterwards.  Between two handlers exactly one of these holds it: a
 * lane's queue, the writer's queue, the heart's queue, or `struct waits` together with the
 * timer.  The last two race for it; waits_leave() decides. */
#include "master/request/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/memory/mem.h"
#include "data/text.h"
#include "master/request/access.h"
#include "master/request/audit.h"
#include "master/request/auth.h"
#include "master/request/error_body.h"
#include "master/request/request_impl.h"
#include "master/request/waits.h"
#include "master/watch/request_times.h"
#include "store/people/audit.h"

enum {
    ANSWER_TRIES = 5,
    ANSWER_PAUSE_US = 50000,
    LARGE = 8 << 20, /* memory of a request that is worth giving back */
};

/* Of a reply with 503. */
#define RETRY_LATER "Retry-After: 2"

void request_free(struct request *req)
{
    struct master *master = req->master;
    bool was_large = req->mem.part.taken > LARGE;

    if (req->ended)
        req->ended(req);
    buf_done(&req->out);
    arena_done(&req->mem);
    mem_free(req);
    if (was_large)
        lane_post(master->chores, &master->trimming);
    if (atomic_fetch_sub(&master->open_requests, 1) == 1 && master->is_stopping)
        gate_open(master->drained);
}

/* Mode rbac: what is hidden and what does not exist cannot be told apart, so every such sentence
 * says that it may be either, as in Determined. */
static const char *advise(struct request *req, det_status status, const char *text)
{
    static const char end[] = "not found";
    size_t len = text ? strlen(text) : 0;
    const char *longer;

    if (status != DET_NOT_FOUND || !req->master->is_rbac || len < sizeof(end) - 1 ||
        strcmp(text + len - (sizeof(end) - 1), end) != 0)
        return text;
    longer = arena_printf(&req->mem, "%s, please check your permissions.", text);
    return longer ? longer : text;
}

/* By its id a person's error is found in the log. */
static void set_error_headers(struct request *req, det_status status)
{
    req->headers = 0;
    if (det_status_http(status) == 503)
        req->header[req->headers++] = RETRY_LATER;
    req->header[req->headers] = arena_printf(&req->mem, "X-Request-Id: %s-%" PRIx64,
                                             req->master->short_id, req->number);
    req->header[req->headers + 1] = NULL;
}

static void finish_reply(struct request *req, det_status status, const char *text)
{
    const char *type = req->content_type ? req->content_type : "application/json";
    int http = status ? det_status_http(status) : req->http_status;

    if (!status && req->out.status) {
        status = req->out.status;
        http = det_status_http(status);
        text = NULL;
    }
    request_measure(req, http);
    if (status) {
        request_note_error(req, status, text);
        buf_clear(&req->out);
        error_body_write(&req->out, status, advise(req, status, text));
        type = "application/json";
        set_error_headers(req, status);
    } else if (!req->out.len && !req->content_type) {
        buf_puts(&req->out, "{}");
    }
    net_answer(req->x, http, type, req->header, &req->out);
    request_free(req);
}

static det_status write_audit(struct write_job *job, struct db *db, struct err *err)
{
    const struct request *req = job->arg;

    return store_audit_add(db, req->audit, err);
}

/* The change is committed, so it is answered in any case. */
static void audit_written(struct write_job *job)
{
    struct request *req = job->arg;
    const struct audit *row = req->audit;

    if (job->status)
        log_error("the audit log lacks %s of %s %s by '%s' from %s (%d): %s",
                  row->action, row->object_kind, row->object_id, row->username,
                  row->address, (int)row->status, job->err.text);
    finish_reply(req, req->answer, req->answer_text);
}

/* Sends the reply or the error, and ends the request; what belongs into the audit log is
 * written there first. */
static void send_reply(struct request *req, det_status status, const char *text)
{
    req->audit = audit_row(req, status ? det_status_http(status) : req->http_status);
    if (!req->audit) {
        finish_reply(req, status, text);
        return;
    }
    request_enter_phase(req, PHASE_COMMIT);
    req->answer = status;
    req->answer_text = text ? arena_strdup(&req->mem, text) : NULL;
    req->audit_job =
        (struct write_job){.run = write_audit, .done = audit_written, .arg = req};
    store_write(req->master->store, &req->audit_job);
}

struct buf request_buf(const struct request *req, size_t limit)
{
    return (struct buf){
        .data = buf_empty,
        .limit = limit,
        .part = {.from = req->mem.part.from, .group = req->mem.part.group},
    };
}

void request_drop_body(struct request *req)
{
    if (req->borrows_body) { /* what the audit log says of it is made before */
        req->dropped_detail = audit_detail(req);
        req->tree = NULL;
    }
    net_request_drop_body(req->x);
}

void request_header(struct request *req, const char *name, const char *value)
{
    assert(req->headers + 1 < REQUEST_HEADERS);
    req->header[req->headers] = arena_printf(&req->mem, "%s: %s", name, value);
    if (req->header[req->headers])
        req->headers++;
}

static void hand_on_request(struct request *req);

/* The change is committed, but its answer could not be made.  An error would make the
 * caller repeat the change.  So the handler that makes the answer, which only reads, runs
 * again a little later. */
static bool try_again(struct request *req, det_status status, handler_fn *handler)
{
    bool may_pass = status == DET_NOMEM || status == DET_BUSY || status == DET_IO;

    if (!req->is_committed || !may_pass || req->tries == ANSWER_TRIES)
        return false;
    req->tries++;
    req->then = handler; /* it may have set the next handler already */
    buf_clear(&req->out);
    req->out.status = DET_OK;
    req->w = (struct json_writer)JSON_WRITER(&req->out);
    req->mem.has_failed = false;
    req->headers = 0;
    req->header[0] = NULL;
    request_enter_phase(req, PHASE_LANE);
    lane_post_at(req->home, &req->task, request_mono_us(req) + ANSWER_PAUSE_US);
    return true;
}

static det_status call_handler(struct request *req, handler_fn *handler)
{
    REQUEST_SCOPES(req);
    det_status st = handler(req);

    return st ? st : access_assert_checked(req);
}

void request_run_handler(struct request *req, handler_fn *handler)
{
    struct store *store = req->master->store;
    struct err err = {0};
    det_status st = req->db ? DET_OK : store_reader_take(store, &req->db, &err);

    req->err = &err;
    req->next = NEXT_REPLY;
    if (!st) {
        st = call_handler(req, handler);
        store_reader_give(store, req->db);
    }
    req->db = NULL;
    req->err = NULL;
    if (!st && req->next == NEXT_REPLY && req->out.status)
        st = err_default(&err, req->out.status);
    if (!st && req->mem.has_failed) /* parts of the reply are missing */
        st = err_default(&err, DET_NOMEM);
    if (st == DET_NOMEM && req->mem.part.was_refused)
        st = err_set(&err, DET_BUSY,
                     "this request needs more memory than one user may have now "
                     "(max_memory); make it smaller, or try again later");
    if (st && try_again(req, st, handler))
        return;
    if (st)
        send_reply(req, st, err.text);
    else
        hand_on_request(req);
}

void request_run_then(struct work *work)
{
    struct request *req = CONTAINER_OF(work, struct request, task);

    (void)waits_leave(req->master->waits,
                      &req->waiter); /* if the deadline came first */
    request_enter_phase(req, PHASE_HANDLER);
    request_run_handler(req, req->then);
}

/* ---- the next step ---------------------------------------------------------- */

/* The step is done or has failed: runs the next handler, or replies. */
static void continue_request(struct request *req, det_status status, const char *text)
{
    req->is_committed = req->is_committed || !status;
    if (status || !req->then) {
        send_reply(req, status, text);
    } else {
        request_enter_phase(req, PHASE_LANE);
        lane_post(req->home, &req->task);
    }
}

/* Writes of tasks do not change anybody's rights; writes of users may. */
static void job_done(struct write_job *job)
{
    struct request *req = REQUEST_OF(job);

    if (req->caller.kind == CALLER_USER)
        auth_drop_cache(req->master->auth);
    if (!job->status && req->committed)
        req->committed(req);
    continue_request(req, job->status, job->err.text);
}

static void item_done(struct heart_item *item)
{
    struct request *req = item->event_owner;

    continue_request(req, item->status, item->err.text);
}

static void one_item_done(struct heart_item *item)
{
    struct request *req = item->event_owner;

    if (atomic_fetch_sub(&req->items, 1) == 1)
        continue_request(req, DET_OK, NULL);
}

/* The request may be answered and freed before this returns. */
static void submit_items(struct request *req)
{
    struct heart *heart = req->master->heart;
    struct heart_item *items = req->item;

    for (size_t i = 0, count = req->items; i < count; i++)
        heart_submit(heart, &items[i]);
}

/* With the lock of `struct waits` held.  request_run_then() waits for this lock, so the
 * request cannot be freed meanwhile. */
static void wake_parked(struct waiter *waiter)
{
    struct request *req = CONTAINER_OF(waiter, struct request, waiter);

    if (lane_cancel(req->home, &req->task))
        lane_post(req->home, &req->task);
}

static void client_gone(struct net_exchange *x)
{
    struct request *req = net_user(x);

    req->is_gone =
        true; /* set before the lock: set_deadline() sees it, or we wake it */
    waits_wake_one(req->master->waits, &req->waiter);
}

/* With the lock of `struct waits` held, so an immediate deadline, or a client that has
 * already left, waits for us.  Only parked requests watch their client, because a watch
 * costs two system calls. */
static void set_deadline(struct waiter *waiter)
{
    struct request *req = CONTAINER_OF(waiter, struct request, waiter);

    net_on_gone(req->x, client_gone);
    if (req->is_gone)
        lane_post(req->home, &req->task);
    else
        lane_post_at(req->home, &req->task, req->wait_until_us);
}

static void park_request(struct request *req)
{
    struct master *master = req->master;

    if (master->is_stopping) {
        send_reply(req, DET_BUSY, "the master is stopping");
        return;
    }
    if (!req->borrows_body)
        net_request_drop_body(req->x);
    buf_done(&req->out);
    request_enter_phase(req, PHASE_PARKED);
    req->waiter.wake = wake_parked;
    req->waiter.parked = set_deadline;
    if (!waits_park(master->waits, req->wait_key, &req->waiter, req->wait_mark))
        lane_post(req->home, &req->task);
}

static void hand_on_request(struct request *req)
{
    struct lane *lane = req->stream_lane ? req->stream_lane : req->home;
    const struct net_stream stream = {lane, request_stream_next, request_stream_done,
                                      req,  req->header,         req->task.turn};

    switch (req->next) {
    case NEXT_REPLY:
        send_reply(req, DET_OK, NULL);
        break;
    case NEXT_WRITE:
        request_enter_phase(req, PHASE_COMMIT);
        store_write(req->master->store, &req->job->job);
        break;
    case NEXT_EVENT:
        request_enter_phase(req, PHASE_COMMIT);
        heart_submit(req->master->heart, req->item);
        break;
    case NEXT_EVENTS:
        request_enter_phase(req, PHASE_COMMIT);
        submit_items(req);
        break;
    case NEXT_MOVE:
        request_enter_phase(req, PHASE_LANE);
        lane_post(req->lane, &req->task);
        break;
    case NEXT_WAIT:
        park_request(req);
        break;
    case NEXT_STREAM:
        request_measure(req, req->http_status);
        net_on_gone(req->x, client_gone);
        net_answer_stream(req->x,
                          req->content_type ? req->content_type : "application/json",
                          &stream);
        break;
    case NEXT_RELAY:
        request_measure(req, req->http_status);
        request_relay_begin(req);
        break;
    }
}

/* If memory ran out, parts of the rows are missing: the job is rolled back. */
static det_status run_job(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    det_status st = req->job->run(job, db, err);

    return !st && req->mem.has_failed ? err_default(err, DET_NOMEM) : st;
}

/* A handler ends with at most one step. */
static void set_next(struct request *req, enum request_next next, handler_fn *then)
{
    assert(req->next == NEXT_REPLY);
    req->next = next;
    req->then = then;
}

det_status request_write(struct request *req, write_fn *run, handler_fn *then)
{
    req->job = arena_new(&req->mem, struct request_job);
    if (!req->job)
        return DET_NOMEM;
    req->job->run = run;
    req->job->job.run = run_job;
    req->job->job.done = job_done;
    req->job->req = req;
    set_next(req, NEXT_WRITE, then);
    return DET_OK;
}

det_status request_event(struct request *req, const struct core_event *event,
                         handler_fn *then)
{
    req->item = arena_new(&req->mem, struct heart_item);
    if (!req->item)
        return DET_NOMEM;
    req->item->event = *event;
    req->item->event_owner = req;
    req->item->done = item_done;
    set_next(req, NEXT_EVENT, then);
    return DET_OK;
}

det_status request_events(struct request *req, struct heart_item *items, size_t count,
                          handler_fn *then)
{
    assert(count > 0);
    for (size_t i = 0; i < count; i++) {
        items[i].event_owner = req;
        items[i].done = one_item_done;
    }
    req->item = items;
    req->items = count;
    set_next(req, NEXT_EVENTS, then);
    return DET_OK;
}

det_status request_move(struct request *req, struct lane *lane, handler_fn *then)
{
    req->lane = lane;
    set_next(req, NEXT_MOVE, then);
    return DET_OK;
}

int64_t request_mono_us(const struct request *req)
{
    return master_mono_us(req->master);
}

bool request_is_due(const struct request *req, int64_t deadline_us)
{
    return req->is_gone || request_mono_us(req) >= deadline_us;
}

det_status request_wait(struct request *req, const char *key, uint64_t mark,
                        int64_t deadline_us, handler_fn *then)
{
    if (!key)
        return DET_NOMEM;
    req->wait_key = key;
    req->wait_mark = mark;
    req->wait_until_us = deadline_us;
    set_next(req, NEXT_WAIT, then);
    return DET_OK;
}

/* ---- for handlers -------------------------------------------------------------- */

det_status request_id(struct request *req, int at, int64_t *ret_id)
{
    if (!parse_i64(req->arg[at], ret_id) || *ret_id < 0)
        return err_set(req->err, DET_INVALID, "'%s' is not a number", req->arg[at]);
    return DET_OK;
}

bool request_wants_page(const struct net_exchange *x)
{
    const char *accept = net_request_header(x, "Accept");

    return accept && strstr(accept, "text/html");
}

const char *request_address(struct request *req)
{
    const char *query = net_request_query(req->x);

    return arena_printf(&req->mem, "%s%s%s", net_request_path(req->x),
                        *query ? "?" : "", query);
}

det_status request_redirect(struct request *req, const char *to)
{
    if (!to)
        return DET_NOMEM;
    request_header(req, "Location", to);
    req->http_status = 302;
    req->content_type = "text/plain";
    return DET_OK;
}
