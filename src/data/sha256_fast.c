/* SPDX-License-Identifier: Apache-2.0 */
/* sha256_fast.c - SHA-256 with the instructions that processors have for it: a chunk of a
 * backup takes a fifth of the time that the library needs. */
#include "data/sha256.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

enum { BLOCK = 64, SHA_BIT = 1 << 29 };

static const uint32_t first_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

#define WITH_SHA __attribute__((target("sha,sse4.1")))

/* Four rounds at a time.  words[] is a ring of the last sixteen words of the message. */
WITH_SHA static void add_block(__m128i state[2], const unsigned char *at)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i ab = state[0];
    __m128i cd = state[1];
    __m128i words[4];

#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        __m128i *now = &words[i & 3];
        __m128i before = words[(i + 3) & 3];
        __m128i sum;

        if (i < 4)
            *now = _mm_shuffle_epi8(
                _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i)), swap);
        else
            *now = _mm_sha256msg2_epu32(
                _mm_add_epi32(_mm_sha256msg1_epu32(*now, words[(i + 1) & 3]),
                              _mm_alignr_epi8(before, words[(i + 2) & 3], 4)),
                before);
        sum = _mm_add_epi32(
            *now, _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * i)));
        cd = _mm_sha256rnds2_epu32(cd, ab, sum);
        ab = _mm_sha256rnds2_epu32(ab, cd, _mm_shuffle_epi32(sum, 0x0e));
    }
    state[0] = _mm_add_epi32(state[0], ab);
    state[1] = _mm_add_epi32(state[1], cd);
}

/* The instructions want the words as a, b, e, f and c, d, g, h. */
WITH_SHA static void load_state(__m128i state[2])
{
    const __m128i *from = (const __m128i *)(const void *)first_state;
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(from), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128(from + 1), 0x1b);

    state[0] = _mm_alignr_epi8(low, high, 8);
    state[1] = _mm_blend_epi16(high, low, 0xf0);
}

WITH_SHA static void store_state(const __m128i state[2], unsigned char *sum)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(state[0], 0x1b);
    __m128i high = _mm_shuffle_epi32(state[1], 0xb1);
    __m128i *to = (__m128i *)(void *)sum;

    _mm_storeu_si128(to, _mm_shuffle_epi8(_mm_blend_epi16(low, high, 0xf0), swap));
    _mm_storeu_si128(to + 1, _mm_shuffle_epi8(_mm_alignr_epi8(high, low, 8), swap));
}

WITH_SHA static void sha256_instruction(const void *bytes, size_t len,
                                        unsigned char sum[SHA256_BYTES])
{
    const unsigned char *at = bytes;
    unsigned char last[2 * BLOCK] = {0};
    size_t rest = len % BLOCK;
    size_t end = rest + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    uint64_t bits = (uint64_t)len * 8;
    __m128i state[2];

    load_state(state);
    for (size_t i = len / BLOCK; i > 0; i--, at += BLOCK)
        add_block(state, at);
    if (rest)
        memcpy(last, at, rest);
    last[rest] = 0x80;
    for (size_t i = 1; i <= 8; i++, bits >>= 8)
        last[end - i] = (unsigned char)bits;
    for (size_t i = 0; i < end; i += BLOCK)
        add_block(state, last + i);
    store_state(state, sum);
}

sha256_fn *sha256_fastest(void)
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & SHA_BIT))
        return sha256_instruction;
    return sha256_plain;
}
#else
sha256_fn *sha256_fastest(void)
{
    return sha256_plain;
}
#endif
