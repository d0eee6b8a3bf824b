/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - HTTP, and nothing above it; the only way to the network.
 *
 * A `struct net` is a network.  net_system.h has the real one: HTTP/1.1 over TCP.
 * memory/net_memory.h has its twin for tests and simulations.
 *
 * Server side: an *exchange* is one request and its reply.  The network calls the handler
 * when the request is complete.  The handler must not block.  It answers once, now or
 * later, from any thread.  Until then the connection is suspended and costs no thread.
 *
 *   handler(x) --post to a lane--> work --net_answer(x)--> sent
 *
 * An exchange lives until it was answered, and until its reply was sent or its client
 * left.  Its holder must answer it even if the client has left. */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/thread/lock.h"

struct allowance;
struct buf;
struct lane;
struct relay;
struct net;
struct net_client;
struct net_exchange;
struct net_range;
struct net_server;

/* ---- networks -------------------------------------------------------------------- */

/* Only after its servers and clients were freed. */
void net_free(struct net *net);

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

/* A server may put its mark on every answer.  By it a client can tell the intended server
 * from another program that listens on that port by now. */
#define NET_MARK "X-Det-Cluster"
enum { NET_MARK_TEXT = 64 }; /* with the NUL */
/* What a relayed request and its reply carry in `Via`. */
#define NET_VIA "1.1 det"

typedef void net_handler_fn(void *arg, struct net_exchange *x);

enum { NET_TINY_BODY = 4 << 10, NET_SMALL_BODY = 64 << 10 };

/* The limit that means: do not collect the body, stream it (see net_relay()). */
#define NET_BODY_LATER (SIZE_MAX - 1)

/* How many bytes the body of a request may have (0 counts as 1), from whose part of which
 * memory they are taken (0: of its address), and how much of it each byte takes. */
struct net_limit {
    size_t bytes;
    uint32_t turn;
    uint32_t percent;         /* 0: 100 */
    struct allowance *memory; /* NULL: the server's */
};

/* The network calls it when the headers are complete, before the body, on its own thread: it
 * must not block.  It may ask for method, path, query, headers and peer. */
typedef struct net_limit net_limit_fn(void *arg, const struct net_exchange *x);

struct net_ranges {
    const struct net_range *at;
    size_t count;
};

struct net_server_config {
    const char *host;         /* "127.0.0.1", "::1", "0.0.0.0"; copied */
    uint16_t port;            /* 0: a free one */
    size_t max_body_bytes;    /* a larger one is discarded: DET_TOO_LARGE */
    net_limit_fn *body_limit; /* may lower it; NULL: the same for all */
    /* Bounds the bodies and replies that are held at once; for more, DET_BUSY is reported.
     * Those up to NET_TINY_BODY do not count.  Borrowed until the last exchange is gone;
     * NULL: no bound. */
    struct allowance *memory;
    uint32_t threads; /* they parse requests and write replies */
    /* See accept/seats.h; 0: the usual limits */
    uint32_t max_connections;
    uint32_t max_of_address;
    int64_t head_us;
    uint32_t least_rate;
    struct net_ranges trusted; /* proxies, which speak for many; borrowed */
    uint32_t max_relays;       /* most requests handed on at once; 0: 2048 */
    const char *mark;          /* shorter than NET_MARK_TEXT; copied; NULL: none */
    /* TLS, with the certificate and the key of these PEM files; NULL: plain HTTP */
    const char *cert_file;
    const char *key_file;
    const char *const *headers; /* lines for every answer; ends with NULL; borrowed */
    net_handler_fn *handler;
    void (*warn)(void *arg, const char *text); /* a sentence for the log; or NULL */
    void *arg;
};

/* DET_EXISTS if the port is taken; DET_UNSUPPORTED if libmicrohttpd is not installed.  One
 * sentence for a certificate that cannot be served: see certificate_pair_read(). */
det_status net_serve(struct net *net, const struct net_server_config *config,
                     struct net_server **ret_server, struct err *err);
uint16_t net_server_port(const struct net_server *server);
/* Reads certificate and key again; new connections get them.  After a failure the old ones
 * stay. */
det_status net_server_reload(struct net_server *server, struct err *err);
/* Answers open and new requests with 503, breaks the streams, waits for replies being
 * sent (5 s at most) and until every stream's done() was called.  Do not call it from a
 * lane that streams use; call it before executor_free().  Holders of an exchange may still
 * read it and must still answer it; that answer is discarded. */
