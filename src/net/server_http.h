/* SPDX-License-Identifier: Apache-2.0 */
/* server_http.h - the real server, shared by server_http.c and server_stream.c. */
#ifndef NET_SERVER_HTTP_H
#define NET_SERVER_HTTP_H

#include <pthread.h>
#include <sys/types.h>

#include "base/task.h"
#include "net/gone.h"
#include "net/mhd.h"
#include "net/net_impl.h"
#include "net/peer.h"

struct http_relay;
struct relays;

/*   READING --complete--> OPEN --answered--> ANSWERED
 *                         |  ^                ^
 *            http_relay() v  | the body's end | the body's end
 *                         BODY --answered--> EARLY
 *
 * READING   libmicrohttpd's alone; freed when the client leaves.
 * OPEN      suspended, with its owner, in the server's list.
 * BODY      its owner has it, and gets the body in pieces; suspended only while there
 *           is no room for them (`is_parked`).
 * EARLY     answered; the rest of the body is read off first.
 * ANSWERED  `response` is set; libmicrohttpd's again, or about to be. */
enum http_phase { HTTP_READING, HTTP_OPEN, HTTP_BODY, HTTP_EARLY, HTTP_ANSWERED };

/* See server_stream.c. */
enum stream_state { STREAM_NONE, STREAM_SENDING, STREAM_WANTED, STREAM_WAITING };

struct http_stream {
    struct net_stream is;
    struct task task; /* step, and at the end done; never both */
    struct buf piece;
    size_t sent; /* of the piece */
    enum stream_state state;
    bool is_woken;
    bool is_last;
    bool may_wait;
    bool is_broken; /* the client left, the server stops, or a piece failed */
};

/* Small on purpose: one waits for every long poll.  A request's words are copied (the
 * URI behind the struct, the headers in one block), because libmicrohttpd's die with
 * the connection, and that may end before the owner looked. */
struct http_exchange {
    struct net_exchange base;
    struct http_server *server;
    struct MHD_Connection *connection;
    struct MHD_Response *response; /* owned until queued; the 503 is borrowed */
    struct http_exchange *next;    /* the server's list, while OPEN or streaming */
    struct http_exchange *prev;
    struct gone_watch watch;
    net_gone_fn *gone_fn;
    struct http_stream stream;
    struct http_relay *relay; /* a holder of it; NULL: none */
    struct net_addr peer;
    enum http_phase phase;
    int status;
    bool is_started; /* the headers were read */
    bool is_held;    /* the owner has not answered yet */
    bool is_sent;    /* libmicrohttpd is done with it */
    bool is_watched; /* was once given to the watcher */
    bool is_later;   /* its body follows: it was handed over before */
    bool is_begun;   /* and has begun to */
    bool is_parked;  /* suspended in BODY */
    char uri[];
};

struct http_server {
    struct net_server base;
    struct mhd mhd;
    struct MHD_Daemon *daemon;
    struct MHD_Response *sorry; /* 503, made beforehand: needs no memory when sent */
    struct gone *gone;
    struct relays *relays;
    net_handler_fn *handler;
    void *arg;
    size_t max_body_bytes;
    net_limit_fn *body_limit;
    char mark[NET_MARK_TEXT];

    pthread_mutex_t lock; /* guards what follows, and the exchanges' state */
    pthread_cond_t changed;
    struct http_exchange *list;
    uint32_t suspended; /* connections that somebody will resume */
    uint32_t unsent;    /* answered, not sent yet */
    uint32_t streams;   /* whose done() was not called yet */
    uint32_t alive;     /* exchanges, and one for the server's owner */
    bool is_closing;
};

det_status http_serve(struct net *net, const struct net_server_config *config,
                      struct net_server **ret_server, struct err *err);
/* A listening socket and its port; DET_EXISTS when the port is taken. */
det_status http_listen(const struct net_server_config *config, int *ret_fd,
                       uint16_t *ret_port, struct err *err);
void http_server_free(struct net_server *server);
/* The header lines that every answer has; false: no memory. */
bool http_add_common(const struct http_server *server, struct MHD_Response *response,
                     const char *content_type, const char *const *headers);
bool http_peer_uid(const struct net_exchange *x, uint32_t *ret_uid);
void http_on_gone(struct net_exchange *x, net_gone_fn *fn);
void http_answer(struct net_exchange *x, const struct net_answer_with *answer);

void http_answer_stream(struct net_exchange *x, const char *content_type,
                        const struct net_stream *stream);
void http_stream_wake(struct net_exchange *x);
/* Under the lock: breaks the stream; true when the caller has to resume it. */
bool http_stream_break(struct http_exchange *x);
/* Not under the lock: libmicrohttpd is done; done() will be called and `x` freed. */
void http_stream_finish(struct http_exchange *x);

/* The second half: the response (NULL: there was no memory) whose bytes on_read() asks
 * the stream for. */
void http_stream_start(struct http_exchange *x, struct MHD_Response *response,
                       int status, const struct net_stream *stream);
/* For responses of a stream. */
ssize_t http_stream_read(void *x, uint64_t position, char *to, size_t max);

/* Under the lock: OPEN becomes ANSWERED, or BODY becomes EARLY, with this response;
 * false when it was neither.  `ret_resume`: the caller has to. */
bool http_claim(struct http_exchange *x, struct MHD_Response *response, int status,
                bool *ret_resume);
/* A header line; false: no memory, or none. */
bool http_add_header(const struct mhd *mhd, struct MHD_Response *response,
                     const char *line);

/* See server_relay.c. */
void http_relay(struct net_exchange *x, const struct net_relay *to);
void http_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);
/* On libmicrohttpd's thread: a piece of the body; how much of it is left. */
size_t http_relay_body(struct http_exchange *x, const char *bytes, size_t len);
void http_relay_body_end(struct http_exchange *x);
bool http_relay_has_room(struct http_exchange *x);
/* libmicrohttpd is done with the exchange; and: the exchange goes. */
void http_relay_left(struct http_exchange *x);
void http_relay_drop(struct http_relay *relay);
/* Not under the lock: if it is parked, it goes on. */
void http_unpark(struct http_exchange *x);

/* Not under the lock, by the one who made it resumable; `x` may be gone afterwards. */
void http_resume(struct http_exchange *x);
/* Under the lock: into and out of the server's list; out twice does nothing. */
void http_link(struct http_exchange *x);
void http_unlink(struct http_exchange *x);
/* Not under the lock: nobody refers to it any more.  May free the server. */
void http_exchange_free(struct http_exchange *x);
/* Leaves the server's own 503 alone. */
void http_response_free(struct http_server *server, struct MHD_Response *response);
int http_socket(const struct http_exchange *x);

#endif
