/* SPDX-License-Identifier: Apache-2.0 */
/* bench_store.c - the cost of the store, compared with a bare loop.
 *
 *   bench_store DIRECTORY [lines]
 *
 * The directory should be on the disk to measure; `lines` is the size of the long log
 * (default 10000000).  Every figure is shown beside that of a bare loop in the same
 * run. */
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/store.h"

#define OK(call)                                                                       \
    do {                                                                               \
        struct err ok_err = {0};                                                       \
        struct err *err = &ok_err;                                                     \
        if (call) {                                                                    \
            (void)fprintf(stderr, "%s: %s\n", #call, ok_err.text);                     \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

enum { MAX_FLIGHT = 64, LINE_LEN = 100, BATCH_LINES = 100 };

static double now_s(void)
{
    return (double)clock_mono_us(&clock_system) / 1e6;
}

struct bench {
    const char *dir;
    char path[512];
    struct executor *exec;
    struct store *store;
    struct gate *gate;
    int64_t left;
    int64_t in_flight;
};

static void bench_open(struct bench *b, const char *name)
{
    struct store_config config = {.io = io_system(), .readers = 2};

    (void)snprintf(b->path, sizeof(b->path), "%s/%s", b->dir, name);
    OK(io_remove_tree(io_system(), b->path, err) == DET_NOMEM);
    OK(executor_threads_new(&clock_system, &b->exec, err));
    OK(gate_new(b->exec, &b->gate, err));
    config.exec = b->exec;
    config.directory = b->path;
    OK(store_open(&config, &b->store, err));
}

static void bench_close(struct bench *b)
{
    gate_free(b->gate);
    executor_free(b->exec);
    store_close(b->store);
    (void)io_remove_tree(io_system(), b->path, NULL);
}

static void add_trial(struct db *db)
{
    struct experiment experiment = {.id = 1, .config = "{}", .weight = 1};
    struct experiment_texts texts = {.name = "bench"};
    struct trial trial = {.id = 1, .experiment_id = 1, .run_id = 1, .task_id = "1.r"};

    OK(store_experiment_add(db, &experiment, &texts, err));
    OK(store_trial_add(db, &trial, err));
}

/* ---- jobs that send themselves again --------------------------------------------- */

struct flight {
    struct write_job job;
    struct bench *bench;
    struct arena mem;
    struct arena scratch;
    struct metric_report report;
    struct json *value[5];
    struct rng64 rng;
    struct log_batch batch;
};

static void landed(struct write_job *job)
{
    struct flight *flight = CONTAINER_OF(job, struct flight, job);
    struct bench *b = flight->bench;

    if (job->status) {
        (void)fprintf(stderr, "%s\n", job->err.text);
        exit(1);
    }
    if (b->left-- > 0)
        store_write(b->store, job);
    else if (!--b->in_flight)
        gate_open(b->gate);
}

static void fly(struct bench *b, struct flight *flights, int count, int64_t jobs)
{
    b->left = jobs - count;
    b->in_flight = count;
    for (int i = 0; i < count; i++)
        store_write(b->store, &flights[i].job);
    (void)gate_wait(b->gate, 0);
}

static det_status setup_job(struct write_job *job, struct db *db, struct err *err)
{
    (void)job;
    (void)err;
    add_trial(db);
    return DET_OK;
}

static void setup(struct bench *b)
{
    struct flight flight = {.bench = b, .job = {.run = setup_job, .done = landed}};

    fly(b, &flight, 1, 1);
    gate_free(b->gate);
    OK(gate_new(b->exec, &b->gate, err));
}

/* ---- reports --------------------------------------------------------------------- */

static void flight_values(struct flight *flight)
{
    for (int i = 0; i < 5; i++)
        flight->value[i]->real = (double)rng64_next(&flight->rng) / 1e19;
}

static void flight_report(struct flight *flight, int64_t from)
{
    static const char *const names[] = {"loss", "accuracy", "lr", "grad_norm",
                                        "seconds"};
    struct json *avg = json_new(&flight->mem, JSON_OBJECT);

    for (int i = 0; i < 5; i++)
        flight->value[i] =
            json_set(&flight->mem, avg, names[i], json_new_real(&flight->mem, 0.5));
    flight->report = (struct metric_report){.trial_id = 1,
                                            .run_id = 1,
                                            .group = "training",
                                            .has_steps = true,
                                            .steps = from,
                                            .report_us = INT64_C(1700000000000000),
                                            .avg = avg};
}

static det_status report_job(struct write_job *job, struct db *db, struct err *err)
{
    struct flight *flight = CONTAINER_OF(job, struct flight, job);
    bool is_new;

    flight_values(flight);
    flight->report.steps += MAX_FLIGHT;
    flight->report.report_us += 100000 + (int64_t)rng64_below(&flight->rng, 4000);
    arena_clear(&flight->scratch); /* as a request's arena is reused */
    return store_metric_add(db, &flight->report, &flight->scratch, &is_new, err);
}

static double reports_of_ours(const char *dir, int in_flight, int64_t count)
{
    static struct flight flights[MAX_FLIGHT];
    struct bench b = {.dir = dir};
    double start;

    bench_open(&b, "reports");
    setup(&b);
    for (int i = 0; i < in_flight; i++) {
        flights[i] = (struct flight){.bench = &b,
                                     .job = {.run = report_job, .done = landed},
                                     .mem = ARENA_INIT(1 << 20),
                                     .scratch = ARENA_INIT(1 << 20),
                                     .rng = {(uint64_t)i}};
        flight_report(&flights[i], i);
    }
    start = now_s();
    fly(&b, flights, in_flight, count);
    start = now_s() - start;
    for (int i = 0; i < in_flight; i++) {
        arena_done(&flights[i].mem);
        arena_done(&flights[i].scratch);
    }
    bench_close(&b);
    return (double)count / start;
}

static void must(int code, sqlite3 *db)
{
    if (code != SQLITE_OK && code != SQLITE_DONE) {
        (void)fprintf(stderr, "%s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

/* The bare loop: a key of four numbers and five doubles per row, `in_flight` rows per
 * commit. */
static double reports_of_sqlite(const char *dir, int in_flight, int64_t count)
{
    char path[512];
    sqlite3 *db;
    sqlite3_stmt *insert;
    double start;

    (void)snprintf(path, sizeof(path), "%s/bare.db", dir);
    (void)unlink(path);
    must(sqlite3_open(path, &db), db);
    must(sqlite3_exec(db,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                      "CREATE TABLE m (trial, run, grp, steps, us, data BLOB,"
                      " PRIMARY KEY (trial, grp, run, steps)) WITHOUT ROWID",
                      NULL, NULL, NULL),
         db);
    must(sqlite3_prepare_v2(db, "INSERT INTO m VALUES (1, 1, 1, ?, ?, ?)", -1, &insert,
                            NULL),
         db);
    start = now_s();
    for (int64_t at = 0; at < count; at += in_flight) {
        must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), db);
        for (int i = 0; i < in_flight; i++) {
            double values[5] = {(double)at, 2, 3, 4, (double)i};

            sqlite3_bind_int64(insert, 1, at + i);
            sqlite3_bind_int64(insert, 2, INT64_C(1700000000000000) + at);
            sqlite3_bind_blob(insert, 3, values, sizeof(values), SQLITE_STATIC);
            must(sqlite3_step(insert), db);
            sqlite3_reset(insert);
        }
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
    }
    start = now_s() - start;
    sqlite3_finalize(insert);
    sqlite3_close(db);
    (void)unlink(path);
    return (double)count / start;
}

static void bench_reports(const char *dir, int in_flight)
{
    double ours = 0;
    double bare = 0;

    /* The better of three, alternating: a busy machine hurts both alike. */
    for (int i = 0; i < 3; i++) {
        bare = MAX(bare, reports_of_sqlite(dir, in_flight, in_flight * INT64_C(500)));
        ours = MAX(ours, reports_of_ours(dir, in_flight, in_flight * INT64_C(500)));
    }
    (void)printf(
        "reports, %2d in flight:  %8.0f/s  bare group commit %8.0f/s  %3.0f %%\n",
        in_flight, ours, bare, 100 * ours / bare);
}

/* ---- bytes a report -------------------------------------------------------------- */

static uint64_t file_size(const char *path)
{
    struct io_stat stat;

    OK(io_stat(io_system(), path, &stat, err));
    return stat.size_bytes;
}

static void fill_reports(struct db *db, int count)
{
    struct flight flight = {.mem = ARENA_INIT(1 << 20), .rng = {7}};
    struct arena mem = ARENA_INIT(1 << 20);
    bool flag;

    flight_report(&flight, 0);
    for (int i = 0; i < count; i++) {
        if (i % 1000 == 0)
            OK(db_begin(db, err));
        flight_values(&flight);
        flight.report.steps = i * 100;
        flight.report.report_us += 100000 + (int64_t)rng64_below(&flight.rng, 4000);
        OK(store_metric_add(db, &flight.report, &mem, &flag, err));
        arena_clear(&mem);
        if (i % 1000 == 999)
            OK(db_commit(db, err));
    }
    arena_done(&mem);
    arena_done(&flight.mem);
}

static void bench_bytes(const char *dir)
{
    enum { REPORTS = 100000 };
    char path[512];
    struct db *db;
    uint64_t before;
    double packing;
    bool did = true;

    (void)snprintf(path, sizeof(path), "%s/bytes.db", dir);
    (void)unlink(path);
    OK(db_open(io_system(), path, false, &db, err));
    OK(db_migrate(db, migration_count, err));
    add_trial(db);
    OK(db_checkpoint(db, true, err));
    before = file_size(path);
    fill_reports(db, REPORTS);
    packing = now_s();
    while (did) {
        OK(db_begin(db, err));
        OK(store_metric_compact(db, true, &did, err));
        OK(db_commit(db, err));
    }
    packing = now_s() - packing;
    OK(db_checkpoint(db, true, err));
    (void)printf("bytes a report of 5 doubles: %.1f  (packed at %.0f reports/s)\n",
                 (double)(file_size(path) - before) / REPORTS, REPORTS / packing);
    db_close(db);
    (void)unlink(path);
}

/* ---- log lines ------------------------------------------------------------------- */

static struct log_line *some_lines(uint32_t count)
{
    static const char text[] = "epoch 12 batch 1200: loss 0.12345, accuracy 0.98765, "
                               "1234 records/s, lr 0.0010, "
                               "grad norm 1.234567";
    struct log_line *line = mem_array(count, sizeof(*line));

    if (!line)
        exit(1);
    for (uint32_t i = 0; i < count; i++)
        line[i] =
            (struct log_line){.time_us = INT64_C(1700000000000000) + i * 1000,
                              .severity = LOG_SEVERITY_INFO,
                              .stream = LOG_STREAM_STDOUT,
                              .rank = 0,
                              .text = text,
                              .len = sizeof(text) - 1,
                              .allocation = "1.aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee.1",
                              .agent = "agent-1",
                              .container = "aaaaaaaa-bbbb-cccc-dddd-ffffffffffff",
                              .source = "task"};
    return line;
}

static det_status log_job(struct write_job *job, struct db *db, struct err *err)
{
    struct flight *flight = CONTAINER_OF(job, struct flight, job);
    uint32_t stored;

    flight->batch.offset = flight->batch.end_offset;
    flight->batch.end_offset += BATCH_LINES * LINE_LEN;
    return store_log_add(db, &flight->batch, &flight->mem, &stored, err);
}

static double lines_of_ours(const char *dir, int in_flight, int64_t batches)
{
    static struct flight flights[MAX_FLIGHT];
    static char sender[MAX_FLIGHT][32];
    static char task[MAX_FLIGHT][32];
    struct bench b = {.dir = dir};
    struct log_line *line = some_lines(BATCH_LINES);
    double start;

    bench_open(&b, "logs");
    for (int i = 0; i < in_flight; i++) {
        (void)snprintf(sender[i], sizeof(sender[i]), "allocation %d/0/stdout", i);
        (void)snprintf(task[i], sizeof(task[i]), "task %d", i);
        flights[i] = (struct flight){.bench = &b,
                                     .job = {.run = log_job, .done = landed},
                                     .mem = ARENA_INIT(1 << 20),
                                     .batch = {.task_id = task[i],
                                               .line = line,
                                               .count = BATCH_LINES,
                                               .sender = sender[i]}};
    }
    start = now_s();
    fly(&b, flights, in_flight, batches);
    start = now_s() - start;
    bench_close(&b);
    mem_free(line);
    return (double)batches * BATCH_LINES / start;
}

static double lines_of_write(const char *dir, int in_flight, int64_t batches)
{
    static char bytes[MAX_FLIGHT * BATCH_LINES * LINE_LEN];
    size_t len = (size_t)in_flight * BATCH_LINES * LINE_LEN;
    char path[512];
    double start;
    int fd;

    memset(bytes, 'x', sizeof(bytes));
    (void)snprintf(path, sizeof(path), "%s/bare.log", dir);
    fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    start = now_s();
    for (int64_t at = 0; at < batches; at += in_flight) {
        if (write(fd, bytes, len) != (ssize_t)len || fdatasync(fd))
            exit(1);
    }
    start = now_s() - start;
    (void)close(fd);
    (void)unlink(path);
    return (double)batches * BATCH_LINES / start;
}

static void bench_lines(const char *dir, int in_flight)
{
    double ours = 0;
    double bare = 0;

    for (int i = 0; i < 3; i++) {
        bare = MAX(bare, lines_of_write(dir, in_flight, in_flight * INT64_C(300)));
        ours = MAX(ours, lines_of_ours(dir, in_flight, in_flight * INT64_C(300)));
    }
    (void)printf(
        "log lines, %2d senders:  %8.0f/s  write+fdatasync   %8.0f/s  %3.0f %%\n",
        in_flight, ours, bare, 100 * ours / bare);
}

/* ---- the last lines -------------------------------------------------------------- */

static double last_lines(struct db *db, const char *task_id)
{
    enum { ROUNDS = 200 };
    struct log_query query = {.task_id = task_id, .is_descending = true, .limit = 100};
    struct arena mem = ARENA_INIT(16 << 20);
    double start = now_s();

    for (int i = 0; i < ROUNDS; i++) {
        struct log_page page;

        OK(store_log_read(db, &query, &mem, &page, err));
        if (page.count != 100)
            exit(1);
        arena_clear(&mem);
    }
    arena_done(&mem);
    return (now_s() - start) / ROUNDS * 1e6;
}

static void fill_log(struct db *db, const char *task_id, int64_t lines)
{
    uint32_t size = (uint32_t)MIN(lines, 10000);
    struct log_line *line = some_lines(size);
    struct log_batch batch = {.task_id = task_id, .line = line, .count = size};
    uint32_t stored;
    struct arena mem = ARENA_INIT(1 << 20);

    for (int64_t at = 0; at < lines; at += size) {
        OK(db_begin(db, err));
        OK(store_log_add(db, &batch, &mem, &stored, err));
        OK(db_commit(db, err));
        if (at % 500000 == 0)
            OK(db_checkpoint(db, true, err));
    }
    arena_done(&mem);
    mem_free(line);
}

static void bench_last(const char *dir, int64_t lines)
{
    char path[512];
    struct db *db;
    double few;
    double many;

    (void)snprintf(path, sizeof(path), "%s/last.db", dir);
    (void)unlink(path);
    OK(db_open(io_system(), path, false, &db, err));
    OK(db_migrate(db, migration_count, err));
    fill_log(db, "small", 1000);
    fill_log(db, "large", lines);
    few = last_lines(db, "small");
    many = last_lines(db, "large");
    (void)printf("the last 100 lines: of 1000 %.0f us, of %" PRId64
                 " %.0f us  (%.2f x)\n",
                 few, lines, many, many / few);
    db_close(db);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    int64_t lines = argc > 2 ? strtoll(argv[2], NULL, 10) : 10000000;

    bench_reports(dir, 8);
    bench_reports(dir, 64);
    bench_bytes(dir);
    bench_lines(dir, 1);
    bench_lines(dir, 8);
    bench_last(dir, lines);
    return 0;
}