void net_server_free(struct net_server *server);

/* The request.  All pointers are valid until the exchange is answered. */
enum net_method net_request_method(const struct net_exchange *x);
const char *net_request_path(const struct net_exchange *x);  /* percent-encoded */
const char *net_request_query(const struct net_exchange *x); /* behind '?', or "" */
const char *net_request_header(const struct net_exchange *x, const char *name);
const char *net_request_body(const struct net_exchange *x, size_t *ret_len);
/* DET_OK, or why the request could not be read: DET_TOO_LARGE, DET_INVALID, DET_NOMEM;
 * DET_BUSY: other requests hold the memory. */
det_status net_request_problem(const struct net_exchange *x);
/* Iterates over the headers.  `*at` is NULL before the first; false: no more. */
bool net_request_next_header(const struct net_exchange *x, const char **at,
                             const char **ret_name, const char **ret_value);
bool net_peer_is_loopback(const struct net_exchange *x);
/* Whether it came over TLS, to a server whose certificate is for `host`. */
bool net_is_certified(const struct net_exchange *x, const char *host);
/* The address that the request came from, without a port; "" if unknown. */
enum { NET_ADDRESS_TEXT = 48 };
void net_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);
/* The local user who owns the client's socket, from the kernel's table; false if unknown.
 */
bool net_peer_uid(const struct net_exchange *x, uint32_t *ret_uid);

void net_request_drop_body(struct net_exchange *x); /* before a long wait */
/* A pointer of the owner's, kept with the exchange. */
void net_set_user(struct net_exchange *x, void *user);
void *net_user(const struct net_exchange *x);

/* The network calls `fn` once, from any thread, if the client leaves before the answer.
 * It never calls it after net_answer(), which waits for a call under way.  `fn` may answer
 * or post, but must not take a lock that somebody holds while answering.  A client that
 * only closes its sending half counts as gone.  The exchange must still be answered.  This
 * is best effort: a vanished machine is not noticed, so a long wait needs a deadline. */
typedef void net_gone_fn(struct net_exchange *x);
void net_on_gone(struct net_exchange *x, net_gone_fn *fn);
bool net_is_gone(struct net_exchange *x); /* by now; the same rule */

/* Takes the buffer's bytes and leaves the buffer empty.  `headers` is NULL, or a list of
 * "Name: value" lines that ends with NULL. */
void net_answer(struct net_exchange *x, int status, const char *content_type,
                const char *const *headers, struct buf *body);

/* A reply made piece by piece (chunked, flushed after each).  `next` runs on `lane`
 * whenever the last piece was sent.  It appends to `out` and returns whether there is
 * more.  A failed `out` breaks the connection, so no client takes a part for the whole.
 * After NET_WAIT the network calls it again after net_stream_wake().  `done` is called
 * once, on `lane`, when the stream has ended or its client has left. */
enum net_more { NET_MORE, NET_WAIT, NET_END };
typedef enum net_more net_next_fn(void *arg, struct buf *out);
typedef void net_done_fn(void *arg);
struct net_stream {
    struct lane *lane;
    net_next_fn *next;
    net_done_fn *done;
    void *arg;
    const char *const *headers; /* as in net_answer(); borrowed during the call only */
    uint32_t turn;              /* in a lane that takes turns */
};
void net_answer_stream(struct net_exchange *x, const char *content_type,
                       const struct net_stream *stream);
/* From any thread, until done() was called. */
void net_stream_wake(struct net_exchange *x);

/* ---- handing a request on -------------------------------------------------------- */

/* Sends the request to another server and answers with that server's reply.  Both are
 * passed on as they arrive, in bounded memory, for as long as they last.  After a switch
 * of protocols (WebSocket) the relay carries bytes in both directions.
 *
 * If net_limit_fn returned NET_BODY_LATER, the handler was called when the headers were
 * complete, and the body is streamed.  Answering such an exchange in another way closes
 * its connection.  Otherwise the body was collected as usual.
 *
 * Headers about the connection itself are not passed on.  The network calls `header` for
 * each other header of the reply; it writes the value to pass on, or returns false to
 * leave the header out.  If there was no reply, the network calls `refuse`, which must
 * answer: DET_UNREACHABLE, DET_TIMEOUT, DET_IO (not HTTP), DET_BUSY, DET_NOMEM.  `done`
 * is called once, last of all.  All three run on any thread and must not wait.  The
 * memory that the struct points at must live until `done`. */
