/* SPDX-License-Identifier: Apache-2.0 */
/* meters.h - what the master counts while it works; `GET /metrics` shows it.
 *
 * Every count is a relaxed addition.  A call costs two of them when it ends, and an error one
 * more.  What can be looked up when somebody asks (queues, rows, files) is not counted here:
 * see metric_rows.c.
 *
 * Threading: from any thread; no lock. */
#ifndef MASTER_WATCH_METERS_H
#define MASTER_WATCH_METERS_H

#include <stdint.h>

#include "base/histogram.h"
#include "det/status.h"
#include "wire/route.h"

enum meter {
    METER_REPORTS_RECEIVED,
    METER_REPORTS_STORED,
    METER_LINES_RECEIVED,
    METER_LINES_STORED,
    METER_SLOW_REQUESTS,
    METER_AGENTS_LOST,
    METERS,
};

#define METER_PLUS_ONE(...) +1
enum {
    METER_CLASSES = 4,              /* 2xx to 5xx */
    METER_ROUTES = ROUTE_COUNT + 1, /* the last: a path that no route has */
    METER_STATUSES = 0 DET_STATUS_MAP(METER_PLUS_ONE),
};
#undef METER_PLUS_ONE

struct meters {
    struct histogram request_us[METER_ROUTES][METER_CLASSES];
    _Atomic uint64_t errors[METER_STATUSES];
    _Atomic uint64_t count[METERS];
};

void meters_add(struct meters *meters, enum meter meter, uint64_t count);
/* A call was answered.  `route` may be NULL. */
void meters_request(struct meters *meters, const struct route *route, int http_status,
                    int64_t took_us);
void meters_error(struct meters *meters, det_status status);

#endif
