/* SPDX-License-Identifier: Apache-2.0 */
/* client_http.h - the real network's client, behind net_client_*() and net_call(). */
#ifndef NET_CLIENT_HTTP_H
#define NET_CLIENT_HTTP_H

#include <stdint.h>

#include "base/err.h"

struct net;
struct net_call;
struct net_client;
struct net_reply;
struct net_trust;

det_status client_http_new(struct net *net, const char *host, uint16_t port,
                           struct net_client **ret_client, struct err *err);
det_status client_http_secure(struct net_client *client, const struct net_trust *trust,
                              struct err *err);
void client_http_free(struct net_client *client);
void client_http_cancel(struct net_client *client);
det_status client_http_call(struct net_client *client, const struct net_call *call,
                            struct net_reply *reply, struct err *err);

#endif
