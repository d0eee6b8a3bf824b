/* SPDX-License-Identifier: Apache-2.0 */
/* origin_guard.h - refuses calls that web pages of other sites make. */
#ifndef MASTER_REQUEST_ORIGIN_GUARD_H
#define MASTER_REQUEST_ORIGIN_GUARD_H

#include <stdbool.h>

#include "base/err.h"

struct master;
struct net_exchange;

/* DET_FORBIDDEN if `Host` is not a name of this machine (a web page had its own name
 * resolve to us), or if `Origin` is another host (any other web page) and enable_cors does
 * not allow that. */
det_status origin_guard_check(const struct master *master, const struct net_exchange *x,
                              struct err *err);

/* Whether a page of another site makes this call. */
bool origin_guard_is_foreign(const struct net_exchange *x);

/* The same, also for calls without `Origin` (images, frames): the browser sends our cookie
 * with them too, and names their site in Sec-Fetch-Site.  A navigation does not count: only
 * the person sees its answer. */
bool origin_guard_is_cross_site(const struct net_exchange *x);

/* Answers the question of a browser whether a page of another site may make a call; true:
 * it was such a question, and enable_cors is set. */
bool origin_guard_answer_preflight(const struct master *master, struct net_exchange *x);

/* Whether listening on `host` means this machine only. */
bool origin_guard_is_loopback(const char *host);

#endif
