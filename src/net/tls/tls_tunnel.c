/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls/tls_tunnel.h"

#include <errno.h>

ssize_t tls_tunnel_send(struct tls_tunnel *tls, const void *bytes, size_t len)
{
    ssize_t sent = tls->unsent ? tls->gnutls->record_send(tls->session, NULL, 0)
                               : tls->gnutls->record_send(tls->session, bytes, len);

    if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED) {
        tls->unsent = len; /* the library has them, and returns their number later */
        errno = EAGAIN;
        return -1;
    }
    tls->unsent = 0;
    if (sent < 0)
        errno = EPIPE;
    return sent < 0 ? -1 : sent;
}

/* An end without a goodbye is an end, too: the bytes have frames of their own. */
ssize_t tls_tunnel_receive(struct tls_tunnel *tls, void *bytes, size_t len)
{
    ssize_t count = tls->gnutls->record_recv(tls->session, bytes, len);

    if (count >= 0)
        return count;
    if (count == GNUTLS_E_PREMATURE_TERMINATION)
        return 0;
    errno = tls->gnutls->error_is_fatal((int)count) ? ECONNRESET : EAGAIN;
    return -1;
}

bool tls_tunnel_has_more(const struct tls_tunnel *tls)
{
    return tls->gnutls->record_check_pending(tls->session) > 0;
}

void tls_tunnel_shut(struct tls_tunnel *tls)
{
    (void)tls->gnutls->bye(tls->session, GNUTLS_SHUT_WR);
}
