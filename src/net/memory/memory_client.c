/* SPDX-License-Identifier: Apache-2.0 */
/* memory_client.c - the client's side of a call in memory. */
#include <assert.h>
#include <string.h>

#include "base/memory/mem.h"
#include "net/memory/net_memory_impl.h"

enum { DEFAULT_TIMEOUT_MS = 30000 };

/* ---- the call's side ------------------------------------------------------------- */

void memory_call_over(struct memory_call *call, det_status failure)
{
    if (call->x)
        call->x->call = NULL;
    call->x = NULL;
    if (!call->is_over)
        call->failure = failure;
    call->is_over = call->is_ready = true;
}

void memory_call_rearm(struct memory_call *call)
{
    struct memory_net *net = call->client->net;

    lane_post_at(net->wire, &call->timer,
                 clock_mono_us(executor_clock(net->base.exec)) + call->timeout_us);
}

/* The call ends before its exchange. */
static void call_end_early(struct memory_call *call, det_status failure)
{
    struct memory_exchange *x = call->x;

    memory_call_over(call, failure);
    if (x)
        memory_exchange_gone(x);
}

static void on_timer(struct work *task)
{
    call_end_early(CONTAINER_OF(task, struct memory_call, timer), DET_TIMEOUT);
}

/* ---- clients --------------------------------------------------------------------- */

det_status memory_client_new(struct net *base, const char *host, uint16_t port,
                             struct net_client **ret_client, struct err *err)
{
    size_t size = strlen(host) + 1;
    struct memory_client *client = mem_alloc(sizeof(*client) + size);

    if (!client)
        return err_default(err, DET_NOMEM);
    client->base.ops = base->ops;
    client->net = (struct memory_net *)base;
    client->port = port;
    memcpy(client->host, host, size);
    *ret_client = &client->base;
    return DET_OK;
}

void memory_client_free(struct net_client *client)
{
    mem_free(client);
}

det_status memory_client_secure(struct net_client *client,
                                const struct net_trust *trust, struct err *err)
{
    (void)client;
    (void)trust;
    return err_set(err, DET_UNSUPPORTED, "the network in memory has no TLS");
}

void memory_client_cancel(struct net_client *base)
{
    struct memory_client *client = (struct memory_client *)base;

    client->is_cancelled = true;
    if (client->call)
        call_end_early(client->call, DET_TIMEOUT);
}

/* Draws no random number while this fault is off, so a simulation without faults keeps its
 * order when faults are added elsewhere. */
static bool is_fault_due(struct memory_net *net, uint32_t of_1000)
{
    return of_1000 && rng64_below(&net->rng, 1000) < of_1000;
}

/* Sends the request, or loses it, or sends it twice. */
static det_status call_start(struct memory_call *call, const struct net_call *what)
{
    struct memory_net *net = call->client->net;
    bool is_lost = is_fault_due(net, net->faults.lose_request);
    bool loses_reply = is_fault_due(net, net->faults.lose_reply);
    bool is_repeated = is_fault_due(net, net->faults.repeat);
    struct memory_exchange *x;

    if (is_lost) {
        if (rng64_below(&net->rng, 2))
            memory_call_over(call, DET_UNREACHABLE);
        return DET_OK;
    }
    x = memory_exchange_new(call->client, what);
    if (!x)
        return DET_NOMEM;
    x->call = call;
    x->loses_reply = loses_reply;
    call->x = x;
    memory_send(x, memory_request_arrives);
    if (!is_repeated)
        return DET_OK;
    x = memory_exchange_new(call->client, what); /* out of memory: no second delivery */
    if (x)
        memory_send(x, memory_request_arrives);
    return DET_OK;
}

/* Gives the caller what has arrived. */
static det_status call_deliver(struct memory_call *call, const struct net_call *what,
                               struct net_reply *reply, struct err *err)
{
    struct buf *bytes = &call->bytes;
    struct buf *into = reply->body;
    det_status st = bytes->status ? err_default(err, bytes->status) : DET_OK;

    reply->status = call->status;
    memcpy(reply->mark, call->mark, sizeof(reply->mark));
    if (reply->headers && call->head.len) {
        buf_clear(reply->headers);
        buf_add(reply->headers, call->head.data, call->head.len);
        st = st || !reply->headers->status ? st
                                           : err_default(err, reply->headers->status);
    }
    if (st || !bytes->len || what->method == NET_HEAD)
        return st;
    if (what->on_data && call->status < 300) {
        st = what->on_data(what->arg, bytes->data, bytes->len, err);
    } else if (into) {
        buf_add(into, bytes->data, bytes->len);
        if (into->status)
            st = err_set(err, into->status, "the answer of %s port %u is too large",
                         call->client->host, call->client->port);
    }
    buf_clear(bytes);
    return st;
}

/* Runs the executor until the call is over.  If the executor has nothing left to do, the
 * call would wait for its timeout. */
static det_status call_wait(struct memory_call *call, const struct net_call *what,
                            struct net_reply *reply, struct err *err)
{
    struct memory_client *client = call->client;
    det_status st;

    for (;;) {
        if (!executor_pump_until(client->net->base.exec, &call->is_ready) &&
            !call->is_ready)
            memory_call_over(call, DET_TIMEOUT);
        call->is_ready = false;
        st = call_deliver(call, what, reply, err);
        if (st)
            return st;
        if (call->is_over)
            break;
        if (call->x && call->x->phase == TAKEN)
            memory_stream_rest(call->x);
    }
    if (call->failure == DET_UNREACHABLE)
        return err_set(err, DET_UNREACHABLE, "cannot reach %s port %u", client->host,
                       client->port);
    if (call->failure)
        return err_set(err, call->failure, "no answer from %s port %u", client->host,
                       client->port);
    return DET_OK;
}

det_status memory_call(struct net_client *base, const struct net_call *what,
                       struct net_reply *reply, struct err *err)
{
    struct memory_client *client = (struct memory_client *)base;
    int64_t timeout_ms = what->timeout_ms > 0 ? what->timeout_ms : DEFAULT_TIMEOUT_MS;
    struct memory_call call = {
        .client = client,
        .timer = WORK_INIT(on_timer),
        .timeout_us = timeout_ms * 1000,
        .bytes = BUF_INIT,
        .head = BUF_INIT,
    };
    det_status st;

    if (client->is_cancelled)
        return err_set(err, DET_TIMEOUT, "the call to %s port %u was cancelled",
                       client->host, client->port);
    assert(!client->call);
    st = call_start(&call, what);
    if (st)
        return err_default(err, st);
    client->call = &call;
    memory_call_rearm(&call);
    st = call_wait(&call, what, reply, err);

    client->call = NULL;
    lane_cancel(client->net->wire, &call.timer);
    call_end_early(&call, st); /* if the caller ended it early */
    buf_done(&call.bytes);
    buf_done(&call.head);
    return st;
}
