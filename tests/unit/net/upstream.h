/* SPDX-License-Identifier: Apache-2.0 */
/* upstream.h - a small HTTP server in threads, for tests that hand requests on to it.
 * By the path it is asked for (behind /proxy/TASK, where that is in front):
 *
 *   /echo     the request's head, as it came
 *   /count    reads the body to its end, and says how many bytes it had
 *   /chunks   one chunk after the other, "0" to "999"
 *   /large    LARGE bytes with their length
 *   /until    bytes until it closes
 *   /early    413 at once; then reads nothing more
 *   /half     promises 1000 bytes, sends 10 and closes
 *   /none     closes without an answer
 *   /wrong    something that is not HTTP
 *   /events   a first event; the next when upstream.go is opened
 *   /empty    204
 *   /away     302, to the address in the request's header X-Location
 *   /socket   switches protocols and echoes what comes, until its end
 *   /slowly   the same, but the rest of its head comes when upstream.go is opened
 *   /refuse   does not switch: 403
 *   /stall    reads nothing of the body before upstream.go is opened; then as /count */
#ifndef TESTS_UNIT_NET_UPSTREAM_H
#define TESTS_UNIT_NET_UPSTREAM_H

#include "tests/unit/net/upstream_replies.h"

static inline void upstream_wait(struct upstream *up)
{
    pthread_mutex_lock(&up->lock);
    while (!up->may_go)
        pthread_cond_wait(&up->changed, &up->lock);
    pthread_mutex_unlock(&up->lock);
}

static inline void upstream_events(struct upstream *up, int fd)
{
    upstream_say(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                     "data: one\n\n");
    upstream_wait(up);
    upstream_say(fd, "data: two\n\n");
}

static inline void upstream_socket(struct upstream *up, int fd, const struct buf *in,
                                   size_t head)
{
    char bytes[65536];
    ssize_t n;

    upstream_say(fd, "HTTP/1.1 101 Switching Protocols\r\n");
    if (strstr(in->data, "/slowly ")) {
        up->has_begun = true;
        upstream_wait(up);
    }
    upstream_say(fd, "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Accept: yes\r\n\r\nhello");
    (void)!send(fd, in->data + head, in->len - head, MSG_NOSIGNAL);
    while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        (void)!send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
    upstream_say(fd, "bye");
}

static inline void upstream_echo(int fd, struct buf *in, size_t head)
{
    char line[128];

    snprintf(line, sizeof(line),
             "HTTP/1.1 200 Fine\r\nContent-Length: %zu\r\nX-Up: yes\r\n"
             "Set-Cookie: a=b; Path=/\r\nX-Hop: h\r\nConnection: close, x-hop\r\n\r\n",
             head);
    upstream_say(fd, line);
    (void)!send(fd, in->data, head, MSG_NOSIGNAL);
}

static inline void upstream_answer(struct upstream *up, int fd, struct buf *in,
                                   size_t head)
{
    const char *path = strchr(in->data, '/');

    if (!strncmp(path, "/proxy/", 7)) /* and the name of a task */
        path = strchr(path + 7, '/');
#define UPSTREAM_IS(text) (!strncmp(path, text, sizeof(text) - 1))
    if (UPSTREAM_IS("/count"))
        upstream_count(fd, in, head);
    else if (UPSTREAM_IS("/stall")) {
        upstream_wait(up);
        upstream_count(fd, in, head);
    } else if (UPSTREAM_IS("/chunks"))
        upstream_chunks(fd);
    else if (UPSTREAM_IS("/large"))
        upstream_large(up, fd);
    else if (UPSTREAM_IS("/until"))
        upstream_say(fd, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
    else if (UPSTREAM_IS("/early"))
        upstream_say(fd, "HTTP/1.1 413 No\r\nContent-Length: 4\r\n\r\nno!\n");
    else if (UPSTREAM_IS("/half"))
        upstream_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789");
    else if (UPSTREAM_IS("/wrong"))
        upstream_say(fd, "220 mail.example ESMTP\r\n");
    else if (UPSTREAM_IS("/events"))
        upstream_events(up, fd);
    else if (UPSTREAM_IS("/empty"))
        upstream_say(fd, "HTTP/1.1 204 Nothing\r\n\r\n");
    else if (UPSTREAM_IS("/away"))
        upstream_away(fd, in->data);
    else if (UPSTREAM_IS("/socket") || UPSTREAM_IS("/slowly"))
        upstream_socket(up, fd, in, head);
    else if (UPSTREAM_IS("/refuse"))
        upstream_say(fd, "HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\nno\n");
    else if (!UPSTREAM_IS("/none"))
        upstream_echo(fd, in, head);
#undef UPSTREAM_IS
}

static inline void *upstream_serve(void *arg)
{
    struct upstream_job *job = arg;
    struct buf in = BUF_INIT;
    size_t head = 0;

    if (upstream_head(job->fd, &in, &head))
        upstream_answer(job->up, job->fd, &in, head);
    shutdown(job->fd, SHUT_WR);
    close(job->fd);
    buf_done(&in);
    mem_free(job);
    return NULL;
}

static inline void *upstream_accept(void *arg)
{
    struct upstream *up = arg;
    int fd;

    while ((fd = accept(up->listener, NULL, NULL)) >= 0) {
        struct upstream_job *job = mem_new(struct upstream_job);

        CHECK(job && up->count < UPSTREAM_THREADS);
        *job = (struct upstream_job){up, fd};
        CHECK_EQ(pthread_create(&up->threads[up->count++], NULL, upstream_serve, job),
                 0);
    }
    return NULL;
}

static inline void upstream_start(struct upstream *up)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);

    memset(up, 0, sizeof(*up));
    pthread_mutex_init(&up->lock, NULL);
    pthread_cond_init(&up->changed, NULL);
    up->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(up->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_EQ(listen(up->listener, 16), 0);
    CHECK_EQ(getsockname(up->listener, (struct sockaddr *)&at, &size), 0);
    up->port = ntohs(at.sin_port);
    CHECK_EQ(pthread_create(&up->accepting, NULL, upstream_accept, up), 0);
}

static inline void upstream_go(struct upstream *up)
{
    pthread_mutex_lock(&up->lock);
    up->may_go = true;
    pthread_cond_broadcast(&up->changed);
    pthread_mutex_unlock(&up->lock);
}

/* Closes the listener and waits until all connections have ended. */
static inline void upstream_stop(struct upstream *up)
{
    upstream_go(up);
    shutdown(up->listener, SHUT_RDWR);
    pthread_join(up->accepting, NULL);
    close(up->listener);
    for (size_t i = 0; i < up->count; i++)
        pthread_join(up->threads[i], NULL);
    pthread_mutex_destroy(&up->lock);
    pthread_cond_destroy(&up->changed);
}

#endif
