/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - sockets of the machine behind stream.h. */
#include "net/stream.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"

enum { FLAGS = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, CHUNK = 1 << 20 };

/* ---- faults ---------------------------------------------------------------------- */

/* Returns true if a test wants a failure now.  After a simulated death, the thread sends
 * nothing more. */
static bool is_struck(enum fault_kind kind)
{
    if (!fault_strikes(kind))
        return false;
    if (fault_state.how[kind] == FAULT_DEATH || fault_state.how[kind] == FAULT_POWER)
        fault_state.is_dark = true;
    return true;
}

/* ---- addresses ------------------------------------------------------------------- */

void stream_at_text(const struct stream_at *at, char text[STREAM_TEXT])
{
    if (at->name)
        snprintf(text, STREAM_TEXT, "%s", at->name);
    else
        snprintf(text, STREAM_TEXT, "%s:%u", at->host ? at->host : "*", at->port);
}

static det_status unix_address(const char *name, struct sockaddr_un *ret_address,
                               socklen_t *ret_len, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);

    if (!len || len >= sizeof(address.sun_path))
        return err_set(err, DET_INVALID,
                       "'%s' cannot name a socket: it must have 1 to %zu characters",
                       name, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, name, len);
    if (name[0] == '@') /* a NUL marks a name that is in no folder */
        address.sun_path[0] = '\0';
    *ret_address = address;
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
                           (name[0] == '@' ? 0 : 1));
    return DET_OK;
}

/* The caller frees the result with freeaddrinfo(). */
static det_status find_host(const struct stream_at *at, int family, int flags,
                            struct addrinfo **ret_found, struct err *err)
{
    struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    char port[8];
    int code;

    snprintf(port, sizeof(port), "%u", at->port);
    code = getaddrinfo(at->host, port, &hints, ret_found);
    if (!code)
        return DET_OK;
    if (code == EAI_MEMORY)
        return err_default(err, DET_NOMEM);
    return err_set(err, code == EAI_AGAIN ? DET_UNREACHABLE : DET_NOT_FOUND,
                   "host '%s' is not known: %s", at->host ? at->host : "*",
                   gai_strerror(code));
}

/* Sends small messages at once, and notices a vanished machine within half a minute even
 * if nothing is due to be sent. */
static void tune_socket(int fd)
{
    const int on = 1, idle_s = 10, between_s = 5, tries = 4, unanswered_ms = 30000;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof(between_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms,
               sizeof(unanswered_ms));
}

/* ---- listening ------------------------------------------------------------------- */

/* The descriptor, or -1 and errno. */
static int listen_at(const struct sockaddr *address, socklen_t len)
{
    int fd = socket(address->sa_family, FLAGS, 0);
    const int on = 1, off = 0;
    int code;

    if (fd < 0)
        return -1;
    if (address->sa_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->sa_family == AF_INET6) /* "::" accepts IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, address, len) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    code = errno;
    close(fd);
    errno = code;
    return -1;
}

static det_status cannot_listen(const struct stream_at *at, int code, struct err *err)
{
    char text[STREAM_TEXT];

    stream_at_text(at, text);
    if (code == EADDRINUSE)
        return err_set(err, DET_EXISTS, "another process listens on %s already", text);
    return err_errno(err, code, "cannot listen on %s", text);
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);

    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0)
        return 0;
    return own.ss_family == AF_INET6
               ? ntohs(((struct sockaddr_in6 *)(void *)&own)->sin6_port)
               : ntohs(((struct sockaddr_in *)(void *)&own)->sin_port);
}

static det_status listen_tcp(const struct stream_at *at, int *ret_fd, struct err *err)
{
    /* Without a host, "::" first, which accepts IPv4 too; IPv6 may be switched off. */
    const int families[] = {at->host ? AF_UNSPEC : AF_INET6, AF_INET};
    int code = EADDRNOTAVAIL;

    for (size_t i = 0; i < (at->host ? 1 : ARRAY_LEN(families)); i++) {
        struct addrinfo *found;
        det_status st = find_host(at, families[i], AI_PASSIVE, &found, err);

        if (st)
            return st;
        *ret_fd = listen_at(found->ai_addr, found->ai_addrlen);
        code = errno;
        freeaddrinfo(found);
        if (*ret_fd >= 0)
            return DET_OK;
        if (code == EADDRINUSE)
            break;
    }
    return cannot_listen(at, code, err);
}

