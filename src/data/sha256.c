/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sha256.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "data/base64.h"

static_assert(sizeof(crypto_hash_sha256_state) <= SHA256_STATE,
              "the state must fit behind the header");

static crypto_hash_sha256_state *state_of(struct sha256 *sum)
{
    return (crypto_hash_sha256_state *)(void *)sum->state;
}

void sha256_init(struct sha256 *sum)
{
    crypto_hash_sha256_init(state_of(sum));
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t len)
{
    if (len)
        crypto_hash_sha256_update(state_of(sum), bytes, len);
}

void sha256_part(struct sha256 *sum, const char *text)
{
    uint64_t len = strlen(text);
    unsigned char front[8];

    for (size_t i = 0; i < sizeof(front); i++)
        front[i] = (unsigned char)(len >> (8 * i));
    sha256_add(sum, front, sizeof(front));
    sha256_add(sum, text, len);
}

void sha256_text(struct sha256 *sum, char text[SHA256_TEXT])
{
    unsigned char bytes[crypto_hash_sha256_BYTES];

    crypto_hash_sha256_final(state_of(sum), bytes);
    hex_encode(text, bytes, sizeof(bytes));
}

void sha256_plain(const void *bytes, size_t len, unsigned char sum[SHA256_BYTES])
{
    crypto_hash_sha256(sum, bytes, len);
}
