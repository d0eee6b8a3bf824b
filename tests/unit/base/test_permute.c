/* SPDX-License-Identifier: Apache-2.0 */
/* An order that is computed: a permutation for every count, another for every seed and
 * epoch, even, and for ever the same. */
#include "base/permute.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "tests/support/test.h"

TEST(every_count_is_permuted)
{
    for (uint64_t count = 1; count <= 300; count++) {
        unsigned char seen[300] = {0};
        struct permute p;

        permute_init(&p, 7, count, count);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t at = permute_at(&p, i);

            CHECK(at < count);
            CHECK(!seen[at]);
            seen[at] = 1;
        }
    }
}

TEST(counts_that_need_all_bits_work)
{
    const uint64_t counts[] = {UINT64_C(100000000), UINT64_C(1) << 32,
                               (UINT64_C(1) << 32) + 1, (UINT64_C(1) << 63) + 12345,
                               UINT64_MAX};

    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        struct permute p;

        permute_init(&p, 1, 2, counts[c]);
        for (uint64_t i = 0; i < 1000; i++) {
            uint64_t index = i * (counts[c] / 1000);

            CHECK(permute_at(&p, index) < counts[c]);
        }
    }
}

TEST(a_run_is_what_one_after_the_other_gives)
{
    const uint64_t counts[] = {1, 2, 129, 300, 513, 100000000};

    for (size_t c = 0; c < ARRAY_LEN(counts); c++)
        for (uint64_t len = 0; len <= 300 && len <= counts[c]; len++) {
            uint64_t run[300];
            struct permute p;

            permute_init(&p, 5, len, counts[c]);
            for (uint64_t first = 0; first <= counts[c] - len;
                 first += 1 + counts[c] / 3) {
                permute_run(&p, first, len, run);
                for (uint64_t i = 0; i < len; i++)
                    CHECK_EQ(run[i], permute_at(&p, first + i));
            }
        }
}

/* How many of the first thousand places hold the same in both. */
static int agree(const struct permute *a, const struct permute *b)
{
    int count = 0;

    for (uint64_t i = 0; i < 1000; i++)
        count += permute_at(a, i) == permute_at(b, i);
    return count;
}

TEST(seeds_and_epochs_have_orders_of_their_own)
{
    struct permute a, b, c, d;

    permute_init(&a, 1, 0, 1000);
    permute_init(&b, 1, 1, 1000);
    permute_init(&c, 2, 0, 1000);
    permute_init(&d, 0, 1, 1000); /* not that of (1, 0) with its numbers exchanged */
    CHECK(agree(&a, &b) < 10);
    CHECK(agree(&a, &c) < 10);
    CHECK(agree(&a, &d) < 10);
    CHECK(agree(&a, &a) == 1000);
}

/* Over many epochs each element comes to each place as often: chi-square over
 * count * count cells, with (count - 1)^2 degrees of freedom. */
TEST(every_element_comes_to_every_place_as_often)
{
    enum { COUNT = 13, EPOCHS = 13000 };
    int cell[COUNT][COUNT] = {0};
    double expected = (double)EPOCHS / COUNT;
    double chi = 0;

    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct permute p;

        permute_init(&p, 42, epoch, COUNT);
        for (uint64_t i = 0; i < COUNT; i++)
            cell[i][permute_at(&p, i)]++;
    }
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++)
            chi += (cell[i][j] - expected) * (cell[i][j] - expected) / expected;
    }
    CHECK(chi < 144 + 5 * 17); /* mean 144, standard deviation 17 */
}

/* Neighbours do not stay neighbours. */
TEST(neighbours_are_scattered)
{
    enum { COUNT = 10000 };
    struct permute p;
    int near = 0;

    permute_init(&p, 3, 4, COUNT);
    for (uint64_t i = 0; i + 1 < COUNT; i++) {
        uint64_t a = permute_at(&p, i);
        uint64_t b = permute_at(&p, i + 1);

        near += (a > b ? a - b : b - a) < 100;
    }
    CHECK(near > 130 && near < 270); /* 199 expected */
}

TEST(the_order_is_for_ever)
{
    const uint64_t golden[] = {32597, 46869, 54622, 51528, 26642, 42437, 21233, 2632};
    struct permute p;

    permute_init(&p, 777, 3, 60000);
    for (size_t i = 0; i < ARRAY_LEN(golden); i++)
        CHECK_EQ(permute_at(&p, i), golden[i]);
}