det_status stream_listen(const struct stream_at *at, struct stream *ret_listener,
                         uint16_t *ret_port, struct err *err)
{
    struct sockaddr_un address;
    socklen_t len;
    det_status st;
    int fd = -1;

    if (!at->name) {
        st = listen_tcp(at, &fd, err);
    } else {
        st = unix_address(at->name, &address, &len, err);
        if (!st)
            fd = listen_at((const struct sockaddr *)&address, len);
        if (!st && fd < 0)
            st = cannot_listen(at, errno, err);
    }
    if (st)
        return st;
    if (ret_port)
        *ret_port = at->name ? 0 : port_of(fd);
    ret_listener->fd = fd;
    return DET_OK;
}

det_status stream_accept(struct stream *listener, struct stream *ret_stream,
                         struct err *err)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        /* these errors belong to the connection, whose client has left */
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ||
            errno == EPROTO || errno == ENETDOWN || errno == EHOSTUNREACH)
            return DET_BUSY;
        return err_errno(err, errno, "cannot take a connection");
    }
    tune_socket(fd);
    ret_stream->fd = fd;
    return DET_OK;
}

/* ---- connecting ------------------------------------------------------------------ */

static det_status cannot_connect(const struct stream_at *at, int code, struct err *err)
{
    char text[STREAM_TEXT];

    stream_at_text(at, text);
    return err_set(err, DET_UNREACHABLE, "cannot reach %s: %s", text, strerror(code));
}

/* Returns 0 or a value of errno; does not close the stream. */
static int finish_connecting(const struct stream *stream, int64_t deadline_us)
{
    struct pollfd row = stream_row(stream, POLLOUT);
    socklen_t size = sizeof(int);
    int code = 0;

    if (stream_wait(&row, 1, deadline_us, NULL))
        return ETIMEDOUT;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0)
        return errno;
    return code;
}

static int connect_to_address(const struct sockaddr *address, socklen_t len,
                              int64_t deadline_us, struct stream *ret_stream)
{
    struct stream stream = {.fd = socket(address->sa_family, FLAGS, 0)};
    int code = 0;

    if (stream.fd < 0)
        return errno;
    tune_socket(stream.fd);
    if (connect(stream.fd, address, len) != 0)
        code = errno;
    if (code == EINPROGRESS || code == EINTR)
        code = finish_connecting(&stream, deadline_us);
    if (code)
        stream_close(&stream);
    else
        *ret_stream = stream;
    return code;
}

static det_status connect_tcp(const struct stream_at *at, int64_t deadline_us,
                              struct stream *ret_stream, struct err *err)
{
    struct addrinfo *found;
    det_status st = find_host(at, AF_UNSPEC, 0, &found, err);
    int code = ECONNREFUSED;

    if (st)
        return st;
    for (const struct addrinfo *each = found; each; each = each->ai_next) {
        code = connect_to_address(each->ai_addr, each->ai_addrlen, deadline_us,
                                  ret_stream);
        if (!code)
            break;
    }
    freeaddrinfo(found);
    return code ? cannot_connect(at, code, err) : DET_OK;
}

det_status stream_connect(const struct stream_at *at, int64_t deadline_us,
                          struct stream *ret_stream, struct err *err)
{
    struct sockaddr_un address;
    socklen_t len;
    det_status st;
    int code;

    if (fault_is_dark() || is_struck(FAULT_SEND))
        return cannot_connect(at, ECONNREFUSED, err);
    if (!at->name)
        return connect_tcp(at, deadline_us, ret_stream, err);
    st = unix_address(at->name, &address, &len, err);
    if (st)
        return st;
    code = connect_to_address((const struct sockaddr *)&address, len, deadline_us,
                              ret_stream);
    return code ? cannot_connect(at, code, err) : DET_OK;
}

