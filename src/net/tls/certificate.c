/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/certificate.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

enum { FILE_LIMIT = 4 << 20, DIGEST = 32, DATE_TEXT = 32, CHAIN_MOST = 16 };

/* ---- fingerprints ---------------------------------------------------------------- */

void certificate_fingerprint(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                             char text[CERTIFICATE_FINGERPRINT])
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char digest[DIGEST];
    size_t size = sizeof(digest);
    char *to = text;

    text[0] = '\0';
    if (gnutls->x509_crt_get_fingerprint(certificate, GNUTLS_DIG_SHA256, digest, &size))
        return;
    for (size_t i = 0; i < size; i++) {
        *to++ = digits[digest[i] >> 4];
        *to++ = digits[digest[i] & 15];
        *to++ = i + 1 < size ? ':' : '\0';
    }
}

/* The next digit, in upper case; '\0' at the end, and for anything else. */
static char next_digit(const char **at)
{
    char c;

    while (**at == ':')
        (*at)++;
    c = **at;
    if (c)
        (*at)++;
    if (c >= 'a' && c <= 'f')
        return (char)(c - 'a' + 'A');
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') ? c : '\0';
}

static const char *behind_prefix(const char *text)
{
    return strncasecmp(text, "sha256:", 7) ? text : text + 7;
}

bool certificate_same_fingerprint(const char *one, const char *other)
{
    if (!certificate_is_fingerprint(one) || !certificate_is_fingerprint(other))
        return false;
    one = behind_prefix(one);
    other = behind_prefix(other);
    for (int i = 0; i < 2 * DIGEST; i++)
        if (next_digit(&one) != next_digit(&other))
            return false;
    return true;
}

bool certificate_is_fingerprint(const char *text)
{
    text = behind_prefix(text);
    for (int i = 0; i < 2 * DIGEST; i++)
        if (!next_digit(&text))
            return false;
    return !*text;
}

/* ---- lists ----------------------------------------------------------------------- */

void certificates_done(const struct gnutls *gnutls, struct certificates *list)
{
    for (unsigned i = 0; i < list->count; i++)
        gnutls->x509_crt_deinit(list->list[i]);
    mem_free(list->list);
    *list = (struct certificates){0};
}

det_status certificates_read(const struct gnutls *gnutls, const struct buf *pem,
                             const char *path, struct certificates *ret_list,
                             struct err *err)
{
    gnutls_datum_t data = {(unsigned char *)pem->data, (unsigned)pem->len};
    struct certificates list = {.count = CERTIFICATES_MOST};
    int code;

    list.list = mem_alloc(CERTIFICATES_MOST * sizeof(list.list[0]));
    if (!list.list)
        return err_default(err, DET_NOMEM);
    code =
        gnutls->x509_crt_list_import(list.list, &list.count, &data, GNUTLS_X509_FMT_PEM,
                                     GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    if (code <= 0) {
        mem_free(list.list);
        return err_set(err, DET_INVALID, "'%s' is not a certificate in PEM form%s%s",
                       path, code ? ": " : "", code ? gnutls->strerror(code) : "");
    }
    *ret_list = list;
    return DET_OK;
}

/* ---- what a certificate says ----------------------------------------------------- */

static void write_date(time_t at, char text[DATE_TEXT])
{
    struct tm parts;

    if (!gmtime_r(&at, &parts) || !strftime(text, DATE_TEXT, "%Y-%m-%d %H:%M", &parts))
        text[0] = '\0';
}

det_status certificate_check_time(const struct gnutls *gnutls,
                                  gnutls_x509_crt_t certificate, const char *whose,
                                  struct err *err)
{
    time_t now = (time_t)(clock_wall_us(&clock_system) / 1000000);
    time_t first = gnutls->x509_crt_get_activation_time(certificate);
    time_t last = gnutls->x509_crt_get_expiration_time(certificate);
    char date[DATE_TEXT];

