/* SPDX-License-Identifier: Apache-2.0 */
/* peer_owner.h - which local user owns the other end of a connection. */
#ifndef NET_PEER_PEER_OWNER_H
#define NET_PEER_PEER_OWNER_H

#include <stdbool.h>
#include <stdint.h>

struct net_addr;

/* Finds the user whose socket has `theirs` as its own end and `ours` as its far end.
 * Returns false if the socket is not on this machine or no process holds it any more. */
bool peer_owner_find_uid(const struct net_addr *theirs, const struct net_addr *ours,
                         uint32_t *ret_uid);

/* Reads one row of the kernel's table; returns true if it is that socket. */
bool peer_owner_row_matches(const char *row, const struct net_addr *theirs,
                            const struct net_addr *ours, uint32_t *ret_uid);

#endif
