/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - counts values by size, in a few fixed ranges.
 *
 * The ranges are not in the histogram: every caller passes the same `bounds`.  Counting is two
 * relaxed additions, so it may stand on a hot path.  A reader may see a value in its range
 * before it is in the sum; the next reading has both.
 *
 * Threading: from any thread; no lock. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BOUNDS = 7 };

/* Ascending; a value is counted at the first bound that it does not exceed. */
struct histogram_bounds {
    int64_t most[HISTOGRAM_BOUNDS];
};

/* 1 ms, 5 ms, 25 ms, 100 ms, 0.5 s, 2.5 s and 10 s, in microseconds. */
extern const struct histogram_bounds histogram_latency_us;
/* 1, 4, 16, ... 4096. */
extern const struct histogram_bounds histogram_count;

struct histogram {
    _Atomic uint64_t bucket[HISTOGRAM_BOUNDS + 1]; /* the last: more than every bound */
    _Atomic uint64_t sum;
};

/* A negative value counts as 0: a clock may be set back. */
void histogram_add(struct histogram *histogram, const struct histogram_bounds *bounds,
                   int64_t value);
uint64_t histogram_total(const struct histogram *histogram);

#endif
