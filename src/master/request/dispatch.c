/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - see dispatch.h. */
#include "master/request/dispatch.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory/mem.h"
#include "data/text.h"
#include "master/api/api.h"
#include "master/api/tasks/proxy.h"
#include "master/request/access.h"
#include "master/request/auth.h"
#include "master/request/error_body.h"
#include "master/request/origin_guard.h"
#include "master/request/request_impl.h"
#include "master/watch/meters.h"
#include "master/watch/request_times.h"
#include "model/field.h"
#include "wire/bodies.h"

enum {
    REQUEST_MEMORY = 256 << 20, /* see also master->memory */
    TASK_BODY = 16 << 20,
    SMALL_BODY = 4 << 20,
    QUICK_BODY = 16 << 10,
    BORROWED_BODY = 1 << 20,
    LONG_QUEUE_US = 5000000,
    SUBMISSION_PERCENT = 168,   /* files in base64, and their archive */
    OPEN_BODY = NET_SMALL_BODY, /* of anonymous callers */
    ROUTE_MEMORY = 64 << 10,
    ANSWER_LEAST = 200, /* bytes; most answers fit */
};

/* Only submitted files are large.  Reports of tasks may be larger than requests of users. */
static size_t body_limit(const struct route *route)
{
    if (route->id == ROUTE_ID_create_experiment)
        return SIZE_MAX;
    return route->task != ROUTE_TASK_NO || rights_is_for_supervisor(route) ? TASK_BODY
                                                                           : SMALL_BODY;
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
    req->borrows_body = len > BORROWED_BODY; /* its strings stay where they are */
    st = req->borrows_body ? json_parse_in_place((char *)(uintptr_t)text, len,
                                                 &req->mem, &tree, req->err)
                           : json_parse(text, len, &req->mem, &tree, req->err);
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

/* A browser that opens an unknown path wants a page of the WebUI. */
static bool is_page_address(const struct request *req, enum route_method method)
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
        return err_set(req->err, DET_UNSUPPORTED, "no call takes this method");
    st = route_find(method, net_request_path(req->x), &req->mem, &match, req->err);
    if (!st) {
        req->route = match.route;
        memcpy(req->arg, match.arg, sizeof(req->arg));
    } else if (st == DET_NOT_FOUND && is_page_address(req, method)) {
        req->route = &routes[ROUTE_ID_get_root];
        st = DET_OK;
    }
    return st;
}

/* Signs of life have a thread and memory of their own, which only agents and supervisors
 * reach: no flood of their owner keeps them waiting. */
static bool is_sign_of_life(const struct master *master, const struct route *route,
                            const struct net_exchange *x)
{
    return route->lane == ROUTE_LANE_LIFE && auth_is_of_platform(master->auth, x);
}

/* For most requests, which are tiny, the length alone decides. */
struct net_limit dispatch_body_limit(void *arg, const struct net_exchange *x)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROUTE_MEMORY);
    struct master *master = arg;
    const struct net_limit small = {.bytes = OPEN_BODY, .memory = &master->open_memory};
    const char *length = net_request_header(x, "Content-Length");
    struct route_match match;
    enum route_method method;
    int64_t bytes;

    if (length && parse_i64(length, &bytes) && bytes >= 0 && bytes <= NET_TINY_BODY)
        return small;
    if (!atomic_load(&master->is_ready) ||
        !to_route_method(net_request_method(x), &method) ||
        route_find(method, net_request_path(x), &mem, &match, NULL) ||
        match.route->who == ROUTE_OPEN || !auth_has_signed_token(master->auth, x))
        return small;
    return (struct net_limit){
        match.route->id == ROUTE_ID_proxy ? NET_BODY_LATER : body_limit(match.route),
        auth_turn_of_body(master, x, &mem),
        match.route->id == ROUTE_ID_create_experiment ? SUBMISSION_PERCENT : 100,
        is_sign_of_life(master, match.route, x) ? &master->life_memory : NULL};
}

/* After authentication: an anonymous caller learns nothing about the body. */
static det_status check_problem(struct request *req)
{
    det_status st = net_request_problem(req->x);

    if (st == DET_TOO_LARGE && body_limit(req->route) < SIZE_MAX)
        return err_set(req->err, st, "the body is larger than this call takes");
    if (st == DET_BUSY)
        return err_set(req->err, st,
                       "other large requests are being handled; try again in a while");
    if (st == DET_TOO_LARGE)
        return err_set(req->err, st, "the request is larger than this master accepts");
    return st ? err_default(req->err, st) : DET_OK;
}

