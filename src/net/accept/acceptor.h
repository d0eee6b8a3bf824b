/* SPDX-License-Identifier: Apache-2.0 */
/* acceptor.h - the thread that accepts the connections of a server, as its seats allow. */
#ifndef NET_ACCEPT_ACCEPTOR_H
#define NET_ACCEPT_ACCEPTOR_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct acceptor;
struct seats;

/* Takes `fd`, an open connection that has a seat. */
typedef void acceptor_fn(void *arg, int fd, const struct sockaddr *from,
                         socklen_t size);

/* So many connections were closed or refused for want of room, one of `address` last. */
typedef void acceptor_turned_away_fn(void *arg, uint32_t count, const char *address);

struct acceptor_config {
    int fd; /* listens; taken when acceptor_new() succeeds */
    struct seats *seats;
    const char *refusal; /* sent to those that find no room; borrowed; NULL: nothing */
    acceptor_fn *accepted;
    acceptor_turned_away_fn *turned_away; /* once a minute at most; NULL: none */
    void *arg;
};

det_status acceptor_new(const struct acceptor_config *config,
                        struct acceptor **ret_acceptor, struct err *err);
/* No connection is accepted after this. */
void acceptor_free(struct acceptor *acceptor);

#endif
