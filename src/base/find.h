/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - where a text stands in many bytes.
 *
 * As memmem(), but prepared once for many looks, with letters in either case if wanted,
 * and faster: two bytes of the text that are rare in what programs write are looked for
 * in sixteen places at a time; only where both are there the rest is compared. */
#ifndef BASE_FIND_H
#define BASE_FIND_H

#include <stdbool.h>
#include <stddef.h>

struct find {
    const char *text; /* borrowed */
    size_t len;
    bool folds;  /* A-Z and a-z are the same */
    size_t rare; /* which byte of the text is looked for ... */
    size_t next; /* ... and which with it */
};

/* Borrows `text`, which may hold any bytes. */
void find_init(struct find *find, const char *text, size_t len, bool folds);
/* The first place; NULL: there is none.  An empty text is found at once. */
const char *find_in(const struct find *find, const char *bytes, size_t len);

/* Only the letters of ASCII have two cases here. */
static inline unsigned char find_lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

#endif
