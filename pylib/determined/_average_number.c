/* SPDX-License-Identifier: Apache-2.0 */
/* Loops without branches, which compilers turn into vector instructions. Work that
 * needs several passes is done in blocks that stay in the first-level cache. */
#include "_average_number.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum { BLOCK = 1024 };

size_t number_size(enum number kind)
{
    static const size_t sizes[NUMBER_COUNT] = {sizeof(float), sizeof(double),
                                               sizeof(uint16_t), sizeof(uint16_t)};

    return sizes[kind];
}

/* ---- one number ------------------------------------------------------------------ */

static uint32_t bits_of(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

static float half_to_float(uint16_t half)
{
    uint32_t rest = half & 0x7fffu;
    uint32_t normal = (rest << 13) + ((127u - 15u) << 23);
    /* a denormal half counts units of 2^-24 */
    uint32_t tiny = bits_of((float)(int32_t)rest * 0x1p-24f);
    uint32_t bits = rest < 0x400u ? tiny : normal;

    bits = rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : bits;
    return float_of(bits | (uint32_t)(half & 0x8000u) << 16);
}

static uint16_t half_of_float(float number)
{
    uint32_t all = bits_of(number);
    uint32_t bits = all & 0x7fffffffu;
    /* rounds to even: adds half a unit less one, plus one if the last kept bit is 1 */
    uint32_t normal = (bits - ((127u - 15u) << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
    /* the last bit of a float near 0.5 is 2^-24, so the addition rounds */
    uint32_t tiny = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
    uint32_t large = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t half = bits < bits_of(0x1p-14f) ? tiny : normal;

    half = bits >= bits_of(0x1p16f) ? large : half;
    return (uint16_t)(half | (all >> 16 & 0x8000u));
}

static uint16_t bfloat16_of_float(float number)
{
    uint32_t bits = bits_of(number);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    uint32_t none = bits >> 16 | 0x40u; /* NaN stays NaN */

    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? none : rounded);
}

/* ---- many ------------------------------------------------------------------------ */

static void load_floats(float *restrict into, const void *from, enum number kind,
                        size_t count)
{
    const double *restrict doubles = from;
    const uint16_t *restrict shorts = from;

    if (kind == NUMBER_FLOAT)
        memcpy(into, from, count * sizeof(*into));
    else if (kind == NUMBER_DOUBLE)
        for (size_t i = 0; i < count; i++)
            into[i] = (float)doubles[i];
    else if (kind == NUMBER_HALF)
        for (size_t i = 0; i < count; i++)
            into[i] = half_to_float(shorts[i]);
    else
        for (size_t i = 0; i < count; i++)
            into[i] = float_of((uint32_t)shorts[i] << 16);
}

static void store_floats(void *into, const float *restrict from, enum number kind,
                         size_t count)
{
    double *restrict doubles = into;
    uint16_t *restrict shorts = into;

    if (kind == NUMBER_FLOAT)
        memcpy(into, from, count * sizeof(*from));
    else if (kind == NUMBER_DOUBLE)
        for (size_t i = 0; i < count; i++)
            doubles[i] = (double)from[i];
    else if (kind == NUMBER_HALF)
        for (size_t i = 0; i < count; i++)
            shorts[i] = half_of_float(from[i]);
    else
        for (size_t i = 0; i < count; i++)
            shorts[i] = bfloat16_of_float(from[i]);
}

void number_convert(void *into, enum number into_kind, const void *from,
                    enum number from_kind, size_t count)
{
    size_t into_size = number_size(into_kind);
    size_t from_size = number_size(from_kind);
    float block[BLOCK];

    if (into_kind == from_kind) {
        memcpy(into, from, count * into_size);
        return;
    }
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t some = MIN(count - at, (size_t)BLOCK);

        load_floats(block, (const char *)from + at * from_size, from_kind, some);
        store_floats((char *)into + at * into_size, block, into_kind, some);
    }
}

/* ---- means ----------------------------------------------------------------------- */

/* The usual case, in one pass. */
static void mean_of_two(float *into, const float *first, const float *second,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        into[i] = (first[i] + second[i]) * 0.5f;
}

/* Floats, and halves as floats. */
static void mean_of_floats(char *into, const char *const *from, int ranks, size_t count,
                           enum number kind)
{
    float sum[BLOCK];
    float term[BLOCK];
    float factor = 1.0f / (float)ranks;

    load_floats(sum, from[0], kind, count);
    for (int rank = 1; rank < ranks; rank++) {
        load_floats(term, from[rank], kind, count);
        for (size_t i = 0; i < count; i++)
            sum[i] += term[i];
    }
    for (size_t i = 0; i < count; i++)
        sum[i] *= factor;
    store_floats(into, sum, kind, count);
}

static void mean_of_doubles(char *into, const char *const *from, int ranks,
                            size_t count)
{
    double sum[BLOCK];
    double term[BLOCK];

    memcpy(sum, from[0], count * sizeof(*sum));
    for (int rank = 1; rank < ranks; rank++) {
        memcpy(term, from[rank], count * sizeof(*term));
        for (size_t i = 0; i < count; i++)
            sum[i] += term[i];
    }
    for (size_t i = 0; i < count; i++)
        sum[i] /= ranks;
    memcpy(into, sum, count * sizeof(*sum));
}

void number_mean(void *into, const void *const *from, int ranks, size_t count,
                 enum number kind)
{
    size_t size = number_size(kind);
    const char *here[NUMBER_RANKS];

    assert(kind != NUMBER_BFLOAT16 && ranks <= NUMBER_RANKS);
    if (kind == NUMBER_FLOAT && ranks == 2) {
        mean_of_two(into, from[0], from[1], count);
        return;
    }
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t some = MIN(count - at, (size_t)BLOCK);

        for (int rank = 0; rank < ranks; rank++)
            here[rank] = (const char *)from[rank] + at * size;
        if (kind == NUMBER_DOUBLE)
            mean_of_doubles((char *)into + at * size, here, ranks, some);
        else
            mean_of_floats((char *)into + at * size, here, ranks, some, kind);
    }
}
