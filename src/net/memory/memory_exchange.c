/* SPDX-License-Identifier: Apache-2.0 */
/* memory_exchange.c - the server's side of a call in memory: its way over the wire, its
 * answer or stream, its end. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/mem.h"
#include "net/memory/net_memory_impl.h"

enum { LEAST_DELAY_US = 20, DELAY_RANGE_US = 2000, HEAD_ROOM = 256 };

/* ---- the wire -------------------------------------------------------------------- */

void memory_send(struct memory_exchange *x, work_fn *arrive)
{
    struct memory_net *net = x->net;
    int64_t delay_us = LEAST_DELAY_US + (int64_t)rng64_below(&net->rng, DELAY_RANGE_US);

    x->task = (struct work)WORK_INIT(arrive);
    lane_post_at(net->wire, &x->task,
                 clock_mono_us(executor_clock(net->base.exec)) + delay_us);
}

void memory_exchange_free(struct memory_exchange *x)
{
    struct memory_net *net = x->net;

    if (x->call)
        x->call->x = NULL;
    if (x->next)
        x->next->prev = x->prev;
    if (x->prev)
        x->prev->next = x->next;
    else
        net->exchanges = x->next;
    lane_cancel(net->wire, &x->gone_task);
    net_exchange_done(&x->base);
    buf_done(&x->out);
    buf_done(&x->head);
    mem_free(x);
}

void memory_exchange_unpost(struct memory_exchange *x)
{
    lane_cancel(x->net->wire, &x->task);
    if (x->stream.lane)
        lane_cancel(x->stream.lane, &x->task);
}

/* ---- the exchange's side --------------------------------------------------------- */

/* A separate task, since owners expect to be called from outside their own calls. */
static void on_gone_task(struct work *task)
{
    struct memory_exchange *x = CONTAINER_OF(task, struct memory_exchange, gone_task);

    if (x->phase == OPEN && x->gone_fn)
        x->gone_fn(&x->base);
}

static void stream_end(struct work *task)
{
    struct memory_exchange *x = CONTAINER_OF(task, struct memory_exchange, task);
    struct memory_server *server = x->server;

    if (x->stream.done)
        x->stream.done(x->stream.arg);
    memory_exchange_free(x);
    if (server)
        server->is_quiet = true; /* memory_server_free() checks again */
}

static void stream_finish(struct memory_exchange *x)
{
    x->phase = ENDS;
    x->task = (struct work)WORK_INIT(stream_end);
    lane_post(x->stream.lane, &x->task);
}

void memory_exchange_gone(struct memory_exchange *x)
{
    x->is_gone = true;
    if (x->phase == OPEN && x->gone_fn)
        lane_post(x->net->wire, &x->gone_task);
    if (x->phase == WAITING || x->phase == TAKEN)
        stream_finish(x);
}

static void on_stream_step(struct work *task);

void memory_stream_rest(struct memory_exchange *x)
{
    buf_clear(&x->out);
    if (x->is_gone || x->is_last) {
        stream_finish(x);
    } else if (!x->may_wait || x->is_woken) {
        x->phase = WANTED;
        x->task = (struct work)WORK_INIT(on_stream_step);
        lane_post(x->stream.lane, &x->task);
    } else {
        x->phase = WAITING;
    }
}

/* Writes the head of a reply.  If out of memory there is no reply, as on the real network.
 */
static bool head_write(struct memory_exchange *x, const char *content_type,
                       const char *const *headers)
{
    struct net_header header;

    if (content_type)
        buf_printf(&x->head, "Content-Type: %s\n", content_type);
    for (const char *const *line = headers; line && *line; line++)
        if (!net_header_split(*line, &header))
            return false;
        else
            buf_printf(&x->head, "%.*s: %s\n", (int)header.name_len, header.name,
                       header.value);
    return !x->head.status;
}

static void head_arrives(struct memory_exchange *x, struct memory_call *call)
{
    memcpy(call->mark, x->mark, sizeof(call->mark));
    buf_add(&call->head, x->head.data, x->head.len);
    if (call->head.status)
        call->bytes.status = call->head.status;
    buf_clear(&x->head);
}

/* The call reads the bytes when control is back in net_call(). */
static void on_piece_arrives(struct work *task)
{
    struct memory_exchange *x = CONTAINER_OF(task, struct memory_exchange, task);
    struct memory_call *call = x->call;

    if (!call) {
        x->is_gone = true;
        memory_stream_rest(x);
        return;
    }
    call->status = 200;
    head_arrives(x, call);
    buf_add(&call->bytes, x->out.data, x->out.len);
    call->is_ready = true;
    memory_call_rearm(call);
    x->phase = TAKEN; /* until the call has read the bytes */
    if (x->is_last) {
        memory_call_over(call, DET_OK);
        memory_stream_rest(x);
    }
}

static void on_stream_step(struct work *task)
{
    struct memory_exchange *x = CONTAINER_OF(task, struct memory_exchange, task);
    enum net_more more;

    if (x->is_gone) {
        stream_finish(x);
        return;
    }
    x->is_woken = false;
    more = x->stream.next(x->stream.arg, &x->out);
    x->is_last = more == NET_END;
    x->may_wait = more == NET_WAIT;
    if (x->out.status) {
        if (x->call)
            memory_call_over(x->call, DET_UNREACHABLE);
        stream_finish(x);
    } else if (x->out.len || x->is_last) {
        x->phase = PIECE;
        memory_send(x, on_piece_arrives);
    } else {
        memory_stream_rest(x);
    }
}

