/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c - one HTTP client, made when it is first needed and thrown away after every
 * call that did not come to an answer: who knows what such a connection still holds.
 *
 * A master marks all its answers with its cluster.  One without the mark comes from
 * another program that got the port while the master was away, and says nothing about
 * the task: the call is tried again, until the master is back.  Nor should it get the
 * token with every attempt: after a call that failed, whoever is there is first asked
 * who it is, which takes no token (GET /info).  What remains is a kept connection that
 * the master closed and the network opened again, to somebody else, by itself: that
 * one call has the token in it. */
#include "agent/talk.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/task.h"
#include "data/json.h"
#include "data/text.h"

enum {
    STRINGS = 64 << 10, /* of an address */
    REPLY_LIMIT = 64 << 20,
    BACKOFF_FIRST_US = 100 * 1000,
    BACKOFF_LAST_US = 5 * 1000 * 1000,
};

struct address {
    struct arena strings;
    struct url url;
    const char *base; /* scheme, host, port and path */
};

struct talk {
    struct lock lock;          /* guards client, is_interrupted and both addresses */
    struct net_client *client; /* freed only by the thread that calls, as `address` */
    bool is_interrupted;
    struct address *address;
    struct address *moved_to; /* where the next call goes; NULL: where the last went */
    struct net *net;
    char *header;
    char cluster[NET_MARK_TEXT]; /* whose master is meant; "": any */
    bool is_suspect;             /* the last call failed; the caller's, as `address` */
};

static void address_free(struct address *address)
{
    if (!address)
        return;
    arena_done(&address->strings);
    mem_free(address);
}

static det_status address_read(struct address *address, const char *url,
                               struct err *err)
{
    struct arena *mem = &address->strings;
    bool is_v6;
    det_status status = url_parse(url, mem, &address->url, err);

    if (status)
        return status;
    if (address->url.is_tls)
        return err_set(err, DET_UNSUPPORTED,
                       "the master's address '%s' asks for https, "
                       "which is not built yet",
                       url);
    is_v6 = strchr(address->url.host, ':') != NULL;
    address->base =
        arena_printf(mem, is_v6 ? "http://[%s]:%u%s" : "http://%s:%u%s",
                     address->url.host, address->url.port, address->url.path);
    return address->base ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status address_new(const char *url, struct address **ret_address,
                              struct err *err)
{
    struct address *address = mem_new(struct address);
    det_status status;

