/* SPDX-License-Identifier: Apache-2.0 */
/* master_link.c - one HTTP client, made for the first call and replaced after every
 * call without an answer, because such a connection may be in any state.
 *
 * A master marks all its replies with its cluster.  A reply without the mark comes from
 * another program that got the port while the master was away; it says nothing about
 * the task, and the call is repeated until the master is back.  Such a program should
 * not get the token either: after a failed call the link first asks GET /info, which
 * needs no token.  One gap remains: when the network layer reopens a kept connection by
 * itself, one call with the token may reach a stranger. */
#include "agent/master_link.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/url.h"
#include "libdet/client/trust.h"

enum {
    STRINGS = 64 << 10, /* of an address */
    REPLY_LIMIT = 64 << 20,
    BACKOFF_FIRST_US = 100 * 1000,
    BACKOFF_LAST_US = 5 * 1000 * 1000,
};

struct address {
    struct arena strings;
    struct url url;
    const char *base;      /* scheme, host, port and path */
    const char *cert_file; /* NULL: the link's */
};

struct master_link {
    struct lock lock;          /* guards client, is_interrupted and both addresses */
    struct net_client *client; /* freed only by the thread that calls, as `address` */
    bool is_interrupted;
    struct address *address;
    struct address *moved_to; /* where the next call goes; NULL: where the last went */
    struct net *net;
    char *header;
    char *cert_file;
    char *cert_name;
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
    det_status status = url_parse(url, mem, &address->url, err);

    if (status)
        return status;
    address->base = url_text(mem, &address->url);
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

static det_status set_up(struct master_link *link, const char *url, const char *who,
                         const char *token, struct err *err)
{
    struct buf header = BUF_INIT;
    det_status status = address_new(url, &link->address, err);

    if (status)
        return status;
    buf_printf(&header, "%s%s", who, token ? token : "");
    link->header = buf_take(&header);
    if (!link->header)
        return err_default(err, DET_NOMEM);
    return lock_init(&link->lock, err);
}

det_status master_link_new(struct net *net, const char *url, const char *who,
                           const char *token, struct master_link **ret_link,
                           struct err *err)
{
    struct master_link *link = mem_new(struct master_link);
    det_status status;

    if (!link)
        return err_default(err, DET_NOMEM);
    link->net = net;
    status = set_up(link, url, who, token, err);
    if (status) {
        master_link_free(link);
        return status;
    }
    *ret_link = link;
    return DET_OK;
}

void master_link_free(struct master_link *link)
{
    if (!link)
        return;
    net_client_free(link->client);
    lock_done(&link->lock);
    address_free(link->address);
    address_free(link->moved_to);
    mem_free(link->header);
    mem_free(link->cert_file);
    mem_free(link->cert_name);
    mem_free(link);
}

det_status master_link_trust(struct master_link *link, const char *cert_file,
                             const char *cert_name, struct err *err)
{
    link->cert_file = cert_file ? mem_strdup(cert_file) : NULL;
    link->cert_name = cert_name ? mem_strdup(cert_name) : NULL;
    if ((cert_file && !link->cert_file) || (cert_name && !link->cert_name))
        return err_default(err, DET_NOMEM);
    return DET_OK;
}

void master_link_expect(struct master_link *link, const char *cluster)
{
    snprintf(link->cluster, sizeof(link->cluster), "%s", cluster ? cluster : "");
}

struct master_link_address master_link_address(const struct master_link *link)
{
    const struct url *url = &link->address->url;

    return (struct master_link_address){link->address->base, url->host, url->port,
                                        url->is_tls};
}

void master_link_interrupt(struct master_link *link)
{
    lock_take(&link->lock);
    link->is_interrupted = true;
    if (link->client)
        net_client_cancel(link->client);
    lock_give(&link->lock);
}

void master_link_resume(struct master_link *link)
{
    lock_take(&link->lock);
    link->is_interrupted = false;
    lock_give(&link->lock);
}

const char *master_link_path(struct arena *mem, const char *before, const char *name,
                             const char *after)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_puts(&path, before);
    url_encode(&path, name);
    buf_puts(&path, after);
    return path.status ? NULL : arena_strdup(mem, path.data);
}

bool master_link_may_retry(det_status status)
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

int64_t master_link_backoff_us(uint32_t failures)
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

static bool is_stranger(const struct master_link *link, const struct net_reply *reply)
{
    if (!reply->status) /* no answer */
        return false;
    return !reply->mark[0] ||
           (link->cluster[0] && strcmp(reply->mark, link->cluster) != 0);
}

static bool is_trouble(int http)
{
    return http >= 500 && http != 501;
}

static det_status refused_by_stranger(const struct master_link *link, struct err *err)
{
    return err_set(err, DET_UNREACHABLE,
                   "the program at %s is not the master of this cluster",
                   link->address->base);
}

