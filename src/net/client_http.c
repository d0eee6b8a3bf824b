/* SPDX-License-Identifier: Apache-2.0 */
/* client_http.c - the real client: one socket, HTTP/1.1, only the parts we use.
 *
 * Why not libcurl: a command of `det` makes one or two calls and ends, and every task has
 * a supervisor that calls.  On one machine (2 cores, Debian 12, libcurl 7.88, medians of
 * 21 runs, a server on loopback):
 *
 *                             first call   resident   libraries mapped
 *   dlopen(libcurl.so.4), GET    4.5 ms     10.0 MB         32
 *   this file                    0.18 ms     1.8 MB          2
 *
 * Loading takes 3.8 ms of libcurl's time.  A second call on the kept connection takes
 * 0.05 ms with libcurl and 0.03 ms here.  libcurl stays the choice for S3.  TLS comes from
 * GnuTLS, below send and receive (tls/tls_client.h).
 *
 *   connect (non-blocking) -> TLS -> send head and body -> read until the reply is complete
 *
 * Every wait is one poll() over the socket and the client's cancel eventfd.  Once
 * written, the eventfd stays readable: the call under way ends, and so do all later ones.
 *
 * While sending, the client also reads: a server that refuses a large body answers before
 * it got the whole body, and the caller must get that answer, not a broken pipe.
 *
 * The client keeps a connection if the reply was complete and did not ask to close.  It
 * checks the connection before the next use and replaces it if it is closed or has
 * unexpected bytes.  If the server closes it just after the check, no byte of a reply
 * arrives, and the client sends the request once more on a new connection. */
#include "net/client_http.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/mem.h"
#include "net/client_tick.h"
#include "net/net_impl.h"
#include "net/reply.h"
#include "net/tls/tls_client.h"

enum { DEFAULT_TIMEOUT_MS = 30000, READ_BYTES = 16384, LEAST_RATE = 256 };

struct client_http {
    struct net_client base;
    char *host; /* without brackets */
    uint16_t port;
    int fd; /* -1: not connected */
    int cancel_fd;
};

/* One attempt at a call. */
struct attempt {
    struct client_http *client;
    const struct net_call *call;
    struct net_reply *reply;
    struct reply parser;
    int timeout_ms;
    bool has_answer;  /* at least one byte of a reply arrived */
    int64_t first_us; /* when that was */
    int64_t got;      /* bytes of the reply */
    size_t sent;      /* bytes of the body */
    int64_t tick_us;  /* when the next tick is due */
};

/* ---- life ------------------------------------------------------------------------ */

det_status client_http_new(struct net *net, const char *host, uint16_t port,
                           struct net_client **ret_client, struct err *err)
{
    struct client_http *client = mem_new(struct client_http);
    size_t len = strlen(host);
    int code;

    if (!client)
        return err_default(err, DET_NOMEM);
    if (len > 2 && host[0] == '[' && host[len - 1] == ']')
        client->host = mem_strndup(host + 1, len - 2);
    else
        client->host = mem_strdup(host);
    client->base.ops = net->ops;
    client->port = port;
    client->fd = -1;
    client->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->host && client->cancel_fd >= 0) {
        *ret_client = &client->base;
        return DET_OK;
    }
    code = client->host ? errno : ENOMEM;
    client_http_free(&client->base);
    return err_errno(err, code, "cannot make a client for %s port %u", host, port);
}

det_status client_http_secure(struct net_client *base, const struct net_trust *trust,
                              struct err *err)
{
    struct client_http *client = (struct client_http *)base;

    assert(client->fd < 0 && !base->tls);
    return tls_client_new(trust, client->host, &base->tls, err);
}

