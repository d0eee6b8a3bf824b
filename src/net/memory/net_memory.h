/* SPDX-License-Identifier: Apache-2.0 */
/* net_memory.h - the network's twin in memory: calls travel from client to server inside
 * the process, on the one-thread executor.  It can lose, repeat and delay calls; a seed
 * decides which. */
#ifndef NET_MEMORY_NET_MEMORY_H
#define NET_MEMORY_NET_MEMORY_H

#include <stdint.h>

#include "base/err.h"

struct executor;
struct net;
struct net_server;

/* Borrows the executor. */
det_status net_memory_new(struct executor *exec, uint64_t seed, struct net **ret_net,
                          struct err *err);

/* Of 1,000 calls, how many lose the request, lose the reply (the server did its work) or
 * are delivered twice. */
struct net_faults {
    uint32_t lose_request;
    uint32_t lose_reply;
    uint32_t repeat;
};
void net_memory_faults(struct net *net, const struct net_faults *faults);

/* The server's process ends.  Calls under way break.  Exchanges are freed though nobody
 * answered them, and neither their gone nor their done functions are called. */
void net_memory_crash(struct net_server *server);

#endif
