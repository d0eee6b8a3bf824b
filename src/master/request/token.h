/* SPDX-License-Identifier: Apache-2.0 */
/* token.h - the text of a token: a kind, the number of a row, the row's random digits, and a
 * message authentication code over all three.
 *
 *   s<session>.<nonce>.<mac>     a user's session or access token
 *   u<allocation>.<nonce>.<mac>  DET_USER_TOKEN
 *   a<allocation>.<nonce>.<mac>  DET_SESSION_TOKEN
 *   p<allocation>.<nonce>.<mac>  the supervisor of a task
 *
 * The code shows without a query that this master issued the token.  Whether the token is
 * still valid only its row tells, and the nonce tells that it is that row. */
#ifndef MASTER_REQUEST_TOKEN_H
#define MASTER_REQUEST_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "store/nonce.h"

struct arena;

enum token_kind {
    TOKEN_SESSION = 's',
    TOKEN_USER = 'u',
    TOKEN_TASK = 'a',
    TOKEN_SUPERVISOR = 'p',
};

struct token {
    enum token_kind kind;
    int64_t id;
    char nonce[NONCE_TEXT]; /* "": issued before tokens had one */
};

/* `key` has crypto_auth_KEYBYTES bytes.  In `mem`; NULL: no memory. */
const char *token_write(const unsigned char *key, const struct token *token,
                        struct arena *mem);
/* False: it was not issued with this key. */
bool token_read(const unsigned char *key, const char *text, struct token *ret_token);

#endif
