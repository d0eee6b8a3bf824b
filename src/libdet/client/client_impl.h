/* SPDX-License-Identifier: Apache-2.0 */
/* client_impl.h - what client.c and session.c share. */
#ifndef LIBDET_CLIENT_CLIENT_IMPL_H
#define LIBDET_CLIENT_CLIENT_IMPL_H

#include <stdbool.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/url.h"
#include "libdet/client/client.h"
#include "libdet/client/trust.h"
#include "net/net.h"

struct det_client {
    struct client_world world;
    bool owns_net;
    struct arena strings; /* holds the strings below */
    struct url url;
    const char *address;   /* "http://host:port" */
    const char *cert_file; /* of the options or the environment; NULL: none */
    const char *cert_name;
    enum trust_by trust_by;
    const char *given;       /* the address as given */
    const char *master_file; /* says where the master is now; NULL: it does not move */
    const char *cluster;     /* NULL: any cluster is trusted */
    struct lock lock;        /* guards the next two */
    struct net_client *net_client;
    bool is_cancelled;
    int identity;
    const char *user;
    const char *password;
    const char *token; /* given, and used as it is */
    const char *auth_path;
    const char *header; /* "Authorization: Bearer ..."; NULL: not decided yet */
    bool is_from_file;  /* the token comes from the session file and may have expired */
    long timeout_ms;
    client_tick_fn *on_tick; /* NULL: nobody watches */
    void *tick_arg;
    struct err err;
};

/* One exchange with the current identity; anything but 2xx is a failure with the
 * master's message in client->err.  `reply->body` must be set. */
det_status client_exchange(det_client *client, struct net_call *call,
                           struct net_reply *reply);

/* Called from any thread: the current call and all later ones end with DET_TIMEOUT. */
void client_cancel(det_client *client);

/* Decides as whom to call, unless that is decided. */
det_status session_begin(det_client *client);
/* Logs in again because the token from the session file has expired. */
det_status session_renew(det_client *client);

#endif
