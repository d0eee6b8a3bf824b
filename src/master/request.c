/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - see request.h.
 *
 * Ownership: the request owns itself.  It is freed by reply() (or by the end of its
 * stream), after which nobody may touch it.  Between two handlers exactly one of these
 * holds it: a lane's queue, the writer's queue, the heart's queue, or `struct waits`
 * together with the timer; the last two race for it, and waits_leave() decides. */
#include "master/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/text.h"
#include "master/api/api.h"
#include "master/auth.h"
#include "master/guard.h"
#include "master/proxies.h"
#include "model/field.h"
#include "wire/bodies.h"

enum {
    REQUEST_MEMORY = 512 << 20, /* a model definition comes base64 in JSON */
    TASK_BODY = 16 << 20,
    SMALL_BODY = 4 << 20,
    QUICK_BODY = 16 << 10,
    OPEN_BODY = 64 << 10, /* anybody's */
    ROUTE_MEMORY = 64 << 10,
    ANSWER_LEAST = 200, /* bytes that most answers fit in */
    ANSWER_TRIES = 5,
    ANSWER_PAUSE_US = 50000,
};

static const char *const grpc_names[] = {
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
};

void error_write(struct buf *out, det_status status, const char *text)
{
    struct json_writer w = JSON_WRITER(out);
    int code = det_status_grpc(status);

    jw_object(&w, NULL);
    jw_object(&w, "error");
    jw_i64(&w, "code", code);
    jw_str(&w, "reason", grpc_names[code]);
    jw_str(&w, "error", text && *text ? text : det_status_text(status));
    jw_end_object(&w);
    jw_end_object(&w);
}

static void request_free(struct request *req)
{
    struct master *master = req->master;

    if (req->ended)
        req->ended(req);
    buf_done(&req->out);
    arena_done(&req->mem);
    mem_free(req);
    if (atomic_fetch_sub(&master->open_requests, 1) == 1 && master->is_stopping)
        gate_open(master->drained);
}

/* Sends what the handlers wrote, or the error, and ends the request. */
static void reply(struct request *req, det_status status, const char *text)
{
    const char *type = req->content_type ? req->content_type : "application/json";
    int http = status ? det_status_http(status) : req->http_status;

    if (!status && req->out.status) {
        status = req->out.status;
        http = det_status_http(status);
        text = NULL;
    }
    if (status) {
        buf_clear(&req->out);
        error_write(&req->out, status, text);
        type = "application/json";
        req->header[0] = NULL;
    } else if (!req->out.len && !req->content_type) {
        buf_puts(&req->out, "{}");
    }
    net_answer(req->x, http, type, req->header, &req->out);
    request_free(req);
}

void request_header(struct request *req, const char *name, const char *value)
{
    assert(req->headers + 1 < REQUEST_HEADERS);
    req->header[req->headers] = arena_printf(&req->mem, "%s: %s", name, value);
    if (req->header[req->headers])
        req->headers++;
}

static void hand_on(struct request *req);

/* What was asked for is committed and only its answer could not be made: a refusal
 * would have the caller do it twice.  So the handler that makes the answer, which only
 * reads, is run again a little later. */
static bool tries_again(struct request *req, det_status status, handler_fn *handler)
{
    bool may_pass = status == DET_NOMEM || status == DET_IO;

    if (!req->is_committed || !may_pass || req->tries == ANSWER_TRIES)
        return false;
    req->tries++;
    req->then = handler; /* it may have named the next one, who must wait */
    buf_clear(&req->out);
    req->out.status = DET_OK;
    req->w = (struct json_writer)JSON_WRITER(&req->out);
    req->mem.has_failed = false;
    req->headers = 0;
    req->header[0] = NULL;
    lane_post_at(req->master->workers, &req->task,
                 request_mono_us(req) + ANSWER_PAUSE_US);
    return true;
}

/* Calls a handler on this lane, with a reader and room for a sentence, then hands the
 * request on. */
