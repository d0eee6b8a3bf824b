/* SPDX-License-Identifier: Apache-2.0 */
/* certificate_make.c - a self-signed certificate for a master without one.
 *
 * Clients trust it by its fingerprint, so its long life costs nothing; the names in it are
 * for browsers and for other programs that get the file. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/buf.h"
#include "net/tls/certificate.h"

enum {
    DAY_S = 24 * 3600,
    YEARS = 10,
    PEM_ROOM = 65536,
    SERIAL_BYTES = 16,
    CN_NAME = 40, /* the whole common name may have 64 bytes */
};

static det_status failed(const struct gnutls *gnutls, int code, struct err *err)
{
    if (code == GNUTLS_E_MEMORY_ERROR)
        return err_default(err, DET_NOMEM);
    return err_set(err, DET_FAILED, "cannot make a certificate: %s",
                   gnutls->strerror(code));
}

static int add_address(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                       const void *bytes, size_t len)
{
    return gnutls->x509_crt_set_subject_alt_name(
        certificate, GNUTLS_SAN_IPADDRESS, bytes, (unsigned)len, GNUTLS_FSAN_APPEND);
}

/* An address as bytes, or a name. */
static int add_name(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                    const char *name)
{
    unsigned char bytes[16];

    if (inet_pton(AF_INET, name, bytes) == 1)
        return add_address(gnutls, certificate, bytes, 4);
    if (inet_pton(AF_INET6, name, bytes) == 1)
        return add_address(gnutls, certificate, bytes, 16);
    return gnutls->x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
                                                 (unsigned)strlen(name),
                                                 GNUTLS_FSAN_APPEND);
}

static int add_interfaces(const struct gnutls *gnutls, gnutls_x509_crt_t certificate)
{
    struct ifaddrs *found = NULL;
    int code = 0;

    if (getifaddrs(&found) != 0)
        return 0; /* the names remain */
    for (const struct ifaddrs *at = found; at && !code; at = at->ifa_next) {
        const struct sockaddr *address = at->ifa_addr;

        if (address && address->sa_family == AF_INET)
            code = add_address(
                gnutls, certificate,
                &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        else if (address && address->sa_family == AF_INET6)
            code = add_address(
                gnutls, certificate,
                &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    }
    freeifaddrs(found);
    return code;
}

static int set_names(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                     const char *host)
{
    char machine[256] = "";
    char subject[64];
    bool is_any = !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
    int code;

    (void)gethostname(machine, sizeof(machine) - 1);
    machine[strcspn(machine, ",=+<>#;\"\\")] = '\0'; /* special in a subject */
    snprintf(subject, sizeof(subject), "CN=det master on %.*s", CN_NAME,
             machine[0] ? machine : "this machine");
    code = gnutls->x509_crt_set_dn(certificate, subject, NULL);
    if (!code && machine[0])
        code = add_name(gnutls, certificate, machine);
    if (!code)
        code = add_name(gnutls, certificate, "localhost");
    if (!code && !is_any)
        code = add_name(gnutls, certificate, host);
    return code ? code : add_interfaces(gnutls, certificate);
}

static int set_facts(const struct gnutls *gnutls, gnutls_x509_crt_t certificate)
{
    time_t now = (time_t)(clock_wall_us(&clock_system) / 1000000);
    unsigned char serial[SERIAL_BYTES];
    int code = gnutls->rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

    serial[0] &= 0x7F; /* positive */
    if (!code)
        code = gnutls->x509_crt_set_version(certificate, 3);
    if (!code)
        code = gnutls->x509_crt_set_serial(certificate, serial, sizeof(serial));
    if (!code) /* the clocks of other machines may be late */
        code = gnutls->x509_crt_set_activation_time(certificate, now - DAY_S);
    if (!code)
        code = gnutls->x509_crt_set_expiration_time(certificate,
                                                    now + (time_t)YEARS * 365 * DAY_S);
    if (!code)
        code = gnutls->x509_crt_set_basic_constraints(certificate, 0, -1);
    if (!code)
        code =
            gnutls->x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (!code)
        code = gnutls->x509_crt_set_key_purpose_oid(certificate,
                                                    GNUTLS_KP_TLS_WWW_SERVER, 0);
    return code;
}

static int sign(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                gnutls_x509_privkey_t key)
{
    unsigned char id[64];
    size_t size = sizeof(id);
    int code = gnutls->x509_crt_set_key(certificate, key);

    if (!code)
        code = gnutls->x509_crt_get_key_id(certificate, 0, id, &size);
    if (!code)
        code = gnutls->x509_crt_set_subject_key_id(certificate, id, size);
    if (!code)
        code =
            gnutls->x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
    return code;
}

static int export_both(const struct gnutls *gnutls, gnutls_x509_crt_t certificate,
                       gnutls_x509_privkey_t key, struct buf *ret_cert,
                       struct buf *ret_key)
{
    char *cert_room = buf_room(ret_cert, PEM_ROOM);
    char *key_room = buf_room(ret_key, PEM_ROOM);
    size_t cert_size = PEM_ROOM;
    size_t key_size = PEM_ROOM;
    int code;

    if (!cert_room || !key_room)
        return GNUTLS_E_MEMORY_ERROR;
    code = gnutls->x509_crt_export(certificate, GNUTLS_X509_FMT_PEM, cert_room,
                                   &cert_size);
    if (!code)
        code =
            gnutls->x509_privkey_export(key, GNUTLS_X509_FMT_PEM, key_room, &key_size);
    if (code)
        return code;
    buf_took(ret_cert, cert_size);
    buf_took(ret_key, key_size);
    return 0;
}

det_status certificate_make(const char *host, struct buf *ret_cert, struct buf *ret_key,
                            struct err *err)
{
    gnutls_x509_crt_t certificate = NULL;
    gnutls_x509_privkey_t key = NULL;
    const struct gnutls *gnutls;
    det_status st = gnutls_load(&gnutls, err);
    int code;

    if (st)
        return st;
    code = gnutls->x509_privkey_init(&key);
    if (!code)
        code = gnutls->x509_privkey_generate(
            key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (!code)
        code = gnutls->x509_crt_init(&certificate);
    if (!code)
        code = set_facts(gnutls, certificate);
    if (!code)
        code = set_names(gnutls, certificate, host);
    if (!code)
        code = sign(gnutls, certificate, key);
    if (!code)
        code = export_both(gnutls, certificate, key, ret_cert, ret_key);
    if (certificate)
        gnutls->x509_crt_deinit(certificate);
    if (key)
        gnutls->x509_privkey_deinit(key);
    return code ? failed(gnutls, code, err) : DET_OK;
}
