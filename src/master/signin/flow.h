/* SPDX-License-Identifier: Apache-2.0 */
/* flow.h - what the master must remember between sending a browser to the identity provider
 * and its return.
 *
 * The browser carries it, sealed, in a cookie: anybody may begin a sign-in, so the master
 * keeps nothing for them.  The cookie also binds the sign-in to the browser that began it; an
 * address that was made by somebody else opens nothing.  The key lives as long as the
 * master: after a restart, people begin again.
 *
 * A flow is used once: signin.h remembers the states of completed flows until they expire. */
#ifndef MASTER_SIGNIN_FLOW_H
#define MASTER_SIGNIN_FLOW_H

#include <stdint.h>

#include "base/err.h"

struct arena;

enum {
    FLOW_KEY_BYTES = 32,
    FLOW_SECRET_TEXT = 44, /* 32 random bytes in base64url, with the NUL */
    FLOW_S = 600,          /* a person must sign in within this time */
    FLOW_RETURN_MOST = 1500,
};

struct flow {
    char state[FLOW_SECRET_TEXT];
    char nonce[FLOW_SECRET_TEXT];
    char verifier[FLOW_SECRET_TEXT]; /* PKCE, RFC 7636 */
    int64_t expires_s;
    const char *return_to; /* a path of this master */
};

/* New secrets; `return_to` is borrowed. */
det_status flow_begin(int64_t now_s, const char *return_to, struct flow *ret_flow,
                      struct err *err);
/* The S256 challenge of a verifier. */
void flow_challenge(const char *verifier, char challenge[FLOW_SECRET_TEXT]);

/* In `mem`; NULL: no memory. */
const char *flow_seal(const struct flow *flow, const unsigned char key[FLOW_KEY_BYTES],
                      struct arena *mem);
/* DET_UNAUTHENTICATED: not ours, changed, or too old. */
det_status flow_open(const char *sealed, const unsigned char key[FLOW_KEY_BYTES],
                     int64_t now_s, struct arena *mem, struct flow *ret_flow,
                     struct err *err);

/* DET_INVALID unless `path` leads to a page of this master: a redirect to another host
 * would make this master's address a tool of a deceiver. */
det_status flow_check_return(const char *path, struct err *err);

#endif
