/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_quoted.c - see yaml_quoted.h.
 *
 * Lines are folded: of blanks around a line break nothing stays, of one break a space,
 * of several all but one.  In double quotes a break behind a backslash is none, but
 * what is empty below it counts; blanks that are escaped stay. */
#include "data/yaml_quoted.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"

struct text {
    const char *at;
    const char *end; /* a quote stands there */
    char *to;
    char *kept; /* blanks before it stay */
};

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* Past blanks and breaks; how many breaks. */
static size_t skip_breaks(struct text *t)
{
    size_t breaks = 0;

    for (; t->at < t->end && strchr(" \t\r\n", *t->at); t->at++)
        breaks += *t->at == '\n' || (*t->at == '\r' && t->at[1] != '\n');
    return breaks;
}

static void put_breaks(struct text *t, size_t count)
{
    memset(t->to, '\n', count);
    t->to += count;
}

static void fold(struct text *t)
{
    size_t breaks;

    while (t->to > t->kept && (t->to[-1] == ' ' || t->to[-1] == '\t'))
        t->to--;
    breaks = skip_breaks(t);
    if (breaks == 1)
        *t->to++ = ' ';
    else
        put_breaks(t, breaks - 1);
    t->kept = t->to;
}

/* ---- escapes --------------------------------------------------------------------- */

enum { HIGH = 0xd800, LOW = 0xdc00, PAST_LOW = 0xe000 }; /* surrogates */

static void put_rune(struct text *t, uint32_t rune)
{
    static const struct {
        uint32_t below;
        uint8_t mark;
        int more; /* bytes of six bits */
    } forms[] = {
        {0x80, 0, 0}, {0x800, 0xc0, 1}, {0x10000, 0xe0, 2}, {UINT32_MAX, 0xf0, 3}};
    size_t i = 0;

    while (rune >= forms[i].below)
        i++;
    *t->to++ = (char)(forms[i].mark | rune >> 6 * forms[i].more);
    for (int more = forms[i].more; more--;)
        *t->to++ = (char)(0x80 | (rune >> 6 * more & 0x3f));
}

static uint32_t take_hex(struct text *t, int digits)
{
    uint32_t value = 0;

    for (; digits && t->at < t->end; digits--, t->at++) {
        char c = *t->at;

        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

/* JSON writes what lies beyond 0xffff in two halves. */
static uint32_t take_utf16(struct text *t)
{
    uint32_t high = take_hex(t, 4);
    struct text ahead = *t;
    uint32_t low;

    if (high < HIGH || high >= LOW || t->end - t->at < 6 || memcmp(t->at, "\\u", 2))
        return high;
    ahead.at += 2;
    low = take_hex(&ahead, 4);
    if (low < LOW || low >= PAST_LOW)
        return high;
    t->at = ahead.at;
    return 0x10000 + ((high - HIGH) << 10 | (low - LOW));
}

static uint32_t take_escape(struct text *t)
{
    static const char names[] = "0abtnvfreNLP_";
    static const uint32_t runes[] = {0,    '\a', '\b', '\t',   '\n',   '\v', '\f',
                                     '\r', 0x1b, 0x85, 0x2028, 0x2029, 0xa0};
    char name = *t->at++;
    const char *at = memchr(names, name, sizeof(names) - 1);

    if (at)
        return runes[at - names];
    switch (name) {
    case 'x':
        return take_hex(t, 2);
    case 'u':
        return take_utf16(t);
    case 'U':
        return take_hex(t, 8);
    default:
        return (unsigned char)name; /* a quote, a slash, a blank */
    }
}

static void unescape(struct text *t)
{
    t->at++;
    if (is_break(*t->at))
        put_breaks(t, skip_breaks(t) - 1);
    else
        put_rune(t, take_escape(t));
    t->kept = t->to;
}

/* ---- texts ----------------------------------------------------------------------- */

char *yaml_unquote(struct arena *mem, const char *raw, size_t len, size_t *ret_len)
{
    char quote = raw[len];
    char *begin = arena_alloc(mem, len + len / 2 + 1); /* "\L" gives three bytes */
    struct text t = {raw, raw + len, begin, begin};

    if (!begin)
        return NULL;
    while (t.at < t.end) {
        if (is_break(*t.at)) {
            fold(&t);
        } else if (*t.at == '\\' && quote == '"') {
            unescape(&t);
        } else {
            *t.to++ = *t.at;
            t.at += *t.at == quote ? 2 : 1; /* two of them are one */
        }
    }
    *t.to = '\0';
    *ret_len = (size_t)(t.to - begin);
    return begin;
}
