/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_activity.h - when the programs behind the proxy were last used.
 *
 * Their addresses are rows (store/task/proxy.h) and survive a restart of the master.  The
 * times of use are only in memory: after a restart, idle times begin at 0.
 *
 * Threading: from any thread. */
#ifndef MASTER_BACKGROUND_PROXY_ACTIVITY_H
#define MASTER_BACKGROUND_PROXY_ACTIVITY_H

#include <stdint.h>

#include "base/err.h"

struct proxy_activity;

det_status proxy_activity_new(struct proxy_activity **ret_activity, struct err *err);
void proxy_activity_free(struct proxy_activity *activity);

/* A request to the program of this allocation begins, and ends.  If memory is short, it is
 * not counted. */
void proxy_activity_begin(struct proxy_activity *activity, int64_t allocation_id,
                          int64_t now_us);
void proxy_activity_end(struct proxy_activity *activity, int64_t allocation_id,
                        int64_t now_us);
/* The time since the last request ended; 0 during a request and at the first call. */
int64_t proxy_activity_idle_us(struct proxy_activity *activity, int64_t allocation_id,
                               int64_t now_us);

#endif