static void client_close(struct client_http *client)
{
    if (client->base.tls)
        tls_end(client->base.tls);
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

void client_http_free(struct net_client *base)
{
    struct client_http *client = (struct client_http *)base;

    client_close(client);
    tls_client_free(client->base.tls);
    if (client->cancel_fd >= 0)
        close(client->cancel_fd);
    mem_free(client->host);
    mem_free(client);
}

void net_client_tick(struct net_client *client, net_tick_fn *fn, void *arg)
{
    client->on_tick = fn;
    client->tick_arg = arg;
}

void client_http_cancel(struct net_client *base)
{
    struct client_http *client = (struct client_http *)base;

    eventfd_write(client->cancel_fd, 1);
}

/* ---- waiting --------------------------------------------------------------------- */

static det_status connection_error(const struct client_http *client, int code,
                                   const char *what, struct err *err)
{
    return err_set(err, DET_UNREACHABLE, "%s %s port %u: %s", what, client->host,
                   client->port, strerror(code));
}

/* A server that expects TLS closes the connection at the first plain byte. */
static det_status closed_error(const struct attempt *a, struct err *err)
{
    const struct client_http *client = a->client;
    bool may_be_tls = !client->base.tls && !a->has_answer;

    return err_set(err, DET_UNREACHABLE, "no answer from %s port %u: it closed %s",
                   client->host, client->port,
                   may_be_tls
                       ? "the connection; if it speaks TLS, name it with https://"
                       : "the connection");
}

/* Waits until one of `events` happens (`ret_events`, also POLLERR and POLLHUP).  `fd` may
 * be -1, to check only whether the client was cancelled. */
static det_status wait_for(const struct client_http *client, int fd, short events,
                           int timeout_ms, short *ret_events, struct err *err)
{
    struct pollfd polled[] = {
        {.fd = fd, .events = events},
        {.fd = client->cancel_fd, .events = POLLIN},
    };
    int count;

    do
        count = poll(polled, ARRAY_LEN(polled), timeout_ms);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return err_errno(err, errno, "cannot wait for %s port %u", client->host,
                         client->port);
    if (polled[1].revents)
        return err_set(err, DET_TIMEOUT, "the call to %s port %u was cancelled",
                       client->host, client->port);
    if (!count && timeout_ms)
        return err_set(err, DET_TIMEOUT, "no answer from %s port %u within %d ms",
                       client->host, client->port, timeout_ms);
    *ret_events = polled[0].revents;
    return DET_OK;
}

static void tick(struct attempt *a)
{
    if (!a->client->base.on_tick)
        return;
    a->tick_us = clock_mono_us(&clock_system) + NET_TICK_MS * 1000;
    a->client->base.on_tick(a->client->base.tick_arg, a->sent, a->call->body_len);
}

/* A stream that never rests has ticks, too. */
static void tick_if_due(struct attempt *a)
{
    if (a->client->base.on_tick && clock_mono_us(&clock_system) >= a->tick_us)
        tick(a);
}

/* Waits on the connection as wait_for() does, with ticks in between. */
static det_status wait_ticking(struct attempt *a, short events, short *ret_ready,
                               struct err *err)
{
    int left_ms = a->timeout_ms;
    short ready;

    while (a->client->base.on_tick && left_ms > NET_TICK_MS) {
        struct err late;
        det_status st =
            wait_for(a->client, a->client->fd, events, NET_TICK_MS, ret_ready, &late);

        if (st != DET_TIMEOUT || wait_for(a->client, -1, 0, 0, &ready, &late)) {
            if (st && err)
                *err = late;
            return st;
        }
        left_ms -= NET_TICK_MS;
        tick(a);
    }
    return wait_for(a->client, a->client->fd, events, left_ms, ret_ready, err);
}

/* ---- connecting ------------------------------------------------------------------ */

static det_status connect_to_address(struct client_http *client,
                                     const struct addrinfo *at, int timeout_ms,
                                     struct err *err)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(int);
    det_status st = DET_OK;
    int code = 0;
    int on = 1;
    short ready;

    if (fd < 0)
        return connection_error(client, errno, "cannot reach", err);
    if (connect(fd, at->ai_addr, at->ai_addrlen) != 0)
        code = errno;
    if (code == EINPROGRESS || code == EINTR) {
        st = wait_for(client, fd, POLLOUT, timeout_ms, &ready, err);
        if (!st && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0)
            code = errno;
    }
    if (!st && code)
        st = connection_error(client, code, "cannot reach", err);
    if (st) {
        close(fd);
        return st;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    client->fd = fd;
    return DET_OK;
}

/* TLS on the new connection. */
static det_status secure_connection(struct client_http *client, int timeout_ms,
                                    struct err *err)
{
    struct tls_client *tls = client->base.tls;
    det_status st = tls_begin(tls, client->fd, err);

    while (!st && (st = tls_shake(tls, err)) == DET_BUSY) {
        short ready;

        st = wait_for(client, client->fd, tls_events(tls), timeout_ms, &ready, err);
    }
    if (!st)
        return DET_OK;
    client_close(client);
    if (st == DET_UNREACHABLE)
        (void)err_prefix(err, "no safe connection to %s port %u", client->host,
                         client->port);
    return st;
}

/* Tries all addresses of the name in turn, until a cancel. */
static det_status client_connect(struct client_http *client, int timeout_ms,
                                 struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    det_status st = DET_UNREACHABLE;
    char port[8];
    int code;

    snprintf(port, sizeof(port), "%u", client->port);
    code = getaddrinfo(client->host, port, &hints, &found);
    if (code == EAI_MEMORY)
        return err_default(err, DET_NOMEM);
    if (code)
        return err_set(err, DET_UNREACHABLE, "cannot find the host '%s' (port %u): %s",
                       client->host, client->port, gai_strerror(code));
    for (struct addrinfo *at = found; at && st; at = at->ai_next) {
        short ready;

        if (wait_for(client, -1, 0, 0, &ready, err)) {
            st = DET_TIMEOUT;
            break;
        }
        st = connect_to_address(client, at, timeout_ms, err);
    }
    freeaddrinfo(found);
    return st || !client->base.tls ? st : secure_connection(client, timeout_ms, err);
}

/* A kept connection must be open and silent; a message of TLS itself does not count. */
static bool is_connection_usable(const struct client_http *client)
{
    struct pollfd polled = {.fd = client->fd, .events = POLLIN | POLLRDHUP};

    if (client->fd < 0)
        return false;
    if (poll(&polled, 1, 0) == 0)
        return true;
    return client->base.tls && polled.revents == POLLIN &&
           !tls_has_news(client->base.tls);
}

/* ---- sending --------------------------------------------------------------------- */

static void build_head(const struct client_http *client, const struct net_call *call,
                       struct buf *head)
{
    bool is_v6 = strchr(client->host, ':') != NULL;
    bool has_body = call->body_len || call->method == NET_POST ||
                    call->method == NET_PUT || call->method == NET_PATCH;

    buf_printf(head, "%s %s HTTP/1.1\r\nHost: %s%s%s:%u\r\n",
               net_method_name(call->method), call->path, is_v6 ? "[" : "",
               client->host, is_v6 ? "]" : "", client->port);
    for (const char *const *line = call->headers; line && *line; line++)
        buf_printf(head, "%s\r\n", *line);
    if (has_body)
        buf_printf(head, "Content-Length: %zu\r\n", call->body_len);
    buf_puts(head, "\r\n");
}

/* The parts of head and body that are still to be sent; returns their size. */
static size_t still_to_send(const struct buf *head, const struct net_call *call,
                            size_t sent, struct iovec part[2])
{
    size_t head_sent = MIN(sent, head->len);
    size_t body_sent = sent - head_sent;
    char *body = call->body ? (char *)(uintptr_t)call->body : buf_empty;

    part[0] = (struct iovec){head->data + head_sent, head->len - head_sent};
    part[1] = (struct iovec){body + body_sent, call->body_len - body_sent};
    return part[0].iov_len + part[1].iov_len;
}

static ssize_t send_parts(struct client_http *client, struct iovec part[2])
{
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};

    return client->base.tls
               ? tls_send(client->base.tls, part, 2)
               : sendmsg(client->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns early with DET_OK if the server has sent something or the connection broke;
 * read_reply() finds out which. */
static det_status send_request(struct attempt *a, const struct buf *head,
                               bool *ret_is_whole, struct err *err)
{
    struct tls_client *tls = a->client->base.tls;
    struct iovec part[2];
    size_t sent = 0;
    short ready = POLLOUT;

    *ret_is_whole = false;
    while (still_to_send(head, a->call, sent, part)) {
        ssize_t count = send_parts(a->client, part);
        det_status st;

        if (count >= 0) {
            sent += (size_t)count;
            a->sent = sent > head->len ? sent - head->len : 0;
            tick(a);
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return DET_OK;
        st = wait_ticking(a, POLLOUT | POLLIN, &ready, err);
        if (st)
            return st;
        if (ready & (POLLERR | POLLHUP) ||
            (ready & POLLIN && (!tls || tls_has_news(tls))))
            return DET_OK;
    }
    *ret_is_whole = true;
    return DET_OK;
}

/* ---- receiving ------------------------------------------------------------------- */

static det_status take_reply_body(struct attempt *a, const struct reply_bytes *body,
                                  struct err *err)
{
    struct buf *into = a->reply->body;

    if (!body->len)
        return DET_OK;
    if (a->call->on_data && a->parser.status < 300)
        return a->call->on_data(a->call->arg, body->at, body->len, err);
    if (!into)
        return DET_OK;
    buf_add(into, body->at, body->len);
    if (into->status == DET_TOO_LARGE)
        return err_set(err, DET_TOO_LARGE, "the answer of %s port %u is too large",
                       a->client->host, a->client->port);
    return into->status ? err_default(err, into->status) : DET_OK;
}

/* Parses `bytes`.  Bytes behind the reply make the connection unusable. */
static det_status take_reply_bytes(struct attempt *a, const char *bytes, size_t len,
                                   struct err *err)
{
    while (len && a->parser.state != REPLY_DONE) {
        struct reply_bytes body;
        size_t used = 0;
        det_status st = reply_feed(&a->parser, bytes, len, &used, &body, err);

        if (st == DET_IO)
            (void)err_prefix(err, "%s port %u", a->client->host, a->client->port);
        if (!st) {
            a->reply->status = a->parser.status;
            memcpy(a->reply->mark, a->parser.mark, sizeof(a->reply->mark));
            st = take_reply_body(a, &body, err);
        }
        if (st)
            return st;
        bytes += used;
        len -= used;
    }
    if (len)
        a->parser.keeps_alive = false;
    return DET_OK;
}

static ssize_t receive_some(struct client_http *client, char *bytes, size_t len)
{
    return client->base.tls ? tls_receive(client->base.tls, bytes, len)
                            : recv(client->fd, bytes, len, MSG_DONTWAIT);
}

/* A stream may be as slow as its source.  Any other reply has timeout_ms, and a second for
 * every LEAST_RATE bytes, so a server that sends a byte now and then cannot hold a client. */
static det_status check_pace(struct attempt *a, size_t count, struct err *err)
{
    int64_t now_us = clock_mono_us(&clock_system);
    int64_t most_us;

    if (!a->has_answer)
        a->first_us = now_us;
    a->has_answer = true;
    a->got += (int64_t)count;
    most_us = (int64_t)a->timeout_ms * 1000 + a->got / LEAST_RATE * 1000000;
    if (a->call->on_data || now_us - a->first_us <= most_us)
        return DET_OK;
    return err_set(err, DET_TIMEOUT, "the answer of %s port %u comes too slowly",
                   a->client->host, a->client->port);
}

static det_status read_reply(struct attempt *a, struct err *err)
{
    struct client_http *client = a->client;
    char bytes[READ_BYTES];

    while (a->parser.state != REPLY_DONE) {
        det_status st = DET_OK;
        ssize_t count;
        short ready;

        tick_if_due(a);
        count = receive_some(client, bytes, sizeof(bytes));
        if (count > 0) {
            st = check_pace(a, (size_t)count, err);
            if (!st)
                st = take_reply_bytes(a, bytes, (size_t)count, err);
        } else if (count == 0) {
            if (!reply_close(&a->parser))
                return closed_error(a, err);
        } else if (errno == EAGAIN) {
            st = wait_ticking(a,
                              client->base.tls ? tls_events(client->base.tls) : POLLIN,
                              &ready, err);
        } else if (errno != EINTR) {
            return connection_error(client, errno, "no answer from", err);
        }
        if (st)
            return st;
    }
    return DET_OK;
}

static det_status run_attempt(struct attempt *a, const struct buf *head,
                              struct err *err)
{
    bool is_whole;
    det_status st = send_request(a, head, &is_whole, err);

    reply_init(&a->parser, a->call->method == NET_HEAD);
    a->parser.headers = a->reply->headers;
    if (!st)
        st = read_reply(a, err);
    if (st || !is_whole || !a->parser.keeps_alive)
        client_close(a->client);
    reply_done(&a->parser);
    return st;
}

static det_status run_call(struct attempt *a, const struct buf *head, struct err *err)
{
    struct client_http *client = a->client;
    bool is_kept = is_connection_usable(client);
    det_status st;
    short ready;

    st = wait_for(client, -1, 0, 0, &ready, err);
    if (st)
        return st;
    if (is_kept) {
        st = run_attempt(a, head, err);
        if (st != DET_UNREACHABLE || a->has_answer)
            return st;
    }
    client_close(client);
    st = client_connect(client, a->timeout_ms, err);
    return st ? st : run_attempt(a, head, err);
}

det_status client_http_call(struct net_client *base, const struct net_call *call,
                            struct net_reply *reply, struct err *err)
{
    struct client_http *client = (struct client_http *)base;
    int64_t timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : DEFAULT_TIMEOUT_MS;
    struct attempt a = {
        .client = client,
        .call = call,
        .reply = reply,
        .timeout_ms = (int)MIN(timeout_ms, INT32_MAX),
    };
    struct buf head = BUF_INIT;
    det_status st;

    build_head(client, call, &head);
    st = head.status ? err_default(err, head.status) : run_call(&a, &head, err);
    buf_done(&head);
    return st;
}
