/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/token.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/base64.h"
#include "data/text.h"

enum { MAC_TEXT = 2 * crypto_auth_BYTES + 1, HEAD_MOST = 64 };

/* The code over everything before it. */
static void write_mac(const unsigned char *key, const char *head, size_t len,
                      char text[MAC_TEXT])
{
    unsigned char mac[crypto_auth_BYTES];

    crypto_auth(mac, (const unsigned char *)head, (unsigned long long)len, key);
    hex_encode(text, mac, sizeof(mac));
}

const char *token_write(const unsigned char *key, const struct token *token,
                        struct arena *mem)
{
    char mac[MAC_TEXT];
    const char *head = arena_printf(mem, "%c%" PRId64 "%s%s", (char)token->kind,
                                    token->id, *token->nonce ? "." : "", token->nonce);

    if (!head)
        return NULL;
    write_mac(key, head, strlen(head), mac);
    return arena_printf(mem, "%s.%s", head, mac);
}

static bool is_kind(char kind)
{
    return kind == TOKEN_SESSION || kind == TOKEN_USER || kind == TOKEN_TASK ||
           kind == TOKEN_SUPERVISOR;
}

/* "s12.<nonce>", or "s12" */
static bool read_head(char *head, struct token *ret_token)
{
    char *dot = strchr(head, '.');

    *ret_token = (struct token){.kind = (enum token_kind)head[0]};
    if (dot) {
        if (strlen(dot + 1) != NONCE_TEXT - 1)
            return false;
        memcpy(ret_token->nonce, dot + 1, NONCE_TEXT);
        *dot = '\0';
    }
    return is_kind(head[0]) && parse_i64(head + 1, &ret_token->id);
}

bool token_read(const unsigned char *key, const char *text, struct token *ret_token)
{
    const char *code = strrchr(text, '.');
    size_t len = code ? (size_t)(code - text) : 0;
    char mac[MAC_TEXT];
    char head[HEAD_MOST];

    if (!code || len >= sizeof(head) || strlen(code + 1) != MAC_TEXT - 1)
        return false;
    write_mac(key, text, len, mac);
    if (sodium_memcmp(mac, code + 1, MAC_TEXT - 1))
        return false;
    memcpy(head, text, len);
    head[len] = '\0';
    return read_head(head, ret_token);
}
