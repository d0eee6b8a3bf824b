/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - checks UTF-8 (RFC 3629: no surrogates, no overlong forms). */
#ifndef DATA_UTF8_H
#define DATA_UTF8_H

#include <stddef.h>

/* Bytes of the character at the start of `text`, 1 to 4; 0: not a valid character. */
size_t utf8_char(const char *text, size_t len);
/* Length of the longest start of `text` that is valid; `len` when all of it is. */
size_t utf8_valid(const char *text, size_t len);

#endif
