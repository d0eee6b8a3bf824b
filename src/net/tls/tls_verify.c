/* SPDX-License-Identifier: Apache-2.0 */
/* tls_verify.c - whether a server is the intended one.  The first row that applies counts:
 *
 *   is_unverified            yes, whoever it is
 *   not valid now            no
 *   a fingerprint            if it is the one of the server's certificate
 *   a file                   if the server's certificate is in the file, or was signed by
 *                            one in the file for this name
 *   otherwise                if the machine's authorities vouch for it under this name
 *
 * A name that the caller expects by itself (`name`) must be in the certificate in each row
 * but the first. */
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "net/tls/tls_client_impl.h"

enum { FILE_LIMIT = 4 << 20 };

/* ---- before the handshake -------------------------------------------------------- */

static det_status read_cert_file(struct tls_client *tls, struct buf *text,
                                 struct err *err)
{
    det_status st = io_read_file(io_system(), tls->cert_file, text, err);

    if (st && st != DET_NOMEM)
        (void)err_prefix(err, "the certificate to expect of the master");
    return st;
}

det_status tls_verify_prepare(struct tls_client *tls, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    const struct gnutls *gnutls = tls->gnutls;
    const struct net_trust *trust = &tls->trust;
    gnutls_datum_t data;
    det_status st;

    if (gnutls->certificate_allocate_credentials(&tls->credentials))
        return err_default(err, DET_NOMEM);
    if (trust->is_unverified || trust->fingerprint)
        return DET_OK;
    if (!trust->cert_file) { /* a machine without authorities trusts nobody */
        (void)gnutls->certificate_set_x509_system_trust(tls->credentials);
        return DET_OK;
    }
    st = read_cert_file(tls, &text, err);
    if (st)
        return st;
    data = (gnutls_datum_t){(unsigned char *)text.data, (unsigned)text.len};
    if (gnutls->certificate_set_x509_trust_mem(tls->credentials, &data,
                                               GNUTLS_X509_FMT_PEM) <= 0)
        return err_set(err, DET_INVALID, "'%s' is not a certificate in PEM form",
                       tls->cert_file);
    return DET_OK;
}

/* ---- after it -------------------------------------------------------------------- */

static det_status refuse(struct tls_client *tls, const char *why, struct err *err)
{
    tls->is_distrusted = true;
    return err_set(err, DET_UNREACHABLE, "%s", why);
}

static det_status check_name(struct tls_client *tls, gnutls_x509_crt_t leaf,
                             const char *name, struct err *err)
{
    CLEANUP(buf_done) struct buf names = BUF_INIT;

    if (tls->gnutls->x509_crt_check_hostname(leaf, name))
        return DET_OK;
    tls->is_distrusted = true;
    certificate_names(tls->gnutls, leaf, &names);
    return err_set(err, DET_UNREACHABLE, "its certificate is not for '%s' but for %s",
                   name, names.len ? names.data : "no name");
}

static det_status check_pin(struct tls_client *tls, struct err *err)
{
    if (certificate_same_fingerprint(tls->trust.fingerprint, tls->fingerprint))
        return DET_OK;
    tls->is_distrusted = true;
    return err_set(err, DET_UNREACHABLE,
                   "its certificate is not the expected one: the fingerprint is %s, "
                   "expected was %s; either its administrator replaced it, or another "
                   "machine answers in its place",
                   tls->fingerprint, tls->trust.fingerprint);
}

/* Whether the file has this very certificate. */
static det_status find_in_file(struct tls_client *tls, bool *ret_is_found,
                               struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    struct certificates list = {0};
    det_status st;

    *ret_is_found = false;
    if (!tls->cert_file)
        return DET_OK;
    st = read_cert_file(tls, &text, err);
    if (!st)
        st = certificates_read(tls->gnutls, &text, tls->cert_file, &list, err);
    if (st)
        return st;
    for (unsigned i = 0; i < list.count && !*ret_is_found; i++) {
        char other[CERTIFICATE_FINGERPRINT];

        certificate_fingerprint(tls->gnutls, list.list[i], other);
        *ret_is_found = !strcmp(other, tls->fingerprint);
    }
    certificates_done(tls->gnutls, &list);
    return DET_OK;
}

