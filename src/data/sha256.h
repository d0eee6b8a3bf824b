/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - a SHA-256 checksum as 64 hexadecimal digits.
 *
 * A sum is fed piece by piece. sha256_part() puts the length in front of a piece: "ab"
 * and "c" differ from "a" and "bc". */
#ifndef DATA_SHA256_H
#define DATA_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT = 65, SHA256_STATE = 128, SHA256_BYTES = 32 };

struct sha256 {
    uint64_t state[SHA256_STATE / sizeof(uint64_t)]; /* the library's own */
};

void sha256_init(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *bytes, size_t len);
void sha256_part(struct sha256 *sum, const char *text); /* a text that ends with NUL */
/* Ends the sum; only sha256_init() may use it then. */
void sha256_text(struct sha256 *sum, char text[SHA256_TEXT]);

/* The sum of a whole piece as bytes.  sha256_fastest() asks the processor, which takes a
 * while, for its instructions: ask once and keep the answer. */
typedef void sha256_fn(const void *bytes, size_t len, unsigned char sum[SHA256_BYTES]);
sha256_fn *sha256_fastest(void);
/* The same on any processor. */
void sha256_plain(const void *bytes, size_t len, unsigned char sum[SHA256_BYTES]);

#endif
