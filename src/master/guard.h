/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - which calls are answered at all, whoever makes them. */
#ifndef MASTER_GUARD_H
#define MASTER_GUARD_H

#include <stdbool.h>

#include "base/err.h"

struct master;
struct net_exchange;

/* DET_FORBIDDEN for a `Host` that is no name of this machine (a web page that had its
 * name resolve to us) and for an `Origin` other than that host (a web page anywhere).
 */
det_status guard_check(const struct master *master, const struct net_exchange *x,
                       struct err *err);

/* Whether listening on `host` means this machine only. */
bool guard_is_loopback(const char *host);

#endif
