/* SPDX-License-Identifier: Apache-2.0 */
/* crowd.c - many connections to one master: reporters, followers of a log, listeners to
 * changes, and a probe that measures how long a small call takes meanwhile.
 *
 *   campaign_crowd PORT SECONDS PACE_MS REPORTERS FOLLOWERS LISTENERS TRIAL TASK_TOKEN TOKEN OTHER_TOKEN
 *
 * Followers and listeners are one user; the probe is another one, and has a thread of its own:
 * what the crowd has to read would else count as the master's time.  All others are in one epoll
 * set.  A reporter sends its next report PACE_MS after the answer to the last one.  A report that is refused or broken off is sent again; only an answer of 2xx
 * acknowledges it.  At the end it waits for the answers under way, and prints one line:
 *
 *   acknowledged reports, repeated ones, streams that broke, bytes that followers and
 *   listeners got, median and 99th percentile of reports and of the probe in microseconds
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REPLY_MAX = 16384, REQUEST_MAX = 4096, EVENTS = 512, TIMES_MAX = 1 << 20 };
enum { NUMBERS = 7 }; /* the first arguments */
enum { PROBE_PACE_MS = 20, ADDRESSES = 4, LAST_SECONDS = 60 };

enum kind { REPORTER, FOLLOWER, LISTENER, PROBE };

struct connection {
    enum kind kind;
    int fd;
    bool is_under_way;
    bool is_heard;  /* a stream: its first bytes came */
    int64_t number; /* of the report */
    int64_t due_us;
    int64_t sent_us;
    size_t have;
    char *reply;
};

struct times {
    uint32_t *us;
    size_t count;
};

