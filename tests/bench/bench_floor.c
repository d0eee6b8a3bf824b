/* SPDX-License-Identifier: Apache-2.0 */
/* bench_floor.c - the least that must be paid: rows into SQLite, or bytes onto the
 * disk.
 *
 *   bench_floor rows FILE THREADS SECONDS     rows a second
 *   bench_floor bytes FILE BATCH SECONDS      writes of BATCH bytes with fdatasync, a
 *                                             second
 *
 * `rows` is what no server of durable reports can beat by much: a table like the
 * store's tail, write-ahead log, full sync; so many threads hand in a row of a report
 * of five numbers each and wait until it is durable; one more commits all that waits as
 * a group. No HTTP, no JSON, no rules. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"

enum { VALUES = 5, THREADS_MAX = 1024, STACK_BYTES = 64 * 1024 };

struct sender {
    struct floor *floor;
    struct sender *next; /* waiting */
    pthread_t thread;
    sem_t durable;
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
            sem_post(&s->durable);
        }
    }
    return NULL;
}

static void *send_rows(void *arg)
{
    struct sender *sender = arg;
    struct floor *floor = sender->floor;
    bool is_over = false;

    while (!is_over) {
        pthread_mutex_lock(&floor->lock);
        is_over = floor->is_over;
        sender->next = floor->first;
        floor->first = sender;
        if (!sender->next)
            pthread_cond_signal(&floor->more);
        pthread_mutex_unlock(&floor->lock);
        if (!is_over)
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

int main(int argc, char **argv)
{
    bool is_rows = argc == 5 && !strcmp(argv[1], "rows");
    long number = argc == 5 ? strtol(argv[3], NULL, 10) : 0;

    if (argc != 5 || (!is_rows && strcmp(argv[1], "bytes")) || number < 1 ||
        (is_rows && number > THREADS_MAX))
        fail("usage", "bench_floor rows|bytes FILE THREADS|BATCH SECONDS");
    unlink(argv[2]);
    if (is_rows)
        run_rows(argv[2], (int)number, strtod(argv[4], NULL));
    else
        run_bytes(argv[2], (size_t)number, strtod(argv[4], NULL));
    return 0;
}
