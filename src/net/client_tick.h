/* SPDX-License-Identifier: Apache-2.0 */
/* client_tick.h - how far a client's call is, while it lasts. */
#ifndef NET_CLIENT_TICK_H
#define NET_CLIENT_TICK_H

#include <stddef.h>

struct net_client;

/* On the thread that called: after each part of the body that was sent, and every
 * NET_TICK_MS while the call lasts.  It must not use this client. */
enum { NET_TICK_MS = 500 };
typedef void net_tick_fn(void *arg, size_t sent_bytes, size_t body_bytes);

/* For the calls that follow; `fn` NULL ends it.  The network in memory has no ticks. */
void net_client_tick(struct net_client *client, net_tick_fn *fn, void *arg);

#endif
