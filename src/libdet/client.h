/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - what det.h's client is made of, for tests and for the command line. */
#ifndef LIBDET_CLIENT_H
#define LIBDET_CLIENT_H

#include "base/err.h"
#include "det/det.h"

struct io;
struct net;

/* Where a client lives.  Borrowed; outlives the client. */
struct client_world {
    struct io *io;
    struct net *net;
    /* Of a task's client, copied; NULL: what the environment says, where the master is
     * taken from it. */
    const char *master_file; /* says where the master has moved to */
    const char *cluster;     /* whose master is meant: no other is believed */
};

/* As det_client_open(), in a given world. */
det_status client_open(const struct client_world *world,
                       const det_client_options *options, det_client **ret_client,
                       struct err *err);

/* As det_call(), with a body of any bytes. */
det_status client_call_bytes(det_client *client, const char *method, const char *path,
                             const void *body, size_t len, det_reply **ret_reply);

/* What an HTTP status other than 2xx means; `grpc` is the code in the body, or 0. */
det_status client_status_of(int http, int grpc);

#endif
