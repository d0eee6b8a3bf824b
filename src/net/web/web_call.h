/* SPDX-License-Identifier: Apache-2.0 */
/* web_call.h - calls to servers of other people, over TLS with the certificates that this
 * machine trusts.
 *
 * libcurl makes them, opened when the first caller needs it.  Our own client (net.h) stays
 * for calls to a master: it is small, and it trusts a pinned certificate instead.
 *
 * A call blocks until the reply is complete or its time is over: call it on a lane where
 * waiting is allowed.  Redirects are not followed. */
#ifndef NET_WEB_WEB_CALL_H
#define NET_WEB_WEB_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;
struct web;

/* DET_UNSUPPORTED, naming the package, if libcurl is not installed.  Call it once per
 * process, before other threads use the library. */
det_status web_new(struct web **ret_web, struct err *err);
void web_free(struct web *web);

struct web_request {
    const char *url;
    bool allows_http;           /* else https only */
    const char *const *headers; /* "Name: value", ends with NULL; may be NULL */
    const char *form;           /* POST of a form; NULL: GET */
    const char *user;           /* Basic authentication; NULL: none */
    const char *password;
    const char *ca_file; /* trusted instead of the machine's; NULL: the machine's */
    int64_t timeout_ms;  /* for the whole call */
    const _Atomic bool *is_stopping; /* true: the call ends soon; may be NULL */
};

/* DET_OK if the server answered, with any HTTP status.  `body` is emptied first; its limit
 * is the largest reply accepted.  DET_UNREACHABLE, DET_TIMEOUT, or DET_TOO_LARGE. */
det_status web_call(const struct web *web, const struct web_request *request,
                    int *ret_status, struct buf *body, struct err *err);

#endif
