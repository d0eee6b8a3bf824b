/* SPDX-License-Identifier: Apache-2.0 */
/* request_impl.h - shared by request*.c and dispatch.c. */
#ifndef MASTER_REQUEST_REQUEST_IMPL_H
#define MASTER_REQUEST_REQUEST_IMPL_H

#include "master/request/request.h"

/* Ends the request; nobody may touch it afterwards. */
void request_free(struct request *req);
/* Calls a handler on this lane with a reader and room for an error, then hands the
 * request on. */
void request_run_handler(struct request *req, handler_fn *handler);
/* Of req->task, from the second handler on. */
void request_run_then(struct work *work);

/* Hands the exchange over (request_relay.c). */
void request_relay_begin(struct request *req);

/* Of struct net_stream; `arg` is the request. */
enum net_more request_stream_next(void *arg, struct buf *out);
void request_stream_done(void *arg);

#endif
