/* SPDX-License-Identifier: Apache-2.0 */
/* server_stream.c - replies made piece by piece on the owner's lane.
 *
 *               reader finds nothing          wake, with a turn
 *   SENDING  ---------------------->  WANTED  <--------------  WAITING
 *      ^                              |  | ^                     ^ | |
 *      |    next() made a piece,      |  | |   next() made none, | | | wake, but all
 *      +----or said END, or broken----+  +-|---and said WAIT-----+ | v turns are taken
 *      |                                   +------- a turn ----- QUEUED
 *      +--------------------------- broken ------------------------+
 *
 * SENDING  libmicrohttpd has the connection and asks http_stream_read() for bytes.
 * WANTED   suspended; stream_step() is queued on the lane or runs there.  Only
 *          stream_step() leaves this state.
 * WAITING  suspended; nothing runs.  net_stream_wake() or a break leaves this state.
 * QUEUED   suspended; woken.  Only a turn leaves this state, also if it broke.
 *
 * After a piece with NET_WAIT was sent, http_stream_read() goes to WAITING at once.  A
 * wake at any other moment is kept in `is_woken`, which stream_step() clears before it
 * calls next(), so no wake is lost.  Every change of state happens under the server's
 * lock.  The thread that changes to SENDING releases the lock and resumes the connection.
 *
 * Turns.  One event may wake thousands of streams, and libmicrohttpd would send all their
 * pieces before it reads the next request.  So a stream that was woken needs a turn, from
 * WANTED until libmicrohttpd has taken its piece, or it had none.  Each group of streams
 * (as in a lane: of a user) has HTTP_STREAM_TURNS of them: a step may wait long behind
 * other work of its user, and must not keep the streams of others from theirs.  A client
 * that reads slowly keeps no turn.  Streams with more to say than one piece need none for
 * the others: they make their own client wait.
 *
 * The watcher has the socket from the first to the last byte.  A broken stream is
 * resumed, http_stream_read() returns an error to libmicrohttpd, the connection closes
 * without the last chunk, and the client knows that something is missing. */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "net/server_http_impl.h"

enum {
    BLOCK_BYTES = 8192, /* for HTTP/1.0 clients; chunks use the connection's memory */
    KEEP_BYTES = 4096,  /* of a piece's memory, kept while the stream waits */
};

/* ---- turns, under the lock ------------------------------------------------------- */

static struct http_turns *turns_of(struct http_exchange *x)
{
    return &x->server->turns[x->stream.is.turn % LANE_GROUPS];
}

/* The state that follows a wake. */
static enum http_stream_state take_turn(struct http_exchange *x)
{
    struct http_turns *turns = turns_of(x);
    struct http_stream *s = &x->stream;

    if (!s->has_turn && turns->taken == HTTP_STREAM_TURNS) {
        s->next_turn = NULL;
        *(turns->first ? &turns->last->stream.next_turn : &turns->first) = x;
        turns->last = x;
        return HTTP_STREAM_QUEUED;
    }
    turns->taken += !s->has_turn;
    s->has_turn = true;
    return HTTP_STREAM_WANTED;
}

/* Returns the stream that has the turn now, for post_step(); NULL: none. */
static struct http_exchange *pass_turn(struct http_exchange *x)
{
    struct http_turns *turns = turns_of(x);
    struct http_exchange *next = turns->first;

    if (!x->stream.has_turn)
        return NULL;
    x->stream.has_turn = false;
    if (!next) {
        turns->taken--;
        return NULL;
    }
    assert(next->stream.state == HTTP_STREAM_QUEUED);
    turns->first = next->stream.next_turn;
    next->stream.has_turn = true;
    next->stream.state = HTTP_STREAM_WANTED;
    return next;
}

/* Not under the lock; of a stream that was changed to WANTED, or NULL. */
static void post_step(struct http_exchange *x)
{
    if (x)
        lane_post(x->stream.is.lane, &x->stream.task);
}