static void run_handler(struct request *req, handler_fn *handler)
{
    struct store *store = req->master->store;
    struct err err = {0};
    det_status st = store_reader_take(store, &req->db, &err);

    req->err = &err;
    req->next = NEXT_REPLY;
    if (!st) {
        st = handler(req);
        store_reader_give(store, req->db);
    }
    req->db = NULL;
    req->err = NULL;
    if (!st && req->next == NEXT_REPLY && req->out.status)
        st = err_default(&err, req->out.status);
    if (!st && req->mem.has_failed) /* something is missing in what it made */
        st = err_default(&err, DET_NOMEM);
    if (st && tries_again(req, st, handler))
        return;
    if (st)
        reply(req, st, err.text);
    else
        hand_on(req);
}

static void run_then(struct task *task)
{
    struct request *req = CONTAINER_OF(task, struct request, task);

    (void)waits_leave(req->master->waits,
                      &req->waiter); /* when the deadline came first */
    run_handler(req, req->then);
}

/* ---- going on elsewhere ---------------------------------------------------------- */

/* What was asked for is done (or was refused): the next handler, or the reply. */
static void go_on(struct request *req, det_status status, const char *text)
{
    req->is_committed = req->is_committed || !status;
    if (status || !req->then)
        reply(req, status, text);
    else
        lane_post(req->master->workers, &req->task);
}

/* What tasks write changes nobody's rights; what people write may. */
static void job_done(struct write_job *job)
{
    struct request *req = REQUEST_OF(job);

    if (req->route->auth != ROUTE_TASK)
        auth_forget(req->master->auth);
    if (!job->status && req->committed)
        req->committed(req);
    go_on(req, job->status, job->err.text);
}

static void item_done(struct heart_item *item)
{
    struct request *req = item->event_owner;

    go_on(req, item->status, item->err.text);
}

static void one_item_done(struct heart_item *item)
{
    struct request *req = item->event_owner;

    if (atomic_fetch_sub(&req->items, 1) == 1)
        go_on(req, DET_OK, NULL);
}

/* The last one may be answered, and the request be gone, before this returns. */
static void submit_items(struct request *req)
{
    struct heart *heart = req->master->heart;
    struct heart_item *items = req->item;

    for (size_t i = 0, count = req->items; i < count; i++)
        heart_submit(heart, &items[i]);
}

/* With the lock of `struct waits` held: the deadline's run waits for it, so the request
 * cannot vanish meanwhile. */
static void wake_parked(struct waiter *waiter)
{
    struct request *req = CONTAINER_OF(waiter, struct request, waiter);

    if (lane_cancel(req->master->workers, &req->task))
        lane_post(req->master->workers, &req->task);
}

static void client_gone(struct net_exchange *x)
{
    struct request *req = net_user(x);

    req->is_gone = true; /* before the lock is taken: set_deadline() sees it, or */
    waits_wake_one(req->master->waits, &req->waiter);
}

/* With the lock of `struct waits` held, so that a deadline in no time, or a client that
 * has left already, waits for us.  Only who waits watches its client: a watch costs two
 * system calls. */
static void set_deadline(struct waiter *waiter)
{
    struct request *req = CONTAINER_OF(waiter, struct request, waiter);

    net_on_gone(req->x, client_gone);
    if (req->is_gone)
        lane_post(req->master->workers, &req->task);
    else
        lane_post_at(req->master->workers, &req->task, req->wait_until_us);
}

static void park(struct request *req)
{
    struct master *master = req->master;

    if (master->is_stopping) {
        reply(req, DET_BUSY, "the master is stopping");
        return;
    }
    net_request_drop_body(req->x);
    buf_done(&req->out);
    req->waiter.wake = wake_parked;
    req->waiter.parked = set_deadline;
    if (!waits_park(master->waits, req->wait_key, &req->waiter, req->wait_mark))
        lane_post(master->workers, &req->task);
}

static enum net_more stream_next(void *arg, struct buf *out);
static void stream_done(void *arg);

static void hand_on(struct request *req)
{
    struct lane *lane = req->stream_lane ? req->stream_lane : req->master->workers;
    const struct net_stream stream = {lane, stream_next, stream_done, req, req->header};

    switch (req->next) {
    case NEXT_REPLY:
        reply(req, DET_OK, NULL);
        break;
    case NEXT_WRITE:
        store_write(req->master->store, &req->job->job);
        break;
    case NEXT_EVENT:
        heart_submit(req->master->heart, req->item);
        break;
    case NEXT_EVENTS:
        submit_items(req);
        break;
    case NEXT_MOVE:
        lane_post(req->lane, &req->task);
        break;
    case NEXT_WAIT:
        park(req);
        break;
    case NEXT_STREAM:
        net_on_gone(req->x, client_gone);
        net_answer_stream(req->x,
                          req->content_type ? req->content_type : "application/json",
                          &stream);
        break;
    case NEXT_RELAY:
        net_relay(req->x, req->relay);
        break;
    }
}