    if (now > last) {
        write_date(last, date);
        return err_set(err, DET_INVALID, "%s expired on %s UTC", whose, date);
    }
    if (now < first) {
        write_date(first, date);
        return err_set(err, DET_INVALID, "%s is valid only from %s UTC on", whose,
                       date);
    }
    return DET_OK;
}

int64_t certificate_expires_us(const struct gnutls *gnutls,
                               gnutls_x509_crt_t certificate)
{
    return (int64_t)gnutls->x509_crt_get_expiration_time(certificate) * 1000000;
}

bool certificate_warning(int64_t expires_us, int64_t now_us,
                         char text[CERTIFICATE_WARNING])
{
    const int64_t day_us = INT64_C(24) * 3600 * 1000000;
    int64_t left_us = expires_us - now_us;
    char date[DATE_TEXT];

    if (left_us >= CERTIFICATE_WARN_DAYS * day_us)
        return false;
    write_date((time_t)(expires_us / 1000000), date);
    if (left_us < 0)
        snprintf(text, CERTIFICATE_WARNING, "expired on %s UTC", date);
    else
        snprintf(text, CERTIFICATE_WARNING, "expires on %s UTC, in %" PRId64 " day%s",
                 date, left_us / day_us, left_us / day_us == 1 ? "" : "s");
    return true;
}

/* A certificate from elsewhere may hold anything: what is no address is not shown. */
static void write_address(const void *bytes, size_t len, struct buf *out)
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (len == sizeof(struct in_addr))
        (void)inet_ntop(AF_INET, bytes, text, sizeof(text));
    else if (len == sizeof(struct in6_addr))
        (void)inet_ntop(AF_INET6, bytes, text, sizeof(text));
    buf_puts(out, text);
}

void certificate_names(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                       struct buf *out)
{
    char name[512];

    for (unsigned i = 0;; i++) {
        size_t size = sizeof(name) - 1;
        int kind =
            gnutls->x509_crt_get_subject_alt_name(certificate, i, name, &size, NULL);

        if (kind < 0)
            return;
        if (kind != GNUTLS_SAN_DNSNAME && kind != GNUTLS_SAN_IPADDRESS)
            continue;
        if (out->len)
            buf_puts(out, ", ");
        if (kind == GNUTLS_SAN_DNSNAME)
            buf_printf(out, "%.*s", (int)size, name);
        else
            write_address(name, size, out);
    }
}

/* ---- a server's pair ------------------------------------------------------------- */

void certificate_pair_done(struct certificate_pair *pair)
{
    const struct gnutls *gnutls;

    if (gnutls_load(&gnutls, NULL))
        return;
    for (unsigned i = 0; i < pair->count; i++)
        gnutls->pcert_deinit(&pair->chain[i]);
    mem_free(pair->chain);
    if (pair->key)
        gnutls->privkey_deinit(pair->key);
    if (pair->leaf)
        gnutls->x509_crt_deinit(pair->leaf);
    *pair = (struct certificate_pair){0};
}

static det_status read_key(const struct gnutls *gnutls, const char *path,
                           struct certificate_pair *pair, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    gnutls_datum_t data;
    det_status st = io_read_file(io_system(), path, &text, err);
    int code;

    if (st) {
        (void)err_prefix(err, "the private key of the certificate");
        return st;
    }
    data = (gnutls_datum_t){(unsigned char *)text.data, (unsigned)text.len};
    code = gnutls->privkey_init(&pair->key);
    if (!code)
        code = gnutls->privkey_import_x509_raw(pair->key, &data, GNUTLS_X509_FMT_PEM,
                                               NULL, 0);
    if (text.len)
        explicit_bzero(text.data, text.len);
    if (code == GNUTLS_E_MEMORY_ERROR)
        return err_default(err, DET_NOMEM);
    if (code == GNUTLS_E_DECRYPTION_FAILED)
        return err_set(
            err, DET_INVALID,
            "the private key in '%s' has a passphrase; store it without one, "
            "in a file that only its owner can read",
            path);
    if (code)
        return err_set(err, DET_INVALID, "'%s' is not a private key in PEM form: %s",
                       path, gnutls->strerror(code));
    return DET_OK;
}

