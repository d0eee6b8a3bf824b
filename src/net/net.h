/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - HTTP, and nothing above it; the only door to the network.
 *
 * A `struct net` is a network: net_system() speaks HTTP/1.1 over TCP (the server
 * through libmicrohttpd, opened at run time); net_memory_new() carries the same calls
 * from client to server inside the process, on the one-thread executor, and can lose,
 * repeat and delay them, from a seed.
 *
 * Server side: an *exchange* is one request and its reply.  The handler is called when
 * the request is complete; it must not block, and answers now or later, from any
 * thread, once. While nobody answers, the connection is suspended and costs no thread.
 *
 *   handler(x) --post to a lane--> work --net_answer(x)--> sent
 *
 * An exchange lives until its reply was sent or its client left, and not before it was
 * answered: who holds it must answer it, also when its client is gone. */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;
struct exec;
struct lane;
struct net;
struct net_client;
struct net_exchange;
struct net_server;

/* ---- networks -------------------------------------------------------------------- */

/* Borrows the executor; net_free() after servers and clients are gone. */
det_status net_system_new(struct exec *exec, struct net **ret_net, struct err *err);
det_status net_memory_new(struct exec *exec, uint64_t seed, struct net **ret_net,
                          struct err *err);
void net_free(struct net *net);

/* Only in memory: of 1,000 calls, how many lose the request, lose the reply (the server
 * did its work) or are delivered twice. */
struct net_faults {
    uint32_t lose_request;
    uint32_t lose_reply;
    uint32_t repeat;
};
void net_memory_faults(struct net *net, const struct net_faults *faults);
/* Only in memory: the end of the server's process.  Calls under way break, and
 * exchanges are freed though nobody answered them; neither gone nor done functions are
 * called. */
void net_memory_crash(struct net_server *server);

/* ---- server ---------------------------------------------------------------------- */

enum net_method {
    NET_GET,
    NET_POST,
    NET_PUT,
    NET_PATCH,
    NET_DELETE,
    NET_HEAD,
    NET_OPTIONS,
    NET_OTHER
};

/* A server may put its mark on every answer, so that a client can tell whether it was
 * answered by the one it means or by whoever listens on that port by now. */
#define NET_MARK "X-Det-Cluster"
enum { NET_MARK_TEXT = 64 }; /* with its end */

typedef void net_handler_fn(void *arg, struct net_exchange *x);

/* The limit of a body that is not to be collected: see net_relay(). */
#define NET_BODY_LATER (SIZE_MAX - 1)

/* How many bytes the body of this request may have (0 counts as 1).  Called when its
 * headers are there, before the body is, on a thread of the network's: it must not
 * block.  Method, path, query, headers and peer can be asked for. */
typedef size_t net_limit_fn(void *arg, const struct net_exchange *x);

struct net_server_config {
    const char *host;      /* "127.0.0.1", "::1", "0.0.0.0"; copied */
    uint16_t port;         /* 0: a free one */
    size_t max_body_bytes; /* a larger body is read off and reported as DET_TOO_LARGE */
    net_limit_fn *body_limit; /* less, for some; NULL: the same for all */
    uint32_t threads;         /* that parse and write */
    uint32_t max_connections;
    uint32_t max_relays; /* requests that are handed on at once; 0: 2048 */
    const char *mark;    /* less than NET_MARK_TEXT; copied; NULL: none */
    net_handler_fn *handler;
    void *arg;
};

/* DET_EXISTS when the port is taken; DET_UNSUPPORTED when libmicrohttpd is not
 * installed. */
det_status net_serve(struct net *net, const struct net_server_config *config,
                     struct net_server **ret_server, struct err *err);
uint16_t net_server_port(const struct net_server *server);
/* Answers what is open and what still comes with 503, ends the streams, waits for what
 * is being sent (5 s at most) and until every stream's done() was called: not to be
 * called from a lane that streams use, and before exec_free().  Who holds an exchange
 * may still read it and must still answer it; that answer goes nowhere. */
void net_server_free(struct net_server *server);

/* The request.  All pointers live as long as the exchange is not answered. */
enum net_method net_request_method(const struct net_exchange *x);
const char *net_request_path(const struct net_exchange *x);  /* still percent-encoded */
const char *net_request_query(const struct net_exchange *x); /* behind '?', or "" */
const char *net_request_header(const struct net_exchange *x, const char *name);
const char *net_request_body(const struct net_exchange *x, size_t *ret_len);
/* DET_OK, or why the request could not be read (DET_TOO_LARGE, DET_INVALID, DET_NOMEM).
 */
det_status net_request_problem(const struct net_exchange *x);
/* One header after the other: `*at` is NULL before the first; false: no more. */
bool net_request_next_header(const struct net_exchange *x, const char **at,
                             const char **ret_name, const char **ret_value);
bool net_peer_is_loopback(const struct net_exchange *x);
/* The address that the request came from, without a port; "" when unknown. */
enum { NET_ADDRESS_TEXT = 48 };
void net_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);
/* The local user whose socket it is, from the kernel's table; false when unknown. */
bool net_peer_uid(const struct net_exchange *x, uint32_t *ret_uid);

/* Frees the body now: for exchanges that will wait long. */
void net_request_drop_body(struct net_exchange *x);
/* Something of the owner's that travels with the exchange. */
void net_set_user(struct net_exchange *x, void *user);
void *net_user(const struct net_exchange *x);

