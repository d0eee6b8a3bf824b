/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - from an HTTP exchange to its handler.
 *
 * In this order: the guard checks Host and Origin, the route is found, the caller is
 * authenticated, query and body are decoded by the route's tables, and the handler runs.
 * The first step that fails is the answer. */
#ifndef MASTER_REQUEST_DISPATCH_H
#define MASTER_REQUEST_DISPATCH_H

#include "net/net.h"

/* Both are called by the network; `master` is a struct master. */

/* How large the body that follows these headers may be.  A caller without a token of this
 * master cannot make it hold more than a few kilobytes. */
struct net_limit dispatch_body_limit(void *master, const struct net_exchange *x);
void dispatch_request(void *master, struct net_exchange *x);

#endif
