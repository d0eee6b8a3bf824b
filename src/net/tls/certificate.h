/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - certificates: reads them from files, checks them, and makes a
 * self-signed one. */
#ifndef NET_TLS_CERTIFICATE_H
#define NET_TLS_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/tls/gnutls.h"

struct buf;

/* SHA-256 of the certificate, as browsers and openssl write it: "AB:CD:...". */
enum { CERTIFICATE_FINGERPRINT = 96 }; /* with the NUL */
void certificate_fingerprint(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                             char text[CERTIFICATE_FINGERPRINT]);
/* Ignores upper and lower case, colons, and a "sha256:" in front. */
bool certificate_same_fingerprint(const char *one, const char *other);
/* Whether the text has the 64 digits of a fingerprint. */
bool certificate_is_fingerprint(const char *text);

/* A list of certificates from a PEM text. */
enum { CERTIFICATES_MOST = 512 };
struct certificates {
    gnutls_x509_crt_t *list;
    unsigned count;
};
/* `path` is for the sentence only.  DET_INVALID: no certificate is in it. */
det_status certificates_read(const struct gnutls *gnutls, const struct buf *pem,
                             const char *path, struct certificates *ret_list,
                             struct err *err);
void certificates_done(const struct gnutls *gnutls, struct certificates *list);

/* DET_INVALID if the certificate is not valid now; `whose` begins the sentence. */
det_status certificate_check_time(const struct gnutls *gnutls,
                                  gnutls_x509_crt_t certificate, const char *whose,
                                  struct err *err);
/* Until when it is valid, in microseconds. */
int64_t certificate_expires_us(const struct gnutls *gnutls,
                               gnutls_x509_crt_t certificate);
/* People should renew a certificate CERTIFICATE_WARN_DAYS before it expires.  Returns false if
 * there is more time; otherwise writes "expires on 2026-03-01 12:00 UTC, in 9 days", or
 * "expired on ...". */
enum { CERTIFICATE_WARN_DAYS = 30, CERTIFICATE_WARNING = 96 };
bool certificate_warning(int64_t expires_us, int64_t now_us,
                         char text[CERTIFICATE_WARNING]);
/* Writes the names in it, separated by commas. */
void certificate_names(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                       struct buf *out);

/* What a server shows: its certificate with the chain behind it, and the key. */
struct certificate_pair {
    gnutls_pcert_st *chain;
    unsigned count;
    gnutls_privkey_t key;
    gnutls_x509_crt_t leaf;
    char fingerprint[CERTIFICATE_FINGERPRINT];
    int64_t expires_us;
};
/* Reads and checks both files.  DET_INVALID, DET_NOT_FOUND or DET_FORBIDDEN, with one
 * sentence, for files that are unreadable, do not fit together or have expired. */
det_status certificate_pair_read(const char *cert_file, const char *key_file,
                                 struct certificate_pair *ret_pair, struct err *err);
void certificate_pair_done(struct certificate_pair *pair);

/* Makes a key (EC P-256) and a certificate that is valid for ten years, for this machine's
 * name and addresses and for `host`, if that is a name or an address of its own.  Appends
 * PEM. */
det_status certificate_make(const char *host, struct buf *ret_cert, struct buf *ret_key,
                            struct err *err);

#endif