/* ---- states ---------------------------------------------------------------------- */

bool http_stream_break(struct http_exchange *x)
{
    struct http_stream *s = &x->stream;

    s->is_broken = true;
    if (s->state != HTTP_STREAM_WAITING)
        return false;
    s->state = HTTP_STREAM_SENDING;
    return true;
}

/* While bytes are due and the socket has no room for them, libmicrohttpd waits for room
 * alone, until its own time limit: it does not see that the client has left, unless the
 * socket is shut.  The socket is open: http_on_completed() waits until we return. */
static void on_stream_gone(struct client_watch_entry *watch)
{
    struct http_exchange *x = CONTAINER_OF(watch, struct http_exchange, watch);
    bool is_resumable;

    pthread_mutex_lock(&x->server->lock);
    is_resumable = http_stream_break(x);
    if (!is_resumable)
        shutdown(http_socket(x), SHUT_RDWR);
    pthread_mutex_unlock(&x->server->lock);
    if (is_resumable)
        http_resume(x);
}

/* Under the lock, after a suspend: the state that follows a sent piece. */
static enum http_stream_state stream_state_after_piece(struct http_exchange *x)
{
    struct http_stream *s = &x->stream;

    if (s->is_broken)
        return HTTP_STREAM_SENDING;
    if (!s->may_wait)
        return HTTP_STREAM_WANTED;
    if (s->is_woken)
        return take_turn(x);
    if (s->piece.cap > KEEP_BYTES)
        buf_done(&s->piece);
    return HTTP_STREAM_WAITING;
}

ssize_t http_stream_read(void *arg, uint64_t position, char *to, size_t max)
{
    struct http_exchange *x = arg;
    struct http_stream *s = &x->stream;
    struct http_server *server = x->server;
    enum http_stream_state state;
    struct http_exchange *next;
    bool is_broken;
    size_t len;

    (void)position;
    pthread_mutex_lock(&server->lock);
    is_broken = s->is_broken;
    len = MIN(s->piece.len - s->sent, max);
    next = pass_turn(x);
    pthread_mutex_unlock(&server->lock);
    post_step(next);
    if (is_broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (len) {
        memcpy(to, s->piece.data + s->sent, len);
        s->sent += len;
        return (ssize_t)len;
    }
    if (s->is_last)
        return MHD_CONTENT_READER_END_OF_STREAM;

    server->mhd.suspend_connection(x->connection);
    pthread_mutex_lock(&server->lock);
    server->suspended++;
    buf_clear(&s->piece);
    s->sent = 0;
    state = s->state = stream_state_after_piece(x);
    pthread_mutex_unlock(&server->lock);

    if (state == HTTP_STREAM_WANTED)
        post_step(x);
    else if (state == HTTP_STREAM_SENDING)
        http_resume(x);
    return 0;
}

/* On the lane.  Makes the next piece, unless the stream broke meanwhile. */
static void stream_step(struct work *task)
{
    struct http_exchange *x = CONTAINER_OF(task, struct http_exchange, stream.task);
    struct http_stream *s = &x->stream;
    struct http_server *server = x->server;
    enum net_more more = NET_END;
    enum http_stream_state state;
    struct http_exchange *next = NULL;
    bool is_broken;

    pthread_mutex_lock(&server->lock);
    assert(s->state == HTTP_STREAM_WANTED);
    is_broken = s->is_broken;
    s->is_woken = false;
    pthread_mutex_unlock(&server->lock);
    if (!is_broken)
        more = s->is.next(s->is.arg, &s->piece);

    pthread_mutex_lock(&server->lock);
    if (s->piece.status)
        s->is_broken = true;
    s->is_last = more == NET_END;
    s->may_wait = more == NET_WAIT;
    state =
        s->piece.len || s->is_last ? HTTP_STREAM_SENDING : stream_state_after_piece(x);
    s->state = state;
    if (state == HTTP_STREAM_WAITING)
        next = pass_turn(x);
    pthread_mutex_unlock(&server->lock);

    if (state == HTTP_STREAM_SENDING)
        http_resume(x);
    else if (state == HTTP_STREAM_WANTED)
        post_step(x);
    post_step(next);
}

/* On the lane.  libmicrohttpd and the owner have finished with it. */
static void stream_end(struct work *task)
{
    struct http_exchange *x = CONTAINER_OF(task, struct http_exchange, stream.task);
    struct http_server *server = x->server;

    if (x->stream.is.done)
        x->stream.is.done(x->stream.is.arg);
    pthread_mutex_lock(&server->lock);
    server->streams--;
    if (server->is_closing)
        pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    http_exchange_free(x);
}

void http_stream_finish(struct http_exchange *x)
{
    struct http_exchange *next;

    pthread_mutex_lock(&x->server->lock);
    next = pass_turn(x);
    pthread_mutex_unlock(&x->server->lock);
    post_step(next);
    x->stream.task = (struct work){.run = stream_end, .turn = x->stream.is.turn};
    lane_post(x->stream.is.lane, &x->stream.task);
}

/* Returns NULL if out of memory. */
static struct MHD_Response *stream_response(struct http_exchange *x,
                                            const char *content_type,
                                            const char *const *headers)
{
    const struct mhd *mhd = &x->server->mhd;
    struct MHD_Response *response = mhd->create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, http_stream_read, x, NULL);

    if (!response || http_add_common(x->server, response, content_type, headers))
        return response;
    mhd->destroy_response(response);
    return NULL;
}

