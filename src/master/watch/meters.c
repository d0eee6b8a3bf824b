/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/meters.h"

#include <stdatomic.h>

#include "base/compiler.h"

void meters_add(struct meters *meters, enum meter meter, uint64_t count)
{
    atomic_fetch_add_explicit(&meters->count[meter], count, memory_order_relaxed);
}

void meters_request(struct meters *meters, const struct route *route, int http_status,
                    int64_t took_us)
{
    int at = MIN(MAX(http_status / 100 - 2, 0), METER_CLASSES - 1);

    histogram_add(&meters->request_us[route ? route->id : ROUTE_COUNT][at],
                  &histogram_latency_us, took_us);
}

void meters_error(struct meters *meters, det_status status)
{
    if ((unsigned)status < METER_STATUSES)
        atomic_fetch_add_explicit(&meters->errors[status], 1, memory_order_relaxed);
}