static det_status interrupted(struct err *err)
{
    return err_set(err, DET_TIMEOUT, "the call to the master was given up");
}

/* A cancelled client stays cancelled, so it is replaced. */
static void drop_client(struct master_link *link)
{
    struct net_client *old;

    lock_take(&link->lock);
    old = link->client;
    link->client = NULL;
    lock_give(&link->lock);
    net_client_free(old);
}

/* Does everything that can fail; the calling thread only takes the result. */
det_status master_link_move(struct master_link *link, const char *url,
                            const char *cert_file, struct err *err)
{
    struct address *address = NULL;
    const struct address *last;
    det_status status = address_new(url, &address, err);

    if (!status && cert_file) {
        address->cert_file = arena_strdup(&address->strings, cert_file);
        if (!address->cert_file)
            status = err_default(err, DET_NOMEM);
    }
    if (status) {
        address_free(address);
        return status;
    }
    lock_take(&link->lock);
    last = link->moved_to ? link->moved_to : link->address;
    if (strcmp(last->base, address->base) != 0) {
        struct address *old = link->moved_to;

        link->moved_to = address;
        address = old;
        if (link->client)
            net_client_cancel(link->client);
    }
    lock_give(&link->lock);
    address_free(address);
    return DET_OK;
}

/* On the thread that makes the calls. */
static void follow_move(struct master_link *link)
{
    struct address *old = NULL;

    lock_take(&link->lock);
    if (link->moved_to) {
        old = link->address;
        link->address = link->moved_to;
        link->moved_to = NULL;
    }
    lock_give(&link->lock);
    if (!old)
        return;
    drop_client(link);
    address_free(old);
}

static det_status make_client(struct master_link *link, struct net_client **ret_client,
                              struct err *err)
{
    const struct url *url = &link->address->url;
    struct net_client *client;
    struct net_trust trust;
    det_status status = net_client_new(link->net, url->host, url->port, &client, err);

    if (status)
        return status;
    trust_from_words(link->address->cert_file ? link->address->cert_file
                                              : link->cert_file,
                     link->cert_name, &trust);
    if (url->is_tls)
        status = net_client_secure(client, &trust, err);
    if (status)
        net_client_free(client);
    else
        *ret_client = client;
    return status;
}

static det_status get_client(struct master_link *link, struct err *err)
{
    struct net_client *client = NULL;
    det_status status;
    bool is_interrupted;

    if (!link->client) {
        status = make_client(link, &client, err);
        if (status)
            return status;
    }
    lock_take(&link->lock);
    if (client)
        link->client = client;
    is_interrupted = link->is_interrupted;
    lock_give(&link->lock);
    return is_interrupted ? interrupted(err) : DET_OK;
}

static det_status exchange(struct master_link *link, const struct net_call *call,
                           struct net_reply *reply, struct err *err)
{
    det_status status = net_call(link->client, call, reply, err);

    if (!is_trouble(reply->status) && is_stranger(link, reply))
        return refused_by_stranger(link, err);
    return status;
}

static det_status ask_who(struct master_link *link, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct net_reply reply = {0};
    struct net_call call = {.method = NET_GET};
    det_status status;

    buf_printf(&path, "%s/info", link->address->url.path);
    if (path.status)
        return err_default(err, path.status);
    call.path = path.data;
    status = exchange(link, &call, &reply, err);
    if (!status && is_trouble(reply.status))
        return err_set(err, DET_BUSY, "the master answered %d", reply.status);
    return status;
}

static det_status call_once(struct master_link *link,
                            const struct master_link_request *request, const char *path,
                            struct net_reply *reply, struct err *err)
{
    const char *const headers[] = {link->header,
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
    det_status status = get_client(link, err);

    if (!status && link->is_suspect)
        status = ask_who(link, err);
    if (!status)
        status = exchange(link, &call, reply, err);
    link->is_suspect = status != DET_OK;
    if (status)
        drop_client(link);
    return status;
}

/* A reply of our master that cannot be read was damaged on its way: ask again. */
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
    (void)err_prefix(err, "the master's answer is not JSON");
    if (err)
        err->status = DET_IO;
    return DET_IO;
}

det_status master_link_call(struct master_link *link,
                            const struct master_link_request *request,
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
    follow_move(link);
    buf_puts(&path, link->address->url.path);
    buf_puts(&path, request->path);
    if (path.status)
        return err_default(err, path.status);
    status = call_once(link, request, path.data, &reply, err);
    if (status)
        return status;
    if (reply.status < 200 || reply.status > 299)
        return refused(reply.status, &body, err);
    return read_reply(&body, mem, ret_reply, err);
}
