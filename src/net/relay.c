/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - the thread that moves bytes between clients and upstreams.
 *
 *   CONNECTING --> OPEN --head--> (HTTP) body until its end ------------------> OVER
 *                            \--> (101) waits for relay_switch() --> TUNNEL --> OVER
 *
 * The thread steps a relay (relay_step()) when one of its sockets is ready, or when
 * somebody kicked it: put bytes into `up`, took bytes from `down`, or left.  A step does
 * everything that is possible without waiting, and then tells the kernel which events it
 * waits for.  Invariants:
 *
 *   1. A socket that waits for nothing is not in the set: the kernel always reports a
 *      broken socket, and the thread would spin.
 *   2. A socket is read only while its ring has room, and written only while its ring has
 *      bytes: that is the back pressure, in both directions.
 *   3. A step holds the relay's lock during its calls to the kernel, none of which wait.
 *      The owner is called without the lock, except for `down`: the stream told there
 *      may end a moment later, and takes the same lock to leave.
 *   4. Relays leave the list only after all events of a round were read, so no event
 *      points at a relay that is gone.
 *
 * A program has CONNECT_US to accept and ANSWER_US to begin its reply.  After that it may
 * be silent for any time (server-sent events are).  A tunnel has no time limit, but when
 * one side has ended, the other has LINGER_US.  The kernel's keep-alive notices machines
 * that vanish. */
#include "net/relay.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/memory/mem.h"
#include "net/net_thread.h"
#include "net/relay_ring.h"
#include "net/tls/tls_tunnel.h"

#define CONNECT_US INT64_C(10000000)
#define ANSWER_US  INT64_C(600000000)
#define LINGER_US  INT64_C(30000000)

enum {
    EVENTS = 64,
    TICK_MS = 1000,
    ROUNDS = 8,       /* of reading, before the next relay gets its turn */
    FRAME_BYTES = 48, /* more than the framing of a chunk and of the last chunk */
    PIECE_BYTES = 16384,
};

