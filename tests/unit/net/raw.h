/* SPDX-License-Identifier: Apache-2.0 */
/* raw.h - bytes by hand over a loopback socket. */
#ifndef TESTS_UNIT_NET_RAW_H
#define TESTS_UNIT_NET_RAW_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "tests/support/test.h"

/* A connection to this machine. */
static inline int raw_open(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
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
