/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client.c - see tls_client.h.
 *
 * Before the first byte of a request is sent, tls_verify.c decides whether the server is
 * the intended one. */
#include "net/tls/tls_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "net/net.h"
#include "net/tls/tls_client_impl.h"
#include "net/tls/tls_server.h"

enum { RECORD = 16384, RESUME_MOST = 16384 };

/* ---- life ------------------------------------------------------------------------ */

static det_status copy_trust(struct tls_client *tls, const struct net_trust *trust,
                             struct err *err)
{
    tls->trust.is_unverified = trust->is_unverified;
    if (trust->fingerprint && !certificate_is_fingerprint(trust->fingerprint))
        return err_set(err, DET_INVALID,
                       "'%s' is not the SHA-256 fingerprint of a certificate: it must "
                       "have 64 hexadecimal digits",
                       trust->fingerprint);
    if ((trust->cert_file && !(tls->cert_file = mem_strdup(trust->cert_file))) ||
        (trust->name && !(tls->name = mem_strdup(trust->name))) ||
        (trust->fingerprint && !(tls->pin = mem_strdup(trust->fingerprint))))
        return err_default(err, DET_NOMEM);
    tls->trust.cert_file = tls->cert_file;
    tls->trust.name = tls->name;
    tls->trust.fingerprint = tls->pin;
    return DET_OK;
}

det_status tls_client_new(const struct net_trust *trust, const char *host,
                          struct tls_client **ret_tls, struct err *err)
{
    const struct gnutls *gnutls;
    struct tls_client *tls;
    det_status st = gnutls_load(&gnutls, err);

    if (st)
        return st;
    tls = mem_new(struct tls_client);
    if (!tls)
        return err_default(err, DET_NOMEM);
    tls->gnutls = gnutls;
    tls->certificate = (struct buf)BUF_INIT;
    tls->resume = (struct buf)BUF_INIT;
    tls->host = mem_strdup(host);
    st = tls->host ? copy_trust(tls, trust, err) : err_default(err, DET_NOMEM);
    if (st)
        tls_client_free(tls);
    else
        *ret_tls = tls;
    return st;
}

void tls_client_free(struct tls_client *tls)
{
    if (!tls)
        return;
    tls_end(tls);
    buf_done(&tls->certificate);
    buf_done(&tls->resume);
    mem_free(tls->record);
    mem_free(tls->host);
    mem_free(tls->cert_file);
    mem_free(tls->name);
    mem_free(tls->pin);
    mem_free(tls);
}

/* ---- a connection ---------------------------------------------------------------- */

static bool is_address(const char *host)
{
    unsigned char bytes[16];

    return inet_pton(AF_INET, host, bytes) == 1 ||
           inet_pton(AF_INET6, host, bytes) == 1;
}

static int open_session(struct tls_client *tls, int fd)
{
    const struct gnutls *gnutls = tls->gnutls;
    int code =
        gnutls->init(&tls->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);

    if (!code)
        code = gnutls->priority_set_direct(tls->session, TLS_PRIORITIES, NULL);
    if (!code)
        code = gnutls->credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE,
                                       tls->credentials);
    if (!code && !is_address(tls->host))
        code = gnutls->server_name_set(tls->session, GNUTLS_NAME_DNS, tls->host,
                                       strlen(tls->host));
    if (!code && tls->resume.len)
        (void)gnutls->session_set_data(tls->session, tls->resume.data, tls->resume.len);
    if (!code)
        gnutls->transport_set_int2(tls->session, fd, fd);
    return code;
}

det_status tls_begin(struct tls_client *tls, int fd, struct err *err)
{
    det_status st;

    tls_end(tls);
    tls->is_distrusted = false;
    tls->fingerprint[0] = '\0';
    if (!tls->record)
        tls->record = mem_alloc(RECORD);
    if (!tls->record)
        return err_default(err, DET_NOMEM);
    st = tls_verify_prepare(tls, err);
    if (!st && open_session(tls, fd))
        st = err_default(err, DET_NOMEM);
    if (st)
        tls_end(tls);
    return st;
}

/* A server sends its tickets behind the handshake; by now they are here or will not
 * come. */
static void keep_session(struct tls_client *tls)
{
    size_t size = RESUME_MOST;
    char *room;

    if (!tls->is_shaken ||
        !(tls->gnutls->session_get_flags(tls->session) & GNUTLS_SFLAGS_SESSION_TICKET))
        return;
    buf_clear(&tls->resume);
    room = buf_room(&tls->resume, size);
    if (room && !tls->gnutls->session_get_data(tls->session, room, &size))
        buf_took(&tls->resume, size);
    if (tls->resume.status)
        buf_clear(&tls->resume);
}

