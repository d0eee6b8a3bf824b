/* SPDX-License-Identifier: Apache-2.0 */
#include "data/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The second byte decides about overlong forms, surrogates and the end of Unicode. */
static bool second_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_tail(second);
    }
}

size_t utf8_char(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t want;

    if (!len)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xC2 || at[0] > 0xF4)
        return 0;
    want = at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (len < want || !second_fits(at[0], at[1]))
        return 0;
    for (size_t i = 2; i < want; i++) {
        if (!is_tail(at[i]))
            return 0;
    }
    return want;
}

size_t utf8_valid(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        uint64_t word;
        size_t step;

        /* Most text is ASCII: eight bytes at a time while no high bit is set. */
        if (len - at >= sizeof(word)) {
            memcpy(&word, text + at, sizeof(word));
            if (!(word & UINT64_C(0x8080808080808080))) {
                at += sizeof(word);
                continue;
            }
        }
        step = utf8_char(text + at, len - at);
        if (!step)
            return at;
        at += step;
    }
    return at;
}