static struct {
    int epoll_fd;
    uint16_t port;
    int64_t pace_us;
    int64_t trial;
    const char *task_token;
    const char *token;
    const char *other_token;
    struct connection *all;
    struct connection probe;
    size_t count;
    int64_t next_number;
    int64_t acknowledged, repeated;
    _Atomic int64_t broken;
    uint64_t followed, heard;
    struct times reports, probes;
    atomic_bool is_over;
} crowd;

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void die(const char *what)
{
    fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void note(struct times *times, int64_t us)
{
    times->us[times->count++ % TIMES_MAX] = (uint32_t)us;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint32_t percentile(struct times *times, unsigned percent)
{
    size_t count = times->count < TIMES_MAX ? times->count : TIMES_MAX;

    qsort(times->us, count, sizeof(*times->us), by_size);
    return count ? times->us[(count - 1) * percent / 100] : 0;
}

static void watch(struct connection *c)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

    if (c->kind != PROBE &&
        epoll_ctl(crowd.epoll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll_ctl");
}

/* From several loopback addresses: one may hold only its share. */
static void dial(struct connection *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(crowd.port)};
    struct sockaddr_in from = {.sin_family = AF_INET};
    const int on = 1;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        die("socket");
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    from.sin_addr.s_addr =
        htonl(INADDR_LOOPBACK +
              (c->kind == PROBE ? 0 : (uint32_t)((c - crowd.all) % ADDRESSES)));
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (bind(c->fd, (struct sockaddr *)&from, sizeof(from)) != 0 ||
        connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("connect");
    watch(c);
}

static size_t write_request(const struct connection *c, char *text)
{
    char body[512] = "";
    int len;

    if (c->kind == REPORTER)
        snprintf(body, sizeof(body),
                 "{\"metrics\":{\"trialId\":%" PRId64 ",\"trialRunId\":1,"
                 "\"stepsCompleted\":%" PRId64
                 ",\"metrics\":{\"avgMetrics\":{\"loss\":%" PRId64
                 "}}},\"group\":\"training\"}",
                 crowd.trial, c->number, c->number);
    if (c->kind == REPORTER)
        len = snprintf(text, REQUEST_MAX,
                       "POST /api/v1/trials/%" PRId64
                       "/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
                       crowd.trial, crowd.task_token, strlen(body), body);
    else if (c->kind == FOLLOWER)
        len = snprintf(text, REQUEST_MAX,
                       "GET /api/v1/trials/%" PRId64
                       "/logs?follow=true HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Authorization: Bearer %s\r\n\r\n",
                       crowd.trial, crowd.token);
    else
        len = snprintf(text, REQUEST_MAX,
                       "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Authorization: Bearer %s\r\n\r\n",
                       c->kind == PROBE ? "/api/v1/me" : "/api/v1/det/changes",
                       c->kind == PROBE ? crowd.other_token : crowd.token);
    return (size_t)len;
}

static void send_request(struct connection *c)
{
    char text[REQUEST_MAX];
    size_t len;

    if (c->fd < 0)
        dial(c);
    if (c->kind == REPORTER && !c->number)
        c->number = ++crowd.next_number;
    len = write_request(c, text);
    c->is_under_way = true;
    c->have = 0;
    c->sent_us = now_us();
    if (send(c->fd, text, len, MSG_NOSIGNAL) != (ssize_t)len && errno != EPIPE &&
        errno != ECONNRESET)
        die("send");
}

static void wait_a_turn(struct connection *c)
{
    c->is_under_way = false;
    c->due_us = now_us() + crowd.pace_us;
}

static void break_off(struct connection *c)
{
    close(c->fd);
    c->fd = -1;
    c->is_heard = false;
    if (c->kind == REPORTER)
        crowd.repeated++;
    else
        crowd.broken++;
    wait_a_turn(c);
}

/* Whether the reply is whole. */
static bool is_whole(const struct connection *c)
{
    const char *end = strstr(c->reply, "\r\n\r\n");
    const char *length = strcasestr(c->reply, "\r\nContent-Length:");

    return end && length && length < end &&
           c->have >= (size_t)(end + 4 - c->reply) + strtoul(length + 17, NULL, 10);
}

static void take_reply(struct connection *c)
{
    bool is_ok = !strncmp(c->reply, "HTTP/1.1 2", 10);

    note(c->kind == PROBE ? &crowd.probes : &crowd.reports, now_us() - c->sent_us);
    if (c->kind == REPORTER && is_ok) {
        crowd.acknowledged++;
        c->number = 0;
    } else if (c->kind == REPORTER) {
        crowd.repeated++;
    } else if (!is_ok) {
        crowd.broken++;
    }
    wait_a_turn(c);
}

static void read_bytes(struct connection *c)
{
    ssize_t len;

    if (c->kind == FOLLOWER || c->kind == LISTENER)
        c->have = 0; /* only counted */
    len = recv(c->fd, c->reply + c->have, REPLY_MAX - 1 - c->have, 0);
    if (len <= 0) {
        break_off(c);
        return;
    }
    if (c->kind == FOLLOWER || c->kind == LISTENER) {
        if (!c->is_heard &&
            strncmp(c->reply, "HTTP/1.1 200", len < 12 ? (size_t)len : 12) != 0)
            crowd.broken++; /* refused */
        c->is_heard = true;
        *(c->kind == FOLLOWER ? &crowd.followed : &crowd.heard) += (uint64_t)len;
        return;
    }
    c->have += (size_t)len;
    c->reply[c->have] = '\0';
    if (is_whole(c))
        take_reply(c);
}

static void *probe(void *arg)
{
    struct connection *c = arg;

    while (!crowd.is_over) {
        send_request(c);
        while (c->is_under_way)
            read_bytes(c);
        usleep(PROBE_PACE_MS * 1000);
    }
    return NULL;
}

static bool has_reports_under_way(void)
{
    for (size_t i = 0; i < crowd.count; i++)
        if (crowd.all[i].kind == REPORTER && crowd.all[i].number)
            return true;
    return false;
}

static void send_due(void)
{
    int64_t now = now_us();

    for (size_t i = 0; i < crowd.count; i++) {
        struct connection *c = &crowd.all[i];
        bool is_wanted = !crowd.is_over || (c->kind == REPORTER && c->number);

        if (!c->is_under_way && c->due_us <= now && is_wanted)
            send_request(c);
    }
}

static void run_until(int64_t end_us)
{
    struct epoll_event events[EVENTS];

    while (now_us() < end_us && !(crowd.is_over && !has_reports_under_way())) {
        int count = epoll_wait(crowd.epoll_fd, events, EVENTS, 5);

        for (int i = 0; i < count; i++)
            read_bytes(events[i].data.ptr);
        send_due();
    }
}

static void add(enum kind kind, long count)
{
    int64_t start_us = now_us();

    for (long i = 0; i < count; i++)
        crowd.all[crowd.count++] = (struct connection){
            .kind = kind,
            .fd = -1,
            .due_us = start_us + (kind == REPORTER ? crowd.pace_us * i / count : 0),
            .reply = calloc(1, REPLY_MAX),
        };
}

int main(int argc, char **argv)
{
    struct rlimit files;
    pthread_t thread;
    long number[NUMBERS];

    if (argc != 11) {
        fprintf(stderr,
                "usage: campaign_crowd PORT SECONDS PACE_MS REPORTERS FOLLOWERS "
                "LISTENERS TRIAL TASK_TOKEN TOKEN OTHER_TOKEN\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < NUMBERS; i++)
        number[i] = strtol(argv[i + 1], NULL, 10);
    crowd.port = (uint16_t)number[0];
    crowd.pace_us = number[2] * 1000;
    crowd.trial = number[6];
    crowd.task_token = argv[8];
    crowd.token = argv[9];
    crowd.other_token = argv[10];
    crowd.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    crowd.all = calloc((size_t)(number[3] + number[4] + number[5]), sizeof(*crowd.all));
    crowd.probe =
        (struct connection){.kind = PROBE, .fd = -1, .reply = calloc(1, REPLY_MAX)};
    crowd.reports.us = calloc(TIMES_MAX, sizeof(uint32_t));
    crowd.probes.us = calloc(TIMES_MAX, sizeof(uint32_t));
    add(REPORTER, number[3]);
    add(FOLLOWER, number[4]);
    add(LISTENER, number[5]);

    if (pthread_create(&thread, NULL, probe, &crowd.probe) != 0)
        die("pthread_create");
    run_until(now_us() + number[1] * 1000000);
    crowd.is_over = true;
    pthread_join(thread, NULL);
    run_until(now_us() + (int64_t)LAST_SECONDS * 1000000);

    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %u %u %u %u\n",
           crowd.acknowledged, crowd.repeated, crowd.broken, crowd.followed,
           crowd.heard, percentile(&crowd.reports, 50), percentile(&crowd.reports, 99),
           percentile(&crowd.probes, 50), percentile(&crowd.probes, 99));
    return has_reports_under_way();
}
