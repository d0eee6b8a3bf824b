/* SPDX-License-Identifier: Apache-2.0 */
/* net_memory.h - the parts of the network in memory, shared by net_memory.c (the
 * network and its servers), memory_exchange.c and memory_client.c. */
#ifndef NET_NET_MEMORY_H
#define NET_NET_MEMORY_H

#include "base/map.h"
#include "base/rng.h"
#include "base/task.h"
#include "net/net_impl.h"

enum { MEMORY_KEY_SIZE = 272 };

/*   TRAVELS --> OPEN --> REPLIES --> (freed)
 *                 |
 *                 +--> WANTED --> PIECE (on the wire) --> TAKEN (with the client)
 *                       |  ^ ^                              |   |
 *                       v  | +------------------------------+   |
 *                     WAITING <---------------------------------+
 *
 * and from any of the lower four, when the stream or its client ends: ENDS --> (freed)
 */
enum memory_phase { TRAVELS, OPEN, REPLIES, WANTED, PIECE, TAKEN, WAITING, ENDS };

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
    bool is_quiet; /* while it is freed: no stream is left */
    char mark[NET_MARK_TEXT];
    char key[MEMORY_KEY_SIZE];
};

struct memory_client {
    struct net_client base;
    struct memory_net *net;
    struct memory_call *call; /* under way */
    bool is_cancelled;
    uint16_t port;
    char host[];
};

struct memory_call {
    struct memory_client *client;
    struct memory_exchange *x; /* NULL: lost, or over */
    struct task timer;
    int64_t timeout_us;
    struct buf bytes; /* arrived, not yet taken */
    struct buf head;  /* the reply's header lines */
    int status;
    char mark[NET_MARK_TEXT];
    det_status failure;
    bool is_ready; /* something to take */
    bool is_over;  /* nothing more comes */
};

struct memory_exchange {
    struct net_exchange base;
    struct memory_net *net;
    struct memory_server *server; /* NULL: not found yet, or freed */
    struct memory_call *call;     /* NULL: nobody waits for the reply */
    struct memory_exchange *next; /* the net's list */
    struct memory_exchange *prev;
    struct task task;
    struct task gone_task;
    net_gone_fn *gone_fn;
    enum memory_phase phase;
    int status;
    char mark[NET_MARK_TEXT]; /* the server's, which may be gone */
    struct buf out;           /* the reply, or a piece */
    struct buf head;          /* its header lines; empty once they have arrived */
    struct net_stream stream;
    bool loses_reply;
    bool is_gone; /* the client left */
    bool is_woken;
    bool is_last;
    bool may_wait;
    char key[MEMORY_KEY_SIZE]; /* whom it is for */
    char uri[];
};

/* ---- memory_exchange.c */

/* Copies the call; NULL when out of memory. */
struct memory_exchange *memory_exchange_new(const struct memory_client *client,
                                            const struct net_call *call);
/* Sets the exchange on its way; `arrive` runs on the wire. */
void memory_send(struct memory_exchange *x, task_fn *arrive);
void memory_exchange_free(struct memory_exchange *x);
/* Takes its task back, wherever it is posted. */
void memory_exchange_unpost(struct memory_exchange *x);
/* The client left: the owner hears of it, or the stream ends. */
void memory_exchange_gone(struct memory_exchange *x);
/* The last piece was taken: who works next? */
void memory_stream_rest(struct memory_exchange *x);

void memory_answer(struct net_exchange *x, const struct net_answer_with *answer);
void memory_answer_stream(struct net_exchange *x, const char *content_type,
                          const struct net_stream *stream);
void memory_stream_wake(struct net_exchange *x);
void memory_relay(struct net_exchange *x, const struct net_relay *to);
void memory_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT]);
void memory_on_gone(struct net_exchange *x, net_gone_fn *fn);
bool memory_peer_uid(const struct net_exchange *x, uint32_t *ret_uid);

/* ---- memory_client.c */

/* Nothing more comes for the call; the first end counts. */
void memory_call_over(struct memory_call *call, det_status failure);
/* The call begins, or bytes came: the time begins anew. */
void memory_call_rearm(struct memory_call *call);

det_status memory_client_new(struct net *net, const char *host, uint16_t port,
                             struct net_client **ret_client, struct err *err);
void memory_client_free(struct net_client *client);
void memory_client_cancel(struct net_client *client);
det_status memory_call(struct net_client *client, const struct net_call *what,
                       struct net_reply *reply, struct err *err);

/* ---- net_memory.c */

/* The machine itself is one host, whatever its name; "any" is the port alone. */
void memory_key_format(char key[MEMORY_KEY_SIZE], const char *host, uint16_t port);
bool memory_is_own_host(const char *host);
/* The end of a request's way. */
void memory_request_arrives(struct task *task);

#endif
