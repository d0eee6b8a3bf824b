/* SPDX-License-Identifier: Apache-2.0 */
/* bench_floor.c - the least that must be paid: rows into SQLite, or bytes onto the
 * disk.
 *
 *   bench_floor rows FILE THREADS SECONDS     rows a second
 *   bench_floor batch FILE ROWS SECONDS       rows a second, ROWS in a transaction
 *   bench_floor serve FILE PORT SECONDS       the same, handed in by POSTs over HTTP
 *   bench_floor bytes FILE BATCH SECONDS      writes of BATCH bytes with fdatasync, a
 *                                             second
 *
 * `rows` is what no server of durable reports can beat by much: a table like the
 * store's tail, write-ahead log, full sync; so many threads hand in a row of a report
 * of five numbers each and wait until it is durable; one more commits all that waits as
 * a group. No HTTP, no JSON, no rules.
 *
 * `serve` adds the network and nothing else: one thread finds the end of each request,
 * the committing thread answers.  What it reaches with bench_http on the same machine
 * is what any server can hope for there.  Prints a line when it listens. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/mem.h"

enum { VALUES = 5, THREADS_MAX = 1024, STACK_BYTES = 64 * 1024, REQUEST_MAX = 4096 };

struct sender {
    struct floor *floor;
    struct sender *next; /* waiting */
    pthread_t thread;
    sem_t durable;
    int fd;                                          /* a connection; 0: a thread */
    unsigned char data[1 + VALUES * sizeof(double)]; /* as the store packs it */
};

struct floor {
    pthread_mutex_t lock; /* guards the queue */
    pthread_cond_t more;
    struct sender *first;
    bool is_over;
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *insert;
    sqlite3_stmt *commit;
    int64_t rows;
};

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_floor: %s: %s\n", what, text);
    exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- rows ------------------------------------------------------------------------ */

static void must(struct floor *floor, int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE)
        fail("SQLite", sqlite3_errmsg(floor->db));
}

static void step(struct floor *floor, sqlite3_stmt *statement)
{
    must(floor, sqlite3_step(statement));
    must(floor, sqlite3_reset(statement));
}

static sqlite3_stmt *prepare(struct floor *floor, const char *text)
{
    sqlite3_stmt *statement = NULL;

    must(floor, sqlite3_prepare_v3(floor->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                                   &statement, NULL));
    return statement;
}

static void open_floor(struct floor *floor, const char *path)
{
    if (sqlite3_open(path, &floor->db))
        fail("cannot open", path);
    must(floor, sqlite3_exec(floor->db,
                             "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                             "CREATE TABLE tail (trial_id INTEGER NOT NULL,"
                             " group_id INTEGER NOT NULL, run_id INTEGER NOT NULL,"
                             " steps INTEGER NOT NULL, nth INTEGER NOT NULL,"
                             " id INTEGER NOT NULL, report_us INTEGER NOT NULL,"
                             " data BLOB NOT NULL,"
                             " PRIMARY KEY (trial_id, group_id, run_id, steps, nth))"
                             " WITHOUT ROWID",
                             NULL, NULL, NULL));
    floor->begin = prepare(floor, "BEGIN IMMEDIATE");
    floor->insert =
        prepare(floor, "INSERT INTO tail VALUES (1, 1, 1, ?1, 0, ?1, ?2, ?3)");
    floor->commit = prepare(floor, "COMMIT");
}

static void insert(struct floor *floor, const struct sender *sender)
{
    int64_t id = ++floor->rows;

    must(floor, sqlite3_bind_int64(floor->insert, 1, id));
    must(floor, sqlite3_bind_int64(floor->insert, 2, INT64_C(1700000000000000) + id));
    must(floor, sqlite3_bind_blob(floor->insert, 3, sender->data, sizeof(sender->data),
                                  SQLITE_STATIC));
    step(floor, floor->insert);
}

/* The row is durable. */
static void answer(struct sender *sender)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                "Content-Length: 2\r\n\r\n{}";

    if (!sender->fd)
        sem_post(&sender->durable);
    else /* the client may have left at the end of its run */
        (void)send(sender->fd, reply, sizeof(reply) - 1, MSG_NOSIGNAL);
}

static void hand_in(struct floor *floor, struct sender *sender)
{
    pthread_mutex_lock(&floor->lock);
    sender->next = floor->first;
    floor->first = sender;
    if (!sender->next)
        pthread_cond_signal(&floor->more);
    pthread_mutex_unlock(&floor->lock);
}

/* All that waits, once something does; NULL: it is over. */
static struct sender *take(struct floor *floor)
{
    struct sender *first;

    pthread_mutex_lock(&floor->lock);
    while (!floor->first && !floor->is_over)
        pthread_cond_wait(&floor->more, &floor->lock);
    first = floor->is_over ? NULL : floor->first;
    floor->first = NULL;
    pthread_mutex_unlock(&floor->lock);
    return first;
}

static void *commit_groups(void *arg)
{
    struct floor *floor = arg;
    struct sender *first;
    struct sender *next;

    while ((first = take(floor))) {
        step(floor, floor->begin);
        for (struct sender *s = first; s; s = s->next)
            insert(floor, s);
        step(floor, floor->commit);
        for (struct sender *s = first; s; s = next) {
            next = s->next;
            answer(s);
        }
    }
    return NULL;
}

static void *send_rows(void *arg)
{
    struct sender *sender = arg;

    for (;;) {
        hand_in(sender->floor, sender);
        sem_wait(&sender->durable);
    }
    return NULL;
}

