/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - a conversation between a client of ours and a program behind us.
 *
 *   client --up--> relay --> upstream
 *   client <--down-- relay <-- upstream
 *
 * Two rings of RELAY_BYTES each are all that a relay holds: whoever is slow makes the
 * other side wait, and no body is ever in memory as a whole.  One thread with an epoll
 * set moves the bytes of all relays; nobody else touches their sockets.
 *
 * It begins as HTTP: the opening (a request's head) is sent, then what the client puts
 * into `up`; the reply is parsed, its body put into `down`.  When the reply is a 101
 * that was asked for, the owner brings the client's socket (relay_switch()), and the
 * relay only carries bytes from then on: a *tunnel*.
 *
 * Threads: every function may be called from any thread.  The owner's functions run on
 * the relays' thread, without a lock unless it says so.  Who calls must know that the
 * relay is there: after `over`, the last call of all, the thread has forgotten it. */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/reply.h"

struct relay;
struct relays;

enum { RELAY_BYTES = 65536 };

struct ring {
    char *bytes;
    size_t at;
    size_t len;
};

struct relay_end {
    struct relay *relay;
    int fd;
    uint32_t events; /* that the epoll set has for it; 0: it is not in the set */
};

struct relay_owner {
    /* The reply's head is there: `reply` and `head`. */
    void (*head)(struct relay *relay);
    /* With the relay's lock held: bytes of the body have come, or their end. */
    void (*down)(struct relay *relay);
    /* There is room in `up` again after relay_put() had found none. */
    void (*room)(struct relay *relay);
    /* Nothing more will happen. */
    void (*over)(struct relay *relay);
};

/* Embedded in the owner's own. */
struct relay {
    const struct relay_owner *owner;
    struct relays *home;
    struct relay *next; /* the thread's list */
    struct relay *prev;
    _Atomic bool is_kicked;
    _Atomic bool is_abandoned; /* the client has left */
    _Atomic int64_t deadline_us;

    pthread_mutex_t lock; /* guards what follows */
    struct relay_end upstream;
    struct relay_end client; /* of a tunnel */
    struct buf opening;
    size_t opened; /* bytes of it that were sent */
    struct ring up;
    struct ring down;
    struct reply reply;
    struct buf head; /* "Name: value\n" for each header of the reply */
    struct err err;  /* why it failed */
    bool is_connected;
    bool is_chunked; /* the body goes up in chunks */
    bool is_up_ended;
    bool is_down_ended;
    bool is_up_shut;   /* the upstream was told */
    bool is_down_shut; /* the client was told */
    bool wants_room;
    bool has_news; /* that `down` was not called for yet */
    bool has_head; /* its owner was told */
    bool is_tunnel;
    bool is_failed;
    bool is_over;
};

/* `most` at once.  The thread is started with the first of them.  relays_stop() ends
 * what is open; then relays_free(), when nobody refers to a relay any more. */
det_status relays_new(uint32_t most, struct relays **ret_relays, struct err *err);
void relays_stop(struct relays *relays);
void relays_free(struct relays *relays);

/* Prepares `relay` (zeroed); relay_done() frees what it has.  Whoever made it writes
 * the opening, and says what is known of the reply (a HEAD was asked, a 101 may come).
 * DET_BUSY: there are too many. */
det_status relay_init(struct relay *relay, struct relays *relays,
                      const struct relay_owner *owner, struct err *err);
void relay_done(struct relay *relay);

/* Begins: connects to an address (names are not looked up) and sends the opening.  Any
 * failure after DET_OK is told by `over`; otherwise the thread knows nothing of it. */
det_status relay_start(struct relay *relay, const char *address, uint16_t port,
                       struct err *err);

/* As many bytes of the request's body as there is room for now; the rest is asked for
 * by `room`.  A relay that is over takes all, and forgets them. */
size_t relay_put(struct relay *relay, const char *bytes, size_t len);
bool relay_has_room(struct relay *relay);
/* The body is complete. */
void relay_put_end(struct relay *relay);

/* What is there of the reply's body goes to `out`.  True: more will come.  A failed
 * `out`: the reply broke off. */
bool relay_take(struct relay *relay, struct buf *out);

/* The client's socket, borrowed until `over`, and the first bytes that came from it.
 * False: it is over already. */
bool relay_switch(struct relay *relay, int client_fd, const char *bytes, size_t len);

/* The client has left: `over` follows. */
void relay_abandon(struct relay *relay);

#endif
