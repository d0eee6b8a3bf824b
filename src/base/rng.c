/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory/map.h"

/* Matsumoto and Nishimura's generator, with the names of their paper. */
enum { MT_M = 397 };

void rng_seed(struct rng *rng, uint32_t seed)
{
    rng->key[0] = seed;
    for (uint32_t i = 1; i < RNG_WORDS; i++) {
        uint32_t before = rng->key[i - 1];

        rng->key[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    rng->pos = RNG_WORDS;
}

static uint32_t twist_word(uint32_t high, uint32_t low)
{
    uint32_t mixed = (high & 0x80000000u) | (low & 0x7fffffffu);

    return (mixed >> 1) ^ (low & 1 ? 0x9908b0dfu : 0);
}

/* In place: the words ahead are still of the last round and those behind of this one,
 * as the recurrence needs them. */
static void refill_words(struct rng *rng)
{
    for (uint32_t i = 0; i < RNG_WORDS; i++) {
        uint32_t next = rng->key[(i + 1) % RNG_WORDS];

        rng->key[i] = rng->key[(i + MT_M) % RNG_WORDS] ^ twist_word(rng->key[i], next);
    }
    rng->pos = 0;
}

uint32_t rng_u32(struct rng *rng)
{
    uint32_t y;

    if (rng->pos >= RNG_WORDS)
        refill_words(rng);
    y = rng->key[rng->pos++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Draws as numpy does: seeds must give the numbers that users know. */
static uint64_t draw_upto(struct rng *rng, uint64_t limit)
{
    uint64_t high;

    if (limit <= UINT32_MAX)
        return rng_u32(rng);
    high = rng_u32(rng);
    return (high << 32) | rng_u32(rng);
}

uint64_t rng_upto(struct rng *rng, uint64_t limit)
{
    uint64_t mask = limit;
    uint64_t value;

    if (!limit)
        return 0;
    /* The smallest mask of ones that covers the limit. */
    for (unsigned shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    do
        value = draw_upto(rng, limit) & mask;
    while (value > limit);
    return value;
}

/* 53 bits from two draws, as numpy's random_sample() takes them. */
double rng_uniform(struct rng *rng, double low, double high)
{
    uint32_t a = rng_u32(rng) >> 5;
    uint32_t b = rng_u32(rng) >> 6;
    double unit = (a * 67108864.0 + b) / 9007199254740992.0;

    return low + (high - low) * unit;
}

void rng_bytes(struct rng *rng, void *bytes, size_t len)
{
    unsigned char *byte = bytes;
    uint32_t word = 0;

    for (size_t i = 0; i < len; i++) {
        if (i % 4 == 0)
            word = rng_u32(rng);
        byte[i] = (unsigned char)(word >> (8 * (i % 4)));
    }
}

uint64_t rng64_next(struct rng64 *rng)
{
    rng->state += 0x9e3779b97f4a7c15u;
    return hash_number(rng->state);
}

uint64_t rng64_below(struct rng64 *rng, uint64_t bound)
{
    return bound ? rng64_next(rng) % bound : 0;
}

/* Blocks only before the kernel has gathered its first entropy, early at boot. */
det_status rng_secret(void *bytes, size_t len, struct err *err)
{
    unsigned char *byte = bytes;

    while (len) {
        ssize_t got = getrandom(byte, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "the kernel gave no random bytes");
        byte += got;
        len -= (size_t)got;
    }
    return DET_OK;
}

void uuid_format(const unsigned char random[16], char text[UUID_TEXT])
{
    unsigned char b[16];

    memcpy(b, random, sizeof(b));
    /* Version 4, variant 1. */
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(text, UUID_TEXT,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
             b[12], b[13], b[14], b[15]);
}

int uuid_is_valid(const char *text)
{
    for (size_t i = 0; i < UUID_TEXT - 1; i++) {
        int is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return 0;
    }
    return text[UUID_TEXT - 1] == '\0';
}
