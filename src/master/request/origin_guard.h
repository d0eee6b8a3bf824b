/* SPDX-License-Identifier: Apache-2.0 */
/* origin_guard.h - refuses calls that web pages of other sites make. */
#ifndef MASTER_REQUEST_ORIGIN_GUARD_H
#define MASTER_REQUEST_ORIGIN_GUARD_H

#include <stdbool.h>

#include "base/err.h"

struct master;
struct net_exchange;

/* DET_FORBIDDEN if `Host` is not a name of this machine (a web page had its own name
 * resolve to us), or if `Origin` is another host (any other web page). */
det_status origin_guard_check(const struct master *master, const struct net_exchange *x,
                              struct err *err);

/* Whether listening on `host` means this machine only. */
bool origin_guard_is_loopback(const char *host);

#endif
