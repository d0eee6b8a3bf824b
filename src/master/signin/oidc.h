/* SPDX-License-Identifier: Apache-2.0 */
/* oidc.h - sign-in through an OpenID Connect provider: authorization code flow with PKCE.
 *
 *   browser -> /oidc/login -> provider -> /oidc/callback -> session
 *                |                           |
 *          discovery document          code for tokens; the ID token is verified with
 *                                      the provider's published keys
 *
 * The provider is asked for its discovery document and keys at the first sign-in, then once
 * an hour.  A token signed with an unknown key makes us fetch the keys again, at most once
 * in KEYS_PAUSE_US: forged tokens must not make this master call the provider for each.
 *
 * Threading: from any thread.  Every function may block for the time of a few calls, so they
 * run on the sign-in lane.  The lock guards the cached documents and is not held during
 * calls. */
#ifndef MASTER_SIGNIN_OIDC_H
#define MASTER_SIGNIN_OIDC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct flow;
struct identity;
struct oidc;
struct web;

/* Strings are borrowed; they live as long as the master. */
struct oidc_config {
    const char *provider; /* its name, for people */
    const char *issuer;
    const char *client_id;
    const char *client_secret; /* "": a public client */
    const char *redirect_uri;
    const char *scopes;        /* separated by spaces */
    const char *name_claim;    /* "": preferred_username, else email */
    const char *groups_claim;  /* "": none */
    const char *display_claim; /* "": none */
    const char *admin_group;   /* "": none */
    const char *ca_file;       /* NULL: the certificates that this machine trusts */
    bool may_provision;
    const _Atomic bool *is_stopping;
};

det_status oidc_new(const struct oidc_config *config, const struct web *web,
                    struct oidc **ret_oidc, struct err *err);
void oidc_free(struct oidc *oidc);

/* The provider's page for this sign-in. */
det_status oidc_login_url(struct oidc *oidc, const struct flow *flow, int64_t now_us,
                          struct arena *mem, const char **ret_url, struct err *err);
/* Redeems the code that came back.  DET_UNAUTHENTICATED: the provider or its token is not
 * to be believed; DET_UNREACHABLE, DET_TIMEOUT: it does not answer. */
det_status oidc_finish(struct oidc *oidc, const struct flow *flow, const char *code,
                       int64_t now_us, struct arena *mem, struct identity *ret_identity,
                       struct err *err);
/* RFC 9207: the provider may name itself when it sends the browser back. */
det_status oidc_check_issuer(const struct oidc *oidc, const char *issuer,
                             struct err *err);

#endif
