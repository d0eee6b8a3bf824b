/* SPDX-License-Identifier: Apache-2.0 */
/* jws.h - signed tokens of an identity provider (RFC 7515), verified with its keys.
 *
 * Only RS256 and ES256 with the provider's public keys are accepted.  An unsigned token
 * (`alg: none`) and a token signed with a shared secret (HS256, for which anybody could use
 * the public key) are refused before any key is looked at: the algorithm decides the type of
 * key, never the other way round.
 *
 * GnuTLS verifies.  libmicrohttpd has loaded it already, so it costs the master nothing, and
 * its calls take the numbers of a JWK directly.  libjwt and libjose would each add a JSON
 * library beside ours. */
#ifndef MASTER_SIGNIN_JWS_H
#define MASTER_SIGNIN_JWS_H

#include <stddef.h>

#include "base/err.h"

struct arena;
struct json;

enum { JWS_MOST = 64 << 10 }; /* bytes of a token */

/* DET_UNSUPPORTED, naming the package, if GnuTLS is not installed. */
det_status jws_check_library(struct err *err);

/* Verifies `token` with the keys of `key_set` (a JWK set, RFC 7517) and returns what it
 * claims.  DET_NOT_FOUND: the set has no key of the token's id; a newer set may have it.
 * DET_UNAUTHENTICATED: anything else that is wrong with the token. */
det_status jws_verify(const char *token, const struct json *key_set, struct arena *mem,
                      struct json **ret_claims, struct err *err);

#endif
