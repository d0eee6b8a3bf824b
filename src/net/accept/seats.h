/* SPDX-License-Identifier: Apache-2.0 */
/* seats.h - who holds the connections of a server, and which one is closed for another.
 *
 * Every connection has a seat.  Anybody can open connections, so what counts is how far
 * each one has come:
 *
 *   seats_take() --> HEAD --head--> BODY --complete--> BUSY --reply made--> SENDING
 *                     ^                                                      |
 *                     +--- the next request line ---- IDLE <------ sent -----+
 *
 * HEAD      the head of its request is not complete; it has a deadline.
 * BODY      the body of its request is under way, and must come with a least rate.
 * BUSY      a handler, a wait or a stream has it: never closed here.
 * SENDING   a reply of known length is on its way; the same least rate.
 * IDLE      kept open by its client; the next request line has a deadline, too.
 *
 * Rules:
 *
 *   1. One address (of IPv6: the first 64 bits) holds at most its share.  Trusted proxies
 *      speak for many and are not bound by it.
 *   2. Where there is no room, the connection that loses least is closed.  First heads
 *      that are late (a tenth of their time is over), then IDLE ones, whose clients only
 *      connect again, then other heads, then SENDING ones, and a BODY last; of equals
 *      the one that has rested longest.  An early head is not first, because then two clients
 *      that connect at the same time would close each other.  An address that has used up
 *      its share loses one of its own; so it keeps nobody else out, and not even itself.
 *   3. Only if all that could be closed are BUSY, the new one is refused.
 *
 * Closing means shutdown(): the owner of the socket notices, and calls seat_leave() before
 * it closes the descriptor.  Until then the seat does not count any more, but seats_wait()
 * delays accept() while many closed connections remain.
 *
 * Threading: from any thread; one lock, under which nothing else is called. */
#ifndef NET_ACCEPT_SEATS_H
#define NET_ACCEPT_SEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/net_addr.h"
#include "net/peer/forwarded.h"

struct seat;
struct seats;

struct seats_config {
    const struct clock *clock; /* borrowed */
    uint32_t most;             /* connections in all */
    uint32_t most_of_one;      /* of one address */
    int64_t head_us;           /* for a head; most of what bytes buy */
    int64_t idle_us;           /* for the next request line of a kept one */
    uint32_t least_rate;       /* bytes a second of bodies and replies */
    struct net_ranges trusted; /* borrowed */
};

/* At most this many closed ones are on their way out. */
enum { SEATS_LEAVING = 256 };

det_status seats_new(const struct seats_config *config, struct seats **ret_seats,
                     struct err *err);
/* Only after every connection has left. */
void seats_free(struct seats *seats);

/* A connection came.  False: there is no room, or no memory. */
bool seats_take(struct seats *seats, int fd, const struct net_addr *from);
/* Closes one that rests, for a descriptor.  False: none rests. */
bool seats_shed(struct seats *seats);
/* Before a connection is accepted: waits (50 ms at most) until few are unknown to their
 * server, and fewer than `most` closed ones are on their way out. */
void seats_wait(struct seats *seats, uint32_t most);
/* Closes those that are overdue.  Returns how many were closed or refused since the last
 * call, and by which address most recently. */
uint32_t seats_sweep(struct seats *seats, char ret_address[NET_ADDRESS_TEXT]);

/* The seat of a connection that was just opened; NULL: it has none. */
struct seat *seats_find(struct seats *seats, int fd);
/* Moves of a seat; NULL is ignored. */
void seat_head_began(struct seats *seats, struct seat *seat);
void seat_got_head(struct seats *seats, struct seat *seat);
void seat_got_body(struct seats *seats, struct seat *seat, size_t len);
void seat_busy(struct seats *seats, struct seat *seat);
void seat_sending(struct seats *seats, struct seat *seat, uint64_t len);
void seat_idle(struct seats *seats, struct seat *seat);
/* The descriptor is about to be closed.  Frees `seat`. */
void seat_leave(struct seats *seats, struct seat *seat);

/* For tests: how many count. */
uint32_t seats_count(struct seats *seats);

#endif