static det_status handle_request(struct request *req)
{
    void *query;
    det_status st = origin_guard_check(req->master, req->x, req->err);

    if (!st && !req->route)
        st = find_route(req);
    if (!st)
        st = auth_check(req);
    if (!st)
        st = access_check_call(req);
    if (st == DET_UNAUTHENTICATED && req->route->id == ROUTE_ID_proxy) {
        req->is_access_open = true; /* the reply is an invitation or a refusal */
        return proxy_sign_in(req);
    }
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
    if (!st)
        st = access_check_fields(req);
    return st ? st : api_handlers[req->route->id](req);
}

static det_status refuse_gone(struct request *req)
{
    return err_set(req->err, DET_BUSY, "the client left before its turn came");
}

/* A client that gave up in a long queue must not cost the others more time.  But a client
 * that has closed its sending half looks the same and may still read its reply; so in a
 * short queue nobody counts as gone. */
static bool has_given_up(const struct request *req)
{
    return req->home == req->master->heavy &&
           req->phase_us[PHASE_LANE] >= LONG_QUEUE_US && net_is_gone(req->x);
}

static void run_first_handler(struct work *work)
{
    struct request *req = CONTAINER_OF(work, struct request, task);

    req->task.run = request_run_then;
    request_enter_phase(req, PHASE_HANDLER);
    if (has_given_up(req))
        request_run_handler(req, refuse_gone);
    else
        request_run_handler(req, handle_request);
}

/* Where the request waits, and behind whom: the calls of users take turns, so nobody keeps
 * the others out, however much is sent. */
static void choose_lane(struct request *req)
{
    const struct master *master = req->master;
    enum route_lane lane = req->route ? req->route->lane : ROUTE_LANE_WORKER;

    req->home = master->workers;
    if (lane == ROUTE_LANE_HEAVY)
        req->home = master->heavy;
    else if (req->route && is_sign_of_life(master, req->route, req->x))
        req->home = master->life;
    req->task.turn = req->is_known
                         ? auth_turn_of_user(master->auth, req->caller.user_id)
                         : auth_turn(master, req->x, &req->mem);
}

/* A small report of a cached caller needs no disk before it reaches the writer's queue, so
 * the thread that received it also decodes it: two thread switches would cost more than the
 * decoding.  That thread must never wait for the disk, so this needs an idle reader; opening
 * one is left to a worker.  In a simulation, requests arrive inside other work, which must
 * not run handlers. */
static bool is_quick(struct request *req)
{
    struct err ignored;
    bool may_be;
    size_t len;

    (void)net_request_body(req->x, &len);
    req->err = &ignored;
    may_be = !find_route(req) && req->route->lane == ROUTE_LANE_QUICK &&
             len <= QUICK_BODY && !executor_is_single(req->master->exec) &&
             auth_find_cached(req);
    req->err = NULL;
    if (may_be)
        req->db = store_reader_take_idle(req->master->store);
    /* Only a request that runs now: one that waits is looked up again, because its token
     * may be revoked meanwhile. */
    req->is_known = req->db != NULL;
    return req->is_known;
}

/* Answers without a request.  If memory is short, the body stays empty. */
static void refuse_exchange(struct net_exchange *x, det_status status, const char *text)
{
    struct buf body = BUF_INIT;

    error_body_write(&body, status, text);
    net_answer(x, det_status_http(status), "application/json", NULL, &body);
}

void dispatch_request(void *arg, struct net_exchange *x)
{
    struct master *master = arg;
    bool is_ready = atomic_load(&master->is_ready);
    struct request *req;
    struct buf out = BUF_INIT;
    bool is_now;

    if (origin_guard_answer_preflight(master, x))
        return;
    req = is_ready ? mem_new(struct request) : NULL;
    /* Room for a short answer comes first, so a committed change can be confirmed. */
    if (!req || !buf_room(&out, ANSWER_LEAST)) {
        mem_free(req);
        meters_error(master->meters, is_ready ? DET_NOMEM : DET_BUSY);
        refuse_exchange(x, is_ready ? DET_NOMEM : DET_BUSY,
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
    req->number =
        atomic_fetch_add_explicit(&master->requests, 1, memory_order_relaxed) + 1;
    req->phase_since_us = request_mono_us(req);
    req->task = (struct work)WORK_INIT(run_first_handler);
    net_set_user(x, req);
    is_now = is_quick(req);
    choose_lane(req);
    req->mem.part = (struct allowance_part){
        .from = req->home == master->life ? &master->life_memory : &master->memory,
        .group = req->task.turn};
    req->out.part = req->mem.part;
    if (is_now)
        run_first_handler(&req->task);
    else
        lane_post(req->home, &req->task);
}
