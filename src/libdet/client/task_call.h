/* SPDX-License-Identifier: Apache-2.0 */
/* task_call.h - calls to the master that a task makes as itself. */
#ifndef LIBDET_CLIENT_TASK_CALL_H
#define LIBDET_CLIENT_TASK_CALL_H

#include "base/err.h"
#include "det/client.h"
#include "det/trial.h"

struct arena;
struct json;
struct net;

/* A client of the task's master with the task's token.  Borrows `net`. */
det_status task_call_client(const det_context *context, struct net *net,
                            long timeout_ms, det_client **ret_client, struct err *err);
/* One call and its answer as JSON, in `mem`.  `body` may be NULL. */
det_status task_call(det_context *context, const char *method, const char *path,
                     const char *body, struct arena *mem, struct json **ret_tree,
                     struct err *err);

#endif