/* What was written with something missing in it is undone. */
static det_status run_job(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    det_status st = req->job->run(job, db, err);

    return !st && req->mem.has_failed ? err_default(err, DET_NOMEM) : st;
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
    req->then = then;
    req->next = NEXT_WRITE;
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
    req->then = then;
    req->next = NEXT_EVENT;
    return DET_OK;
}

det_status request_events(struct request *req, struct heart_item *items, size_t count,
                          handler_fn *then)
{
    for (size_t i = 0; i < count; i++) {
        items[i].event_owner = req;
        items[i].done = one_item_done;
    }
    req->item = items;
    req->items = count;
    req->then = then;
    req->next = NEXT_EVENTS;
    return DET_OK;
}

det_status request_move(struct request *req, struct lane *lane, handler_fn *then)
{
    req->lane = lane;
    req->then = then;
    req->next = NEXT_MOVE;
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
    req->then = then;
    req->next = NEXT_WAIT;
    return DET_OK;
}

/* ---- streams --------------------------------------------------------------------- */

static void wake_stream(struct waiter *waiter)
{
    net_stream_wake(CONTAINER_OF(waiter, struct request, waiter)->x);
}

det_status request_stream(struct request *req, request_next_fn *next)
{
    req->stream = next;
    req->next = NEXT_STREAM;
    return DET_OK;
}

det_status request_stream_on(struct request *req, struct lane *lane,
                             request_next_fn *next)
{
    req->stream_lane = lane;
    return request_stream(req, next);
}

enum net_more request_stream_wait(struct request *req, const char *key, uint64_t mark)
{
    req->wait_key = key;
    req->wait_mark = mark;
    return key ? NET_WAIT : NET_END;
}

/* {"error":{...}}: how a stream says that it broke off. */
static void write_stream_error(struct buf *out, det_status status, const char *text)
{
    struct json_writer w = JSON_WRITER(out);
    int code = det_status_grpc(status);

    jw_object(&w, NULL);
    jw_object(&w, "error");
    jw_i64(&w, "grpcCode", code);
    jw_i64(&w, "httpCode", det_status_http(status));
    jw_str(&w, "message", text && *text ? text : det_status_text(status));
    jw_str(&w, "httpStatus", grpc_names[code]);
    jw_array(&w, "details");
    jw_end_array(&w);
    jw_end_object(&w);
    jw_end_object(&w);
    buf_putc(out, '\n');
}

/* Of bytes that are not records: what fails is told here and breaks the connection. */
static enum net_more bytes_step(struct request *req, struct buf *out)
{
    enum net_more more = NET_END;
    struct err err = {0};
    det_status st;

    req->err = &err;
    st = req->stream(req, out, &more);
    req->err = NULL;
    if (!st)
        return more;
    log_warn("the answer to %s breaks off: %s", net_request_path(req->x), err.text);
    out->status = st;
    return NET_END;
}

static enum net_more stream_step(struct request *req, struct buf *out)
{
    struct store *store = req->master->store;
    enum net_more more = NET_END;
    struct err err = {0};
    det_status st = store_reader_take(store, &req->db, &err);

    req->err = &err;
    if (!st) {
        st = req->stream(req, out, &more);
        store_reader_give(store, req->db);
    }
    req->db = NULL;
    req->err = NULL;
    if (!st)
        return more;
    write_stream_error(out, st, err.text);
    return NET_END;
}

static enum net_more stream_next(void *arg, struct buf *out)
{
    struct request *req = arg;

    (void)waits_leave(req->master->waits, &req->waiter);
    for (;;) {
        enum net_more more =
            req->stream_lane ? bytes_step(req, out) : stream_step(req, out);

        if (more != NET_WAIT || out->len)
            return more == NET_WAIT ? NET_MORE : more;
        if (req->master->is_stopping)
            return NET_END;
        req->waiter.wake = wake_stream;
        req->waiter.parked = NULL;
        if (waits_park(req->master->waits, req->wait_key, &req->waiter, req->wait_mark))
            return NET_WAIT;
    }
}

