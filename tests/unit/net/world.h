/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a network with a server and a client, real or in memory.  The server's paths:
 *   /echo    the request's body; its type says what was seen of the request
 *   /lane    as /echo, answered from a lane
 *   /hold    nothing: the test finds the exchange in world.held
 *   /count   a stream of world.pieces pieces
 *   /ticks   a stream that waits before each piece until it is woken */
#ifndef TESTS_UNIT_NET_WORLD_H
#define TESTS_UNIT_NET_WORLD_H

#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "net/net_system.h"
#include "tests/support/test.h"
#include "tests/unit/net/limit.h"

enum { WORLD_BODY_LIMIT = 1 << 20, WORLD_HELD = 4096 };

/* Set by a test program whose worlds speak TLS. */
static const char *world_cert_file;
static const char *world_key_file;

struct world {
    bool is_memory;
    struct clock_manual clock;
    struct executor *exec;
    struct lane *lane;
    struct net *net;
    struct net_server *server;
    struct net_client *client;
    struct lock lock;

    /* under the lock */
    struct net_exchange *held[WORLD_HELD];
    size_t held_count;
    size_t held_wanted;
    struct gate *has_held; /* opened when held_wanted are held */
    struct gate *is_gone;  /* opened by the gone function */
    struct gate *is_done;  /* opened by a stream's done() */
    int requests, gone_count, done_count;

    /* only on the lane */
    int pieces;
    int piece;
    int padding; /* blanks in each piece of /count */
    int ticks;   /* set under the lock */
    struct net_exchange *stream;
};

struct lane_job {
    struct work task;
    struct world *world;
    struct net_exchange *x;
};

static inline void world_echo(struct net_exchange *x)
{
    const char *header = net_request_header(x, "x-test");
    struct buf reply = BUF_INIT;
    size_t len;
    const char *body = net_request_body(x, &len);

    if (net_request_problem(x)) {
        buf_puts(&reply, det_status_name(net_request_problem(x)));
        net_answer(x, det_status_http(net_request_problem(x)), "text/plain", NULL,
                   &reply);
        return;
    }
    buf_printf(&reply, "%d %s?%s [%s] ", (int)net_request_method(x),
               net_request_path(x), net_request_query(x), header ? header : "-");
    buf_add(&reply, body, len);
    net_answer(x, 200, "text/plain", (const char *[]){"X-Reply: yes", NULL}, &reply);
}

static inline void world_lane_job(struct work *task)
{
    struct lane_job *job = CONTAINER_OF(task, struct lane_job, task);

    world_echo(job->x);
    mem_free(job);
}

static inline void world_gone(struct net_exchange *x)
{
    struct world *w = net_user(x);

    lock_take(&w->lock);
    w->gone_count++;
    lock_give(&w->lock);
    gate_open(w->is_gone);
}

static inline void world_hold(struct world *w, struct net_exchange *x)
{
    bool is_enough;

    net_set_user(x, w);
    net_request_drop_body(x);
    net_on_gone(x, world_gone);
    lock_take(&w->lock);
    w->held[w->held_count++] = x;
    is_enough = w->held_count == w->held_wanted;
    lock_give(&w->lock);
    if (is_enough)
        gate_open(w->has_held);
}

static inline enum net_more world_count_next(void *arg, struct buf *out)
{
    struct world *w = arg;

    if (w->piece == w->pieces)
        return NET_END;
    buf_printf(out, "piece %d%*s\n", w->piece++, w->padding, "");
    return w->piece == w->pieces ? NET_END : NET_MORE;
}

static inline enum net_more world_ticks_next(void *arg, struct buf *out)
{
    struct world *w = arg;
    int ticks;

    lock_take(&w->lock);
    ticks = w->ticks;
    lock_give(&w->lock);
    while (w->piece < ticks)
        buf_printf(out, "tick %d\n", w->piece++);
    return w->piece == w->pieces ? NET_END : NET_WAIT;
}

static inline void world_done(void *arg)
{
    struct world *w = arg;

    lock_take(&w->lock);
    w->done_count++;
    w->stream = NULL;
    lock_give(&w->lock);
    gate_open(w->is_done);
}

