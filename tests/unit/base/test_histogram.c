/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include "tests/support/test.h"

TEST(a_value_is_counted_at_the_first_bound_that_it_does_not_exceed)
{
    struct histogram h = {0};

    histogram_add(&h, &histogram_count, 0);
    histogram_add(&h, &histogram_count, 1);
    histogram_add(&h, &histogram_count, 2);
    histogram_add(&h, &histogram_count, 4096);
    histogram_add(&h, &histogram_count, 4097);

    CHECK_EQ(h.bucket[0], 2);
    CHECK_EQ(h.bucket[1], 1);
    CHECK_EQ(h.bucket[HISTOGRAM_BOUNDS - 1], 1);
    CHECK_EQ(h.bucket[HISTOGRAM_BOUNDS], 1);
    CHECK_EQ(h.sum, 1 + 2 + 4096 + 4097);
    CHECK_EQ(histogram_total(&h), 5);
}

TEST(a_negative_value_counts_as_zero)
{
    struct histogram h = {0};

    histogram_add(&h, &histogram_latency_us, -5);

    CHECK_EQ(h.bucket[0], 1);
    CHECK_EQ(h.sum, 0);
}

TEST(bounds_ascend)
{
    for (int i = 1; i < HISTOGRAM_BOUNDS; i++) {
        CHECK(histogram_latency_us.most[i - 1] < histogram_latency_us.most[i]);
        CHECK(histogram_count.most[i - 1] < histogram_count.most[i]);
    }
}
