/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - opens the listening socket here because libmicrohttpd would not say why it
 * failed. */
#include "net/accept/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/net.h"
#include "net/net_addr.h"

/* Accepted sockets inherit these options.  With them we notice within half a minute that
 * a machine has vanished: if nothing is due to be sent (long polls, followed logs) by
 * probes, otherwise by bytes that nobody confirms.  A client that stops reading for so long
 * is cut off, too. */
static void set_keep_alive(int fd)
{
    const int on = 1, idle_s = 10, between_s = 5, tries = 4, unread_ms = 30000;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof(between_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms, sizeof(unread_ms));
}

static det_status listen_on(const struct addrinfo *at, int *ret_fd)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int off = 0;
    int on = 1;
    int code;

    if (fd < 0)
        return DET_IO;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    set_keep_alive(fd);
    if (at->ai_family == AF_INET6) /* "::" accepts IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
        *ret_fd = fd;
        return DET_OK;
    }
    code = errno;
    close(fd);
    errno = code;
    return code == EADDRINUSE ? DET_EXISTS : DET_IO;
}

det_status listen_open(const struct net_server_config *config, int *ret_fd,
                       uint16_t *ret_port, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    struct addrinfo *found;
    struct net_addr addr;
    char port[8];
    det_status st;
    int code;

    snprintf(port, sizeof(port), "%u", config->port);
    code = getaddrinfo(config->host, port, &hints, &found);
    if (code)
        return err_set(err, DET_INVALID, "cannot listen on '%s': %s", config->host,
                       gai_strerror(code));
    st = listen_on(found, ret_fd);
    code = errno;
    freeaddrinfo(found);
    if (st == DET_EXISTS)
        return err_set(err, st, "port %u on %s is taken", config->port, config->host);
    if (st)
        return err_errno(err, code, "cannot listen on %s port %u", config->host,
                         config->port);
    if (getsockname(*ret_fd, (struct sockaddr *)&own, &size) != 0 ||
        !net_addr_from((struct sockaddr *)&own, &addr)) {
        close(*ret_fd);
        return err_set(err, DET_IO, "cannot listen on %s", config->host);
    }
    *ret_port = addr.port;
    return DET_OK;
}