static det_status check_match(const struct gnutls *gnutls, gnutls_x509_crt_t leaf,
                              gnutls_privkey_t key, const char *cert_file,
                              const char *key_file, struct err *err)
{
    unsigned char ids[2][64];
    size_t sizes[2] = {sizeof(ids[0]), sizeof(ids[1])};
    gnutls_pubkey_t public;
    int code = gnutls->pubkey_init(&public);

    if (code)
        return err_default(err, DET_NOMEM);
    code = gnutls->pubkey_import_privkey(public, key, 0, 0);
    if (!code)
        code = gnutls->pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, ids[0],
                                         &sizes[0]);
    if (!code)
        code = gnutls->x509_crt_get_key_id(leaf, GNUTLS_KEYID_USE_SHA256, ids[1],
                                           &sizes[1]);
    gnutls->pubkey_deinit(public);
    if (code)
        return err_set(err, DET_INVALID, "cannot use the private key in '%s': %s",
                       key_file, gnutls->strerror(code));
    if (sizes[0] != sizes[1] || memcmp(ids[0], ids[1], sizes[0]) != 0)
        return err_set(err, DET_INVALID,
                       "the private key in '%s' does not belong to the certificate in "
                       "'%s'",
                       key_file, cert_file);
    return DET_OK;
}

static det_status take_chain(const struct gnutls *gnutls,
                             const struct certificates *list,
                             struct certificate_pair *pair, struct err *err)
{
    unsigned count = MIN(list->count, (unsigned)CHAIN_MOST);

    pair->chain = mem_alloc(count * sizeof(pair->chain[0]));
    if (!pair->chain)
        return err_default(err, DET_NOMEM);
    for (; pair->count < count; pair->count++)
        if (gnutls->pcert_import_x509(&pair->chain[pair->count],
                                      list->list[pair->count], 0))
            return err_default(err, DET_NOMEM);
    return DET_OK;
}

static det_status fill_pair(const struct gnutls *gnutls, const char *cert_file,
                            const char *key_file, struct certificate_pair *pair,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    struct certificates list = {0};
    char whose[512];
    det_status st = io_read_file(io_system(), cert_file, &text, err);

    if (st) {
        (void)err_prefix(err, "the certificate");
        return st;
    }
    st = certificates_read(gnutls, &text, cert_file, &list, err);
    if (st)
        return st;
    snprintf(whose, sizeof(whose), "the certificate in '%s'", cert_file);
    st = certificate_check_time(gnutls, list.list[0], whose, err);
    if (!st)
        st = read_key(gnutls, key_file, pair, err);
    if (!st)
        st = check_match(gnutls, list.list[0], pair->key, cert_file, key_file, err);
    if (!st)
        st = take_chain(gnutls, &list, pair, err);
    certificate_fingerprint(gnutls, list.list[0], pair->fingerprint);
    pair->expires_us = certificate_expires_us(gnutls, list.list[0]);
    pair->leaf = list.list[0];
    list.list[0] = list.list[--list.count];
    certificates_done(gnutls, &list);
    return st;
}

det_status certificate_pair_read(const char *cert_file, const char *key_file,
                                 struct certificate_pair *ret_pair, struct err *err)
{
    struct certificate_pair pair = {0};
    const struct gnutls *gnutls;
    det_status st = gnutls_load(&gnutls, err);

    if (st)
        return st;
    st = fill_pair(gnutls, cert_file, key_file, &pair, err);
    if (st)
        certificate_pair_done(&pair);
    else
        *ret_pair = pair;
    return st;
}
