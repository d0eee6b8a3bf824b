/* SPDX-License-Identifier: Apache-2.0 */
/* net_system.h - the machine's network: HTTP/1.1 over TCP.  The server uses
 * libmicrohttpd (server_http.c), the client is our own (client_http.c). */
#ifndef NET_NET_SYSTEM_H
#define NET_NET_SYSTEM_H

#include "base/err.h"

struct executor;
struct net;

/* Borrows the executor. */
det_status net_system_new(struct executor *exec, struct net **ret_net, struct err *err);

#endif
