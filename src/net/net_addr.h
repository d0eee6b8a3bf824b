/* SPDX-License-Identifier: Apache-2.0 */
/* net_addr.h - the address and port of one end of a TCP connection. */
#ifndef NET_NET_ADDR_H
#define NET_NET_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

/* IPv4 is kept as ::ffff:a.b.c.d, so all addresses compare in one form. */
struct net_addr {
    uint8_t ip[16];
    uint16_t port;
};

/* Returns false for anything but IPv4 and IPv6. */
bool net_addr_from(const struct sockaddr *sa, struct net_addr *ret_addr);
bool net_addr_is_loopback(const struct net_addr *addr);
bool net_addr_is_equal(const struct net_addr *a, const struct net_addr *b);
/* Writes the address without its port; "" if it does not fit. */
void net_addr_format(const struct net_addr *addr, char *text, size_t size);

#endif
