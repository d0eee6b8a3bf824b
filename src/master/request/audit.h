/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - notes calls in the audit log, before they are answered.
 *
 * One row for each call of a user that changed something, for each login, and for each call
 * that was refused (403).  Reports of tasks and agents are no rows.  A row says who, when,
 * from where, which call, which object, and the result; of the body only the names of known
 * fields and the values of ids, so no secret can be in it. */
#ifndef MASTER_REQUEST_AUDIT_H
#define MASTER_REQUEST_AUDIT_H

#include "base/err.h"

struct audit;
struct request;

/* The row of a call that is about to be answered with this HTTP status, in req->mem; NULL:
 * the call leaves none. */
const struct audit *audit_row(struct request *req, int http);

/* What a row says of the body, in req->mem; NULL: no memory.  audit_row() asks for it, unless
 * request_drop_body() has noted it before. */
const char *audit_detail(struct request *req);

#endif
