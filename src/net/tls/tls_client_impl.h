/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client_impl.h - what tls_client.c and tls_verify.c share. */
#ifndef NET_TLS_TLS_CLIENT_IMPL_H
#define NET_TLS_TLS_CLIENT_IMPL_H

#include "base/memory/buf.h"
#include "net/net.h"
#include "net/tls/certificate.h"
#include "net/tls/tls_client.h"

enum { TLS_EARLY = 512 };

struct tls_client {
    const struct gnutls *gnutls;
    struct net_trust trust; /* its strings are the next three */
    char *cert_file;
    char *name;
    char *pin;
    char *host;

    gnutls_session_t session; /* NULL: none */
    gnutls_certificate_credentials_t credentials;
    bool is_shaken;
    char *record;          /* the one being sent */
    size_t unsent;         /* of it, after EAGAIN */
    char early[TLS_EARLY]; /* arrived while sending */
    size_t early_at;
    size_t early_len;

    struct buf resume;      /* the last session; empty: none */
    struct buf certificate; /* of the last server, as PEM */
    char fingerprint[CERTIFICATE_FINGERPRINT];
    bool is_distrusted;
};

/* Loads what the server's certificate will be compared with. */
det_status tls_verify_prepare(struct tls_client *tls, struct err *err);
/* After the handshake.  DET_UNREACHABLE if the server is not the intended one. */
det_status tls_verify(struct tls_client *tls, struct err *err);

#endif
