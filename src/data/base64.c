/* SPDX-License-Identifier: Apache-2.0 */
/* base64.c - bytes as letters, by libsodium.
 *
 * libsodium takes the same time for every text of one length and is therefore slow
 * (230 MB/s, and 150 MB/s back).  The largest model definition, 128 MB, takes a second
 * to read; ordinary ones take a millisecond. */
#include "data/base64.h"

#include <sodium.h>
#include <string.h>

#include "base/memory/buf.h"

void base64_encode(struct buf *out, const void *bytes, size_t len)
{
    size_t need = (len + 2) / 3 * 4;
    char *to = buf_room(out, need);

    if (!to)
        return;
    sodium_bin2base64(to, need + 1, bytes, len, sodium_base64_VARIANT_ORIGINAL);
    buf_took(out, need);
}

static det_status decode_variant(struct buf *out, const char *text, size_t len,
                                 int variant, struct err *err)
{
    size_t most = len / 4 * 3 + 3;
    const char *end = text;
    size_t took;
    char *to = buf_room(out, most);

    if (!to)
        return err_default(err, out->status);
    if (sodium_base642bin((unsigned char *)to, most, text, len, NULL, &took, &end,
                          variant) ||
        end != text + len)
        return err_set(err, DET_INVALID, "not valid base64 text, from byte %zu on",
                       (size_t)(end - text) + 1);
    buf_took(out, took);
    return DET_OK;
}

det_status base64_decode(struct buf *out, const char *text, size_t len, struct err *err)
{
    bool is_padded = len && text[len - 1] == '=';

    return decode_variant(out, text, len,
                          is_padded ? sodium_base64_VARIANT_ORIGINAL
                                    : sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
                          err);
}

void base64url_encode(struct buf *out, const void *bytes, size_t len)
{
    size_t need =
        sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *to = buf_room(out, need);

    if (!to)
        return;
    sodium_bin2base64(to, need, bytes, len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    buf_took(out, need - 1); /* without the NUL */
}

det_status base64url_decode(struct buf *out, const char *text, size_t len,
                            struct err *err)
{
    return decode_variant(out, text, len, sodium_base64_VARIANT_URLSAFE_NO_PADDING,
                          err);
}

void hex_encode(char *text, const void *bytes, size_t len)
{
    sodium_bin2hex(text, 2 * len + 1, bytes, len);
}

bool hex_decode(void *bytes, size_t len, const char *text)
{
    size_t took;

    return strlen(text) == 2 * len &&
           !sodium_hex2bin(bytes, len, text, 2 * len, NULL, &took, NULL) && took == len;
}
