/* SPDX-License-Identifier: Apache-2.0 */
/* tls_tunnel.h - bytes through a TLS session that libmicrohttpd made and has suspended.
 *
 * The functions return as those of sockets do: a count, 0 at the end, or -1 and errno. */
#ifndef NET_TLS_TLS_TUNNEL_H
#define NET_TLS_TLS_TUNNEL_H

#include <stdbool.h>
#include <sys/types.h>

#include "net/tls/gnutls.h"

struct tls_tunnel {
    const struct gnutls *gnutls;
    gnutls_session_t session;
    size_t unsent; /* of a record that the socket did not take at once */
};

/* After EAGAIN the next call must have the same bytes in front. */
ssize_t tls_tunnel_send(struct tls_tunnel *tls, const void *bytes, size_t len);
ssize_t tls_tunnel_receive(struct tls_tunnel *tls, void *bytes, size_t len);
/* Whether bytes have been decrypted that the socket no longer tells of. */
bool tls_tunnel_has_more(const struct tls_tunnel *tls);
/* Tells the other side that nothing more comes. */
void tls_tunnel_shut(struct tls_tunnel *tls);

#endif