struct relays {
    int epoll_fd;
    int kick_fd;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the list's head and what follows */
    struct relay *fresh;  /* started, not yet in `list` */
    bool is_stopping;
    struct relay *list; /* only the thread uses it */
    uint32_t most;
    _Atomic uint32_t count; /* of relays that hold memory */
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- one relay ------------------------------------------------------------------- */

det_status relay_init(struct relay *relay, struct relays *relays,
                      const struct relay_owner *owner, struct err *err)
{
    relay->owner = owner;
    relay->home = relays;
    relay->upstream = relay->client = (struct relay_end){.relay = relay, .fd = -1};
    relay->opening = relay->head = (struct buf)BUF_INIT;
    reply_init(&relay->reply, false);
    relay->reply.headers = &relay->head;
    pthread_mutex_init(&relay->lock, NULL);
    if (atomic_fetch_add(&relays->count, 1) >= relays->most) {
        relay_done(relay);
        return err_set(err, DET_BUSY,
                       "%" PRIu32 " requests are handed on already, which is the limit",
                       relays->most);
    }
    relay->up.bytes = mem_alloc(RELAY_BYTES);
    relay->down.bytes = mem_alloc(RELAY_BYTES);
    if (relay->up.bytes && relay->down.bytes)
        return DET_OK;
    relay_done(relay);
    return err_default(err, DET_NOMEM);
}

void relay_done(struct relay *relay)
{
    buf_done(&relay->opening);
    buf_done(&relay->head);
    reply_done(&relay->reply);
    mem_free(relay->up.bytes);
    mem_free(relay->down.bytes);
    pthread_mutex_destroy(&relay->lock);
    atomic_fetch_sub(&relay->home->count, 1);
}

static void kick_relay(struct relay *relay)
{
    atomic_store(&relay->is_kicked, true);
    eventfd_write(relay->home->kick_fd, 1);
}

void relay_abandon(struct relay *relay)
{
    atomic_store(&relay->is_abandoned, true);
    kick_relay(relay);
}

/* Room for bytes of the body, without their framing. */
static size_t up_room(const struct relay *relay)
{
    size_t room = relay_ring_room(&relay->up);

    if (relay->is_chunked)
        room = room > FRAME_BYTES ? room - FRAME_BYTES : 0;
    return room;
}

size_t relay_put(struct relay *relay, const char *bytes, size_t len)
{
    char frame[24];
    size_t took;

    pthread_mutex_lock(&relay->lock);
    took = relay->is_over || relay->is_down_ended ? len : MIN(len, up_room(relay));
    relay->wants_room = took < len;
    if (took && !relay->is_over && !relay->is_down_ended) {
        if (relay->is_chunked)
            relay_ring_put(&relay->up, frame,
                           (size_t)snprintf(frame, sizeof(frame), "%zx\r\n", took));
        relay_ring_put(&relay->up, bytes, took);
        if (relay->is_chunked)
            relay_ring_put(&relay->up, "\r\n", 2);
    }
    pthread_mutex_unlock(&relay->lock);
    kick_relay(relay);
    return took;
}

bool relay_has_room(struct relay *relay)
{
    bool has_room;

    pthread_mutex_lock(&relay->lock);
    has_room = relay->is_over || relay->is_down_ended || up_room(relay);
    pthread_mutex_unlock(&relay->lock);
    return has_room;
}

void relay_put_end(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    if (relay->is_chunked && !relay->is_up_ended && !relay->is_over)
        relay_ring_put(&relay->up, "0\r\n\r\n", 5); /* FRAME_BYTES keeps room for it */
    relay->is_up_ended = true;
    pthread_mutex_unlock(&relay->lock);
    kick_relay(relay);
}

bool relay_take(struct relay *relay, struct buf *out)
{
    bool has_more;
    bool has_taken;

    pthread_mutex_lock(&relay->lock);
    has_taken = relay->down.len;
    while (relay->down.len && !out->status) {
        size_t len = relay_ring_run(&relay->down);

        buf_add(out, relay->down.bytes + relay->down.at, len);
        relay_ring_drop(&relay->down, len);
    }
    has_more = !relay->is_down_ended && !relay->is_failed;
    if (relay->is_failed && !out->status)
        out->status = DET_UNREACHABLE;
    pthread_mutex_unlock(&relay->lock);
    if (has_more && has_taken)
        kick_relay(relay);
    return has_more;
}

bool relay_switch(struct relay *relay, int client_fd, const char *bytes, size_t len)
{
    static const int on = 1;
    bool is_over;

    pthread_mutex_lock(&relay->lock);
    is_over = relay->is_over || len > relay_ring_room(&relay->up);
    if (!is_over) {
        relay->client.fd = client_fd;
        relay->is_tunnel = true;
        relay->is_up_ended = relay->is_down_ended = false;
        relay_ring_put(&relay->up, bytes, len);
        (void)setsockopt(client_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        (void)setsockopt(client_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    pthread_mutex_unlock(&relay->lock);
    if (is_over)
        relay_abandon(relay);
    else
        kick_relay(relay);
    return !is_over;
}

/* The reply's first bytes may be in `down`; the greeting goes in front of them. */
bool relay_switch_tls(struct relay *relay, int client_fd, struct tls_tunnel *tls,
                      const struct buf *greeting)
{
    bool has_room;

    pthread_mutex_lock(&relay->lock);
    has_room = !greeting->status && greeting->len <= relay_ring_room(&relay->down);
    if (has_room) {
        relay->client.tls = tls;
        relay_ring_put_front(&relay->down, greeting->data, greeting->len);
    }
    pthread_mutex_unlock(&relay->lock);
    if (!has_room)
        relay_abandon(relay);
    return has_room && relay_switch(relay, client_fd, "", 0);
}

/* ---- moving bytes, with the relay's lock held ------------------------------------ */

static void fail_relay(struct relay *relay, det_status status, const char *sentence)
{
    if (!relay->is_failed)
        (void)err_set(&relay->err, status, "%s", sentence);
    relay->is_failed = true;
}

/* True if the call may be repeated later. */
static bool is_temporary(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

/* Sends as much as the socket takes; returns false if the socket is broken. */
static bool push_ring(struct relay_ring *ring, const struct relay_end *end)
{
    while (ring->len) {
        const char *at = ring->bytes + ring->at;
        size_t run = relay_ring_run(ring);
        ssize_t n = end->tls ? tls_tunnel_send(end->tls, at, run)
                             : send(end->fd, at, run, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return is_temporary(errno);
        relay_ring_drop(ring, (size_t)n);
    }
    return true;
}

/* Receives as much as has arrived and fits; returns false if the socket is broken. */
static bool pull_ring(struct relay_ring *ring, const struct relay_end *end,
                      bool *is_ended)
{
    char piece[PIECE_BYTES];

    for (int i = 0; i < ROUNDS && relay_ring_room(ring) && !*is_ended; i++) {
        size_t room = MIN(sizeof(piece), relay_ring_room(ring));
        ssize_t n = end->tls ? tls_tunnel_receive(end->tls, piece, room)
                             : recv(end->fd, piece, room, MSG_DONTWAIT);

        if (n < 0)
            return is_temporary(errno);
        *is_ended = !n;
        relay_ring_put(ring, piece, (size_t)n);
    }
    return true;
}

/* When one side has ended and all its bytes were passed on, ends the other direction. */
static void pass_end(const struct relay_ring *ring, bool is_ended,
                     const struct relay_end *end, bool *is_shut)
{
    if (!is_ended || ring->len || *is_shut)
        return;
    if (end->tls)
        tls_tunnel_shut(end->tls);
    shutdown(end->fd, SHUT_WR);
    *is_shut = true;
}

static void step_tunnel(struct relay *relay)
{
    const struct relay_end *up = &relay->upstream;
    const struct relay_end *client = &relay->client;
    bool is_well = pull_ring(&relay->up, client, &relay->is_up_ended) &&
                   push_ring(&relay->up, up) &&
                   pull_ring(&relay->down, up, &relay->is_down_ended) &&
                   push_ring(&relay->down, client);

    if (!is_well) {
        fail_relay(relay, DET_UNREACHABLE, "the connection broke");
        return;
    }
    pass_end(&relay->up, relay->is_up_ended, up, &relay->is_up_shut);
    pass_end(&relay->down, relay->is_down_ended, client, &relay->is_down_shut);
    if ((relay->is_up_shut || relay->is_down_shut) && !relay->deadline_us)
        relay->deadline_us = now_us() + LINGER_US;
}

static void check_connected(struct relay *relay)
{
    int code = 0;
    socklen_t size = sizeof(code);
    struct pollfd row = {.fd = relay->upstream.fd, .events = POLLOUT};

    if (poll(&row, 1, 0) != 1)
        return;
    if (getsockopt(relay->upstream.fd, SOL_SOCKET, SO_ERROR, &code, &size) || code) {
        fail_relay(relay, DET_UNREACHABLE, "nobody listens there");
        return;
    }
    relay->is_connected = true;
    relay->deadline_us = now_us() + ANSWER_US;
}

/* A program may answer and close before it has read the whole request, so the rest cannot
 * be sent.  That alone does not fail the relay: the answer may have arrived. */
static void send_request(struct relay *relay)
{
    struct buf *opening = &relay->opening;

    while (relay->opened < opening->len) {
        ssize_t n = send(relay->upstream.fd, opening->data + relay->opened,
                         opening->len - relay->opened, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && is_temporary(errno))
            return;
        if (n < 0)
            break;
        relay->opened += (size_t)n;
    }
    if (relay->opened < opening->len || !push_ring(&relay->up, &relay->upstream)) {
        relay->opened = opening->len;
        relay->up.len = 0;
    }
}

/* Puts the body of the reply into `down`, and also the bytes that follow a 101. */
static void read_piece(struct relay *relay, const char *bytes, size_t len)
{
    struct reply *reply = &relay->reply;
    size_t at = 0;

    while (at < len && reply->state != REPLY_DONE) {
        struct reply_bytes body;
        size_t used = 0;

        if (reply_feed(reply, bytes + at, len - at, &used, &body, &relay->err)) {
            relay->is_failed = true;
            return;
        }
        relay_ring_put(&relay->down, body.at, body.len);
        relay->has_news = relay->has_news || body.len;
        at += used;
    }
    if (reply->state == REPLY_DONE && reply->status == 101)
        relay_ring_put(&relay->down, bytes + at, len - at);
    relay->is_down_ended = reply->state == REPLY_DONE && reply->status != 101;
}

/* True if the head of a 101 is complete: the following bytes are of another protocol. */
static bool has_switched(const struct relay *relay)
{
    return relay->reply.state == REPLY_DONE && relay->reply.status == 101;
}

static void read_reply(struct relay *relay)
{
    struct reply *reply = &relay->reply;
    char piece[PIECE_BYTES];

    for (int i = 0; i < ROUNDS && relay_ring_room(&relay->down) &&
                    !relay->is_down_ended && !relay->is_failed && !has_switched(relay);
         i++) {
        size_t room = MIN(sizeof(piece), relay_ring_room(&relay->down));
        ssize_t n = recv(relay->upstream.fd, piece, room, MSG_DONTWAIT);

        if (n < 0 && is_temporary(errno))
            return;
        if (n > 0)
            read_piece(relay, piece, (size_t)n);
        else if (!n && reply_close(reply))
            relay->is_down_ended = true;
        else
            fail_relay(relay, DET_UNREACHABLE,
                       "it closed the connection without an answer");
    }
}

static bool has_reply_head(const struct relay *relay)
{
    return relay->reply.state > REPLY_HEADERS;
}

static void step_http(struct relay *relay)
{
    if (!relay->is_connected)
        check_connected(relay);
    if (!relay->is_connected)
        return;
    send_request(relay);
    read_reply(relay);
}

/* ---- the thread ------------------------------------------------------------------ */

static void want_events(struct relay *relay, struct relay_end *end, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = end};
    int set = relay->home->epoll_fd;
    int code = 0;

    if (end->fd < 0 || events == end->events)
        return;
    if (!events)
        code = epoll_ctl(set, EPOLL_CTL_DEL, end->fd, NULL);
    else
        code = epoll_ctl(set, end->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, end->fd,
                         &event);
    if (code)
        fail_relay(relay, DET_IO, "the kernel cannot watch its connection");
    end->events = code ? 0 : events;
}

static void want_next_events(struct relay *relay)
{
    bool may_read = !relay->is_down_ended && relay_ring_room(&relay->down);
    bool must_write =
        !relay->is_connected || relay->opened < relay->opening.len || relay->up.len;
    bool is_switching = has_switched(relay) && !relay->is_tunnel;
    uint32_t up = 0;
    uint32_t client = 0;

    if (must_write)
        up |= EPOLLOUT;
    if (relay->is_connected && may_read && !is_switching)
        up |= EPOLLIN;
    if (relay->is_tunnel && !relay->is_up_ended && relay_ring_room(&relay->up))
        client |= EPOLLIN;
    if (relay->is_tunnel && relay->down.len)
        client |= EPOLLOUT;
    want_events(relay, &relay->upstream, up);
    want_events(relay, &relay->client, client);
}

static void check_deadline(struct relay *relay)
{
    int64_t deadline_us = relay->deadline_us;

    if (deadline_us && now_us() >= deadline_us)
        fail_relay(relay, DET_TIMEOUT, "it does not answer");
    if (relay->is_abandoned)
        fail_relay(relay, DET_UNREACHABLE, "the client has left");
}

static bool is_finished(const struct relay *relay)
{
    if (relay->is_failed)
        return true;
    if (relay->is_tunnel)
        return relay->is_up_shut && relay->is_down_shut;
    return relay->is_down_ended && relay->has_head;
}

/* With the lock held.  Closes the upstream's socket; the client's belongs to the owner. */
static void finish_relay(struct relay *relay)
{
    want_events(relay, &relay->upstream, 0);
    want_events(relay, &relay->client, 0);
    close(relay->upstream.fd);
    relay->upstream.fd = -1;
    relay->is_over = true;
}

/* Does everything possible without waiting.  Returns true if the reply's head has just
 * arrived. */
static bool move_bytes(struct relay *relay)
{
    bool has_head;

    pthread_mutex_lock(&relay->lock);
    check_deadline(relay);
    if (!relay->is_failed && relay->is_tunnel)
        step_tunnel(relay);
    else if (!relay->is_failed)
        step_http(relay);
    has_head = !relay->has_head && has_reply_head(relay);
    if (has_head)
        relay->deadline_us = 0;
    pthread_mutex_unlock(&relay->lock);
    return has_head;
}

/* With the lock held.  Tells the owner's stream of new bytes, and of the end. */
static void tell_stream(struct relay *relay, bool is_over)
{
    if (!relay->has_head || relay->is_tunnel || !(relay->has_news || is_over))
        return;
    relay->has_news = false;
    relay->owner->down(relay);
}

/* Returns true if the relay is over. */
static bool relay_step(struct relay *relay)
{
    bool has_head = move_bytes(relay);
    bool has_room;
    bool has_more;
    bool is_over;

    if (has_head)
        relay->owner->head(relay);

    pthread_mutex_lock(&relay->lock);
    relay->has_head = relay->has_head || has_head;
    has_room = relay->wants_room && up_room(relay);
    if (has_room)
        relay->wants_room = false;
    if (!is_finished(relay))
        want_next_events(relay);
    is_over = is_finished(relay); /* also if the kernel refused to watch it */
    if (is_over)
        finish_relay(relay);
    tell_stream(relay, is_over);
    has_more = relay->client.tls && relay_ring_room(&relay->up) &&
               tls_tunnel_has_more(relay->client.tls);
    pthread_mutex_unlock(&relay->lock);

    if (has_room && !is_over)
        relay->owner->room(relay);
    if (has_more && !is_over)
        kick_relay(relay);
    return is_over;
}

static void list_remove(struct relays *relays, struct relay *relay)
{
    if (relay->next)
        relay->next->prev = relay->prev;
    if (relay->prev)
        relay->prev->next = relay->next;
    else
        relays->list = relay->next;
}

/* Takes new relays into the list.  Returns true if it is time to stop. */
static bool list_take_fresh(struct relays *relays)
{
    struct relay *fresh;
    bool is_stopping;

    pthread_mutex_lock(&relays->lock);
    fresh = relays->fresh;
    relays->fresh = NULL;
    is_stopping = relays->is_stopping;
    pthread_mutex_unlock(&relays->lock);
    while (fresh) {
        struct relay *relay = fresh;

        fresh = relay->next;
        relay->prev = NULL;
        relay->next = relays->list;
        if (relay->next)
            relay->next->prev = relay;
        relays->list = relay;
        relay->is_kicked = true;
    }
    return is_stopping;
}

static void stop_relay(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    fail_relay(relay, DET_BUSY, "the master is stopping");
    pthread_mutex_unlock(&relay->lock);
    relay->is_kicked = true;
}

/* Steps the relays that were kicked and those whose deadline has passed. */
static void step_due_relays(struct relays *relays, bool is_stopping)
{
    int64_t now = now_us();
    struct relay *next;

    for (struct relay *relay = relays->list; relay; relay = next) {
        int64_t deadline_us = relay->deadline_us;

        next = relay->next;
        if (is_stopping)
            stop_relay(relay);
        if (!atomic_exchange(&relay->is_kicked, false) &&
            (!deadline_us || now < deadline_us))
            continue;
        if (!relay_step(relay))
            continue;
        list_remove(relays, relay);
        relay->owner->over(relay);
    }
}

static void *relays_run(void *arg)
{
    struct relays *relays = arg;
    struct epoll_event events[EVENTS];
    bool is_stopping = false;

    pthread_setname_np(pthread_self(), "net-relay");
    while (!is_stopping) {
        int count = epoll_wait(relays->epoll_fd, events, EVENTS, TICK_MS);
        eventfd_t ignored;

        for (int i = 0; i < count; i++) {
            struct relay_end *end = events[i].data.ptr;

            if (end)
                end->relay->is_kicked = true;
            else
                (void)eventfd_read(relays->kick_fd, &ignored);
        }
        is_stopping = list_take_fresh(relays);
        step_due_relays(relays, is_stopping);
    }
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------- */

det_status relays_new(uint32_t most, struct relays **ret_relays, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct relays *relays = mem_new(struct relays);

    if (!relays)
        return err_default(err, DET_NOMEM);
    relays->most = most;
    pthread_mutex_init(&relays->lock, NULL);
    relays->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    relays->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (relays->epoll_fd < 0 || relays->kick_fd < 0 ||
        epoll_ctl(relays->epoll_fd, EPOLL_CTL_ADD, relays->kick_fd, &event)) {
        int code = errno;

        relays_free(relays);
        return err_errno(err, code, "cannot hand on requests");
    }
    *ret_relays = relays;
    return DET_OK;
}

/* Under the lock. */
static int start_thread(struct relays *relays)
{
    int code = net_thread_start(&relays->thread, relays_run, relays);

    relays->has_thread = !code;
    return code;
}

void relays_stop(struct relays *relays)
{
    bool has_thread;

    pthread_mutex_lock(&relays->lock);
    has_thread = relays->has_thread && !relays->is_stopping;
    relays->is_stopping = true;
    pthread_mutex_unlock(&relays->lock);
    if (!has_thread)
        return;
    eventfd_write(relays->kick_fd, 1);
    pthread_join(relays->thread, NULL);
}

void relays_free(struct relays *relays)
{
    if (!relays)
        return;
    relays_stop(relays);
    if (relays->epoll_fd >= 0)
        close(relays->epoll_fd);
    if (relays->kick_fd >= 0)
        close(relays->kick_fd);
    pthread_mutex_destroy(&relays->lock);
    mem_free(relays);
}

static socklen_t parse_address(const char *text, uint16_t port,
                               struct sockaddr_storage *ret_address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(ret_address, &v4, sizeof(v4));
        return sizeof(v4);
    }
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
        memcpy(ret_address, &v6, sizeof(v6));
        return sizeof(v6);
    }
    return 0;
}

static det_status begin_connect(const char *address, uint16_t port, int *ret_fd,
                                struct err *err)
{
    static const int on = 1;
    struct sockaddr_storage at = {0};
    socklen_t size = parse_address(address, port, &at);
    int fd;

    if (!size)
        return err_set(err, DET_INVALID, "'%s' is not an address", address);
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_errno(err, errno, "cannot connect");
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (struct sockaddr *)&at, size) && errno != EINPROGRESS) {
        close(fd);
        return err_set(err, DET_UNREACHABLE, "nobody listens there");
    }
    *ret_fd = fd;
    return DET_OK;
}

det_status relay_start(struct relay *relay, const char *address, uint16_t port,
                       struct err *err)
{
    struct relays *relays = relay->home;
    int fd = -1;
    det_status st;
    int code = 0;

    assert(relay->upstream.fd < 0);
    if (relay->opening.status)
        return err_default(err, relay->opening.status);
    st = begin_connect(address, port, &fd, err);
    if (st)
        return st;
    relay->upstream.fd = fd;
    relay->deadline_us = now_us() + CONNECT_US;

    pthread_mutex_lock(&relays->lock);
    if (relays->is_stopping)
        st = err_set(err, DET_BUSY, "the master is stopping");
    else if (!relays->has_thread)
        code = start_thread(relays);
    if (code)
        st = err_errno(err, code, "cannot hand on requests");
    if (!st) {
        relay->next = relays->fresh;
        relays->fresh = relay;
    }
    pthread_mutex_unlock(&relays->lock);
    if (st)
        close(fd);
    else
        eventfd_write(relays->kick_fd, 1);
    return st;
}
