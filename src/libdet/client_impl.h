/* SPDX-License-Identifier: Apache-2.0 */
/* client_impl.h - a client from inside: client.c calls, session.c says as whom. */
#ifndef LIBDET_CLIENT_IMPL_H
#define LIBDET_CLIENT_IMPL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/task.h"
#include "data/text.h"
#include "libdet/client.h"
#include "net/net.h"

struct det_client {
    struct client_world world;
    bool owns_net;
    struct arena strings; /* all that follows lives here */
    struct url url;
    const char *address;     /* "http://host:port" */
    const char *given;       /* the address as it was named */
    const char *master_file; /* says where that is by now; NULL: it does not move */
    const char *cluster;     /* NULL: whoever answers is believed */
    struct lock lock;        /* guards the two that follow */
    struct net_client *net_client;
    bool is_cancelled;
    int identity;
    const char *user;
    const char *password;
    const char *token; /* given, and used as it is */
    const char *auth_path;
    const char *header; /* "Authorization: Bearer ..."; NULL: nobody yet */
    bool is_from_file;  /* the token in it was remembered, and may be over */
    long timeout_ms;
    struct err err;
};

/* One exchange as whoever the client is now; other than 2xx is a failure with the
 * master's sentence in client->err.  `reply->body` must be there. */
det_status client_exchange(det_client *client, struct net_call *call,
                           struct net_reply *reply);

/* From any thread: the call under way, and all later ones, end with DET_TIMEOUT. */
void client_cancel(det_client *client);

/* Settles who calls, unless that is settled. */
det_status session_begin(det_client *client);
/* The token out of the file is over: logs in again. */
det_status session_renew(det_client *client);

#endif