    if (!address)
        return err_default(err, DET_NOMEM);
    address->strings = (struct arena)ARENA_INIT(STRINGS);
    status = address_read(address, url, err);
    if (status)
        address_free(address);
    else
        *ret_address = address;
    return status;
}

static det_status set_up(struct talk *talk, const char *url, const char *who,
                         const char *token, struct err *err)
{
    struct buf header = BUF_INIT;
    det_status status = address_new(url, &talk->address, err);

    if (status)
        return status;
    buf_printf(&header, "%s%s", who, token ? token : "");
    talk->header = buf_take(&header);
    if (!talk->header)
        return err_default(err, DET_NOMEM);
    return lock_init(&talk->lock, err);
}

det_status talk_new(struct net *net, const char *url, const char *who,
                    const char *token, struct talk **ret_talk, struct err *err)
{
    struct talk *talk = mem_new(struct talk);
    det_status status;

    if (!talk)
        return err_default(err, DET_NOMEM);
    talk->net = net;
    status = set_up(talk, url, who, token, err);
    if (status) {
        talk_free(talk);
        return status;
    }
    *ret_talk = talk;
    return DET_OK;
}

void talk_free(struct talk *talk)
{
    if (!talk)
        return;
    net_client_free(talk->client);
    lock_done(&talk->lock);
    address_free(talk->address);
    address_free(talk->moved_to);
    mem_free(talk->header);
    mem_free(talk);
}

void talk_expect(struct talk *talk, const char *cluster)
{
    snprintf(talk->cluster, sizeof(talk->cluster), "%s", cluster ? cluster : "");
}

struct talk_address talk_address(const struct talk *talk)
{
    return (struct talk_address){talk->address->base, talk->address->url.host,
                                 talk->address->url.port};
}

void talk_interrupt(struct talk *talk)
{
    lock_take(&talk->lock);
    talk->is_interrupted = true;
    if (talk->client)
        net_client_cancel(talk->client);
    lock_give(&talk->lock);
}

void talk_resume(struct talk *talk)
{
    lock_take(&talk->lock);
    talk->is_interrupted = false;
    lock_give(&talk->lock);
}

bool talk_may_retry(det_status status)
{
    switch (status) {
    case DET_BUSY:
    case DET_NOMEM:
    case DET_IO:
    case DET_TIMEOUT:
    case DET_UNREACHABLE:
        return true;
    default:
        return false;
    }
}

int64_t talk_backoff_us(uint32_t failures)
{
    int64_t wait_us = BACKOFF_FIRST_US;

    while (failures-- > 1 && wait_us < BACKOFF_LAST_US)
        wait_us *= 2;
    return MIN(wait_us, (int64_t)BACKOFF_LAST_US);
}

static det_status status_of(int http, int64_t grpc)
{
    switch (http) {
    case 401:
        return DET_UNAUTHENTICATED;
    case 403:
        return DET_FORBIDDEN;
    case 404:
        return DET_NOT_FOUND;
    case 408:
    case 429:
        return DET_BUSY;
    case 409:
        return DET_EXISTS;
    case 413:
        return DET_TOO_LARGE;
    case 501:
        return DET_UNSUPPORTED;
    default:
        break;
    }
    if (http >= 500)
        return DET_BUSY;
    return grpc == det_status_grpc(DET_STATE) ? DET_STATE : DET_INVALID;
}

/* {"error": {"code": 9, "reason": "...", "error": "the sentence"}} */
static det_status refused(int http, const struct buf *body, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct json *tree = NULL;
    struct json *error;
    const char *text;

    if (json_parse(body->data, body->len, &mem, &tree, NULL))
        tree = NULL;
    error = json_get(tree, "error");
    text = json_str(json_get(error, "error"), NULL);
    if (!text)
        text = json_str(json_get(tree, "message"), NULL);
    return err_set(err, status_of(http, json_i64(json_get(error, "code"), 0)),
                   "the master answered %d: %s", http, text ? text : "no reason given");
}

static bool is_stranger(const struct talk *talk, const struct net_reply *reply)
{
    if (!reply->status) /* nobody has answered */
        return false;
    return !reply->mark[0] ||
           (talk->cluster[0] && strcmp(reply->mark, talk->cluster) != 0);
}

static bool is_trouble(int http)
{
    return http >= 500 && http != 501;
}

static det_status refused_by_stranger(const struct talk *talk, struct err *err)
{
    return err_set(err, DET_UNREACHABLE,
                   "what answers at %s is not the master of this cluster",
                   talk->address->base);
}

static det_status interrupted(struct err *err)
{
    return err_set(err, DET_TIMEOUT, "the call to the master was given up");
}

/* A client that was cancelled stays so: it is replaced. */
static void drop_client(struct talk *talk)
{
    struct net_client *old;

    lock_take(&talk->lock);
    old = talk->client;
    talk->client = NULL;
    lock_give(&talk->lock);
    net_client_free(old);
}

/* All that can fail happens here: the thread that calls only takes it. */
det_status talk_move(struct talk *talk, const char *url, struct err *err)
{
    struct address *address = NULL;
    const struct address *last;
    det_status status = address_new(url, &address, err);

    if (status)
        return status;
    lock_take(&talk->lock);
    last = talk->moved_to ? talk->moved_to : talk->address;
    if (strcmp(last->base, address->base) != 0) {
        struct address *old = talk->moved_to;

        talk->moved_to = address;
        address = old;
        if (talk->client)
            net_client_cancel(talk->client);
    }
    lock_give(&talk->lock);
    address_free(address);
    return DET_OK;
}

/* On the thread that calls. */
static void follow_move(struct talk *talk)
{
    struct address *old = NULL;

    lock_take(&talk->lock);
    if (talk->moved_to) {
        old = talk->address;
        talk->address = talk->moved_to;
        talk->moved_to = NULL;
    }
    lock_give(&talk->lock);
    if (!old)
        return;
    drop_client(talk);
    address_free(old);
}

static det_status get_client(struct talk *talk, struct err *err)
{
    struct net_client *client = NULL;
    det_status status;
    bool is_interrupted;

    if (!talk->client) {
        status = net_client_new(talk->net, talk->address->url.host,
                                talk->address->url.port, &client, err);
        if (status)
            return status;
    }
    lock_take(&talk->lock);
    if (client)
        talk->client = client;
    is_interrupted = talk->is_interrupted;
    lock_give(&talk->lock);
    return is_interrupted ? interrupted(err) : DET_OK;
}

static det_status exchange(struct talk *talk, const struct net_call *call,
                           struct net_reply *reply, struct err *err)
{
    det_status status = net_call(talk->client, call, reply, err);

