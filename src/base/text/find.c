/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - see find.h.
 *
 * Sixteen places are one vector: the bytes there, shifted by the position of the rare
 * byte in the text, are compared with it at once.  A letter that may come in either
 * case has one bit that does not count.  That bit is set on both sides first: folding
 * costs one more instruction. */
#include "base/text/find.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum { LANES = 16, STEP = 4 * LANES };

typedef uint8_t lanes __attribute__((vector_size(LANES)));

/* One of the two bytes that we look for, and its bit that does not count. */
struct probe {
    lanes byte;
    lanes ignored;
    size_t at; /* in the text */
};

/* A larger value is rarer: the position in a list of bytes common in logs, or behind
 * it. */
static size_t rarity_of(char c, bool folds)
{
    static const char common[] = " e0t1a2os3ni4r5.6l7d8c9:pm=uhg-_f/[]b,ywvk\"'()xqjz";
    char byte = folds ? (char)find_lower((unsigned char)c) : c;
    const char *at = byte ? memchr(common, byte, sizeof(common) - 1) : NULL;

    return at ? (size_t)(at - common) : sizeof(common);
}

void find_init(struct find *find, const char *text, size_t len, bool folds)
{
    *find = (struct find){.text = text, .len = len, .folds = folds};
    for (size_t i = 1; i < len; i++)
        if (rarity_of(text[i], folds) > rarity_of(text[find->rare], folds))
            find->rare = i;
    find->next = len > 1 && !find->rare;
    for (size_t i = 0; i < len; i++)
        if (i != find->rare &&
            rarity_of(text[i], folds) > rarity_of(text[find->next], folds))
            find->next = i;
}

static struct probe probe_of(const struct find *find, size_t at)
{
    struct probe probe = {.at = at};
    uint8_t byte = find_lower((unsigned char)find->text[at]);
    bool is_letter = find->folds && byte >= 'a' && byte <= 'z';

    if (!is_letter)
        byte = (uint8_t)find->text[at];
    probe.byte += byte;
    probe.ignored += (uint8_t)(is_letter ? 0x20 : 0);
    return probe;
}

static lanes probe_hits(const struct probe *probe, const char *start)
{
    lanes bytes;

    memcpy(&bytes, start + probe->at, sizeof(bytes));
    return (lanes)((bytes | probe->ignored) == probe->byte);
}

static bool has_any(lanes mask)
{
    uint64_t half[2];

    memcpy(half, &mask, sizeof(half));
    return half[0] | half[1];
}

static bool stands_at(const struct find *find, const char *at)
{
    if (!find->folds)
        return !memcmp(at, find->text, find->len);
    for (size_t i = 0; i < find->len; i++)
        if (find_lower((unsigned char)at[i]) !=
            find_lower((unsigned char)find->text[i]))
            return false;
    return true;
}

static const char *first_of(const struct find *find, lanes mask, const char *start)
{
    for (size_t i = 0; i < LANES; i++)
        if (mask[i] && stands_at(find, start + i))
            return start + i;
    return NULL;
}

static const char *find_among_few(const struct find *find, const char *at,
                                  const char *end)
{
    while (at < end && !stands_at(find, at))
        at++;
    return at < end ? at : NULL;
}

/* In the sixteen places from `at` on. */
static const char *find_near(const struct find *find, const struct probe *rare,
                             const struct probe *next, const char *at)
{
    lanes mask = probe_hits(rare, at) & probe_hits(next, at);

    return has_any(mask) ? first_of(find, mask, at) : NULL;
}

const char *find_in(const struct find *find, const char *bytes, size_t len)
{
    const char *at = bytes;
    const char *end; /* behind the last place where it could begin */
    const char *found = NULL;

    if (len < find->len || !find->len)
        return find->len ? NULL : bytes;
    end = bytes + (len - find->len) + 1;
    if (end - bytes < LANES)
        return find_among_few(find, bytes, end);

    const struct probe rare = probe_of(find, find->rare);
    const struct probe next = probe_of(find, find->next);

    while (!found && end - at >= STEP) {
        lanes mask = {0};

        for (int i = 0; i < STEP; i += LANES)
            mask |= probe_hits(&rare, at + i) & probe_hits(&next, at + i);
        for (int i = 0; has_any(mask) && !found && i < STEP; i += LANES)
            found = find_near(find, &rare, &next, at + i);
        at += STEP;
    }
    for (; !found && at < end; at += LANES) {
        at = MIN(
            at,
            end -
                LANES); /* the last sixteen overlap places that were searched already */
        found = find_near(find, &rare, &next, at);
    }
    return found;
}
