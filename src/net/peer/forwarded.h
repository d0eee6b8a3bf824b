/* SPDX-License-Identifier: Apache-2.0 */
/* forwarded.h - the address of a client behind proxies.
 *
 * A proxy appends the address of its own client to X-Forwarded-For.  Everybody can send such
 * a header, so only what a trusted proxy appended counts: the list is read from its end, and
 * the first address that is not a trusted proxy is the client's. */
#ifndef NET_PEER_FORWARDED_H
#define NET_PEER_FORWARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

/* Addresses with the same first bits; IPv4 as ::ffff:a.b.c.d. */
struct net_range {
    uint8_t ip[16];
    uint8_t bits;
};

/* Reads "10.0.0.0/8", "::1" or "192.168.1.7"; false: it is not that. */
bool net_range_parse(const char *text, struct net_range *ret_range);
bool net_range_has(const struct net_range *range, const char *address);

/* The client of a connection from `peer`.  `forwarded`: the values of X-Forwarded-For in
 * their order, joined with commas; NULL: none. */
void forwarded_client(const struct net_ranges *trusted, const char *peer,
                      const char *forwarded, char ret_address[NET_ADDRESS_TEXT]);

/* What one customer of a provider usually has: the address itself for IPv4, the first 64
 * bits for IPv6. */
void forwarded_network(const char *address, char ret_network[NET_ADDRESS_TEXT]);

#endif
