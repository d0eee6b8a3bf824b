/* SPDX-License-Identifier: Apache-2.0 */
/* id_token.h - whether a verified ID token was issued for this sign-in (OpenID Connect Core
 * 1.0, section 3.1.3.7).  Pure: the time comes from the caller. */
#ifndef MASTER_SIGNIN_ID_TOKEN_H
#define MASTER_SIGNIN_ID_TOKEN_H

#include <stdint.h>

#include "base/err.h"

struct json;

struct id_token_want {
    const char *issuer;
    const char *client_id;
    const char *nonce;
    const char *access_token; /* came with the ID token; NULL: none did */
    int64_t now_s;
};

/* How far the clocks of the provider and of this machine may differ. */
enum { ID_TOKEN_SKEW_S = 60, ID_TOKEN_OLDEST_S = 600 };

/* Checks iss, aud, azp, exp, nbf, iat, nonce, at_hash and sub.  DET_UNAUTHENTICATED, with a
 * sentence that names the claim. */
det_status id_token_check(const struct json *claims, const struct id_token_want *want,
                          struct err *err);

#endif