static void stream_done(void *arg)
{
    struct request *req = arg;

    (void)waits_leave(req->master->waits, &req->waiter);
    request_free(req);
}

/* ---- arriving -------------------------------------------------------------------- */

det_status request_id(struct request *req, int at, int64_t *ret_id)
{
    if (!parse_i64(req->arg[at], ret_id) || *ret_id < 0)
        return err_set(req->err, DET_INVALID, "'%s' is not a number", req->arg[at]);
    return DET_OK;
}

/* Only files are large; what tasks report may be larger than what people type. */
static size_t body_limit(const struct route *route)
{
    if (route->id == ROUTE_ID_create_experiment)
        return SIZE_MAX;
    return route->auth == ROUTE_TASK ? TASK_BODY : SMALL_BODY;
}

static det_status read_body(struct request *req)
{
    size_t len;
    const char *text = net_request_body(req->x, &len);
    struct json *tree;
    void *body;
    det_status st;

    if (len > body_limit(req->route))
        return err_set(req->err, DET_TOO_LARGE,
                       "the body has %zu bytes; this call takes at most %zu", len,
                       body_limit(req->route));
    if (req->route->body == bytes_body_fields) {
        struct bytes_body *bytes = arena_new(&req->mem, struct bytes_body);

        if (!bytes)
            return DET_NOMEM;
        *bytes = (struct bytes_body){text, len};
        req->body = bytes;
        return DET_OK;
    }
    if (!len)
        text = "{}", len = 2;
    st = json_parse(text, len, &req->mem, &tree, req->err);
    if (st)
        return err_prefix(req->err, "the body is not JSON");
    req->tree = tree;
    body = arena_alloc(&req->mem, req->route->body_size);
    if (!body)
        return DET_NOMEM;
    req->body = body;
    if (!req->route->body->name)
        return DET_OK;
    if (tree->kind != JSON_OBJECT)
        return err_set(req->err, DET_INVALID, "the body is %s; expected an object",
                       json_kind_name(tree->kind));
    return fields_read(req->route->body, tree, &req->mem, body, req->err);
}

static bool to_route_method(enum net_method method, enum route_method *ret_method)
{
    static const int of[] = {
        [NET_GET] = ROUTE_GET,     [NET_POST] = ROUTE_POST,     [NET_PUT] = ROUTE_PUT,
        [NET_PATCH] = ROUTE_PATCH, [NET_DELETE] = ROUTE_DELETE, [NET_HEAD] = ROUTE_GET,
        [NET_OPTIONS] = ROUTE_ANY};

    if ((size_t)method >= ARRAY_LEN(of))
        return false;
    *ret_method = (enum route_method)of[method];
    return true;
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

/* What nothing has: a person means a page of the WebUI. */
static bool is_page(const struct request *req, enum route_method method)
{
    static const char calls[] = "/api/";

    return method == ROUTE_GET && request_wants_page(req->x) &&
           strncmp(net_request_path(req->x), calls, sizeof(calls) - 1) != 0;
}

static det_status find_route(struct request *req)
{
    struct route_match match;
    enum route_method method;
    det_status st;

    if (!to_route_method(net_request_method(req->x), &method))
        return err_set(req->err, DET_UNSUPPORTED, "no call here takes this method");
    st = route_find(method, net_request_path(req->x), &req->mem, &match, req->err);
    if (!st) {
        req->route = match.route;
        memcpy(req->arg, match.arg, sizeof(req->arg));
    } else if (st == DET_NOT_FOUND && is_page(req, method)) {
        req->route = &routes[ROUTE_ID_get_root];
        st = DET_OK;
    }
    return st;
}

static void relay_done(void *arg)
{
    request_free(arg);
}

det_status request_relay(struct request *req, struct net_relay *to)
{
    to->lane = req->master->workers;
    to->done = relay_done;
    to->arg = req;
    req->relay = to;
    req->next = NEXT_RELAY;
    return DET_OK;
}

/* Most requests are small, and cost no more than one look at their length. */
size_t request_body_limit(void *arg, const struct net_exchange *x)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROUTE_MEMORY);
    struct master *master = arg;
    const char *length = net_request_header(x, "Content-Length");
    struct route_match match;
    enum route_method method;
    int64_t bytes;

    if (length && parse_i64(length, &bytes) && bytes >= 0 && bytes <= OPEN_BODY)
        return OPEN_BODY;
    if (!atomic_load(&master->is_ready) ||
        !to_route_method(net_request_method(x), &method) ||
        route_find(method, net_request_path(x), &mem, &match, NULL) ||
        match.route->auth == ROUTE_OPEN || !auth_is_ours(master->auth, x))
        return OPEN_BODY;
    if (match.route->id == ROUTE_ID_proxy)
        return NET_BODY_LATER;
    return body_limit(match.route);
}

