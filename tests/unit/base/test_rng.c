/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <string.h>

#include "tests/support/test.h"

TEST(seed_42_gives_the_numbers_that_numpy_gives)
{
    static const uint32_t golden[] = {1608637542, 3421126067, 4083286876, 787846414,
                                      3143890026};
    struct rng rng;

    rng_seed(&rng, 42);
    for (size_t i = 0; i < ARRAY_LEN(golden); i++)
        CHECK_EQ(rng_u32(&rng), golden[i]);
}

TEST(uniform_numbers_are_those_of_numpy_to_the_last_bit)
{
    static const double golden[] = {0.37454011884736249, 0.95071430640991617,
                                    0.73199394181140509};
    struct rng rng;

    rng_seed(&rng, 42);
    for (size_t i = 0; i < ARRAY_LEN(golden); i++)
        CHECK(rng_uniform(&rng, 0, 1) == golden[i]);
}

TEST(uniform_numbers_stay_inside_their_bounds)
{
    struct rng rng;

    rng_seed(&rng, 7);
    for (int i = 0; i < 1000; i++) {
        double x = rng_uniform(&rng, -3, 5);

        CHECK(x >= -3 && x < 5);
    }
}

TEST(the_ten_thousandth_number_crosses_sixteen_refills)
{
    struct rng rng;
    uint32_t last = 0;

    /* The value that the C++ standard requires of mt19937 with its default seed. */
    rng_seed(&rng, 5489);
    for (int i = 0; i < 10000; i++)
        last = rng_u32(&rng);
    CHECK_EQ(last, 4123659995u);
}

TEST(bounded_numbers_reach_both_ends_and_a_zero_limit_draws_nothing)
{
    struct rng rng, before;
    bool seen[6] = {0};

    rng_seed(&rng, 1);
    before = rng;
    CHECK_EQ(rng_upto(&rng, 0), 0);
    CHECK_EQ(memcmp(&rng, &before, sizeof(rng)), 0);
    for (int i = 0; i < 200; i++) {
        uint64_t value = rng_upto(&rng, 5);

        CHECK(value <= 5);
        seen[value] = true;
    }
    for (int i = 0; i < 6; i++)
        CHECK(seen[i]);
}

TEST(a_limit_beyond_32_bits_takes_two_draws_high_first)
{
    struct rng rng, same;
    uint64_t high, low;

    rng_seed(&rng, 9);
    rng_seed(&same, 9);
    high = rng_u32(&same);
    low = rng_u32(&same);
    CHECK_EQ(rng_upto(&rng, UINT64_MAX), (int64_t)(high << 32 | low));
}

TEST(bytes_are_those_of_the_draws_little_end_first)
{
    unsigned char bytes[6];
    struct rng rng;

    rng_seed(&rng, 42); /* 1608637542 = 0x5fe1dc66, 3421126067 = 0xcbe9e9b3 */
    rng_bytes(&rng, bytes, sizeof(bytes));
    CHECK_EQ(memcmp(bytes, "\x66\xdc\xe1\x5f\xb3\x3d", 4), 0);
    CHECK_EQ(bytes[4], 3421126067u & 0xff);
    CHECK_EQ(bytes[5], 3421126067u >> 8 & 0xff);
}

TEST(the_small_generator_repeats_from_its_seed)
{
    struct rng64 a = {5}, b = {5}, c = {6};

    CHECK_EQ(rng64_next(&a), (int64_t)rng64_next(&b));
    CHECK(rng64_next(&a) != rng64_next(&c));
    CHECK_EQ(rng64_below(&a, 0), 0);
    for (int i = 0; i < 100; i++)
        CHECK(rng64_below(&a, 3) < 3);
}

TEST(secrets_differ)
{
    unsigned char a[32] = {0}, b[32] = {0};

    CHECK_OK(rng_secret(a, sizeof(a), &test_err));
    CHECK_OK(rng_secret(b, sizeof(b), &test_err));
    CHECK(memcmp(a, b, sizeof(a)) != 0);
}

TEST(uuids_carry_their_version_and_are_recognised)
{
    unsigned char random[16];
    char text[UUID_TEXT];

    memset(random, 0xff, sizeof(random));
    uuid_format(random, text);
    CHECK_STR(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    CHECK(uuid_is_valid(text));
    CHECK(!uuid_is_valid("ffffffff-ffff-4fff-bfff-fffffffffff"));
    CHECK(!uuid_is_valid("ffffffff-ffff-4fff-bfff-ffffffffffff0"));
    CHECK(!uuid_is_valid("ffffffffxffff-4fff-bfff-ffffffffffff"));
    CHECK(!uuid_is_valid(""));
}
