/* SPDX-License-Identifier: Apache-2.0 */
/* bench_http.c - how many POSTs a second a server answers.
 *
 *   bench_http PORT CONNECTIONS SECONDS FIRST PATH TOKEN BODY
 *
 * Each connection is kept and has one request under way: the next is sent when the
 * answer to the last is whole.  Every '@' in BODY becomes a number that grows from
 * FIRST with each request, so that no two are alike.  Raw sockets, and a thread for
 * every four processors: the client should cost the server's machine little.  Prints
 * one line:
 *
 *   answers a second, median and 99th percentile of their time in microseconds, the
 *   number to begin the next run with
 *
 * With a PORT of the form tls:8443 it speaks TLS, whoever answers.
 *
 * An answer that is not 2xx ends the program with its text. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "net/net.h"
#include "net/tls/tls_client.h"

enum {
    TEXT_MAX = 8192,
    CONNECTIONS_MAX = 4096,
    EVENTS = 256,
    TIMES_MAX = 1 << 20,
    HANG_UPS_MAX = 1000,
    THREADS_MAX = 4
};

struct connection {
    int fd;
    struct tls_client *tls; /* NULL: plain */
    int64_t sent_us;
    size_t have;
    char reply[TEXT_MAX];
};

struct load {
    uint16_t port;
    bool is_tls;
    const char *path;
    const char *token;
    const char *body;
    int64_t number;
    int64_t stride; /* threads take turns with the numbers */
    double seconds;
    uint64_t answers;
    uint32_t hung_up;  /* times */
    uint32_t *time_us; /* of the first TIMES_MAX answers */
    int poll;
    uint32_t connections;
    struct connection *connection;
    pthread_t thread;
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_http: %s: %s\n", what, text);
    exit(1);
}

/* Returns the length. */
static size_t make_request(struct load *load, char text[static 2 * TEXT_MAX])
{
    char body[TEXT_MAX];
    size_t len = 0;
    int total;

    for (const char *at = load->body; *at && len + 24 < sizeof(body); at++) {
        if (*at == '@')
            len += (size_t)snprintf(body + len, 24, "%" PRId64, load->number);
        else
            body[len++] = *at;
    }
    load->number += load->stride;
    total = snprintf(text, 2 * TEXT_MAX,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                     "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%.*s",
                     load->path, load->port, load->token, len, (int)len, body);
    return (size_t)total;
}

static void ask(struct load *load, struct connection *c)
{
    char text[2 * TEXT_MAX];
    size_t len = make_request(load, text);

    c->have = 0;
    c->sent_us = now_us();
    if ((c->tls ? tls_send(c->tls, &(struct iovec){text, len}, 1)
                : send(c->fd, text, len, MSG_NOSIGNAL)) != (ssize_t)len)
        fail("cannot send", strerror(errno));
}

static void shake(struct connection *c)
{
    const struct net_trust trust = {.is_unverified = true};
    struct err err = {0};
    det_status st = DET_OK;

    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    if (!c->tls)
        st = tls_client_new(&trust, "127.0.0.1", &c->tls, &err);
    if (!st)
        st = tls_begin(c->tls, c->fd, &err);
    while (!st && (st = tls_shake(c->tls, &err)) == DET_BUSY) {
        struct pollfd wait = {.fd = c->fd, .events = tls_events(c->tls)};

        poll(&wait, 1, -1);
        st = DET_OK;
    }
    if (st)
        fail("no TLS", err.text);
}

static void dial(struct load *load, struct connection *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(load->port)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int on = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)))
        fail("cannot connect", strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (load->is_tls)
        shake(c);
    if (epoll_ctl(load->poll, EPOLL_CTL_ADD, c->fd, &event))
        fail("cannot wait", strerror(errno));
}

/* Whether the reply is whole: its head, and as many bytes behind as it says. */
static bool is_whole(const struct connection *c)
{
    const char *end = strstr(c->reply, "\r\n\r\n");
    const char *length = strcasestr(c->reply, "\r\nContent-Length:");
    size_t body;

    if (!end)
        return false;
    if (!length || length > end)
        fail("an answer without a length", c->reply);
    body = (size_t)strtoul(length + 17, NULL, 10);
    return c->have >= (size_t)(end + 4 - c->reply) + body;
}

/* Some servers hang up on a connection that was quiet for a while; what was asked there
 * is asked again. */
static void dial_again(struct load *load, struct connection *c)
{
    if (++load->hung_up > HANG_UPS_MAX)
        fail("the server hung up", "again and again");
    close(c->fd);
    dial(load, c);
    ask(load, c);
}