static void run_rows(const char *path, int threads, double seconds)
{
    struct floor floor = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .more = PTHREAD_COND_INITIALIZER};
    struct sender *sender = mem_array((size_t)threads, sizeof(*sender));
    pthread_attr_t small;
    pthread_t committer;
    double from = now_s();
    int64_t rows;

    if (!sender)
        fail("threads", "out of memory");
    open_floor(&floor, path);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (int i = 0; i < threads; i++) {
        sender[i].floor = &floor;
        memset(sender[i].data, 0x3f + i % 64, sizeof(sender[i].data));
        sem_init(&sender[i].durable, 0, 0);
        if (pthread_create(&sender[i].thread, &small, send_rows, &sender[i]))
            fail("cannot start a thread", strerror(errno));
    }
    from = now_s();
    if (pthread_create(&committer, NULL, commit_groups, &floor))
        fail("cannot start a thread", strerror(errno));
    nanosleep(&(struct timespec){(time_t)seconds, (long)(seconds * 1e9) % 1000000000},
              NULL);
    pthread_mutex_lock(&floor.lock);
    floor.is_over = true;
    pthread_cond_signal(&floor.more);
    pthread_mutex_unlock(&floor.lock);
    pthread_join(committer, NULL);
    rows = floor.rows;
    printf("%.0f\n", (double)rows / (now_s() - from));
    fflush(stdout);
    _exit(0); /* senders still wait; nobody needs them any more */
}

/* The same rows, by one thread that has nobody to wait for. */
static void run_batch(const char *path, int rows, double seconds)
{
    struct floor floor = {0};
    struct sender sender;
    double from;
    double took;

    memset(sender.data, 0x3f, sizeof(sender.data));
    open_floor(&floor, path);
    from = now_s();
    do {
        step(&floor, floor.begin);
        for (int i = 0; i < rows; i++)
            insert(&floor, &sender);
        step(&floor, floor.commit);
        took = now_s() - from;
    } while (took < seconds);
    printf("%.0f\n", (double)floor.rows / took);
}

/* ---- rows that come over the network --------------------------------------------- */

struct connection {
    struct sender sender;
    size_t have;
    char request[REQUEST_MAX];
};

static int listen_on(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1024))
        fail("cannot listen", strerror(errno));
    return fd;
}

static void take_connection(struct floor *floor, int listener, int poll)
{
    struct connection *c = mem_new(struct connection);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int on = 1;

    if (!c)
        fail("connections", "out of memory");
    c->sender.floor = floor;
    c->sender.fd = accept(listener, NULL, NULL);
    setsockopt(c->sender.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (epoll_ctl(poll, EPOLL_CTL_ADD, c->sender.fd, &event))
        fail("cannot wait", strerror(errno));
}

static void hear(struct floor *floor, struct connection *c)
{
    ssize_t got =
        recv(c->sender.fd, c->request + c->have, REQUEST_MAX - 1 - c->have, 0);
    const char *end;
    const char *length;

    if (got <= 0) {
        close(c->sender.fd); /* and the struct stays: this is a bench */
        return;
    }
    c->have += (size_t)got;
    c->request[c->have] = '\0';
    end = strstr(c->request, "\r\n\r\n");
    length = strstr(c->request, "Content-Length: ");
    if (!end || !length ||
        c->have < (size_t)(end + 4 - c->request) + strtoul(length + 16, NULL, 10))
        return;
    c->have = 0;
    hand_in(floor, &c->sender);
}

static void run_server(const char *path, uint16_t port, double seconds)
{
    struct floor floor = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .more = PTHREAD_COND_INITIALIZER};
    struct epoll_event events[256];
    struct epoll_event event = {.events = EPOLLIN};
    int poll = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_on(port);
    double until = now_s() + seconds;
    pthread_t committer;

    open_floor(&floor, path);
    if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) ||
        pthread_create(&committer, NULL, commit_groups, &floor))
        fail("cannot begin", strerror(errno));
    puts("listening");
    fflush(stdout);
    while (now_s() < until) {
        int count = epoll_wait(poll, events, 256, 100);

        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr)
                hear(&floor, events[i].data.ptr);
            else
                take_connection(&floor, listener, poll);
        }
    }
    _exit(0);
}

/* ---- bytes ----------------------------------------------------------------------- */

static void run_bytes(const char *path, size_t batch, double seconds)
{
    char *bytes = mem_alloc(batch);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double from = now_s();
    double took;
    int64_t writes = 0;

    if (!bytes || fd < 0)
        fail("cannot open", path);
    memset(bytes, 'x', batch);
    do {
        if (write(fd, bytes, batch) != (ssize_t)batch || fdatasync(fd))
            fail("cannot write", strerror(errno));
        writes++;
        took = now_s() - from;
    } while (took < seconds);
    printf("%.0f\n", (double)writes / took);
    close(fd);
    mem_free(bytes);
}

static const char usage[] =
    "bench_floor rows|batch|serve|bytes FILE THREADS|ROWS|PORT|BATCH SECONDS";

int main(int argc, char **argv)
{
    const char *what = argc == 5 ? argv[1] : "";
    long number = argc == 5 ? strtol(argv[3], NULL, 10) : 0;
    double seconds = argc == 5 ? strtod(argv[4], NULL) : 0;

    if (number < 1)
        fail("usage", usage);
    unlink(argv[2]);
    if (!strcmp(what, "rows") && number <= THREADS_MAX)
        run_rows(argv[2], (int)number, seconds);
    else if (!strcmp(what, "batch") && number <= INT32_MAX)
        run_batch(argv[2], (int)number, seconds);
    else if (!strcmp(what, "serve") && number <= UINT16_MAX)
        run_server(argv[2], (uint16_t)number, seconds);
    else if (!strcmp(what, "bytes"))
        run_bytes(argv[2], (size_t)number, seconds);
    else
        fail("usage", usage);
    return 0;
}
