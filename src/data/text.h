/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers, sizes, words and paths as text. */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Whole strings only, without spaces around; false otherwise, and on overflow. */
bool parse_i64(const char *text, int64_t *ret_value);
bool parse_real(const char *text, double *ret_value);
/* "4GiB", "64kb", "1024": bytes. */
bool parse_size(const char *text, uint64_t *ret_bytes);

/* "2.5KB": at most one decimal, powers of 1024. */
void size_format(uint64_t bytes, char text[16]);

/* The candidate nearest to `word` by edit distance, or NULL when none is near enough to
 * be a typing error.  `candidates` ends with NULL. */
const char *nearest_word(const char *word, const char *const *candidates);

/* Whether `path` stays inside the folder it is relative to: not absolute, no "..". */
bool path_is_inside(const char *path);

/* What follows `root` in `path`, relative ("": they are the same); NULL if `path` is not
 * below it by its name, or has "..".  Both are absolute. */
const char *path_under(const char *path, const char *root);

#endif
