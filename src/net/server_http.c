/* SPDX-License-Identifier: Apache-2.0 */
/* server_http.c - the real server: libmicrohttpd's threads read requests and write
 * replies, owners answer.
 *
 * Why libmicrohttpd: a suspended connection costs 5 KB and no thread; it was measured
 * against eight other libraries.
 *
 *   libmicrohttpd's thread                         any thread
 *   ----------------------                         ----------
 *   on_uri       copies the URI, makes the exchange
 *   on_access    asks how large the body may be, and collects it
 *                suspends; OPEN; calls the handler --> net_answer(): ANSWERED, resumes
 *   on_access    queues the response      <--------/
 *   on_completed frees the exchange
 *
 * Invariants:
 *
 *   1. A connection is suspended before anybody else can know its exchange, so no resume
 *      comes before its suspend.
 *   2. An exchange leaves OPEN once, under the server's lock.  The thread that does it
 *      resumes the connection and does not touch the exchange after that.
 *   3. The last of these three frees an exchange: libmicrohttpd (is_sent), the owner
 *      (!is_held), the stream's done().
 *   4. `suspended` counts connections until their resume has returned.  The daemon is
 *      stopped only at 0: it aborts if connections are suspended, and a resume still
 *      writes to the daemon after the daemon has the connection again.
 *   5. A server that is freed answers for the owners.  They may keep their exchanges
 *      (hence the copies), and the last one frees the server's struct.
 *
 * Under the lock we call two functions of libmicrohttpd, which only read:
 * get_connection_info() and get_daemon_info().  Lock order: the server's before the
 * watcher's.  Neither is held while an owner's function runs.
 *
 * An idle long poll costs 5.9 KB in all, 5.0 KB of it in libmicrohttpd (9,000 clients
 * with a token in their headers).  Each resume makes libmicrohttpd walk over all its
 * suspended connections: with those 9,000, the rate of other requests fell by a third.
 */
#include "net/server_http_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "net/accept/seats.h"
#include "net/peer/peer_owner.h"
#include "net/relay.h"
#include "net/tls/tls_server.h"

enum {
    DRAIN_SECONDS = 5,     /* limit for replies under way when a server is freed */
    DEFAULT_RELAYS = 2048, /* of 128 KB each */
};

/* ---- exchanges ------------------------------------------------------------------- */

void *http_on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
    struct http_server *server = arg;
    struct seat *seat = http_seat(server, connection);
    size_t size = strlen(uri) + 1;
    struct http_exchange *x = mem_alloc(sizeof(*x) + size);

    seat_head_began(server->seats, seat);
    if (!x)
        return NULL;
    x->base = (struct net_exchange){
        .ops = server->base.ops, .body = BUF_INIT, .held.from = server->memory};
    x->base.body.limit = server->max_body_bytes;
    x->server = server;
    x->connection = connection;
    x->seat = seat;
    x->watch.fd = -1;
    memcpy(x->uri, uri, size);
    net_exchange_set_uri(&x->base, x->uri);

    pthread_mutex_lock(&server->lock);
    server->alive++;
    pthread_mutex_unlock(&server->lock);
    return x;
}

/* Called once for each exchange and once for the owner; the last call frees the server.
 */
static void server_release(struct http_server *server)
{
    bool is_last;

    pthread_mutex_lock(&server->lock);
    is_last = --server->alive == 0;
    pthread_mutex_unlock(&server->lock);
    if (!is_last)
        return;
    client_watch_free(server->watcher);
    relays_free(server->relays);
    seats_free(server->seats);
    tls_server_free(server->tls);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->changed);
    mem_free(server);
}

void http_exchange_free(struct http_exchange *x)
{
    struct http_server *server = x->server;

    http_relay_drop(x->relay);
    net_exchange_done(&x->base);
    buf_done(&x->stream.piece);
    mem_free(x);
    server_release(server);
}

void http_link(struct http_exchange *x)
{
    struct http_server *server = x->server;

    assert(!x->next && !x->prev && server->list != x);
    x->next = server->list;
    if (x->next)
        x->next->prev = x;
    server->list = x;
}

