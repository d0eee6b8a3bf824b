/* SPDX-License-Identifier: Apache-2.0 */
/* server_http_impl.h - the real server, shared by server_http.c, server_daemon.c,
 * server_reply.c, server_stream.c and server_relay.c. */
#ifndef NET_SERVER_HTTP_IMPL_H
#define NET_SERVER_HTTP_IMPL_H

#include <pthread.h>
#include <sys/types.h>

#include "base/memory/allowance.h"
#include "base/thread/executor.h"
#include "net/client_watch.h"
#include "net/mhd.h"
#include "net/net_addr.h"
#include "net/net_impl.h"

struct acceptor;
struct http_relay;
struct relays;
struct seat;
struct seats;
struct tls_server;

/*   READING --complete--> OPEN --answered--> ANSWERED
 *                         |  ^                ^
 *            http_relay() v  | the body's end | the body's end
 *                         BODY --answered--> EARLY
 *
 * READING   only libmicrohttpd has it; freed when the client leaves.
 * OPEN      suspended; its owner has it; in the server's list.
 * BODY      its owner has it and gets the body in pieces; suspended only while there is
 *           no room for them (`is_parked`).
 * EARLY     answered; the rest of the body is read and discarded first.
 * TAKEN     a tunnel over TLS has its socket; then ANSWERED (server_relay.c).
 * ANSWERED  `response` is set; libmicrohttpd has it again, or soon will. */
enum http_phase {
    HTTP_READING,
    HTTP_OPEN,
    HTTP_BODY,
    HTTP_EARLY,
    HTTP_TAKEN,
    HTTP_ANSWERED
};

/* See server_stream.c. */
enum { HTTP_STREAM_TURNS = 4 };
struct http_turns {
    struct http_exchange *first; /* streams that wait for their turn */
    struct http_exchange *last;
    uint32_t taken; /* streams that have theirs */
};
enum http_stream_state {
    HTTP_STREAM_NONE,
    HTTP_STREAM_SENDING,
    HTTP_STREAM_WANTED,
    HTTP_STREAM_WAITING,
    HTTP_STREAM_QUEUED
};

struct http_stream {
    struct net_stream is;
    struct work task; /* stream_step(), and at the end stream_end(); never both */
    struct buf piece;
    size_t sent;                     /* of the piece */
    struct http_exchange *next_turn; /* while QUEUED */
    enum http_stream_state state;
    bool has_turn;
    bool is_woken;
    bool is_last;
    bool may_wait;
    bool is_broken; /* the client left, the server stops, or a piece failed */
};

/* Small on purpose: every long poll keeps one.  URI (behind the struct) and headers (in
 * one block) are copies, because libmicrohttpd frees its own with the connection, which
 * may end before the owner has read them. */
struct http_exchange {
    struct net_exchange base;
    struct http_server *server;
    struct MHD_Connection *connection;
    struct MHD_Response *response; /* owned until queued; the 503 is borrowed */
    struct http_exchange *next;    /* the server's list, while OPEN or streaming */
    struct http_exchange *prev;
    struct client_watch_entry watch;
    net_gone_fn *gone_fn;
    struct http_stream stream;
    struct http_relay *relay; /* shared with the relays' thread; NULL: none */
    struct seat *seat;        /* of its connection; NULL: none */
    struct net_addr peer;
    uint64_t reply_len; /* if it is no stream */
    uint32_t percent;   /* see struct net_limit */
    enum http_phase phase;
    int status;
    bool is_started; /* the headers were read */
    bool is_held;    /* the owner has not answered yet */
    bool is_sent;    /* libmicrohttpd is done with it */
    bool is_watched; /* the watcher had it at least once */
    bool is_later;   /* the handler is called before the body arrives */
    bool is_begun;   /* body_access() was called */
    bool is_parked;  /* suspended in BODY */
    char uri[];
};

enum { HTTP_DAEMONS = 8 };

struct http_server {
    struct net_server base;
    struct mhd mhd;
    struct MHD_Daemon *daemon[HTTP_DAEMONS];
    uint32_t daemons;
    uint32_t turn; /* only the acceptor's thread uses it */
    struct acceptor *acceptor;
    struct seats *seats;
    struct MHD_Response *sorry; /* 503, made beforehand: needs no memory when sent */
    struct client_watch *watcher;
    struct relays *relays;
    struct tls_server *tls;     /* NULL: plain HTTP */
    const char *const *headers; /* of every answer */
    net_handler_fn *handler;
    void (*warn)(void *arg, const char *text); /* or NULL */
    void *arg;
    size_t max_body_bytes;
    uint32_t max_connections;
    struct allowance *memory; /* for bodies and replies; NULL: no bound */
    net_limit_fn *body_limit;
    char mark[NET_MARK_TEXT];

