/* SPDX-License-Identifier: Apache-2.0 */
/* text_order.h - the order in which people expect names, and names that are the same to
 * them.
 *
 * Punctuation comes before digits, and digits before letters; the case of letters counts
 * only between names that are otherwise equal, lower case first: "_b", "7", "a", "A", "b".
 * The letters of Latin, Greek and Cyrillic are folded; all others are ordered by their
 * numbers. */
#ifndef DATA_TEXT_ORDER_H
#define DATA_TEXT_ORDER_H

#include <stdbool.h>
#include <stddef.h>

/* < 0: `a` comes first; 0: they are equal byte by byte. */
int text_order(const char *a, const char *b);
/* Whether they differ in nothing but the case of letters. */
bool text_is_same(const char *a, const char *b);

/* Folds ASCII, Latin, Greek and Cyrillic letters to lower case.  `to` has room for
 * `len` bytes, and may be `from`. */
void text_fold(char *to, const char *from, size_t len);

#endif
