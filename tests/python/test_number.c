/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of several kinds, and their means. */
#include <math.h>
#include <stdint.h>

#include "_average_number.h"
#include "base/compiler.h"
#include "tests/support/test.h"

TEST(every_half_becomes_a_float_and_the_same_half_again)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        uint16_t again;
        float number;
        int exponent = (half >> 10 & 31);
        float exact = ldexpf((float)((half & 1023) + (exponent ? 1024 : 0)),
                             (exponent ? exponent : 1) - 25);

        number_convert(&number, NUMBER_FLOAT, &half, NUMBER_HALF, 1);
        number_convert(&again, NUMBER_HALF, &number, NUMBER_FLOAT, 1);
        if (exponent == 31 && half & 1023) {
            CHECK(isnan(number) && (again & 0x7fff) > 0x7c00);
            continue;
        }
        CHECK_EQ(again, half);
        if (exponent < 31)
            CHECK(number == (half & 0x8000 ? -exact : exact));
        else
            CHECK(isinf(number));
    }
}

/* There are 8191 floats between two halves: those next to the middle decide. */
TEST(floats_are_rounded_to_the_nearest_half_and_ties_to_even)
{
    for (uint16_t half = 0; half < 0x7c00; half++) {
        uint16_t next = half + 1;
        float low, high, middle;
        uint16_t got;

        number_convert(&low, NUMBER_FLOAT, &half, NUMBER_HALF, 1);
        number_convert(&high, NUMBER_FLOAT, &next, NUMBER_HALF, 1);
        middle = half == 0x7bff ? 65520.0f : (low + high) / 2;
        number_convert(&got, NUMBER_HALF, &middle, NUMBER_FLOAT, 1);
        CHECK_EQ(got, half & 1 ? next : half);
        low = nextafterf(middle, 0);
        number_convert(&got, NUMBER_HALF, &low, NUMBER_FLOAT, 1);
        CHECK_EQ(got, half);
        high = nextafterf(middle, INFINITY);
        number_convert(&got, NUMBER_HALF, &high, NUMBER_FLOAT, 1);
        CHECK_EQ(got, next);
    }
}

TEST(bfloat16s_are_the_upper_half_of_a_float_rounded)
{
    const float numbers[] = {1.0f, -2.5f, 1.00390625f, 1.01171875f, 3.4e38f, NAN, 0.1f};
    const uint16_t wanted[] = {0x3f80, 0xc020, 0x3f80, 0x3f82, 0x7f80, 0x7fc0, 0x3dcd};
    uint16_t got[ARRAY_LEN(numbers)];
    double doubles[2] = {0.5, -3};
    float back[2];

    number_convert(got, NUMBER_BFLOAT16, numbers, NUMBER_FLOAT, ARRAY_LEN(numbers));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        CHECK_EQ(got[i], wanted[i]);
    number_convert(back, NUMBER_FLOAT, got, NUMBER_BFLOAT16, 2);
    CHECK(back[0] == 1.0f && back[1] == -2.5f);
    number_convert(got, NUMBER_BFLOAT16, doubles, NUMBER_DOUBLE, 2);
    number_convert(doubles, NUMBER_DOUBLE, got, NUMBER_BFLOAT16, 2);
    CHECK(doubles[0] == 0.5 && doubles[1] == -3);
}

TEST(means_are_sums_in_the_order_of_ranks_divided)
{
    float a[3] = {1e8f, 1, -3}, b[3] = {1, 2, 5}, c[3] = {-1e8f, 4, 4};
    const void *from[3] = {a, b, c};
    float got[3];

    number_mean(got, from, 3, 3, NUMBER_FLOAT);
    CHECK(got[0] == 0.0f); /* 1 is lost beside 1e8: this proves the order */
    CHECK(fabsf(got[1] - 7.0f / 3) < 1e-6f && fabsf(got[2] - 2) < 1e-6f);
}
