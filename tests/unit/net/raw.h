/* SPDX-License-Identifier: Apache-2.0 */
/* raw.h - a loopback socket on which a test sends and reads bytes itself. */
#ifndef TESTS_UNIT_NET_RAW_H
#define TESTS_UNIT_NET_RAW_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory/buf.h"
#include "tests/support/test.h"

/* The kernel then holds little of what was sent and not read.  Call it before connecting;
 * sockets inherit it from their listener. */
static inline void raw_set_small(int fd)
{
    const int size = 131072; /* less than two segments of loopback stalls */

    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
}

/* A test program over TLS sets it: it puts TLS between the test and the connection `fd`, whose
 * number stays the same. */
static void (*raw_wrap)(int fd);
/* What it put there last: the connection itself, and the thread's end of the pair of sockets
 * whose other end the test has. */
static struct {
    int connection;
    int inner;
} raw_wrapped;

static inline int raw_connect(int fd, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};

    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    raw_wrapped.connection = fd;
    raw_wrapped.inner = -1;
    if (raw_wrap)
        raw_wrap(fd);
    return fd;
}

/* A connection to this machine. */
static inline int raw_open(uint16_t port)
{
    return raw_connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port);
}

static inline int raw_open_small(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    raw_set_small(fd);
    return raw_connect(fd, port);
}

static inline void raw_send(int fd, const char *text)
{
    /* The server may close in the middle of garbage. */
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Until the other side closes. */
static inline void raw_read_all(int fd, struct buf *into)
{
    char bytes[4096];
    ssize_t count;

    while ((count = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        buf_add(into, bytes, (size_t)count);
}

/* Until `part` has come. */
static inline void raw_read_until(int fd, struct buf *into, const char *part)
{
    char bytes[4096];

    while (!strstr(into->data, part)) {
        ssize_t count = recv(fd, bytes, sizeof(bytes), 0);

        CHECK(count > 0);
        buf_add(into, bytes, (size_t)count);
    }
}

#endif
