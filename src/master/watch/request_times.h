/* SPDX-License-Identifier: Apache-2.0 */
/* request_times.h - where the time of a request goes, and what the log says about it.
 *
 * A request is always in one phase.  A change of phase reads the clock once and adds the time
 * since the last change to the old phase.  The time until the answer, without the time that
 * the caller asked us to wait, is the request's latency. */
#ifndef MASTER_WATCH_REQUEST_TIMES_H
#define MASTER_WATCH_REQUEST_TIMES_H

#include "base/log.h"
#include "master/request/request.h"

/* Before the request is handed on: whoever has it then may free it. */
void request_enter_phase(struct request *req, enum request_phase phase);
/* Its answer begins: the meters get its latency, and the log a line if it was slow.  A second
 * call does nothing. */
void request_measure(struct request *req, int http_status);
void request_note_error(struct request *req, det_status status, const char *text);

/* In every line that this thread logs, until the block ends. */
#define REQUEST_SCOPES(req_)                                                           \
    LOG_SCOPE_AT(req, "req", (req_)->master->short_id, (int64_t)(req_)->number);       \
    LOG_SCOPE_AT(route, "route", (req_)->route ? (req_)->route->name : "unknown", -1); \
    LOG_SCOPE_AT(object, request_scope_object(req_), (req_)->arg[0], -1)
/* What the path names, "trial"; NULL: nothing. */
const char *request_scope_object(const struct request *req);

#endif
