/* SPDX-License-Identifier: Apache-2.0 */
/* server_relay.c - answers an exchange with the reply of another server: connects relay.h
 * with libmicrohttpd.
 *
 *   handler --net_relay()--> relay_start()          the relays' thread connects
 *   on_access: pieces of the body --relay_put()-->  sent on
 *                                       on_head() <-- the reply's head
 *
 *   then a stream (server_stream.c) whose next() is relay_take():
 *                                       on_down() <-- more of the body: wakes the stream
 *   or, after a 101:
 *   on_upgraded()        --relay_switch()-->        a tunnel, until both sides have closed
 *
 * Over TLS, libmicrohttpd would lend one end of a pair of sockets, and move the bytes
 * between the other end and the client four at a time (0.9.75).  So the connection stays
 * suspended, which means that libmicrohttpd does not touch it: we write the 101 ourselves
 * and use its TLS session (take_over()).  At the end the socket is shut, and libmicrohttpd
 * gets the connection back to close it.
 *
 * libmicrohttpd lends the socket only after it has sent a 101 itself.  In all other cases
 * libmicrohttpd reads the request and writes the reply, with its own chunks and timeouts,
 * and the pieces are handed over in memory.
 *
 * Two hold a relay: the relays' thread until `over`, and the exchange until it is freed.
 * The last one frees the relay and calls the owner's done().  Only the relays' thread
 * answers the exchange, once, and does not touch it after that, except to wake the
 * stream.  It does so under the relay's lock, which the stream's done() takes before the
 * exchange may be freed.  Lock order: the relay's before the server's. */
#include <assert.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/memory/mem.h"
#include "net/relay.h"
#include "net/server_http_impl.h"
#include "net/tls/tls_tunnel.h"

enum { BLOCK_BYTES = 32768 };

struct http_relay {
    struct relay base;
    struct http_server *server;
    struct http_exchange *x;
    struct net_relay to;
    _Atomic int holders;
    struct MHD_UpgradeResponseHandle *upgraded; /* guarded by the relay's lock */
    struct tls_tunnel tls;                      /* of a tunnel over TLS */
    bool is_taken;                              /* likewise: from libmicrohttpd */
    bool is_streaming;                          /* likewise: the stream exists */
    bool is_answered;                           /* only the relays' thread uses it */
};

static struct http_relay *http_relay_of(struct relay *base)
{
    return CONTAINER_OF(base, struct http_relay, base);
}

static void set_leash(struct net_leash *leash, struct relay *relay)
{
    if (!leash)
        return;
    lock_take(&leash->lock);
    leash->relay = relay;
    lock_give(&leash->lock);
}

void net_relay_cut(struct net_leash *leash)
{
    lock_take(&leash->lock);
    if (leash->relay)
        relay_abandon(leash->relay);
    lock_give(&leash->lock);
}

void http_relay_drop(struct http_relay *relay)
{
    if (!relay || atomic_fetch_sub(&relay->holders, 1) > 1)
        return;
    set_leash(relay->to.leash, NULL);
    relay_done(&relay->base); /* first: done() may let the server go */
    relay->to.done(relay->to.arg);
    mem_free(relay);
}

/* ---- the reply ------------------------------------------------------------------- */

/* Headers that belong to one connection only, and the length, which libmicrohttpd writes.
 */
