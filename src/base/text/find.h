/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - searches bytes for a text.
 *
 * Like memmem(), but prepared once for many searches, optionally in either case, and
 * faster.  It looks for two bytes of the text that are rare in the output of programs,
 * in sixteen places at a time, and compares the rest only where both are present. */
#ifndef BASE_TEXT_FIND_H
#define BASE_TEXT_FIND_H

#include <stdbool.h>
#include <stddef.h>

struct find {
    const char *text; /* borrowed */
    size_t len;
    bool folds;  /* A-Z and a-z are the same */
    size_t rare; /* the byte of the text that is looked for first ... */
    size_t next; /* ... and the one together with it */
};

/* Borrows `text`, which may hold any bytes. */
void find_init(struct find *find, const char *text, size_t len, bool folds);
/* The first place, or NULL.  An empty text is found at once. */
const char *find_in(const struct find *find, const char *bytes, size_t len);

/* Only ASCII letters have two cases here. */
static inline unsigned char find_lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

#endif
