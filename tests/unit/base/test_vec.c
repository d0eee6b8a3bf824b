/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/vec.h"

#include <string.h>

#include "tests/support/test.h"

TEST(a_vector_keeps_what_is_pushed_in_order)
{
    VEC(int) v = {0};

    for (int i = 0; i < 1000; i++)
        CHECK(vec_push(&v, i * 3));
    CHECK_EQ(v.count, 1000);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(v.at[i], i * 3);
    CHECK_EQ(vec_pop(&v), 2997);
    CHECK_EQ(v.count, 999);
    vec_done(&v);
    CHECK_NULL(v.at);
}

TEST(removing_keeps_the_order_and_swapping_out_does_not)
{
    VEC(char) v = {0};

    for (const char *c = "abcdef"; *c; c++)
        CHECK(vec_push(&v, *c));
    vec_remove(&v, 1);
    CHECK_EQ(v.count, 5);
    CHECK_EQ(memcmp(v.at, "acdef", 5), 0);
    vec_swap_out(&v, 0);
    CHECK_EQ(memcmp(v.at, "fcde", 4), 0);
    vec_remove(&v, 3);
    CHECK_EQ(memcmp(v.at, "fcd", 3), 0);
    vec_clear(&v);
    CHECK_EQ(v.count, 0);
    vec_done(&v);
}

TEST(a_vector_out_of_memory_stays_as_it_was)
{
    EACH_ALLOCATION_FAILS() {
        VEC(int) v = {0};
        int pushed = 0;

        while (pushed < 100 && vec_push(&v, pushed))
            pushed++;
        CHECK_EQ(pushed == 100, !fault_fired());
        CHECK_EQ(v.count, pushed);
        for (int i = 0; i < pushed; i++)
            CHECK_EQ(v.at[i], i);
        vec_done(&v);
    }
}
