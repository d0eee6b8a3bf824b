/* SPDX-License-Identifier: Apache-2.0 */
/* The order of names, and names that differ in case only. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "data/text_order.h"
#include "tests/support/test.h"

TEST(names_come_in_the_order_people_expect)
{
    static const char *const sorted[] = {"",
                                         " a",
                                         "_TestEarly",
                                         "_TestPatched",
                                         "_TestPatchedProject",
                                         "_TestPRJ",
                                         "_TestWS",
                                         "0",
                                         "10",
                                         "9",
                                         "a",
                                         "A",
                                         "a b",
                                         "ab",
                                         "ac - Dc",
                                         "mnist",
                                         "transformer",
                                         "Uncategorized",
                                         "z",
                                         "\xc3\xa4",
                                         "\xc3\x84",
                                         "\xc3\xb6"};

    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        for (size_t j = 0; j < ARRAY_LEN(sorted); j++) {
            int order = text_order(sorted[i], sorted[j]);

            CHECK_EQ((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

TEST(case_does_not_make_another_name)
{
    CHECK(text_is_same("Vision", "vISION"));
    CHECK(text_is_same("\xc3\x84pfel", "\xc3\xa4PFEL"));
    CHECK(text_is_same("", ""));
    CHECK(!text_is_same("vision", "vision "));
    CHECK(!text_is_same("a_b", "axb"));
    CHECK(!text_is_same("a", ""));
}

TEST(half_a_letter_at_the_end_does_no_harm)
{
    char text[] = "A\xc3";

    text_fold(text, text, 2);
    CHECK_EQ(memcmp(text, "a\xc3", 2), 0);
    CHECK(text_order("A\xc3", "a\xc3") != 0);
    CHECK(text_is_same("A\xc3", "a\xc3"));
}
