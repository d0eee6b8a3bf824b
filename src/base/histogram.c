/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <stdatomic.h>

const struct histogram_bounds histogram_latency_us = {
    {1000, 5000, 25000, 100000, 500000, 2500000, 10000000}};
const struct histogram_bounds histogram_count = {{1, 4, 16, 64, 256, 1024, 4096}};

void histogram_add(struct histogram *histogram, const struct histogram_bounds *bounds,
                   int64_t value)
{
    uint32_t at = 0;

    while (at < HISTOGRAM_BOUNDS && value > bounds->most[at])
        at++;
    atomic_fetch_add_explicit(&histogram->bucket[at], 1, memory_order_relaxed);
    if (value > 0)
        atomic_fetch_add_explicit(&histogram->sum, (uint64_t)value,
                                  memory_order_relaxed);
}

uint64_t histogram_total(const struct histogram *histogram)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        total += atomic_load_explicit(&histogram->bucket[i], memory_order_relaxed);
    return total;
}