    if (!is_trouble(reply->status) && is_stranger(talk, reply))
        return refused_by_stranger(talk, err);
    return status;
}

static det_status ask_who(struct talk *talk, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct net_reply reply = {0};
    struct net_call call = {.method = NET_GET};
    det_status status;

    buf_printf(&path, "%s/info", talk->address->url.path);
    if (path.status)
        return err_default(err, path.status);
    call.path = path.data;
    status = exchange(talk, &call, &reply, err);
    if (!status && is_trouble(reply.status))
        return err_set(err, DET_BUSY, "the master answered %d", reply.status);
    return status;
}

static det_status call_once(struct talk *talk, const struct talk_request *request,
                            const char *path, struct net_reply *reply, struct err *err)
{
    const char *const headers[] = {talk->header,
                                   request->is_bytes
                                       ? "Content-Type: application/octet-stream"
                                       : "Content-Type: application/json",
                                   NULL};
    const struct net_call call = {
        .method = request->method,
        .path = path,
        .headers = headers,
        .body = request->body ? request->body->data : NULL,
        .body_len = request->body ? request->body->len : 0,
        .timeout_ms = request->timeout_ms,
    };
    det_status status = get_client(talk, err);

    if (!status && talk->is_suspect)
        status = ask_who(talk, err);
    if (!status)
        status = exchange(talk, &call, reply, err);
    talk->is_suspect = status != DET_OK;
    if (status)
        drop_client(talk);
    return status;
}

/* What our master sent but cannot be read was spoilt on its way: it is asked again. */
static det_status read_reply(const struct buf *body, struct arena *mem,
                             struct json **ret_reply, struct err *err)
{
    det_status status;

    *ret_reply = NULL;
    if (!body->len)
        return DET_OK;
    status = json_parse(body->data, body->len, mem, ret_reply, err);
    if (status != DET_INVALID)
        return status;
    (void)err_prefix(err, "the master's answer is no JSON");
    if (err)
        err->status = DET_IO;
    return DET_IO;
}

det_status talk_call(struct talk *talk, const struct talk_request *request,
                     struct arena *mem, struct json **ret_reply, struct err *err)
{
    CLEANUP(buf_done)
    struct buf body =
        BUF_LIMITED(request->reply_limit ? request->reply_limit : REPLY_LIMIT);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct net_reply reply = {.body = &body};
    det_status status;

    if (request->body && request->body->status)
        return err_default(err, request->body->status);
    follow_move(talk);
    buf_puts(&path, talk->address->url.path);
    buf_puts(&path, request->path);
    if (path.status)
        return err_default(err, path.status);
    status = call_once(talk, request, path.data, &reply, err);
    if (status)
        return status;
    if (reply.status < 200 || reply.status > 299)
        return refused(reply.status, &body, err);
    return read_reply(&body, mem, ret_reply, err);
}
