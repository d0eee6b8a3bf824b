/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - carries one request to a program behind us (the upstream), and its reply back.
 *
 *   client --up--> relay --> upstream
 *   client <--down-- relay <-- upstream
 *
 * A relay holds two rings of RELAY_BYTES each and no more: a slow side makes the other
 * side wait, and no body is ever in memory as a whole.  One thread with an epoll set moves
 * the bytes of all relays; no other thread touches their sockets.
 *
 * A relay begins as HTTP.  It sends the opening (the head of the request), then the bytes
 * that the client puts into `up`.  It parses the reply and puts its body into `down`.  If
 * the reply is a 101 that we asked for, the owner hands over the client's socket
 * (relay_switch()).  From then on the relay is a *tunnel*, which only carries bytes.
 *
 * Threads: every function may be called from any thread.  The owner's functions run on
 * the relays' thread, without a lock unless stated otherwise.  The caller must know that
 * the relay still exists: `over` is the last call, after which the thread has forgotten
 * it. */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"
#include "net/reply.h"

struct relay;
struct tls_tunnel;
struct relays;

enum { RELAY_BYTES = 65536 };

struct relay_ring {
    char *bytes;
    size_t at;
    size_t len;
};

struct relay_end {
    struct relay *relay;
    int fd;
    struct tls_tunnel *tls; /* through which its bytes go; NULL: plain */
    uint32_t events;        /* its events in the epoll set; 0: it is not in the set */
};

struct relay_owner {
    /* The head of the reply is complete: see `reply` and `head`. */
    void (*head)(struct relay *relay);
    /* Bytes of the body have arrived, or its end.  Called with the relay's lock held. */
    void (*down)(struct relay *relay);
    /* There is room in `up` again, after relay_put() found too little. */
    void (*room)(struct relay *relay);
    /* Nothing more will happen. */
    void (*over)(struct relay *relay);
};

/* Embedded in the owner's struct. */
struct relay {
    const struct relay_owner *owner;
    struct relays *home;
    struct relay *next; /* in the list of the relays' thread */
    struct relay *prev;
    _Atomic bool is_kicked;
    _Atomic bool is_abandoned; /* the client has left */
    _Atomic int64_t deadline_us;

    pthread_mutex_t lock; /* guards what follows */
    struct relay_end upstream;
    struct relay_end client; /* of a tunnel */
    struct buf opening;
    size_t opened; /* how much of it was sent */
    struct relay_ring up;
    struct relay_ring down;
    struct reply reply;
    struct buf head; /* "Name: value\n" for each header of the reply */
    struct err err;  /* why it failed */
    bool is_connected;
    bool is_chunked; /* the body goes up in chunks */
    bool is_up_ended;
    bool is_down_ended;
    bool is_up_shut;   /* the upstream was told of the end */
    bool is_down_shut; /* the client was told of the end */
    bool wants_room;   /* call `room` when there is some */
    bool has_news;     /* bytes in `down` of which the owner was not told yet */
    bool has_head;     /* the owner was told of the head */
    bool is_tunnel;
    bool is_failed;
    bool is_over;
};

/* At most `most` relays at once.  The first one starts the thread.  relays_stop() ends
 * the open relays.  Call relays_free() when nobody refers to a relay any more. */
det_status relays_new(uint32_t most, struct relays **ret_relays, struct err *err);
void relays_stop(struct relays *relays);
void relays_free(struct relays *relays);

/* Prepares a zeroed `relay`; relay_done() frees its memory.  Then the owner writes the
 * opening and sets what is known of the reply (the request is a HEAD, a 101 may come).
 * DET_BUSY: there are too many relays. */
det_status relay_init(struct relay *relay, struct relays *relays,
                      const struct relay_owner *owner, struct err *err);
void relay_done(struct relay *relay);

/* Connects to a numeric address and sends the opening.  After DET_OK the thread owns the
 * relay and reports its end, failures included, by `over`; otherwise it never saw it. */
det_status relay_start(struct relay *relay, const char *address, uint16_t port,
                       struct err *err);

/* Takes as many bytes of the request's body as fit now and returns their number; `room`
 * is called when there is room for the rest.  A relay that is over discards all bytes. */
size_t relay_put(struct relay *relay, const char *bytes, size_t len);
bool relay_has_room(struct relay *relay);
/* The body is complete. */
void relay_put_end(struct relay *relay);

/* Appends the bytes of the reply's body that have arrived to `out`.  Returns true if more
 * will come.  Sets `out->status` if the reply broke off. */
bool relay_take(struct relay *relay, struct buf *out);

/* Hands over the client's socket, borrowed until `over`, and the first bytes that came
 * from it.  Returns false if the relay is over already. */
bool relay_switch(struct relay *relay, int client_fd, const char *bytes, size_t len);
/* The same over TLS.  `greeting` is sent to the client first. */
bool relay_switch_tls(struct relay *relay, int client_fd, struct tls_tunnel *tls,
                      const struct buf *greeting);

/* The client has left: `over` follows. */
void relay_abandon(struct relay *relay);

#endif
