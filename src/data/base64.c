/* SPDX-License-Identifier: Apache-2.0 */
/* base64.c - bytes as letters: see text.h. */
#include <string.h>

#include "base/buf.h"
#include "data/text.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    size_t need = (len + 2) / 3 * 4;
    char *to = buf_room(out, need);

    if (!to)
        return;
    for (; len >= 3; len -= 3, from += 3) {
        *to++ = alphabet[from[0] >> 2];
        *to++ = alphabet[(from[0] & 3) << 4 | from[1] >> 4];
        *to++ = alphabet[(from[1] & 15) << 2 | from[2] >> 6];
        *to++ = alphabet[from[2] & 63];
    }
    if (len) {
        unsigned char second = len == 2 ? from[1] : 0;

        *to++ = alphabet[from[0] >> 2];
        *to++ = alphabet[(from[0] & 3) << 4 | second >> 4];
        *to++ = len == 2 ? alphabet[(second & 15) << 2] : '=';
        *to++ = '=';
    }
    buf_took(out, need);
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Without the padding, which must make the length a multiple of four if it is there. */
static bool unpad(const char *text, size_t *len)
{
    size_t whole = *len;

    while (*len && whole - *len < 2 && text[*len - 1] == '=')
        --*len;
    return *len % 4 != 1 && (*len == whole || whole % 4 == 0);
}

det_status base64_decode(struct buf *out, const char *text, size_t len, struct err *err)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t took = 0;
    char *to;

    if (!unpad(text, &len))
        return err_set(err, DET_INVALID, "base64 text of a wrong length");
    to = buf_room(out, len / 4 * 3 + 3);
    if (!to)
        return err_default(err, out->status);
    for (size_t i = 0; i < len; i++) {
        int value = value_of(text[i]);

        if (value < 0)
            return err_set(err, DET_INVALID, "byte %zu is no base64 character", i + 1);
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[took++] = (char)(bits >> have);
        }
    }
    if (bits & ((1u << have) - 1))
        return err_set(err, DET_INVALID, "base64 text ends with stray bits");
    buf_took(out, took);
    return DET_OK;
}

void hex_encode(char *text, const void *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;

    for (size_t i = 0; i < len; i++) {
        *text++ = digits[from[i] >> 4];
        *text++ = digits[from[i] & 15];
    }
    *text = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hex_decode(void *bytes, size_t len, const char *text)
{
    unsigned char *to = bytes;

    if (strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_value(text[2 * i]);
        int low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        to[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
