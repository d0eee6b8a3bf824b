/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_create.h - parts of creating an experiment that other handlers use. */
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_CREATE_H
#define MASTER_API_EXPERIMENTS_EXPERIMENT_CREATE_H

#include <stdbool.h>
#include <stdint.h>

#include "master/request/request.h"

struct create_experiment_body;

/* Creates an unmanaged experiment; `external_id` may be NULL.  `then` replies. */
det_status experiment_create_unmanaged(struct request *req,
                                       const struct create_experiment_body *body,
                                       const char *external_id, handler_fn *then);

/* Replies with the experiment and its configuration. */
det_status experiment_create_reply(struct request *req, int64_t id, bool exceeds_slots);

/* The same after an event that created or continued an experiment. */
handler_fn experiment_create_reply_created;

#endif