/* Called once, from any thread, when the client leaves before the answer; never after
 * net_answer(), which waits for a call that is under way: `fn` may answer or post, but
 * takes no lock that somebody holds while answering.  A client that only closes its
 * sending half counts as gone.  The exchange still has to be answered.  Best effort: a
 * client whose machine vanished is not noticed, so a long wait needs its deadline. */
typedef void net_gone_fn(struct net_exchange *x);
void net_on_gone(struct net_exchange *x, net_gone_fn *fn);

/* Takes the buffer's bytes; the caller's buffer is empty afterwards.  `headers` is NULL
 * or "Name: value" lines that end with NULL. */
void net_answer(struct net_exchange *x, int status, const char *content_type,
                const char *const *headers, struct buf *body);

/* A reply that is made piece by piece (chunked, flushed after each).  `next` runs on
 * `lane` whenever the last piece was sent: it appends to `out` and says whether there
 * is more; a failed `out` breaks the connection, so that no client takes a part for the
 * whole. After NET_WAIT it is called again once somebody calls net_stream_wake().
 * `done` is called once, on `lane`, when the stream ended or its client left. */
enum net_more { NET_MORE, NET_WAIT, NET_END };
typedef enum net_more net_next_fn(void *arg, struct buf *out);
typedef void net_done_fn(void *arg);
struct net_stream {
    struct lane *lane;
    net_next_fn *next;
    net_done_fn *done;
    void *arg;
    const char *const *headers; /* as net_answer()'s; needed only while it is called */
};
void net_answer_stream(struct net_exchange *x, const char *content_type,
                       const struct net_stream *stream);
/* From any thread, until done() was called. */
void net_stream_wake(struct net_exchange *x);

/* ---- handing a request on -------------------------------------------------------- */

/* The request goes to another server, and that one's reply is the answer: both are
 * passed on as they come, with bounded memory, for as long as they last.  Also after a
 * switch of protocols (WebSocket), when the two talk as they like.
 *
 * A body is streamed when net_limit_fn said NET_BODY_LATER for it: then the handler was
 * called when the headers were there, and an exchange that is answered otherwise loses
 * its connection.  Otherwise it was collected as ever.
 *
 * Headers about the connection itself are the network's business and not passed on.
 * `header` is called for each other header of the reply, and writes what becomes of its
 * value; false: the client does not get it.  `refuse` is called instead when there was
 * no reply, and must answer: DET_UNREACHABLE, DET_TIMEOUT, DET_IO (it speaks no HTTP),
 * DET_BUSY, DET_NOMEM.  `done` is called once, last of all.  All three on any thread;
 * they must not wait.  What the struct points at lives until then. */
typedef bool net_relay_header_fn(void *arg, const char *name, const char *value,
                                 struct buf *out);
typedef void net_relay_refuse_fn(void *arg, struct net_exchange *x, det_status status,
                                 const char *sentence);
struct net_relay {
    const char *address; /* no name: nothing is looked up */
    uint16_t port;
    const char *target;         /* path and query to ask for there */
    const char *const *headers; /* "Name: value" lines; ends with NULL */
    bool may_switch;            /* the client asked for a WebSocket */
    struct lane *lane;          /* where pieces of the reply are made */
    net_relay_header_fn *header;
    net_relay_refuse_fn *refuse;
    net_done_fn *done;
    void *arg;
};
void net_relay(struct net_exchange *x, const struct net_relay *to);

/* ---- client ---------------------------------------------------------------------- */

/* One connection, kept open between calls.  Not for two threads at once, except
 * net_client_cancel(). */
det_status net_client_new(struct net *net, const char *host, uint16_t port,
                          struct net_client **ret_client, struct err *err);
void net_client_free(struct net_client *client);
/* The call under way, and all later ones, end with DET_TIMEOUT. */
void net_client_cancel(struct net_client *client);

/* Bytes of a 2xx body as they arrive; anything but DET_OK ends the call with it. */
typedef det_status net_data_fn(void *arg, const char *bytes, size_t len,
                               struct err *err);

struct net_call {
    enum net_method method;
    const char *path;           /* with its query */
    const char *const *headers; /* "Name: value", ends with NULL; may be NULL */
    const void *body;
    size_t body_len;
    int64_t timeout_ms;   /* between two bytes, and to connect; 0: 30 s */
    net_data_fn *on_data; /* NULL: the body is collected */
    void *arg;
};

struct net_reply {
    int status;
    struct buf
        *body; /* the caller's, emptied first; gets what on_data did not; may be NULL */
    char mark[NET_MARK_TEXT]; /* of whoever answers, known once `status` is; "": none */
    /* The caller's, emptied first; gets "Name: value\n" for each header of the reply,
     * known once `status` is.  NULL: nobody asks. */
    struct buf *headers;
};

/* DET_OK whenever the server answered, whatever its status.  DET_UNREACHABLE: nobody
 * listens, or the connection broke; DET_TIMEOUT; DET_IO: what answers does not speak
 * HTTP; DET_TOO_LARGE: more than the body's limit.  The sentence names host and port.
 * A kept connection that turns out closed before the first byte of a reply is opened
 * again, once, and the request repeated: servers see a request twice at times. */
det_status net_call(struct net_client *client, const struct net_call *call,
                    struct net_reply *reply, struct err *err);

#endif
