/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - decimals to doubles and back.
 *
 * Reading.  A decimal is digits times a power of ten.  If the digits fit in 53 bits and
 * the power is at most 22, both are exact doubles and one multiplication or division
 * rounds correctly; that covers nearly everything people and programs write.  The rest
 * goes to strtod() as "DIGITSeEXP", which has no decimal point and so does not depend
 * on the locale. 780 digits decide any rounding; of the digits behind them it only
 * matters whether one is not zero.
 *
 * Writing.  By the same argument, if value * 10^k is near an integer of at most 15
 * digits and dividing that integer by 10^k gives the value back, these are the shortest
 * digits.  The rest prints 17 digits, which always suffice, and takes 15 or 16 of them
 * where these read back as the same. */
#include "data/number.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum {
    DIGITS_MOST = 780,
    EXPONENT_TEXT = 24,
    EXPONENT_MOST = 1000000, /* far out of range on both sides */
    EXACT_POWER = 22,
    SHORT_DECIMALS = 8,
};

static const double power_of_ten[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

struct decimal {
    bool is_negative;
    bool has_digits;
    bool is_cut; /* a digit other than 0 was dropped */
    size_t count;
    int64_t exponent;
    char digit[DIGITS_MOST + EXPONENT_TEXT]; /* from the first that is not 0 */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *take_sign(const char *at, const char *end, bool *ret_is_negative)
{
    *ret_is_negative = at < end && *at == '-';
    return at < end && (*at == '-' || *at == '+') ? at + 1 : at;
}

/* `step` is the change of the exponent per digit: 0 before the point, -1 behind it. */
static const char *take_digits(struct decimal *d, const char *at, const char *end,
                               int step)
{
    for (; at < end && is_digit(*at); at++) {
        d->has_digits = true;
        d->exponent += step;
        if (!d->count && *at == '0')
            continue;
        if (d->count < DIGITS_MOST) {
            d->digit[d->count++] = *at;
        } else {
            d->exponent++;
            d->is_cut |= *at != '0';
        }
    }
    return at;
}

/* NULL when there is an 'e' but no exponent. */
static const char *take_exponent(struct decimal *d, const char *at, const char *end)
{
    int64_t exponent = 0;
    bool is_negative;

    if (at == end || (*at != 'e' && *at != 'E'))
        return at;
    at = take_sign(at + 1, end, &is_negative);
    if (at == end)
        return NULL;
    for (; at < end && is_digit(*at); at++) {
        if (exponent < EXPONENT_MOST)
            exponent = exponent * 10 + (*at - '0');
    }
    d->exponent += is_negative ? -exponent : exponent;
    return at;
}

static bool scan_decimal(const char *text, size_t len, struct decimal *d)
{
    const char *end = text + len;
    const char *at = take_sign(text, end, &d->is_negative);

    at = take_digits(d, at, end, 0);
    if (at < end && *at == '.')
        at = take_digits(d, at + 1, end, -1);
    if (!d->has_digits)
        return false;
    at = take_exponent(d, at, end);
    return at == end;
}

static bool is_exact(const struct decimal *d, double *ret_value)
{
    uint64_t mantissa = 0;

    if (d->count > 18 || d->exponent < -EXACT_POWER || d->exponent > EXACT_POWER)
        return false;
    for (size_t i = 0; i < d->count; i++)
        mantissa = mantissa * 10 + (uint64_t)(d->digit[i] - '0');
    if (mantissa >> 53)
        return false;
    *ret_value = d->exponent < 0 ? (double)mantissa / power_of_ten[-d->exponent]
                                 : (double)mantissa * power_of_ten[d->exponent];
    return true;
}

bool number_to_real(const char *text, size_t len, double *ret_value)
{
    struct decimal d;
    double value;

    d.has_digits = d.is_cut = false;
    d.count = 0;
    d.exponent = 0;
    if (!scan_decimal(text, len, &d))
        return false;
    if (!d.count) {
        value = 0;
    } else if (!is_exact(&d, &value)) {
        if (d.is_cut)
            d.digit[DIGITS_MOST - 1] = '1';
        snprintf(d.digit + d.count, EXPONENT_TEXT, "e%lld", (long long)d.exponent);
        value = strtod(d.digit, NULL);
    }
    if (isinf(value))
        return false;
    *ret_value = d.is_negative ? -value : value;
    return true;
}

bool number_to_i64(const char *text, size_t len, int64_t *ret_value)
{
    const char *end = text + len;
    int64_t value = 0;
    bool is_negative;
    const char *at = take_sign(text, end, &is_negative);

    if (at == end)
        return false;
    /* Counts downwards, since there is one more negative number than positive ones. */
    for (; at < end; at++) {
        if (!is_digit(*at) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, *at - '0', &value))
            return false;
    }
    if (!is_negative && __builtin_sub_overflow(0, value, &value))
        return false;
    *ret_value = value;
    return true;
}

const char *number_from_i64(int64_t value, char text[NUMBER_I64_TEXT])
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *at = text + NUMBER_I64_TEXT;

    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0)
        *--at = '-';
    return at;
}