void tls_end(struct tls_client *tls)
{
    if (tls->session) {
        keep_session(tls);
        if (tls->is_shaken)
            (void)tls->gnutls->bye(tls->session, GNUTLS_SHUT_WR);
        tls->gnutls->deinit(tls->session);
    }
    if (tls->credentials)
        tls->gnutls->certificate_free_credentials(tls->credentials);
    tls->session = NULL;
    tls->credentials = NULL;
    tls->is_shaken = false;
    tls->unsent = 0;
    tls->early_len = tls->early_at = 0;
}

static det_status cannot_shake(struct tls_client *tls, int code, struct err *err)
{
    if (code == GNUTLS_E_UNEXPECTED_PACKET_LENGTH ||
        code == GNUTLS_E_UNSUPPORTED_VERSION_PACKET ||
        code == GNUTLS_E_RECORD_OVERFLOW || code == GNUTLS_E_UNEXPECTED_PACKET)
        return err_set(
            err, DET_UNREACHABLE,
            "the server does not speak TLS; if it serves plain HTTP, name it "
            "with http://");
    if (code == GNUTLS_E_PREMATURE_TERMINATION || code == GNUTLS_E_PULL_ERROR ||
        code == GNUTLS_E_PUSH_ERROR)
        return err_set(
            err, DET_UNREACHABLE,
            "it closed the connection; if it serves plain HTTP, name it with "
            "http://");
    return err_set(err, DET_UNREACHABLE, "no TLS connection: %s",
                   tls->gnutls->strerror(code));
}

det_status tls_shake(struct tls_client *tls, struct err *err)
{
    det_status st;
    int code;

    do
        code = tls->gnutls->handshake(tls->session);
    while (code < 0 && code != GNUTLS_E_AGAIN && !tls->gnutls->error_is_fatal(code));
    if (code == GNUTLS_E_AGAIN)
        return DET_BUSY;
    st = code ? cannot_shake(tls, code, err) : tls_verify(tls, err);
    if (st) /* a session that cannot be resumed is not tried twice */
        buf_clear(&tls->resume);
    tls->is_shaken = !st;
    return st;
}

short tls_events(const struct tls_client *tls)
{
    return tls->gnutls->record_get_direction(tls->session) ? POLLOUT : POLLIN;
}

/* ---- bytes ----------------------------------------------------------------------- */

/* Small parts are joined: each record costs a header, an authentication and a call. */
static size_t gather(struct tls_client *tls, const struct iovec *part, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count && len < RECORD; i++) {
        size_t more = MIN(part[i].iov_len, RECORD - len);

        memcpy(tls->record + len, part[i].iov_base, more);
        len += more;
    }
    return len;
}

ssize_t tls_send(struct tls_client *tls, const struct iovec *part, size_t count)
{
    size_t len = tls->unsent ? tls->unsent : gather(tls, part, count);
    ssize_t sent;

    /* after EAGAIN the library has the record and wants no second copy */
    sent = tls->gnutls->record_send(tls->session, tls->unsent ? NULL : tls->record,
                                    tls->unsent ? 0 : len);
    if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED) {
        tls->unsent = len;
        errno = sent == GNUTLS_E_AGAIN ? EAGAIN : EINTR;
        return -1;
    }
    tls->unsent = 0;
    if (sent < 0)
        errno = EPIPE;
    return sent < 0 ? -1 : sent;
}

static ssize_t receive(struct tls_client *tls, void *bytes, size_t len)
{
    ssize_t count;

    do
        count = tls->gnutls->record_recv(tls->session, bytes, len);
    while (count < 0 && count != GNUTLS_E_AGAIN &&
           !tls->gnutls->error_is_fatal((int)count));
    if (count >= 0)
        return count;
    /* an end without a goodbye may be the work of a third party: it is no end */
    errno = count == GNUTLS_E_AGAIN ? EAGAIN : ECONNRESET;
    return -1;
}

ssize_t tls_receive(struct tls_client *tls, void *bytes, size_t len)
{
    size_t early = tls->early_len - tls->early_at;

    if (!early)
        return receive(tls, bytes, len);
    len = MIN(len, early);
    memcpy(bytes, tls->early + tls->early_at, len);
    tls->early_at += len;
    return (ssize_t)len;
}

bool tls_has_news(struct tls_client *tls)
{
    ssize_t count;

    if (tls->early_at < tls->early_len)
        return true;
    count = receive(tls, tls->early, sizeof(tls->early));
    tls->early_at = 0;
    tls->early_len = count > 0 ? (size_t)count : 0;
    return count >= 0 || errno != EAGAIN;
}

/* ---- about the server ------------------------------------------------------------ */

bool tls_is_distrusted(const struct tls_client *tls)
{
    return tls->is_distrusted;
}

const char *tls_fingerprint(const struct tls_client *tls)
{
    return tls->fingerprint;
}

void tls_certificate(const struct tls_client *tls, struct buf *out)
{
    buf_add(out, tls->certificate.data, tls->certificate.len);
}
