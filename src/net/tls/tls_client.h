/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client.h - the client's side of TLS on a connected, non-blocking socket.
 *
 * One struct serves one client for all its connections: it remembers whom to trust, what
 * was wrong with the last server, and the session to resume.
 *
 * tls_send() and tls_receive() return as the calls of sockets do: a count, 0
 * at the end, or -1 and errno.  After EAGAIN, wait for tls_events() and call again; a
 * repeated tls_send() must have the same bytes in front. */
#ifndef NET_TLS_TLS_CLIENT_H
#define NET_TLS_TLS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

struct buf;
struct net_trust;
struct tls_client;

/* Copies `trust`.  `host` is the one that was asked for.  DET_INVALID: the fingerprint is
 * none; DET_UNSUPPORTED: GnuTLS is not installed. */
det_status tls_client_new(const struct net_trust *trust, const char *host,
                          struct tls_client **ret_tls, struct err *err);
void tls_client_free(struct tls_client *tls); /* NULL does nothing */

/* Begins on a new socket, which stays the caller's. */
det_status tls_begin(struct tls_client *tls, int fd, struct err *err);
/* Ends politely, without waiting; does nothing if none has begun. */
void tls_end(struct tls_client *tls);

/* DET_OK: the handshake is complete, and the server is the intended one.  DET_BUSY: wait
 * for tls_events() and call again.  DET_UNREACHABLE, with a sentence, if there is no TLS or
 * the server is not the intended one. */
det_status tls_shake(struct tls_client *tls, struct err *err);
/* The poll() events that the last call waits for. */
short tls_events(const struct tls_client *tls);
ssize_t tls_send(struct tls_client *tls, const struct iovec *part, size_t count);
ssize_t tls_receive(struct tls_client *tls, void *bytes, size_t len);
/* The socket is readable: whether tls_receive() has something to return.  Messages of
 * TLS itself are taken in. */
bool tls_has_news(struct tls_client *tls);

/* About the last server: whether it was refused as not the intended one, the fingerprint
 * of its certificate ("": none was seen), and the certificate as PEM. */
bool tls_is_distrusted(const struct tls_client *tls);
const char *tls_fingerprint(const struct tls_client *tls);
void tls_certificate(const struct tls_client *tls, struct buf *out);

#endif