/* Ends the call and frees the exchange. */
static void on_reply_arrives(struct work *task)
{
    struct memory_exchange *x = CONTAINER_OF(task, struct memory_exchange, task);
    struct memory_call *call = x->call;

    if (call) {
        call->status = x->status;
        head_arrives(x, call);
        buf_add(&call->bytes, x->out.data, x->out.len);
        memory_call_over(call, DET_OK);
    }
    memory_exchange_free(x);
}

/* The reply is lost on its way. */
static void lose_reply(struct memory_exchange *x)
{
    struct memory_call *call = x->call;

    if (!call)
        return;
    if (rng64_below(&x->net->rng, 2))
        memory_call_over(call, DET_UNREACHABLE);
    call->x = NULL; /* else its timeout ends it */
    x->call = NULL;
}

void memory_answer(struct net_exchange *base, const struct net_answer_with *answer)
{
    struct memory_exchange *x = (struct memory_exchange *)base;

    assert(x->phase == OPEN);
    x->phase = REPLIES;
    x->status = answer->status;
    if (x->loses_reply) /* the server did its work all the same */
        lose_reply(x);
    if (answer->body && x->call) {
        x->out = *answer->body;
        x->out.limit = 0;
        *answer->body = (struct buf)BUF_INIT;
    } else if (answer->body) {
        buf_done(answer->body);
    }
    if (x->out.status || !head_write(x, answer->content_type, answer->headers)) {
        x->status = 503; /* as the real server does */
        buf_clear(&x->out);
        buf_clear(&x->head);
    }
    if (x->call)
        memory_send(x, on_reply_arrives);
    else
        memory_exchange_free(x);
}

void memory_answer_stream(struct net_exchange *base, const char *content_type,
                          const struct net_stream *stream)
{
    struct memory_exchange *x = (struct memory_exchange *)base;

    assert(x->phase == OPEN);
    lane_cancel(x->net->wire, &x->gone_task);
    x->stream = *stream;
    if (x->loses_reply)
        lose_reply(x);
    if (!head_write(x, content_type, stream->headers) && x->call)
        memory_call_over(x->call, DET_UNREACHABLE);
    x->stream.headers = NULL; /* only borrowed during the call */
    /* A second delivery has no client. */
    x->is_gone = x->is_gone || !x->call;
    memory_stream_rest(x);
}

void memory_stream_wake(struct net_exchange *base)
{
    struct memory_exchange *x = (struct memory_exchange *)base;

    x->is_woken = true;
    if (x->phase == WAITING)
        memory_stream_rest(x);
}

void memory_on_gone(struct net_exchange *base, net_gone_fn *fn)
{
    struct memory_exchange *x = (struct memory_exchange *)base;

    x->gone_fn = fn;
    if (x->is_gone)
        memory_exchange_gone(x);
}

bool memory_is_gone(struct net_exchange *x)
{
    return ((struct memory_exchange *)x)->is_gone;
}

bool memory_peer_uid(const struct net_exchange *x, uint32_t *ret_uid)
{
    if (x->is_loopback)
        *ret_uid = getuid();
    return x->is_loopback;
}

/* ---- its beginning --------------------------------------------------------------- */

/* The block of headers, in the form of net_exchange.headers. */
static char *headers_new(const struct memory_client *client,
                         const struct net_call *call)
{
    struct buf block = BUF_INIT;
    struct net_header header;

    buf_printf(&block, "Host%c%s:%u%c", '\0', client->host, client->port, '\0');
    for (const char *const *line = call->headers; line && *line; line++) {
        if (!net_header_split(*line, &header))
            continue;
        buf_add(&block, header.name, header.name_len);
        buf_putc(&block, '\0');
        buf_add(&block, header.value, strlen(header.value) + 1);
    }
    return buf_take(&block); /* adds the final NUL */
}

struct memory_exchange *memory_exchange_new(const struct memory_client *client,
                                            const struct net_call *call)
{
    struct memory_net *net = client->net;
    size_t size = strlen(call->path) + 1;
    struct memory_exchange *x = mem_alloc(sizeof(*x) + size);

    if (!x)
        return NULL;
    x->base = (struct net_exchange){
        .ops = &net_memory_ops,
        .body = BUF_INIT,
        .method = call->method,
        .is_loopback = memory_is_own_host(client->host),
    };
    x->net = net;
    x->out = (struct buf)BUF_INIT;
    x->head = (struct buf)BUF_INIT;
    x->gone_task = (struct work)WORK_INIT(on_gone_task);
    memory_key_format(x->key, client->host, client->port);
    memcpy(x->uri, call->path, size);
    net_exchange_set_uri(&x->base, x->uri);
    x->base.headers = headers_new(client, call);
    buf_add(&x->base.body, call->body, call->body_len);
    /* with this room most answers need no more memory, as on the real server */
    if (!x->base.headers || x->base.body.status || !buf_room(&x->head, HEAD_ROOM)) {
        net_exchange_done(&x->base);
        buf_done(&x->head);
        mem_free(x);
        return NULL;
    }
    x->next = net->exchanges;
    if (x->next)
        x->next->prev = x;
    net->exchanges = x;
    return x;
}

/* This network has no sockets to other servers. */
void memory_relay(struct net_exchange *base, const struct net_relay *to)
{
    to->refuse(to->arg, base, DET_UNSUPPORTED, "this network cannot hand requests on");
    to->done(to->arg);
}

void memory_peer_address(const struct net_exchange *base, char text[NET_ADDRESS_TEXT])
{
    (void)base;
    snprintf(text, NET_ADDRESS_TEXT, "127.0.0.1");
}
