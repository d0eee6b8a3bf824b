/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the handlers, one a route, bound to the rows of wire/route_list.h: a row
 * without its function does not link. */
#ifndef MASTER_API_API_H
#define MASTER_API_API_H

#include "master/request.h"

#define ROUTE(id, ...) handler_fn api_##id;
#include "wire/route_list.h"
#undef ROUTE

struct create_experiment_body;
/* create.c: what somebody else runs; `external_id` may be NULL.  `then` replies. */
det_status api_create_unmanaged(struct request *req,
                                const struct create_experiment_body *body,
                                const char *external_id, handler_fn *then);
/* create.c: the experiment and its configuration. */
det_status api_reply_experiment(struct request *req, int64_t id, bool exceeds_slots);

/* After an event that made an experiment, or brought one back: shows it. */
handler_fn api_reply_created;

extern handler_fn *const api_handlers[ROUTE_COUNT];

#endif
