/* SPDX-License-Identifier: Apache-2.0 */
/* net_memory_impl.h - shared by the files of the network in memory: net_memory.c (the
 * network and its servers), memory_exchange.c and memory_client.c. */
#ifndef NET_MEMORY_NET_MEMORY_IMPL_H
#define NET_MEMORY_NET_MEMORY_IMPL_H

#include "base/memory/map.h"
#include "base/rng.h"
#include "base/thread/executor.h"
#include "net/memory/net_memory.h"
#include "net/net_impl.h"

enum { MEMORY_KEY_SIZE = 272 };

/*   TRAVELS --> OPEN --> REPLIES --> (freed)
 *                 |
 *                 +--> WANTED --> PIECE (on the wire) --> TAKEN (with the client)
 *                       |  ^ ^                              |   |
 *                       v  | +------------------------------+   |
 *                     WAITING <---------------------------------+
 *
 * and from any of the lower four, when the stream or its client ends: ENDS --> (freed).
 */
enum memory_phase { TRAVELS, OPEN, REPLIES, WANTED, PIECE, TAKEN, WAITING, ENDS };

extern const struct net_ops net_memory_ops;

struct memory_net {
    struct net base;
    struct lane *wire;
    struct rng64 rng;
    struct net_faults faults;
    struct map servers; /* by "host:port" */
    struct memory_exchange *exchanges;
    uint16_t next_port;
};

struct memory_server {
    struct net_server base;
    struct memory_net *net;
    net_handler_fn *handler;
    void *arg;
    size_t max_body_bytes;
    net_limit_fn *body_limit;
    bool is_quiet; /* used while it is freed: a stream has ended */
    char mark[NET_MARK_TEXT];
    char key[MEMORY_KEY_SIZE];
};

struct memory_client {
    struct net_client base;
    struct memory_net *net;
    struct memory_call *call; /* the one under way, or NULL */
    bool is_cancelled;
    uint16_t port;
    char host[];
};

struct memory_call {
    struct memory_client *client;
    struct memory_exchange *x; /* NULL: lost or over */
    struct work timer;
    int64_t timeout_us;
    struct buf bytes; /* arrived, not yet given to the caller */
    struct buf head;  /* the reply's header lines */
    int status;
    char mark[NET_MARK_TEXT];
    det_status failure;
    bool is_ready; /* bytes arrived, or it is over */
    bool is_over;  /* nothing more will arrive */
};

struct memory_exchange {
    struct net_exchange base;
    struct memory_net *net;
    struct memory_server *server; /* NULL: not found yet, or freed */
    struct memory_call *call;     /* NULL: nobody waits for the reply */
    struct memory_exchange *next; /* the net's list */
    struct memory_exchange *prev;
    struct work task;
    struct work gone_task;
    net_gone_fn *gone_fn;
    enum memory_phase phase;
    int status;
    char mark[NET_MARK_TEXT]; /* copied: the server may be freed before */
    struct buf out;           /* the reply, or a piece */
    struct buf head;          /* its header lines; empty after they have arrived */
    struct net_stream stream;
    bool loses_reply;
    bool is_gone; /* the client left */
    bool is_woken;
    bool is_last;
    bool may_wait;
    char key[MEMORY_KEY_SIZE]; /* "host:port" of its server */
    char uri[];
};

/* ---- memory_exchange.c */

/* Copies the call; returns NULL if out of memory. */
struct memory_exchange *memory_exchange_new(const struct memory_client *client,
                                            const struct net_call *call);
/* Sends the exchange over the wire; `arrive` runs after a delay. */
void memory_send(struct memory_exchange *x, work_fn *arrive);
void memory_exchange_free(struct memory_exchange *x);
/* Cancels its task on whichever lane it is posted. */
void memory_exchange_unpost(struct memory_exchange *x);
/* The client left: tells the owner, or ends the stream. */
void memory_exchange_gone(struct memory_exchange *x);
/* The last piece was taken: asks for the next one, waits or ends. */
void memory_stream_rest(struct memory_exchange *x);

void memory_answer(struct net_exchange *x, const struct net_answer_with *answer);
void memory_answer_stream(struct net_exchange *x, const char *content_type,
                          const struct net_stream *stream);
void memory_stream_wake(struct net_exchange *x);
void memory_relay(struct net_exchange *x, const struct net_relay *to);
void memory_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);
void memory_on_gone(struct net_exchange *x, net_gone_fn *fn);
bool memory_is_gone(struct net_exchange *x);
bool memory_peer_uid(const struct net_exchange *x, uint32_t *ret_uid);

/* ---- memory_client.c */

/* Ends the call; only the first end counts. */
void memory_call_over(struct memory_call *call, det_status failure);
/* Restarts the timeout: the call begins, or bytes arrived. */
void memory_call_rearm(struct memory_call *call);

det_status memory_client_new(struct net *net, const char *host, uint16_t port,
                             struct net_client **ret_client, struct err *err);
void memory_client_free(struct net_client *client);
det_status memory_client_secure(struct net_client *client,
                                const struct net_trust *trust, struct err *err);
void memory_client_cancel(struct net_client *client);
det_status memory_call(struct net_client *client, const struct net_call *what,
                       struct net_reply *reply, struct err *err);

/* ---- net_memory.c */

/* All names of this machine give one key; "any address" gives the port alone. */
void memory_key_format(char key[MEMORY_KEY_SIZE], const char *host, uint16_t port);
bool memory_is_own_host(const char *host);
/* A request has arrived at its server. */
void memory_request_arrives(struct work *task);

#endif