/* What GnuTLS found wrong; the first row that applies is told.  A certificate that was made
 * anew for the same name seems to be signed by the old one, wrongly. */
static const struct complaint {
    unsigned bits;
    const char *text;
    const char *text_of_file; /* if a file says which certificates to expect */
} complaints[] = {
    {GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA |
         GNUTLS_CERT_SIGNATURE_FAILURE,
     "no authority that this machine trusts vouches for its certificate",
     "its certificate is neither in the file of expected certificates nor signed by "
     "one "
     "in it; either its administrator replaced it, or another machine answers in its "
     "place"},
    {GNUTLS_CERT_REVOKED, "its certificate was revoked", NULL},
    {GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED,
     "a certificate that vouches for it has expired, or is not valid yet", NULL},
    {GNUTLS_CERT_INSECURE_ALGORITHM,
     "its certificate is signed with an algorithm that is no longer safe", NULL},
    {~0U, "its certificate is not valid", NULL},
};

static det_status check_authority(struct tls_client *tls, gnutls_x509_crt_t leaf,
                                  struct err *err)
{
    const char *name = tls->trust.name ? tls->trust.name : tls->host;
    unsigned status = 0;
    int code = tls->gnutls->certificate_verify_peers3(tls->session, NULL, &status);

    if (code)
        return refuse(tls, tls->gnutls->strerror(code), err);
    for (size_t i = 0; i < ARRAY_LEN(complaints); i++) {
        const struct complaint *one = &complaints[i];

        if (status & one->bits)
            return refuse(tls,
                          tls->cert_file && one->text_of_file ? one->text_of_file
                                                              : one->text,
                          err);
    }
    return check_name(tls, leaf, name, err);
}

static det_status check_leaf(struct tls_client *tls, gnutls_x509_crt_t leaf,
                             struct err *err)
{
    bool is_found;
    det_status st;

    if (tls->trust.is_unverified)
        return DET_OK;
    st = certificate_check_time(tls->gnutls, leaf, "its certificate", err);
    if (st) {
        tls->is_distrusted = true;
        if (err)
            err->status = DET_UNREACHABLE;
        return DET_UNREACHABLE;
    }
    if (tls->trust.fingerprint) {
        st = check_pin(tls, err);
    } else {
        st = find_in_file(tls, &is_found, err);
        if (!st && !is_found)
            return check_authority(tls, leaf, err);
    }
    if (!st && tls->trust.name)
        st = check_name(tls, leaf, tls->trust.name, err);
    return st;
}

static void remember(struct tls_client *tls, gnutls_x509_crt_t leaf)
{
    size_t size = 65536;
    char *room;

    certificate_fingerprint(tls->gnutls, leaf, tls->fingerprint);
    buf_clear(&tls->certificate);
    room = buf_room(&tls->certificate, size);
    if (room && !tls->gnutls->x509_crt_export(leaf, GNUTLS_X509_FMT_PEM, room, &size))
        buf_took(&tls->certificate, size);
}

det_status tls_verify(struct tls_client *tls, struct err *err)
{
    const struct gnutls *gnutls = tls->gnutls;
    unsigned count = 0;
    const gnutls_datum_t *peers = gnutls->certificate_get_peers(tls->session, &count);
    gnutls_x509_crt_t leaf;
    det_status st;

    if (!peers || !count)
        return refuse(tls, "it showed no certificate", err);
    if (gnutls->x509_crt_init(&leaf))
        return err_default(err, DET_NOMEM);
    if (gnutls->x509_crt_import(leaf, &peers[0], GNUTLS_X509_FMT_DER)) {
        st = refuse(tls, "its certificate cannot be read", err);
    } else {
        remember(tls, leaf);
        st = check_leaf(tls, leaf, err);
    }
    gnutls->x509_crt_deinit(leaf);
    return st;
}
