/* SPDX-License-Identifier: Apache-2.0 */
/* request_stream.h - replies in pieces.
 *
 * A handler ends with request_stream(); from then on its function makes one piece at a
 * time, until it says NET_END, fails, or the client leaves. */
#ifndef MASTER_REQUEST_REQUEST_STREAM_H
#define MASTER_REQUEST_REQUEST_STREAM_H

#include "master/request/request.h"

/* The next pieces run on the worker lane with a reader. */
det_status request_stream(struct request *req, request_next_fn *next);
/* The same on another lane, for bytes that are not records: without a reader.  An error
 * closes the connection, so a client does not take a part for the whole. */
det_status request_stream_on(struct request *req, struct lane *lane,
                             request_next_fn *next);
/* Inside a request_next_fn: call it again once `key` was woken since `mark`. */
enum net_more request_stream_wait(struct request *req, const char *key, uint64_t mark);

#endif
