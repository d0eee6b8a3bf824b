/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the client of det/client.h, for tests and for the command line. */
#ifndef LIBDET_CLIENT_CLIENT_H
#define LIBDET_CLIENT_CLIENT_H

#include <stddef.h>

#include "base/err.h"
#include "det/det.h"

struct io;
struct net;

/* The surroundings of a client.  Borrowed; outlives the client. */
struct client_world {
    struct io *io;
    struct net *net;
    /* For a task's client; copied.  NULL: from the environment, if the address of the
     * master comes from there. */
    const char *master_file; /* says where the master has moved to */
    const char *cluster;     /* the cluster of the master: no other is trusted */
};

/* As det_client_open(), in a given world. */
det_status client_open(const struct client_world *world,
                       const det_client_options *options, det_client **ret_client,
                       struct err *err);

/* Of the calls that follow: see net_client_tick().  `on_tick` NULL ends it. */
typedef void client_tick_fn(void *arg, size_t sent_bytes, size_t body_bytes);
void client_watch(det_client *client, client_tick_fn *on_tick, void *arg);

/* As det_call(), with a body of any bytes. */
det_status client_call_bytes(det_client *client, const char *method, const char *path,
                             const void *body, size_t len, det_reply **ret_reply);

/* GET of a reply of any size: `on_data` gets its bytes as they arrive, and may end the call
 * with a status. */
typedef det_status client_data_fn(void *arg, const char *bytes, size_t len,
                                  struct err *err);
det_status client_read_bytes(det_client *client, const char *path,
                             client_data_fn *on_data, void *arg);

/* Uses a session that was opened elsewhere and remembers it as `user`'s latest, as
 * det_login() does. */
det_status client_adopt_session(det_client *client, const char *user,
                                const char *token);

/* Converts an HTTP status other than 2xx; `grpc` is the code in the body, or 0. */
det_status client_status_of(int http, int grpc);

#endif
