/* SPDX-License-Identifier: Apache-2.0 */
/* base64.h - bytes as letters: base64 and hexadecimal. */
#ifndef DATA_BASE64_H
#define DATA_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf;

void base64_encode(struct buf *out, const void *bytes, size_t len);
/* Standard alphabet, with or without padding; DET_INVALID otherwise. */
det_status base64_decode(struct buf *out, const char *text, size_t len,
                         struct err *err);

/* The alphabet for addresses (RFC 4648, section 5), without padding. */
void base64url_encode(struct buf *out, const void *bytes, size_t len);
det_status base64url_decode(struct buf *out, const char *text, size_t len,
                            struct err *err);

void hex_encode(char *text, const void *bytes, size_t len); /* 2 * len + 1 bytes */
/* Exactly 2 * `len` digits, in either case; false otherwise. */
bool hex_decode(void *bytes, size_t len, const char *text);

#endif