/* By which another thread can end a relay.  The owner initialises the lock before
 * net_relay() and frees it in done(), or later. */
struct net_leash {
    struct lock lock;
    struct relay *relay; /* guarded by it; NULL: not begun, or over */
};
/* Breaks the relay off, in both directions.  Does nothing if it is over. */
void net_relay_cut(struct net_leash *leash);

typedef bool net_relay_header_fn(void *arg, const char *name, const char *value,
                                 struct buf *out);
typedef void net_relay_refuse_fn(void *arg, struct net_exchange *x, det_status status,
                                 const char *sentence);
struct net_relay {
    const char *address; /* numeric; names are not looked up */
    uint16_t port;
    const char *target;               /* path and query to ask for there */
    const char *const *headers;       /* "Name: value" lines; ends with NULL */
    const char *const *reply_headers; /* likewise, added to the reply; NULL: none */
    bool may_switch;                  /* the client asked for a WebSocket */
    struct lane *lane;                /* where pieces of the reply are made */
    uint32_t turn;                    /* in a lane that takes turns */
    struct net_leash *leash;          /* NULL: none */
    net_relay_header_fn *header;
    net_relay_refuse_fn *refuse;
    net_done_fn *done;
    void *arg;
};
void net_relay(struct net_exchange *x, const struct net_relay *to);

/* ---- client ---------------------------------------------------------------------- */

/* One connection, kept open between calls.  One thread at a time may use it, except for
 * net_client_cancel(). */
det_status net_client_new(struct net *net, const char *host, uint16_t port,
                          struct net_client **ret_client, struct err *err);
void net_client_free(struct net_client *client);

/* Whom a client takes for the intended server; all may be NULL. */
struct net_trust {
    const char *cert_file;   /* PEM: the server's certificate, or one that signed it;
                                NULL: the machine's authorities */
    const char *name;        /* a name that its certificate must have; NULL: the host,
                                where an authority vouches for it */
    const char *fingerprint; /* only the certificate with this SHA-256 */
    bool is_unverified;      /* anybody */
};
/* Before the first call: speaks TLS.  Copies `trust`.  DET_INVALID: its fingerprint is
 * none. */
det_status net_client_secure(struct net_client *client, const struct net_trust *trust,
                             struct err *err);
/* About the server of the last call.  Whether the call failed because it is not the
 * intended one; the fingerprint of its certificate, "" if it showed none; the certificate
 * as PEM, appended. */
bool net_client_is_distrusted(const struct net_client *client);
const char *net_client_fingerprint(const struct net_client *client);
void net_client_certificate(const struct net_client *client, struct buf *out);

/* The call under way and all later ones end with DET_TIMEOUT. */
void net_client_cancel(struct net_client *client);

/* Gets the bytes of a 2xx body as they arrive.  Any status but DET_OK ends the call with
 * that status. */
typedef det_status net_data_fn(void *arg, const char *bytes, size_t len,
                               struct err *err);

struct net_call {
    enum net_method method;
    const char *path;           /* with its query */
    const char *const *headers; /* "Name: value", ends with NULL; may be NULL */
    const void *body;
    size_t body_len;
    int64_t timeout_ms;   /* between two bytes, and to connect; 0: 30 s */
    net_data_fn *on_data; /* NULL: the body is collected, at a least rate */
    void *arg;
};

struct net_reply {
    int status;
    /* The caller's buffer, emptied first; gets the bytes that on_data did not get.  May be
     * NULL. */
    struct buf *body;
    char mark[NET_MARK_TEXT]; /* the server's, set when `status` is; "": none */
    /* The caller's buffer, emptied first; gets "Name: value\n" for each header of the
     * reply, when `status` is set.  NULL: not wanted. */
    struct buf *headers;
};

/* DET_OK if the server answered, with any HTTP status.  DET_UNREACHABLE: nobody listens,
 * or the connection broke; DET_TIMEOUT; DET_IO: the answer is not HTTP; DET_TOO_LARGE:
 * more than the body's limit.  The error text names host and port.  If a kept connection
 * turns out to be closed before the first byte of a reply, the client connects again and
 * repeats the request, once: servers may see a request twice. */
det_status net_call(struct net_client *client, const struct net_call *call,
                    struct net_reply *reply, struct err *err);

#endif
