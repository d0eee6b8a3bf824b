/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - regular expressions written by users.
 *
 * The time is at most (bytes x instructions), the memory is that of the program, and
 * nothing recurses: no pattern can stall the master, and every search gets an answer.
 * The language is that of POSIX extended expressions, on bytes:
 *
 *   . [a-z] [^a-z] [[:digit:]]  * + ? {2} {2,} {2,5}  ( ) (?: ) |  ^ $
 *   \w \W \d \D \s \S  \b \B \< \>  \t \n \r  \ before any other sign
 *
 * without back-references.  pattern_new() refuses patterns longer than PATTERN_BYTES,
 * nested deeper than PATTERN_DEPTH, with counts above PATTERN_COUNT, or with more than
 * PATTERN_STEPS instructions after repetitions are written out.
 *
 * Why not a library.  The C library's regexec() recurses for each parenthesis; one line
 * of 8 KB can cost it seconds and hundreds of megabytes.  PCRE2 10.42 with its compiler
 * (JIT) was measured on the lines of tests/bench/bench_lines.c, in GB/s of processor
 * time, ours with the literals below, PCRE2 at its best over whole chunks:
 *
 *                                              ours   PCRE2
 *   a text; in any case                        19.3    21.6
 *   a text in every tenth line                  3.5     4.5
 *   loss=0\.00000[0-9]                          3.9     8.7
 *   [0-9]+ bytes|no such|fatal                  6.4     0.7
 *   loss=0\.[0-9]*99  (a literal in each line)  1.2     4.8
 *   (runtime|value)error|traceback, any case    9.1     1.0
 *   .*99$                                       1.5     0.8
 *
 * Reading the chunks costs 0.4 ns per byte in all cases, so PCRE2 would make two of the
 * six searches of the benchmark faster (1.3 and 2 times) and one three times slower. It
 * backtracks: (.*loss.*)+[A-Z] on one line of 8 KB takes 0.02 ms here and ends PCRE2 at
 * its match limit after 60 ms (limit 10 million), without an answer.  A search must
 * have an answer, so PCRE2 could only stand beside this matcher, not replace it.
 *
 * A pattern does not change after it is compiled: any number of threads may match
 * it. */
#ifndef BASE_TEXT_PATTERN_H
#define BASE_TEXT_PATTERN_H

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

/* Returns owned; copies `text` as far as needed.  DET_INVALID: not a regular
 * expression, or refused; the sentence says why. */
det_status pattern_new(const char *text, struct pattern **ret_pattern, struct err *err);
/* The same with a-z and A-Z equal. */
det_status pattern_new_folding(const char *text, struct pattern **ret_pattern,
                               struct err *err);
void pattern_free(struct pattern *pattern); /* NULL: does nothing */
void pattern_freep(struct pattern **pattern);

/* Whether the pattern matches anywhere in the first PATTERN_TEXT_BYTES of `bytes`; `$`
 * is the end of all bytes. */
bool pattern_matches(const struct pattern *pattern, const char *bytes, size_t len);

/* Every match contains one of these texts, so a caller with many bytes searches for
 * them first.  Borrowed; each has at most PATTERN_LITERAL bytes, in lower case when the
 * pattern folds case.  Returns their number: 2 for "a|b", 0 for "[ab]". */
struct pattern_literal {
    char text[PATTERN_LITERAL];
    size_t len;
};
size_t pattern_literals(const struct pattern *pattern,
                        const struct pattern_literal **ret_literals);

/* A faster pattern_matches() for many texts: it caches the states of the pattern (about
 * 150 KB).  Borrows the pattern; one thread at a time. */
struct pattern_matcher;
det_status pattern_matcher_new(const struct pattern *pattern,
                               struct pattern_matcher **ret_matcher, struct err *err);
void pattern_matcher_free(struct pattern_matcher *matcher); /* NULL: does nothing */
bool pattern_matcher_finds(struct pattern_matcher *matcher, const char *bytes,
                           size_t len);
/* The place of the match that ends first; of several that end there, the one that
 * begins last.  ^, $ and word edges refer to all of `bytes`.  (When out of memory the
 * place is all of the searched bytes.) */
bool pattern_matcher_where(struct pattern_matcher *matcher, const char *bytes,
                           size_t len, size_t *ret_begin, size_t *ret_end);

#endif