    pthread_mutex_t lock; /* guards what follows, and the exchanges' state */
    pthread_cond_t changed;
    struct http_exchange *list;
    struct http_turns turns[LANE_GROUPS];
    uint32_t suspended; /* connections suspended and not yet resumed */
    uint32_t unsent;    /* answered, not sent yet */
    uint32_t streams;   /* streams whose done() was not called yet */
    uint32_t alive;     /* number of exchanges, plus one for the server's owner */
    bool is_closing;
};

det_status http_serve(struct net *net, const struct net_server_config *config,
                      struct net_server **ret_server, struct err *err);
void http_server_free(struct net_server *server);
det_status http_server_reload(struct net_server *server, struct err *err);
void http_server_look(struct net_server *server, struct net_server_state *ret_state);
/* Adds the header lines that every answer has; returns false if out of memory. */
bool http_add_common(const struct http_server *server, struct MHD_Response *response,
                     const char *content_type, const char *const *headers);
/* Adds these lines; returns false if out of memory. */
bool http_add_headers(const struct http_server *server, struct MHD_Response *response,
                      const char *const *headers);
bool http_peer_uid(const struct net_exchange *x, uint32_t *ret_uid);
void http_on_gone(struct net_exchange *x, net_gone_fn *fn);
bool http_is_gone(struct net_exchange *x);
void http_answer(struct net_exchange *x, const struct net_answer_with *answer);

void http_answer_stream(struct net_exchange *x, const char *content_type,
                        const struct net_stream *stream);
void http_stream_wake(struct net_exchange *x);
/* Under the lock.  Breaks the stream; returns true if the caller must resume it. */
bool http_stream_break(struct http_exchange *x);
/* Not under the lock.  libmicrohttpd has finished: calls done() on the lane, then frees
 * `x`. */
void http_stream_finish(struct http_exchange *x);

/* Answers with a response that reads its bytes by http_stream_read().  NULL: out of
 * memory, answers 503. */
void http_stream_start(struct http_exchange *x, struct MHD_Response *response,
                       int status, const struct net_stream *stream);
/* The reader callback of a stream's response. */
ssize_t http_stream_read(void *x, uint64_t position, char *to, size_t max);

/* Under the lock.  OPEN becomes ANSWERED, or BODY becomes EARLY, with this response;
 * returns false if the phase is neither.  `ret_resume`: the caller must resume it. */
bool http_claim(struct http_exchange *x, struct MHD_Response *response, int status,
                bool *ret_resume);

/* See server_relay.c. */
void http_relay(struct net_exchange *x, const struct net_relay *to);
void http_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);
/* On libmicrohttpd's thread.  Passes on a piece of the body; returns how many bytes did
 * not fit. */
size_t http_relay_body(struct http_exchange *x, const char *bytes, size_t len);
void http_relay_body_end(struct http_exchange *x);
bool http_relay_has_room(struct http_exchange *x);
/* libmicrohttpd has finished with the exchange. */
void http_relay_left(struct http_exchange *x);
/* Releases one reference. */
void http_relay_drop(struct http_relay *relay);
/* Not under the lock.  Resumes the exchange if it is parked. */
void http_unpark(struct http_exchange *x);

/* Not under the lock, by the thread that changed the phase; `x` may be freed afterwards.
 */
void http_resume(struct http_exchange *x);
/* Under the lock.  Into and out of the server's list; a second unlink does nothing. */
void http_link(struct http_exchange *x);
void http_unlink(struct http_exchange *x);
/* Not under the lock, when nobody refers to it any more.  May free the server. */
void http_exchange_free(struct http_exchange *x);
/* Does not free the server's own 503. */
void http_response_free(struct http_server *server, struct MHD_Response *response);
int http_socket(const struct http_exchange *x);

/* See server_daemon.c. */
det_status http_daemon_start(struct http_server *server,
                             const struct net_server_config *config, struct err *err);
/* No connection is left after this. */
void http_daemon_stop(struct http_server *server);
/* NULL: it has none. */
struct seat *http_seat(const struct http_server *server,
                       struct MHD_Connection *connection);
/* What libmicrohttpd calls, see server_http.c. */
void *http_on_uri(void *server, const char *uri, struct MHD_Connection *connection);
enum MHD_Result http_on_access(void *server, struct MHD_Connection *connection,
                               const char *url, const char *method, const char *version,
                               const char *upload, size_t *upload_size, void **context);
void http_on_completed(void *server, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode how);

#endif