static void count_answer(struct load *load, struct connection *c)
{
    if (strncmp(c->reply, "HTTP/1.1 2", 10))
        fail("refused", c->reply);
    if (load->answers < TIMES_MAX)
        load->time_us[load->answers] = (uint32_t)(now_us() - c->sent_us);
    load->answers++;
    ask(load, c);
}

static void hear(struct load *load, struct connection *c)
{
    char *room = c->reply + c->have;
    size_t len = sizeof(c->reply) - 1 - c->have;
    ssize_t got = c->tls ? tls_receive(c->tls, room, len) : recv(c->fd, room, len, 0);

    if (got < 0 && c->tls && errno == EAGAIN)
        return;
    if (got <= 0) {
        dial_again(load, c);
        return;
    }
    c->have += (size_t)got;
    c->reply[c->have] = '\0';
    if (!is_whole(c) && c->tls) /* the library may hold a second record */
        hear(load, c);
    else if (is_whole(c))
        count_answer(load, c);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void *run(void *arg)
{
    struct load *load = arg;
    struct epoll_event events[EVENTS];
    int64_t until_us = now_us() + (int64_t)(load->seconds * 1e6);

    for (uint32_t i = 0; i < load->connections; i++)
        ask(load, &load->connection[i]);
    while (now_us() < until_us) {
        int count = epoll_wait(load->poll, events, EVENTS, 100);

        for (int i = 0; i < count; i++)
            hear(load, events[i].data.ptr);
    }
    return NULL;
}

/* Everything of one thread, its connections open. */
static void begin(struct load *load)
{
    load->poll = epoll_create1(EPOLL_CLOEXEC);
    load->connection = mem_array(load->connections, sizeof(*load->connection));
    load->time_us = mem_array(TIMES_MAX, sizeof(*load->time_us));
    if (!load->connection || !load->time_us || load->poll < 0)
        fail("cannot begin", strerror(errno));
    for (uint32_t i = 0; i < load->connections; i++)
        dial(load, &load->connection[i]);
}

/* The percentiles are the first thread's; all have the same work. */
static void print(struct load *load, uint32_t threads, double took)
{
    size_t times = (size_t)MIN(load->answers, (uint64_t)TIMES_MAX);
    uint64_t answers = 0;
    int64_t number = 0;

    for (uint32_t i = 0; i < threads; i++) {
        answers += load[i].answers;
        number = MAX(number, load[i].number);
        if (load[i].hung_up)
            fprintf(stderr, "bench_http: the server hung up %u times\n",
                    load[i].hung_up);
    }
    if (!times)
        fail("no answer", "in time");
    qsort(load->time_us, times, sizeof(*load->time_us), by_size);
    printf("%.0f %u %u %" PRId64 "\n", (double)answers / took, load->time_us[times / 2],
           load->time_us[times - 1 - times / 100], number);
}

int main(int argc, char **argv)
{
    struct load loads[THREADS_MAX];
    uint32_t connections = argc == 8 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint32_t threads = MAX(MIN(executor_cores() / 4, (uint32_t)THREADS_MAX), 1u);
    int64_t from_us;
    bool is_tls;

    if (!connections || connections > CONNECTIONS_MAX)
        fail("usage", "bench_http PORT CONNECTIONS SECONDS FIRST PATH TOKEN BODY");
    threads = MIN(threads, connections);
    is_tls = !strncmp(argv[1], "tls:", 4);
    for (uint32_t i = 0; i < threads; i++) {
        loads[i] = (struct load){
            .port = (uint16_t)strtoul(argv[1] + (is_tls ? 4 : 0), NULL, 10),
            .is_tls = is_tls,
            .connections = (connections + i) / threads,
            .seconds = strtod(argv[3], NULL),
            .number = strtoll(argv[4], NULL, 10) + i,
            .stride = threads,
            .path = argv[5],
            .token = argv[6],
            .body = argv[7]};
        begin(&loads[i]);
    }
    from_us = now_us();
    for (uint32_t i = 1; i < threads; i++) {
        if (pthread_create(&loads[i].thread, NULL, run, &loads[i]))
            fail("cannot start a thread", strerror(errno));
    }
    run(&loads[0]);
    for (uint32_t i = 1; i < threads; i++)
        pthread_join(loads[i].thread, NULL);
    print(loads, threads, (double)(now_us() - from_us) / 1e6);
    return 0;
}
