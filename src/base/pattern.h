/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - regular expressions written by users.
 *
 * Never the C library's: it recurses on the stack for each parenthesis, and one line of
 * 8 KB can cost it seconds and hundreds of megabytes, or all there are with
 * back-references.  Here the time is at most (bytes x instructions), the memory is that
 * of the program, and nothing recurses.  The language is that of POSIX extended
 * expressions, on bytes:
 *
 *   . [a-z] [^a-z] [[:digit:]]  * + ? {2} {2,} {2,5}  ( ) (?: ) |  ^ $
 *   \w \W \d \D \s \S  \b \B \< \>  \t \n \r  \ before any other sign
 *
 * without back-references.  Refused is what is longer than PATTERN_BYTES, nested deeper
 * than PATTERN_DEPTH, counts above PATTERN_COUNT, or has more than PATTERN_STEPS
 * instructions with its repetitions written out.
 *
 * A pattern does not change once compiled: any number of threads may match it. */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum {
    PATTERN_BYTES = 1024,
    PATTERN_DEPTH = 50,
    PATTERN_COUNT = 255,
    PATTERN_STEPS = 1200,
    PATTERN_TEXT_BYTES = 8 << 10,
    PATTERN_LITERAL = 64,
    PATTERN_LITERALS = 8,
};

struct pattern;

/* Returns owned; copies what it needs of `text`.  DET_INVALID: it is refused, or no
 * regular expression; the sentence says why. */
det_status pattern_new(const char *text, struct pattern **ret_pattern, struct err *err);
/* The same for a-z and A-Z alike. */
det_status pattern_new_folding(const char *text, struct pattern **ret_pattern,
                               struct err *err);
void pattern_free(struct pattern *pattern); /* NULL: does nothing */
void pattern_freep(struct pattern **pattern);

/* Whether it is found anywhere in the first PATTERN_TEXT_BYTES of `bytes`; `$` is the
 * end of all of them. */
bool pattern_matches(const struct pattern *pattern, const char *bytes, size_t len);

/* Texts of which one is in everything it matches, borrowed (each at most
 * PATTERN_LITERAL bytes, in small letters where it folds): whoever has much to look at
 * looks for those first.  How many: "a|b" has two, "[ab]" none. */
struct pattern_literal {
    char text[PATTERN_LITERAL];
    size_t len;
};
size_t pattern_literals(const struct pattern *pattern,
                        const struct pattern_literal **ret_literals);

/* The same for many texts, faster: it remembers what it has found out about the pattern
 * (some 150 KB).  Borrows the pattern; not for two threads at once. */
struct pattern_matcher;
det_status pattern_matcher_new(const struct pattern *pattern,
                               struct pattern_matcher **ret_matcher, struct err *err);
void pattern_matcher_free(struct pattern_matcher *matcher); /* NULL: does nothing */
bool pattern_matcher_finds(struct pattern_matcher *matcher, const char *bytes,
                           size_t len);
/* Where: the match that ends first, and of those that end there the one that begins
 * last; ^, $ and edges of words are what they are in all of `bytes`.  (Without memory
 * for it: somewhere in all that is looked at.) */
bool pattern_matcher_where(struct pattern_matcher *matcher, const char *bytes,
                           size_t len, size_t *ret_begin, size_t *ret_end);

#endif