/* Who calls comes before what is wrong with the body. */
static det_status check_problem(struct request *req)
{
    det_status st = net_request_problem(req->x);

    if (st == DET_TOO_LARGE && body_limit(req->route) < SIZE_MAX)
        return err_set(req->err, st, "the body is larger than this call takes");
    if (st == DET_TOO_LARGE)
        return err_set(req->err, st, "the request is larger than this master accepts");
    return st ? err_default(req->err, st) : DET_OK;
}

static det_status handle(struct request *req)
{
    void *query;
    det_status st = guard_check(req->master, req->x, req->err);

    if (!st)
        st = find_route(req);
    if (!st)
        st = auth_check(req);
    if (st == DET_UNAUTHENTICATED && req->route->id == ROUTE_ID_proxy)
        return proxy_sign_in(req);
    if (!st)
        st = check_problem(req);
    if (st)
        return st;

    query = arena_alloc(&req->mem, req->route->query_size);
    if (!query)
        return DET_NOMEM;
    req->query = query;
    st = route_read_query(req->route, net_request_query(req->x), &req->mem, query,
                          req->err);
    if (!st && req->route->method != ROUTE_GET && req->route->method != ROUTE_ANY)
        st = read_body(req);
    return st ? st : api_handlers[req->route->id](req);
}

static void run_first(struct task *task)
{
    struct request *req = CONTAINER_OF(task, struct request, task);

    req->task.run = run_then;
    run_handler(req, handle);
}

/* A report of a caller we know needs no disk before it reaches the writer's queue: it
 * is decoded on the thread that received it.  A worker would cost two switches of
 * threads, more than the decoding.  Not in a simulation, where arriving must not run
 * handlers. */
static bool is_quick(struct request *req)
{
    static const char trials[] = "/api/v1/trials/";
    const char *path = net_request_path(req->x);
    size_t len;

    (void)net_request_body(req->x, &len);
    req->is_known = len <= QUICK_BODY && net_request_method(req->x) == NET_POST &&
                    !strncmp(path, trials, sizeof(trials) - 1) &&
                    strstr(path, "/metrics") && !exec_is_single(req->master->exec) &&
                    auth_knows(req);
    return req->is_known;
}

/* Before there is a request.  Without memory even for the sentence it goes without. */
static void refuse_at_once(struct net_exchange *x, det_status status, const char *text)
{
    struct buf body = BUF_INIT;

    error_write(&body, status, text);
    net_answer(x, det_status_http(status), "application/json", NULL, &body);
}

void request_arrived(void *arg, struct net_exchange *x)
{
    struct master *master = arg;
    bool is_ready = atomic_load(&master->is_ready);
    struct request *req = is_ready ? mem_new(struct request) : NULL;
    struct buf out = BUF_INIT;

    /* Room for a short answer comes first: what has happened can then be said. */
    if (!req || !buf_room(&out, ANSWER_LEAST)) {
        mem_free(req);
        refuse_at_once(x, is_ready ? DET_NOMEM : DET_BUSY,
                       is_ready ? NULL : "the master is starting, try again");
        return;
    }
    atomic_fetch_add(&master->open_requests, 1);
    req->master = master;
    req->x = x;
    req->mem = (struct arena)ARENA_INIT(REQUEST_MEMORY);
    req->out = out;
    req->w = (struct json_writer)JSON_WRITER(&req->out);
    req->http_status = 200;
    req->task = (struct task)TASK_INIT(run_first);
    net_set_user(x, req);
    if (is_quick(req))
        run_first(&req->task);
    else
        lane_post(master->workers, &req->task);
}