static inline void world_stream(struct world *w, struct net_exchange *x,
                                net_next_fn *next)
{
    struct net_stream stream = {w->lane, next, world_done, w,
                                (const char *[]){"X-Stream: yes", NULL}};
    lock_take(&w->lock);
    w->stream = x;
    lock_give(&w->lock);
    net_answer_stream(x, "text/event-stream", &stream);
}

static inline void world_handler(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    const char *path = net_request_path(x);
    struct lane_job *job;

    lock_take(&w->lock);
    w->requests++;
    lock_give(&w->lock);
    if (!strcmp(path, "/hold")) {
        world_hold(w, x);
    } else if (!strcmp(path, "/count")) {
        world_stream(w, x, world_count_next);
    } else if (!strcmp(path, "/ticks")) {
        world_stream(w, x, world_ticks_next);
        lock_take(&w->lock);
        w->held_count++;
        lock_give(&w->lock);
        gate_open(w->has_held);
    } else if (!strcmp(path, "/lane")) {
        job = mem_new(struct lane_job);
        *job = (struct lane_job){WORK_INIT(world_lane_job), w, x};
        lane_post(w->lane, &job->task);
    } else {
        world_echo(x);
    }
}

/* Does nothing in a world without TLS. */
static inline det_status world_secure(struct net_client *client)
{
    const struct net_trust trust = {.cert_file = world_cert_file};

    return world_cert_file ? net_client_secure(client, &trust, &test_err) : DET_OK;
}

static inline struct net_client *world_client(struct world *w, const char *host)
{
    struct net_client *client;

    CHECK_OK(
        net_client_new(w->net, host, net_server_port(w->server), &client, &test_err));
    CHECK_OK(world_secure(client));
    return client;
}

static inline void world_init_seeded(struct world *w, bool is_memory, uint64_t seed)
{
    struct net_server_config config = {
        .host = "127.0.0.1",
        .max_body_bytes = WORLD_BODY_LIMIT,
        .body_limit = world_limit,
        .threads = 2,
        .max_connections = 8192,
        .mark = "mark-1",
        .cert_file = world_cert_file,
        .key_file = world_key_file,
        .handler = world_handler,
        .arg = w,
    };

    memset(w, 0, sizeof(*w));
    w->is_memory = is_memory;
    w->held_wanted = 1;
    clock_manual_init(&w->clock, 0);
    if (is_memory)
        CHECK_OK(executor_single_new(&w->clock, seed, &w->exec, &test_err));
    else
        CHECK_OK(executor_threads_new(&clock_system, &w->exec, &test_err));
    CHECK_OK(lane_new(w->exec, "test", 1, &w->lane, &test_err));
    CHECK_OK(lock_init(&w->lock, &test_err));
    CHECK_OK(gate_new(w->exec, &w->has_held, &test_err));
    CHECK_OK(gate_new(w->exec, &w->is_gone, &test_err));
    CHECK_OK(gate_new(w->exec, &w->is_done, &test_err));
    if (is_memory)
        CHECK_OK(net_memory_new(w->exec, seed, &w->net, &test_err));
    else
        CHECK_OK(net_system_new(w->exec, &w->net, &test_err));
    CHECK_OK(net_serve(w->net, &config, &w->server, &test_err));
    w->client = world_client(w, "127.0.0.1");
}

static inline void world_init(struct world *w, bool is_memory)
{
    world_init_seeded(w, is_memory, 7);
}

static inline void world_done_all(struct world *w)
{
    net_client_free(w->client);
    net_server_free(w->server);
    net_free(w->net);
    gate_free(w->has_held);
    gate_free(w->is_gone);
    gate_free(w->is_done);
    executor_free(w->exec);
    lock_done(&w->lock);
}

/* One call; returns its reply's status and body. */
static inline det_status world_call(struct world *w, enum net_method method,
                                    const char *path, const char *body, int *ret_status,
                                    struct buf *ret_body)
{
    struct net_reply reply = {.body = ret_body};
    struct net_call call = {
        .method = method,
        .path = path,
        .headers = (const char *[]){"X-Test: here", NULL},
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .timeout_ms = 20000,
    };
    det_status st = net_call(w->client, &call, &reply, &test_err);

    *ret_status = reply.status;
    return st;
}

#endif