static size_t without_zeros(const char *digits, size_t count)
{
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

/* 0 when the value has no short decimal form. */
static size_t short_digits(double value, char digits[NUMBER_DIGITS], int *ret_point)
{
    for (int k = 0; k <= SHORT_DECIMALS; k++) {
        double scaled = value * power_of_ten[k];
        char text[NUMBER_I64_TEXT];
        const char *from;
        int64_t whole;
        size_t count;

        if (scaled >= 1e15)
            return 0;
        whole = (int64_t)(scaled + 0.5);
        if (!whole || (double)whole / power_of_ten[k] != value)
            continue;
        from = number_from_i64(whole, text);
        count = (size_t)(text + NUMBER_I64_TEXT - from);
        *ret_point = (int)count - k;
        count = without_zeros(from, count);
        for (size_t i = 0; i < count; i++)
            digits[i] = from[i];
        return count;
    }
    return 0;
}

/* The first `want` of 17 digits, rounded up where the next is at least `up`; the point
 * moves when 9.99 becomes 10. */
static void round_digits(const char all[NUMBER_DIGITS], size_t want, char up,
                         char *digits, int *point)
{
    size_t at = want;
    bool has_carry = all[want] >= up;

    memcpy(digits, all, want);
    while (has_carry && at) {
        at--;
        has_carry = digits[at] == '9';
        digits[at] = has_carry ? '0' : (char)(digits[at] + 1);
    }
    if (has_carry) {
        digits[0] = '1';
        ++*point;
    }
}

/* Whether 0.DIGITS times 10^point is `value` again. */
static bool reads_back(const char *digits, size_t count, int point, double value)
{
    char exponent[NUMBER_I64_TEXT];
    const char *from = number_from_i64(point - (int)count, exponent);
    size_t len = (size_t)(exponent + sizeof(exponent) - from);
    char text[NUMBER_DIGITS + 1 + NUMBER_I64_TEXT];
    double back;

    memcpy(text, digits, count);
    text[count] = 'e';
    memcpy(text + count + 1, from, len);
    return number_to_real(text, count + 1 + len, &back) && back == value;
}

size_t number_digits(double value, char digits[NUMBER_DIGITS], int *ret_point)
{
    size_t count = short_digits(value, digits, ret_point);
    char all[NUMBER_DIGITS];
    char text[48];
    const char *at = text;
    int point;

    assert(isfinite(value) && value > 0);
    if (count)
        return count;
    snprintf(text, sizeof(text), "%.*e", NUMBER_DIGITS - 1, value);
    /* Any other sign between the digits is the locale's decimal point. */
    for (; *at != 'e'; at++) {
        if (is_digit(*at) && count < NUMBER_DIGITS)
            all[count++] = *at;
    }
    point = (int)strtol(at + 1, NULL, 10) + 1;
    /* Below DBL_MIN a double has fewer bits and may need only one digit.  A 5 behind
     * the last digit is itself rounded: both ways are tried. */
    for (size_t want = value < DBL_MIN ? 1 : 15; want < NUMBER_DIGITS; want++) {
        for (char up = '5'; up <= '6'; up++) {
            *ret_point = point;
            round_digits(all, want, up, digits, ret_point);
            if (reads_back(digits, want, *ret_point, value))
                return without_zeros(digits, want);
            if (all[want] != '5')
                break;
        }
    }
    *ret_point = point;
    memcpy(digits, all, sizeof(all));
    return without_zeros(digits, count);
}
