/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - addresses of the two ends of a connection, and whose process holds the
 * other. */
#ifndef NET_PEER_H
#define NET_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

/* IPv4 as ::ffff:a.b.c.d, so that one form compares. */
struct net_addr {
    uint8_t ip[16];
    uint16_t port;
};

/* False for anything but IPv4 and IPv6. */
bool net_addr_from(const struct sockaddr *sa, struct net_addr *ret_addr);
bool net_addr_is_loopback(const struct net_addr *addr);

/* The user whose socket has `theirs` as its own end and `ours` as its far end.  False
 * when it is not on this machine, or nobody holds it any more. */
bool peer_find_uid(const struct net_addr *theirs, const struct net_addr *ours,
                   uint32_t *ret_uid);

/* One row of the kernel's table: true when it is that socket. */
bool peer_row_matches(const char *row, const struct net_addr *theirs,
                      const struct net_addr *ours, uint32_t *ret_uid);

#endif
