/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_replies.h - the server of upstream.h, and those of its replies that wait for nothing. */
#ifndef TESTS_UNIT_NET_UPSTREAM_REPLIES_H
#define TESTS_UNIT_NET_UPSTREAM_REPLIES_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "tests/support/test.h"

enum { UPSTREAM_LARGE = 24 << 20, UPSTREAM_THREADS = 64 };

struct upstream {
    int listener;
    uint16_t port;
    pthread_t accepting;
    pthread_t threads[UPSTREAM_THREADS];
    size_t count;
    _Atomic size_t sent;    /* bytes of /large that its socket has taken */
    _Atomic bool has_begun; /* the first line of /slowly was sent */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool may_go;
};

struct upstream_job {
    struct upstream *up;
    int fd;
};

static inline void upstream_say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Reads the head, and the bytes that came with it. */
static inline bool upstream_head(int fd, struct buf *in, size_t *ret_len)
{
    char bytes[4096];
    const char *end;

    while (!(end = strstr(in->data, "\r\n\r\n"))) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

        if (n <= 0)
            return false;
        buf_add(in, bytes, (size_t)n);
    }
    *ret_len = (size_t)(end - in->data) + 4;
    return true;
}

static inline void upstream_count(int fd, struct buf *in, size_t head)
{
    const char *length = strcasestr(in->data, "\r\nContent-Length: ");
    size_t want = length ? strtoull(length + 18, NULL, 10) : SIZE_MAX;
    size_t have = in->len - head;
    char tail[6] = "";
    char bytes[65536];
    char answer[128];

    if (have >= 5)
        memcpy(tail, in->data + in->len - 5, 5);
    while (length ? have < want : strcmp(tail, "0\r\n\r\n") != 0) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

        if (n <= 0)
            return;
        have += (size_t)n;
        if (n >= 5)
            memcpy(tail, bytes + n - 5, 5);
    }
    snprintf(answer, sizeof(answer), "%s %zu", length ? "length" : "chunked", have);
    snprintf(bytes, sizeof(bytes), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(answer), answer);
    upstream_say(fd, bytes);
}

static inline void upstream_large(struct upstream *up, int fd)
{
    char bytes[65536];
    char head[128];

    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
             UPSTREAM_LARGE);
    upstream_say(fd, head);
    for (size_t at = 0; at < UPSTREAM_LARGE;) {
        ssize_t n;

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)((at + i) * 31 % 251);
        n = send(fd, bytes, sizeof(bytes) - at % sizeof(bytes), MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += (size_t)n;
        up->sent = at;
    }
}

static inline void upstream_chunks(int fd)
{
    char text[64];

    upstream_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                     "Content-Type: text/plain\r\n\r\n");
    for (int i = 0; i < 1000; i++) {
        char number[8];

        snprintf(number, sizeof(number), "%d\n", i);
        snprintf(text, sizeof(text), "%zx\r\n%s\r\n", strlen(number), number);
        upstream_say(fd, text);
    }
    upstream_say(fd, "0\r\n\r\n");
}

static inline void upstream_away(int fd, const char *request)
{
    const char *to = strstr(request, "X-Location: ") + 12;
    char answer[512];

    snprintf(answer, sizeof(answer),
             "HTTP/1.1 302 Found\r\nLocation: %.*s\r\nContent-Length: 0\r\n"
             "Cross-Origin-Opener-Policy: same-origin\r\n\r\n",
             (int)strcspn(to, "\r"), to);
    upstream_say(fd, answer);
}

#endif