void stream_close(struct stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

bool stream_is_same_user(const struct stream *stream)
{
    struct sockaddr_storage own = {0};
    socklen_t own_size = sizeof(own);
    struct ucred user;
    socklen_t size = sizeof(user);

    if (getsockname(stream->fd, (struct sockaddr *)&own, &own_size) != 0 ||
        own.ss_family != AF_UNIX)
        return true;
    return getsockopt(stream->fd, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0 &&
           user.uid == geteuid();
}

/* ---- bytes ----------------------------------------------------------------------- */

static det_status connection_error(int code, struct err *err)
{
    if (code == ENOMEM || code == ENOBUFS)
        return err_default(err, DET_NOMEM);
    if (code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH)
        return err_set(err, DET_UNREACHABLE, "the other side's machine is silent");
    return err_set(err, DET_UNREACHABLE, "the other side closed the connection");
}

det_status stream_try_send(struct stream *stream, const void *bytes, size_t len,
                           size_t *ret_count, struct err *err)
{
    ssize_t count;

    if (fault_is_dark())
        return connection_error(ECONNRESET, err);
    if (is_struck(FAULT_SEND)) {
        if (len > 1 && fault_state.how[FAULT_SEND] != FAULT_FAILS)
            (void)!send(stream->fd, bytes, len / 2, MSG_NOSIGNAL);
        return connection_error(ECONNRESET, err);
    }
    count = send(stream->fd, bytes, MIN(len, (size_t)CHUNK), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        return connection_error(errno, err);
    *ret_count = count < 0 ? 0 : (size_t)count;
    return DET_OK;
}

det_status stream_try_receive(struct stream *stream, void *bytes, size_t len,
                              size_t *ret_count, struct err *err)
{
    ssize_t count;

    if (fault_is_dark() || is_struck(FAULT_RECEIVE))
        return connection_error(ECONNRESET, err);
    *ret_count = 0;
    if (!len)
        return DET_OK;
    count = recv(stream->fd, bytes, MIN(len, (size_t)CHUNK), 0);
    if (count == 0)
        return connection_error(0, err);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        return connection_error(errno, err);
    *ret_count = count < 0 ? 0 : (size_t)count;
    return DET_OK;
}

/* ---- waiting --------------------------------------------------------------------- */

/* For poll(), rounded up: else we would spin in the last millisecond. */
static int left_ms(int64_t deadline_us)
{
    int64_t left;

    if (!deadline_us)
        return -1;
    left = (deadline_us - clock_mono_us(&clock_system) + 999) / 1000;
    return left <= 0 ? 0 : (int)MIN(left, (int64_t)3600 * 1000);
}

det_status stream_wait(struct pollfd *rows, size_t count, int64_t deadline_us,
                       struct err *err)
{
    for (;;) {
        int wait_ms = left_ms(deadline_us);
        int ready = poll(rows, count, wait_ms);

        if (ready > 0)
            return DET_OK;
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return err_errno(err, errno, "cannot wait for a connection");
        if (ready == 0 && wait_ms == 0)
            return err_default(err, DET_TIMEOUT);
    }
}

det_status stream_send(struct stream *stream, const void *bytes, size_t len,
                       int64_t deadline_us, struct err *err)
{
    const char *at = bytes;

    while (len) {
        struct pollfd row = stream_row(stream, POLLOUT);
        size_t count;
        det_status st = stream_try_send(stream, at, len, &count, err);

        if (st)
            return st;
        at += count;
        len -= count;
        if (!count)
            st = stream_wait(&row, 1, deadline_us, err);
        if (st)
            return st;
    }
    return DET_OK;
}

det_status stream_receive(struct stream *stream, void *bytes, size_t len,
                          int64_t deadline_us, struct err *err)
{
    char *at = bytes;

    while (len) {
        struct pollfd row = stream_row(stream, POLLIN);
        size_t count;
        det_status st = stream_try_receive(stream, at, len, &count, err);

        if (st)
            return st;
        at += count;
        len -= count;
        if (!count)
            st = stream_wait(&row, 1, deadline_us, err);
        if (st)
            return st;
    }
    return DET_OK;
}