void http_stream_start(struct http_exchange *x, struct MHD_Response *response,
                       int status, const struct net_stream *stream)
{
    struct http_server *server = x->server;
    bool is_resumable = false;
    bool is_claimed;
    bool is_late;

    if (x->is_watched)
        client_watch_remove(server->watcher, &x->watch);

    pthread_mutex_lock(&server->lock);
    assert(x->is_held);
    x->is_held = false;
    server->streams++;
    x->stream.is = *stream;
    x->stream.is.headers = NULL; /* only borrowed during the call */
    x->stream.state = HTTP_STREAM_SENDING;
    x->stream.task = (struct work){.run = stream_step, .turn = x->stream.is.turn};
    x->stream.piece = (struct buf)BUF_INIT;
    x->stream.piece.part =
        (struct allowance_part){.from = server->memory, .group = stream->turn};
    is_claimed = http_claim(x, response ? response : server->sorry,
                            response ? status : 503, &is_resumable);
    is_late = !is_claimed && x->is_sent;
    if (is_claimed) {
        http_link(x);
        x->is_watched = true;
        client_watch_add(server->watcher, &x->watch, http_socket(x), on_stream_gone);
    }
    pthread_mutex_unlock(&server->lock);

    if (is_resumable)
        http_resume(x);
    if (is_claimed)
        return;
    /* The server was freed meanwhile and has answered.  If on_completed() has run, it saw
     * no stream; otherwise it will see one. */
    http_response_free(server, response);
    if (is_late)
        http_stream_finish(x);
}

void http_answer_stream(struct net_exchange *base, const char *content_type,
                        const struct net_stream *stream)
{
    struct http_exchange *x = (struct http_exchange *)base;

    http_stream_start(x, stream_response(x, content_type, stream->headers), 200,
                      stream);
}

void http_stream_wake(struct net_exchange *base)
{
    struct http_exchange *x = (struct http_exchange *)base;
    struct http_stream *s = &x->stream;
    bool is_next = false;

    pthread_mutex_lock(&x->server->lock);
    s->is_woken = true;
    if (s->state == HTTP_STREAM_WAITING) {
        s->state = take_turn(x);
        is_next = s->state == HTTP_STREAM_WANTED;
    }
    pthread_mutex_unlock(&x->server->lock);
    if (is_next)
        post_step(x);
}
