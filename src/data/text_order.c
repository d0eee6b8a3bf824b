/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_order.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

/* ---- folding --------------------------------------------------------------------- */

/* For letters of two bytes whose lower case has two bytes too. */
static uint32_t fold_letter(uint32_t letter)
{
    /* `by` 1: upper and lower case alternate, beginning with upper case */
    static const struct {
        uint16_t from, to, by;
    } ranges[] = {{0xc0, 0xd6, 0x20},   {0xd8, 0xde, 0x20},   {0x100, 0x12f, 1},
                  {0x132, 0x137, 1},    {0x139, 0x148, 1},    {0x14a, 0x177, 1},
                  {0x179, 0x17e, 1},    {0x391, 0x3a9, 0x20}, {0x400, 0x40f, 0x50},
                  {0x410, 0x42f, 0x20}, {0x460, 0x481, 1}};

    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        if (letter < ranges[i].from || letter > ranges[i].to)
            continue;
        return ranges[i].by > 1 ? letter + ranges[i].by
                                : letter + !((letter - ranges[i].from) & 1);
    }
    return letter;
}

/* One character, folded, at `to`; its length.  `len` is what is left of the text. */
static size_t fold_char(char *to, const char *from, size_t len)
{
    unsigned char byte = (unsigned char)from[0];
    unsigned char next = len > 1 ? (unsigned char)from[1] : 0;

    if (byte >= 0xc3 && byte <= 0xd1 && (next & 0xc0) == 0x80) {
        uint32_t letter = fold_letter((byte & 0x1fU) << 6 | (next & 0x3fU));

        to[0] = (char)(0xc0 | letter >> 6);
        to[1] = (char)(0x80 | (letter & 0x3f));
        return 2;
    }
    if (byte >= 'A' && byte <= 'Z')
        byte += 'a' - 'A';
    to[0] = (char)byte;
    return 1;
}

void text_fold(char *to, const char *from, size_t len)
{
    for (size_t i = 0; i < len;)
        i += fold_char(to + i, from + i, len - i);
}

/* ---- order ----------------------------------------------------------------------- */

/* Punctuation, digits, letters. */
static int class_of(unsigned char byte)
{
    if (byte >= '0' && byte <= '9')
        return 1;
    return byte >= 0x80 || (byte >= 'a' && byte <= 'z') ? 2 : 0;
}

/* The order of two folded bytes. */
static int order_bytes(unsigned char a, unsigned char b)
{
    int by_class = class_of(a) - class_of(b);

    return by_class ? by_class : a - b;
}

/* Without the case of letters. */
static int order_folded(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);

    for (size_t i = 0, j = 0; i < a_len && j < b_len;) {
        char x[2] = {0};
        char y[2] = {0};
        int order;

        i += fold_char(x, a + i, a_len - i);
        j += fold_char(y, b + j, b_len - j);
        order = order_bytes((unsigned char)x[0], (unsigned char)y[0]);
        if (!order)
            order = (unsigned char)x[1] - (unsigned char)y[1];
        if (order)
            return order;
    }
    return (a_len > b_len) - (a_len < b_len);
}

int text_order(const char *a, const char *b)
{
    int order = order_folded(a, b);

    /* lower case has the greater bytes, and comes first */
    return order ? order : strcmp(b, a);
}

bool text_is_same(const char *a, const char *b)
{
    return !order_folded(a, b);
}
