/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server.h - what a server shows to its clients: a certificate from files, which can
 * be replaced while the server runs.
 *
 * libmicrohttpd makes and drives the sessions.  It asks tls_server_certificate() for the
 * certificate of each; tls_server_join() tells the session where to find it. */
#ifndef NET_TLS_TLS_SERVER_H
#define NET_TLS_TLS_SERVER_H

#include "net/tls/certificate.h"

struct tls_server;

/* At least TLS 1.2, only ciphers that also authenticate, and keys that a later theft of
 * the server's key does not reveal.  AES-128 first: it is the fastest. */
#define TLS_PRIORITIES                                                                 \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:"             \
    "+AES-256-GCM:+CHACHA20-POLY1305:-RSA:-DHE-RSA:%SERVER_PRECEDENCE"

/* Fails as certificate_pair_read(). */
det_status tls_server_new(const char *cert_file, const char *key_file,
                          struct tls_server **ret_tls, struct err *err);
void tls_server_free(struct tls_server *tls); /* NULL does nothing */
/* Reads the files again, from any thread.  Sessions that begin later get the new
 * certificate, and none of them resumes an old session.  After a failure everything stays
 * as it was. */
det_status tls_server_reload(struct tls_server *tls, struct err *err);
void tls_server_fingerprint(struct tls_server *tls, char text[CERTIFICATE_FINGERPRINT]);

/* Whether the certificate is for this host. */
bool tls_server_has_name(struct tls_server *tls, const char *host);

/* A session begins. */
void tls_server_join(struct tls_server *tls, gnutls_session_t session);
/* A gnutls_certificate_retrieve_function3. */
int tls_server_certificate(gnutls_session_t session,
                           const struct gnutls_cert_retr_st *info,
                           gnutls_pcert_st **certs, unsigned *count,
                           gnutls_ocsp_data_st **ocsp, unsigned *ocsp_count,
                           gnutls_privkey_t *key, unsigned *flags);

#endif