void http_unlink(struct http_exchange *x)
{
    struct http_server *server = x->server;

    if (x->next)
        x->next->prev = x->prev;
    if (x->prev)
        x->prev->next = x->next;
    else if (server->list == x)
        server->list = x->next;
    x->next = x->prev = NULL;
}

bool http_claim(struct http_exchange *x, struct MHD_Response *response, int status,
                bool *ret_resume)
{
    assert(response);
    *ret_resume = false;
    if (x->phase != HTTP_OPEN && x->phase != HTTP_BODY)
        return false;
    http_unlink(x);
    *ret_resume = x->phase == HTTP_OPEN || x->is_parked;
    x->phase = x->phase == HTTP_OPEN ? HTTP_ANSWERED : HTTP_EARLY;
    x->is_parked = false;
    x->response = response;
    x->status = status;
    x->server->unsent++;
    return true;
}

void http_resume(struct http_exchange *x)
{
    struct http_server *server = x->server;

    server->mhd.resume_connection(x->connection);
    /* From here on `x` may be freed. */
    pthread_mutex_lock(&server->lock);
    assert(server->suspended);
    server->suspended--;
    if (server->is_closing)
        pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

int http_socket(const struct http_exchange *x)
{
    const union MHD_ConnectionInfo *info = x->server->mhd.get_connection_info(
        x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

/* ---- the request ----------------------------------------------------------------- */

struct header_copy {
    char *at; /* NULL: only counts */
    size_t size;
};

static void header_copy_word(struct header_copy *copy, const char *word)
{
    size_t size = strlen(word) + 1;

    if (copy->at) {
        memcpy(copy->at, word, size);
        copy->at += size;
    }
    copy->size += size;
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    if (*name) { /* an empty name would end the block */
        header_copy_word(arg, name);
        header_copy_word(arg, value ? value : "");
    }
    return MHD_YES;
}

/* Decides by the headers: a body of length 0 does not count. */
static bool has_body(const struct net_exchange *x)
{
    const char *length = net_request_header(x, "Content-Length");

    return net_request_header(x, "Transfer-Encoding") ||
           (length && strspn(length, "0") < strlen(length));
}

static void request_start(struct http_exchange *x, const char *method)
{
    const struct mhd *mhd = &x->server->mhd;
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct header_copy copy = {0};

    x->percent = 100;
    seat_got_head(x->server->seats, x->seat);
    x->is_started = true;
    x->base.tls = x->server->tls;
    x->base.method = net_method_parse(method);
    if (info && info->client_addr && net_addr_from(info->client_addr, &x->peer))
        x->base.is_loopback = net_addr_is_loopback(&x->peer);
    x->base.held.group = (uint32_t)hash_bytes(x->peer.ip, sizeof(x->peer.ip));

    mhd->get_connection_values(x->connection, MHD_HEADER_KIND, on_header, &copy);
    x->base.headers = mem_alloc(copy.size + 1);
    if (!x->base.headers) {
        x->base.problem = DET_NOMEM;
        return;
    }
    copy.at = x->base.headers;
    mhd->get_connection_values(x->connection, MHD_HEADER_KIND, on_header, &copy);
    if (x->server->body_limit) {
        struct net_limit limit = x->server->body_limit(x->server->arg, &x->base);

        if (limit.turn)
            x->base.held.group = limit.turn;
        if (limit.memory && x->base.held.from)
            x->base.held.from = limit.memory;
        if (limit.percent)
            x->percent = limit.percent;
        x->is_later = limit.bytes == NET_BODY_LATER && has_body(&x->base);
        x->base.body.limit = /* where 0 would mean "no limit" */
            MAX(MIN(x->base.body.limit ? x->base.body.limit : SIZE_MAX, limit.bytes),
                1u);
    }
}

/* Tiny bodies are as bounded as connections are; those over their limit are not kept. */
static det_status request_hold(struct http_exchange *x, size_t len)
{
    const struct allowance *memory = x->base.held.from;
    size_t need = x->base.body.len + len;

    if (need <= NET_TINY_BODY || need > x->base.body.limit)
        return DET_OK;
    need += need / 100 * (x->percent - 100);
    if (memory && need > memory->group_most)
        return DET_TOO_LARGE; /* waiting would not help */
    if (need <= x->base.held.taken)
        return DET_OK;
    return allowance_part_take(&x->base.held, need - x->base.held.taken) ? DET_OK
                                                                         : DET_BUSY;
}

/* Reads a body that is too large to its end and discards it: a client that is still
 * sending would not see an earlier answer. */
static void request_add_body(struct http_exchange *x, const char *bytes, size_t len)
{
    struct buf *body = &x->base.body;

    if (x->base.problem)
        return;
    body->status = request_hold(x, len);
    buf_add(body, bytes, len);
    if (!body->status)
        return;
    x->base.problem = body->status;
    net_exchange_drop_body(&x->base);
    body->status = DET_OK;
}

/* The request is complete: calls the handler. */
static void request_hand_over(struct http_exchange *x)
{
    struct http_server *server = x->server;
    net_handler_fn *handler = server->handler;
    void *arg = server->arg;
    bool is_resumable = false;
    bool is_late;

    seat_busy(server->seats, x->seat);
    server->mhd.suspend_connection(x->connection);
    pthread_mutex_lock(&server->lock);
    server->suspended++;
    x->phase = HTTP_OPEN;
    http_link(x);
    is_late = server->is_closing && http_claim(x, server->sorry, 503, &is_resumable);
    x->is_held = !is_late;
    pthread_mutex_unlock(&server->lock);

    if (is_late)
        http_resume(x);
    else
        handler(arg, &x->base);
}

void http_response_free(struct http_server *server, struct MHD_Response *response)
{
    if (response && response != server->sorry)
        server->mhd.destroy_response(response);
}

static enum MHD_Result request_reply(struct http_exchange *x)
{
    struct http_server *server = x->server;
    struct MHD_Response *response;
    enum MHD_Result result;
    unsigned status;

    bool is_whole;

    pthread_mutex_lock(&server->lock);
    response = x->response;
    x->response = NULL;
    status = (unsigned)x->status;
    is_whole = x->stream.state == HTTP_STREAM_NONE && !x->relay;
    pthread_mutex_unlock(&server->lock);
    if (is_whole)
        seat_sending(server->seats, x->seat, x->reply_len);

    result = server->mhd.queue_response(x->connection, status, response);
    http_response_free(server, response); /* the connection holds a reference */
    return result;
}

/* ---- a body that is passed on in pieces ------------------------------------------ */

void http_unpark(struct http_exchange *x)
{
    bool was_parked;

    pthread_mutex_lock(&x->server->lock);
    was_parked = x->is_parked;
    x->is_parked = false;
    pthread_mutex_unlock(&x->server->lock);
    if (was_parked)
        http_resume(x);
}

static enum http_phase phase_of(struct http_exchange *x)
{
    enum http_phase phase;

    pthread_mutex_lock(&x->server->lock);
    phase = x->phase;
    pthread_mutex_unlock(&x->server->lock);
    return phase;
}

/* There was no room for all bytes: stops reading until there is.  The second check sees
 * room or an answer that came between the first check and the suspend. */
static void park_body(struct http_exchange *x)
{
    struct http_server *server = x->server;
    bool is_parked;

    server->mhd.suspend_connection(x->connection);
    pthread_mutex_lock(&server->lock);
    server->suspended++;
    is_parked = x->is_parked = x->phase == HTTP_BODY;
    pthread_mutex_unlock(&server->lock);
    if (!is_parked)
        http_resume(x);
    else if (http_relay_has_room(x))
        http_unpark(x);
}

static void pass_body_piece(struct http_exchange *x, const char *bytes, size_t *size)
{
    *size = phase_of(x) == HTTP_BODY ? http_relay_body(x, bytes, *size) : 0;
    if (*size)
        park_body(x);
}

/* The body is complete; the exchange may be answered already. */
static void pass_body_end(struct http_exchange *x)
{
    struct http_server *server = x->server;
    bool is_resumable;

    server->mhd.suspend_connection(x->connection);
    pthread_mutex_lock(&server->lock);
    server->suspended++;
    is_resumable = x->phase == HTTP_EARLY;
    x->phase = is_resumable ? HTTP_ANSWERED : HTTP_OPEN;
    pthread_mutex_unlock(&server->lock);
    if (is_resumable)
        http_resume(x);
    else
        http_relay_body_end(x);
}

/* libmicrohttpd repeats the call after the headers if the connection was suspended in it.
 */
static enum MHD_Result body_access(struct http_exchange *x, const char *upload,
                                   size_t *upload_size)
{
    bool is_again = !*upload_size && !x->is_begun;

    x->is_begun = true;
    if (*upload_size)
        pass_body_piece(x, upload, upload_size);
    else if (!is_again)
        pass_body_end(x);
    return MHD_YES;
}

/* Called when the headers are complete, for each piece of the body, when the request is
 * complete, and again after a resume. */
enum MHD_Result http_on_access(void *arg, struct MHD_Connection *connection,
                               const char *url, const char *method, const char *version,
                               const char *upload, size_t *upload_size, void **context)
{
    struct http_server *server = arg;
    struct http_exchange *x = *context;
    enum http_phase phase;

    (void)url;
    (void)version;
    if (!x) /* on_uri() was out of memory */
        return server->mhd.queue_response(connection, 503, server->sorry);
    if (!x->is_started) {
        request_start(x, method);
        if (x->is_later)
            request_hand_over(x);
        return MHD_YES;
    }
    phase = phase_of(x);
    if (phase == HTTP_BODY || phase == HTTP_EARLY)
        return body_access(x, upload, upload_size);
    if (*upload_size) {
        seat_got_body(server->seats, x->seat, *upload_size);
        request_add_body(x, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (phase == HTTP_ANSWERED)
        return request_reply(x);
    assert(phase == HTTP_READING);
    request_hand_over(x);
    return MHD_YES;
}

void http_on_completed(void *arg, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode how)
{
    struct http_exchange *x = *context;
    struct http_server *server = arg;
    struct MHD_Response *unsent;
    bool is_stream;
    bool is_over;

    (void)how;
    *context = NULL;
    seat_idle(server->seats, http_seat(server, connection));
    if (!x)
        return;
    if (x->is_watched)
        client_watch_remove(server->watcher, &x->watch);

    pthread_mutex_lock(&server->lock);
    x->is_sent = true;
    unsent = x->response; /* set if the client left before its connection was resumed */
    x->response = NULL;
    is_stream = x->stream.state != HTTP_STREAM_NONE;
    is_over = !x->is_held && !is_stream;
    if (x->phase == HTTP_ANSWERED || x->phase == HTTP_EARLY) {
        assert(server->unsent);
        server->unsent--;
    }
    if (is_stream || x->phase == HTTP_BODY)
        http_unlink(x);
    if (x->phase == HTTP_BODY) /* nobody is left to answer */
        x->phase = HTTP_READING;
    if (server->is_closing)
        pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);

    http_response_free(server, unsent);
    http_relay_left(x);
    if (is_stream)
        http_stream_finish(x);
    else if (is_over)
        http_exchange_free(x);
}

bool http_peer_uid(const struct net_exchange *base, uint32_t *ret_uid)
{
    const struct http_exchange *x = (const struct http_exchange *)base;
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    bool has_own = false;
    struct net_addr ours;

    pthread_mutex_lock(&x->server->lock);
    if (x->phase == HTTP_OPEN) /* else the descriptor may be reused by now */
        has_own = getsockname(http_socket(x), (struct sockaddr *)&own, &size) == 0;
    pthread_mutex_unlock(&x->server->lock);
    return has_own && net_addr_from((struct sockaddr *)&own, &ours) &&
           peer_owner_find_uid(&x->peer, &ours, ret_uid);
}

static void on_gone(struct client_watch_entry *watch)
{
    struct http_exchange *x = CONTAINER_OF(watch, struct http_exchange, watch);

    x->gone_fn(&x->base);
}

void http_on_gone(struct net_exchange *base, net_gone_fn *fn)
{
    struct http_exchange *x = (struct http_exchange *)base;

    pthread_mutex_lock(&x->server->lock);
    if (x->phase == HTTP_OPEN && !x->is_watched) {
        x->gone_fn = fn;
        x->is_watched = true; /* first: the function may run at once */
        client_watch_add(x->server->watcher, &x->watch, http_socket(x), on_gone);
    }
    pthread_mutex_unlock(&x->server->lock);
}

bool http_is_gone(struct net_exchange *base)
{
    struct http_exchange *x = (struct http_exchange *)base;
    bool is_gone = false;
    char byte;

    pthread_mutex_lock(&x->server->lock);
    if (x->phase == HTTP_OPEN) {
        ssize_t got = recv(http_socket(x), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

        is_gone = got == 0 || (got < 0 && errno == ECONNRESET);
    }
    pthread_mutex_unlock(&x->server->lock);
    return is_gone;
}

/* ---- the server ------------------------------------------------------------------ */

/* A 503 that needs no memory when it is sent. */
static struct MHD_Response *sorry_new(const struct mhd *mhd)
{
    static const char text[] = "the server is stopping or out of memory\n";

    return mhd->create_response_from_buffer(sizeof(text) - 1, (void *)(uintptr_t)text,
                                            MHD_RESPMEM_PERSISTENT);
}

static det_status server_start(struct http_server *server,
                               const struct net_server_config *config, struct err *err)
{
    det_status st = mhd_load(&server->mhd, err);

    if (st)
        return st;
    server->sorry = sorry_new(&server->mhd);
    if (!server->sorry)
        return err_default(err, DET_NOMEM);
    if (config->cert_file)
        st = tls_server_new(config->cert_file, config->key_file, &server->tls, err);
    if (!st)
        st = client_watch_new(&server->watcher, err);
    if (!st)
        st = relays_new(config->max_relays ? config->max_relays : DEFAULT_RELAYS,
                        &server->relays, err);
    return st ? st : http_daemon_start(server, config, err);
}

/* Frees what remains after the daemon has stopped or failed to start. */
static void server_close(struct http_server *server)
{
    if (server->sorry)
        server->mhd.destroy_response(server->sorry);
    server_release(server);
}

det_status http_serve(struct net *net, const struct net_server_config *config,
                      struct net_server **ret_server, struct err *err)
{
    struct http_server *server = mem_new(struct http_server);
    pthread_condattr_t monotonic;
    det_status st;

    if (!server)
        return err_default(err, DET_NOMEM);
    assert(!config->mark || strlen(config->mark) < NET_MARK_TEXT);
    server->base.ops = net->ops;
    server->handler = config->handler;
    server->warn = config->warn;
    server->arg = config->arg;
    server->max_body_bytes = config->max_body_bytes;
    server->body_limit = config->body_limit;
    server->memory = config->memory;
    server->headers = config->headers;
    snprintf(server->mark, sizeof(server->mark), "%s",
             config->mark ? config->mark : "");
    server->alive = 1;
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    st = server_start(server, config, err);
    if (st) {
        server_close(server);
        return st;
    }
    *ret_server = &server->base;
    return DET_OK;
}

/* Answers for the owners and breaks the streams.  Starts again at the head of the list
 * after each, because the lock was released. */
static void answer_all(struct http_server *server)
{
    struct http_exchange *x;

    pthread_mutex_lock(&server->lock);
    server->is_closing = true;
    while ((x = server->list)) {
        bool is_resumable = false;
        bool is_open = http_claim(x, server->sorry, 503, &is_resumable);
        bool is_watched = is_open && is_resumable && x->is_watched;

        if (!is_open)
            is_resumable = http_stream_break(x);
        http_unlink(x);
        if (!is_resumable)
            continue;
        pthread_mutex_unlock(&server->lock);
        if (is_watched)
            client_watch_remove(server->watcher, &x->watch);
        http_resume(x);
        pthread_mutex_lock(&server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

static void drain_replies(struct http_server *server)
{
    struct timespec until;
    int code = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += DRAIN_SECONDS;
    pthread_mutex_lock(&server->lock);
    while (server->unsent && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    while (server->suspended)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

det_status http_server_reload(struct net_server *base, struct err *err)
{
    struct http_server *server = (struct http_server *)base;

    return server->tls ? tls_server_reload(server->tls, err) : DET_OK;
}

void http_server_free(struct net_server *base)
{
    struct http_server *server = (struct http_server *)base;

    answer_all(server);
    relays_stop(server->relays);
    drain_replies(server);
    http_daemon_stop(server);

    pthread_mutex_lock(&server->lock);
    while (server->streams)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
    server_close(server);
}
