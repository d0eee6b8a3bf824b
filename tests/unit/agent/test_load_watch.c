/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/load_watch.h"

#include "tests/support/test.h"

#define S INT64_C(1000000)

/* How often a run of so many seconds is measured. */
static int count_of(int64_t seconds)
{
    int64_t at_us = 0;
    int count = 0;

    while ((at_us += load_watch_pause_us(at_us)) <= seconds * S)
        count++;
    return count;
}

TEST(a_short_run_has_values_and_a_long_one_not_too_many)
{
    CHECK_EQ(count_of(1), 0);
    CHECK_EQ(count_of(2), 1);
    CHECK_EQ(count_of(12), 3);
    CHECK(count_of(3600) < 200);
    CHECK(count_of(86400) < 700);
    CHECK_EQ(load_watch_pause_us(60 * S), LOAD_WATCH_LEAST_US);
    CHECK_EQ(load_watch_pause_us(1000000 * S), LOAD_WATCH_MOST_US);
}