static bool is_of_connection(const char *name)
{
    static const char *const names[] = {
        "Connection",
        "Keep-Alive",
        "Proxy-Authenticate",
        "Proxy-Authorization",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Content-Length",
        NET_MARK,
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

/* Collects the names in the reply's Connection headers: these belong to one connection,
 * too. */
static void collect_connection_names(const char *head, struct buf *out)
{
    const char *end;

    for (const char *line = head; (end = strchr(line, '\n')); line = end + 1)
        if (!strncasecmp(line, "Connection:", 11)) {
            buf_add(out, line + 11, (size_t)(end - line) - 11);
            buf_putc(out, ',');
        }
}

/* Adds one "Name: value" of the reply, as changed by the owner.  Returns false if out of
 * memory. */
static bool add_reply_header(struct http_relay *relay, struct MHD_Response *response,
                             char *line, const char *named)
{
    const struct mhd *mhd = &relay->server->mhd;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    char *colon = strchr(line, ':');
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    bool is_ok = true;

    *colon = '\0';
    if (!is_of_connection(line) && !reply_has_word(named, line, strlen(line)) &&
        relay->to.header(relay->to.arg, line, value, &out) && out.len)
        is_ok = !out.status &&
                mhd->add_response_header(response, line, out.data) == MHD_YES;
    return is_ok && !out.status;
}

/* Returns false if out of memory. */
static bool add_reply_headers(struct http_relay *relay, struct MHD_Response *response)
{
    CLEANUP(buf_done) struct buf named = BUF_INIT;
    char *line = relay->base.head.data;

    if (relay->server->mhd.add_response_header(response, "Via", NET_VIA) != MHD_YES ||
        !http_add_headers(relay->server, response, relay->to.reply_headers))
        return false;
    collect_connection_names(line, &named);
    while (*line && !named.status) { /* reply.c made sure that each has a colon */
        char *end = strchr(line, '\n');

        *end = '\0';
        if (!add_reply_header(relay, response, line, named.data))
            return false;
        line = end + 1;
    }
    return !named.status;
}

static void on_upgraded(void *arg, struct MHD_Connection *connection, void *context,
                        const char *bytes, size_t len, MHD_socket fd,
                        struct MHD_UpgradeResponseHandle *handle)
{
    struct http_relay *relay = arg;
    bool is_over;

    (void)connection;
    (void)context;
    pthread_mutex_lock(&relay->base.lock);
    is_over = relay->base.is_over;
    if (!is_over)
        relay->upgraded = handle;
    pthread_mutex_unlock(&relay->base.lock);
    if (is_over)
        relay->server->mhd.upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    else
        (void)relay_switch(&relay->base, fd, bytes, len);
}

static uint64_t reply_length(const struct reply *reply)
{
    if (reply->status == 204 || reply->status == 304)
        return 0;
    if (reply->has_length && !reply->is_chunked)
        return reply->length;
    return reply->is_head ? 0 : MHD_SIZE_UNKNOWN;
}

static enum net_more stream_next(void *arg, struct buf *out)
{
    struct http_relay *relay = arg;

    return relay_take(&relay->base, out) ? NET_WAIT : NET_END;
}

static void stream_done(void *arg)
{
    struct http_relay *relay = arg;

    pthread_mutex_lock(&relay->base.lock);
    relay->is_streaming = false;
    pthread_mutex_unlock(&relay->base.lock);
    relay_abandon(&relay->base);
}

/* With the relay's lock held. */
static void on_down(struct relay *base)
{
    struct http_relay *relay = http_relay_of(base);

    if (relay->is_streaming)
        http_stream_wake(&relay->x->base);
}

static void answer_stream(struct http_relay *relay, uint64_t length)
{
    const struct net_stream stream = {
        .lane = relay->to.lane,
        .turn = relay->to.turn,
        .next = stream_next,
        .done = stream_done,
        .arg = relay,
    };
    const struct mhd *mhd = &relay->server->mhd;
    struct MHD_Response *response = mhd->create_response_from_callback(
        length, BLOCK_BYTES, http_stream_read, relay->x, NULL);

    if (response && !add_reply_headers(relay, response)) {
        mhd->destroy_response(response);
        response = NULL;
    }
    pthread_mutex_lock(&relay->base.lock);
    relay->is_streaming = true;
    pthread_mutex_unlock(&relay->base.lock);
    http_stream_start(relay->x, response, relay->base.reply.status, &stream);
}

/* Appends the headers of the reply that are passed on. */
static void write_headers(struct http_relay *relay, struct buf *out)
{
    CLEANUP(buf_done) struct buf named = BUF_INIT;
    const char *end;

    collect_connection_names(relay->base.head.data, &named);
    if (named.status)
        out->status = named.status;
    for (char *line = relay->base.head.data; (end = strchr(line, '\n'));
         line += end - line + 1) {
        CLEANUP(buf_done) struct buf value = BUF_INIT;
        size_t name_len = strcspn(line, ":");
        char *text = line + name_len + 1;

        line[name_len] = '\0';
        line[end - line] = '\0';
        text += strspn(text, " \t");
        if (!is_of_connection(line) && !reply_has_word(named.data, line, name_len) &&
            relay->to.header(relay->to.arg, line, text, &value) && value.len)
            buf_printf(out, "%s: %s\r\n", line, value.data);
        if (value.status)
            out->status = value.status;
    }
}

/* The exchange is neither answered nor in the server's list until give_back(). */
static bool mark_taken(struct http_exchange *x)
{
    bool is_open;

    if (x->is_watched)
        client_watch_remove(x->server->watcher, &x->watch);
    pthread_mutex_lock(&x->server->lock);
    is_open = x->phase == HTTP_OPEN;
    if (is_open) {
        http_unlink(x);
        x->phase = HTTP_TAKEN;
    }
    pthread_mutex_unlock(&x->server->lock);
    return is_open;
}

static void take_over(struct http_relay *relay)
{
    const struct mhd *mhd = &relay->server->mhd;
    struct http_exchange *x = relay->x;
    const union MHD_ConnectionInfo *info;
    CLEANUP(buf_done) struct buf greeting = BUF_INIT;

    if (!mark_taken(x)) { /* the server is stopping and has answered */
        relay->is_answered = false;
        relay_abandon(&relay->base);
        return;
    }
    relay->is_taken = true;
    buf_puts(&greeting, "HTTP/1.1 101 Switching Protocols\r\n"
                        "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    write_headers(relay, &greeting);
    buf_puts(&greeting, "\r\n");
    info = mhd->get_connection_info(x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    relay->tls.session = info->tls_session;
    if (gnutls_load(&relay->tls.gnutls, NULL))
        relay_abandon(&relay->base);
    else
        (void)relay_switch_tls(&relay->base, http_socket(x), &relay->tls, &greeting);
}

/* What libmicrohttpd sends now reaches nobody. */
static void give_back(struct http_relay *relay)
{
    struct http_exchange *x = relay->x;

    shutdown(http_socket(x), SHUT_RDWR);
    pthread_mutex_lock(&x->server->lock);
    assert(x->phase == HTTP_TAKEN && x->is_held);
    x->is_held = false;
    x->phase = HTTP_ANSWERED;
    x->response = x->server->sorry;
    x->status = 503;
    x->server->unsent++;
    pthread_mutex_unlock(&x->server->lock);
    http_resume(x);
}

/* Needs no stream: the exchange stays suspended until the 101 is queued. */
static void answer_upgrade(struct http_relay *relay)
{
    struct http_exchange *x = relay->x;
    struct http_server *server = relay->server;
    const struct mhd *mhd = &server->mhd;
    struct MHD_Response *response =
        mhd->create_response_for_upgrade(on_upgraded, relay);
    bool is_ok = response && add_reply_headers(relay, response) &&
                 mhd->add_response_header(response, "Upgrade", "websocket") == MHD_YES;
    bool is_resumable = false;
    bool is_claimed;
    bool is_over;

    if (!is_ok && response)
        mhd->destroy_response(response);
    if (x->is_watched)
        client_watch_remove(server->watcher, &x->watch);
    pthread_mutex_lock(&server->lock);
    assert(x->is_held);
    x->is_held = false;
    is_claimed = http_claim(x, is_ok ? response : server->sorry, is_ok ? 101 : 503,
                            &is_resumable);
    is_over = x->is_sent;
    pthread_mutex_unlock(&server->lock);
    if (is_resumable)
        http_resume(x);
    if (is_claimed)
        return;
    if (is_ok)
        http_response_free(server, response);
    if (is_over)
        http_exchange_free(x);
}

static uint64_t locked_reply_length(struct relay *base)
{
    uint64_t length;

    pthread_mutex_lock(&base->lock);
    length = reply_length(&base->reply);
    pthread_mutex_unlock(&base->lock);
    return length;
}

static void on_head(struct relay *base)
{
    struct http_relay *relay = http_relay_of(base);

    relay->is_answered = true;
    if (base->reply.status == 101 && relay->server->tls)
        take_over(relay);
    else if (base->reply.status == 101)
        answer_upgrade(relay);
    else
        answer_stream(relay, locked_reply_length(base));
}

static void on_room(struct relay *base)
{
    struct http_relay *relay = http_relay_of(base);

    if (!relay->is_answered)
        http_unpark(relay->x);
}

static void on_over(struct relay *base)
{
    struct http_relay *relay = http_relay_of(base);
    struct MHD_UpgradeResponseHandle *handle;

    if (!relay->is_answered)
        relay->to.refuse(relay->to.arg, &relay->x->base, base->err.status,
                         base->err.text);
    pthread_mutex_lock(&base->lock);
    handle = relay->upgraded;
    relay->upgraded = NULL;
    pthread_mutex_unlock(&base->lock);
    if (handle)
        relay->server->mhd.upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    if (relay->is_taken)
        give_back(relay);
    http_relay_drop(relay);
}

static const struct relay_owner owner = {
    .head = on_head,
    .down = on_down,
    .room = on_room,
    .over = on_over,
};

/* ---- the request ----------------------------------------------------------------- */

size_t http_relay_body(struct http_exchange *x, const char *bytes, size_t len)
{
    return len - relay_put(&x->relay->base, bytes, len);
}

void http_relay_body_end(struct http_exchange *x)
{
    relay_put_end(&x->relay->base);
}

bool http_relay_has_room(struct http_exchange *x)
{
    return relay_has_room(&x->relay->base);
}

void http_relay_left(struct http_exchange *x)
{
    if (x->relay)
        relay_abandon(&x->relay->base);
}

/* On the watcher's thread, without a lock. */
static void client_left(struct net_exchange *base)
{
    struct http_exchange *x = (struct http_exchange *)base;

    relay_abandon(&x->relay->base);
}

/* The length, as libmicrohttpd reads it: chunks outrank a Content-Length. */
static const char *request_length(const struct net_exchange *x)
{
    return net_request_header(x, "Transfer-Encoding")
               ? NULL
               : net_request_header(x, "Content-Length");
}

/* Writes the request for the other server; a collected body follows at once. */
static void write_opening(struct http_relay *relay)
{
    const struct http_exchange *x = relay->x;
    const char *length = request_length(&x->base);
    const char *named = net_request_header(&x->base, "Connection");
    const struct buf *body = &x->base.body;
    struct buf *out = &relay->base.opening;
    bool has_body = body->len ||
                    (x->base.method != NET_GET && x->base.method != NET_HEAD && length);

    buf_printf(out, "%s %s HTTP/1.1\r\n", net_method_name(x->base.method),
               relay->to.target);
    for (const char *const *line = relay->to.headers; *line; line++)
        if (!named || !reply_has_word(named, *line, strcspn(*line, ":")))
            buf_printf(out, "%s\r\n", *line);
    if (x->is_later && length)
        buf_printf(out, "Content-Length: %s\r\n", length);
    else if (x->is_later)
        buf_puts(out, "Transfer-Encoding: chunked\r\n");
    else if (has_body)
        buf_printf(out, "Content-Length: %zu\r\n", body->len);
    buf_puts(out, relay->to.may_switch
                      ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                      : "Connection: close\r\n\r\n");
    buf_add(out, body->data, body->len);
    relay->base.is_chunked = x->is_later && !length;
    relay->base.is_up_ended = !x->is_later;
    relay->base.reply.may_switch = relay->to.may_switch;
}

/* Resumes the connection, so the body can arrive. */
static void resume_for_body(struct http_exchange *x)
{
    bool is_open;

    pthread_mutex_lock(&x->server->lock);
    is_open = x->phase == HTTP_OPEN;
    if (is_open)
        x->phase = HTTP_BODY;
    pthread_mutex_unlock(&x->server->lock);
    if (is_open)
        http_resume(x);
}

static det_status relay_new(struct http_exchange *x, const struct net_relay *to,
                            struct http_relay **ret_relay, struct err *err)
{
    struct http_relay *relay = mem_new(struct http_relay);
    det_status st;

    if (!relay)
        return err_default(err, DET_NOMEM);
    st = relay_init(&relay->base, x->server->relays, &owner, err);
    if (st) {
        mem_free(relay);
        return st;
    }
    relay->base.reply.is_head = x->base.method == NET_HEAD;
    relay->server = x->server;
    relay->x = x;
    relay->to = *to;
    write_opening(relay);
    *ret_relay = relay;
    return DET_OK;
}

/* The body may arrive, and the client may leave, before the thread has the relay; the
 * thread finds out later.  As soon as it has the relay, the exchange may be freed. */
void http_relay(struct net_exchange *base, const struct net_relay *to)
{
    struct http_exchange *x = (struct http_exchange *)base;
    struct http_relay *relay = NULL;
    struct err err = {0};
    det_status st = relay_new(x, to, &relay, &err);

    if (st) {
        to->refuse(to->arg, base, st, err.text);
        to->done(to->arg);
        return;
    }
    relay->holders = 3; /* the exchange, the thread, this function */
    x->relay = relay;
    set_leash(to->leash, &relay->base);
    if (x->is_later)
        resume_for_body(x);
    else
        http_on_gone(base, client_left);
    st = relay_start(&relay->base, to->address, to->port, &err);
    if (st) {
        to->refuse(to->arg, base, st, err.text);
        http_relay_drop(relay);
    }
    http_relay_drop(relay);
}

void http_peer_address(const struct net_exchange *base, char text[NET_ADDRESS_TEXT])
{
    const struct http_exchange *x = (const struct http_exchange *)base;

    net_addr_format(&x->peer, text, NET_ADDRESS_TEXT);
}
