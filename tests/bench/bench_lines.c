/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lines.c - reading a log: jumps and searches, compared with small logs and grep.
 *
 *   bench_lines make DIR LINES               makes a data directory for `det serve`:
 *                                            one ended trial with so many lines
 *   bench_lines text DIR FILE                writes the texts of its lines, for grep
 *   bench_lines jump DIR ROUNDS              microseconds: to the end, to a time
 *   bench_lines search DIR [-i] [-E] WHAT    seconds, hits, seconds to the first piece
 *
 * `make` calls the store directly. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "model/records.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "store/log/log_seek.h"
#include "store/task/allocation.h"

#define OK(call)                                                                       \
    do {                                                                               \
        struct err ok_err = {0};                                                       \
        struct err *err = &ok_err;                                                     \
        if (call) {                                                                    \
            (void)fprintf(stderr, "%s: %s\n", #call, ok_err.text);                     \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#define TASK "1.5f0b3c1e-0000-4000-8000-000000000001"

enum { BATCH = 1000, TEXT = 160, RANKS = 4, STEP_US = 1000 };

static const int64_t began_us = INT64_C(1700000000000000);

static double now_s(void)
{
    return (double)clock_mono_us(&clock_system) / 1e6;
}

static struct db *open_db(const char *dir, bool is_read_only)
{
    char path[512];
    struct db *db;

    (void)snprintf(path, sizeof(path), "%s/det.db", dir);
    OK(db_open(io_system(), path, is_read_only, &db, err));
    return db;
}

/* ---- making ---------------------------------------------------------------------- */

static void add_rows(struct db *db, int64_t lines)
{
    int64_t end_us = began_us + lines * STEP_US;
    struct experiment experiment = {.id = 1,
                                    .state = EXPERIMENT_COMPLETED,
                                    .job_id = "5f0b3c1e-0000-4000-8000-000000000000",
                                    .owner_id = 2,
                                    .project_id = 1,
                                    .config =
                                        "{\"name\":\"lines\",\"searcher\":{"
                                        "\"name\":\"single\",\"metric\":\"loss\"},"
                                        "\"entrypoint\":\"true\"}",
                                    .original_config = "name: lines\n",
                                    .resource_pool = "default",
                                    .weight = 1,
                                    .max_slots = -1,
                                    .submitted_us = began_us,
                                    .start_us = began_us,
                                    .end_us = end_us,
                                    .progress = 1,
                                    .trials = 1};
    struct experiment_texts texts = {.name = "lines", .labels = "[]"};
    struct trial trial = {.id = 1,
                          .experiment_id = 1,
                          .state = TRIAL_COMPLETED,
                          .request_id = "5f0b3c1e-0000-4000-8000-000000000001",
                          .task_id = TASK,
                          .hparams = "{}",
                          .run_id = 1,
                          .start_us = began_us,
                          .end_us = end_us,
                          .progress = 1};
    struct allocation allocation = {.id = 1,
                                    .trial_id = 1,
                                    .experiment_id = 1,
                                    .task_id = TASK,
                                    .name = TASK ".1",
                                    .run_id = 1,
                                    .state = ALLOCATION_TERMINATED,
                                    .resource_pool = "default",
                                    .request_us = began_us,
                                    .start_us = began_us,
                                    .end_us = end_us,
                                    .exit = EXIT_CLEAN,
                                    .shares = 1};

    OK(db_begin(db, err));
    OK(store_experiment_add(db, &experiment, &texts, err));
    OK(store_trial_add(db, &trial, err));
    OK(store_allocation_put(db, &allocation, err));
    OK(db_commit(db, err));
}

static enum log_severity some_severity(int64_t number)
{
    if (number % 1000 == 999)
        return LOG_SEVERITY_ERROR;
    if (number % 100 == 99)
        return LOG_SEVERITY_WARNING;
    return number % 10 == 9 ? LOG_SEVERITY_DEBUG : LOG_SEVERITY_INFO;
}

/* About 100 bytes each, all different; one in 100,000 contains a rare word. */
static struct log_line some_line(int64_t number, struct rng64 *rng, char text[TEXT])
{
    struct log_line line = {.time_us = began_us + number * STEP_US,
                            .severity = some_severity(number),
                            .stream =
                                number % 7 ? LOG_STREAM_STDOUT : LOG_STREAM_STDERR,
                            .rank = number % RANKS,
                            .text = text,
                            .allocation = TASK ".1",
                            .agent = "agent-1",
                            .container = "aaaaaaaa-bbbb-cccc-dddd-ffffffffffff",
                            .source = "task"};
    int64_t batch = number / RANKS;
    int len;

    if (number % 100000 == 77777)
        len = snprintf(text, TEXT,
                       "RuntimeError: device out of memory while allocating %" PRIu64
                       " bytes for batch %" PRId64 " of this epoch; see the traceback",
                       rng64_below(rng, 1 << 30), batch);
    else
        len = snprintf(text, TEXT,
                       "epoch %" PRId64 " batch %" PRId64 ": loss=0.%06" PRIu64
                       " accuracy=0.%04" PRIu64 " %" PRIu64
                       " records/s, lr 0.0010, grad norm %" PRIu64 ".%06" PRIu64,
                       batch / 1000, batch, rng64_below(rng, 1000000),
                       rng64_below(rng, 10000), 1000 + rng64_below(rng, 9000),
                       rng64_below(rng, 10), rng64_below(rng, 1000000));
    line.len = (uint32_t)len;
    return line;
}

static void make(const char *dir, int64_t lines)
{
    static struct log_line line[BATCH];
    static char text[BATCH][TEXT];
    struct log_batch batch = {.task_id = TASK, .line = line};
    struct arena mem = ARENA_INIT(1 << 20);
    struct rng64 rng = {.state = 1};
    struct db *db;

    OK(io_mkdir(io_system(), dir, true, err));
    db = open_db(dir, false);
    OK(db_migrate(db, migration_count, err));
    add_rows(db, lines);
    for (int64_t at = 0; at < lines; at += batch.count) {
        uint32_t stored;

        batch.count = (uint32_t)MIN(lines - at, BATCH);
        for (uint32_t i = 0; i < batch.count; i++)
            line[i] = some_line(at + i, &rng, text[i]);
        OK(db_begin(db, err));
        OK(store_log_add(db, &batch, &mem, &stored, err));
        OK(db_commit(db, err));
        if (at % 500000 == 0)
            OK(db_checkpoint(db, true, err));
    }
    OK(db_checkpoint(db, true, err));
    arena_done(&mem);
    db_close(db);
}

static void write_text(const char *dir, const char *path)
{
    struct db *db = open_db(dir, true);
    FILE *file = fopen(path, "w");
    struct log_query query = {.task_id = TASK};
    struct arena mem = ARENA_INIT(16 << 20);
    struct log_page page = {0};

    if (!file)
        exit(1);
    while (!page.is_end) {
        query.after_id = page.next;
        OK(store_log_read(db, &query, &mem, &page, err));
        for (uint32_t i = 0; i < page.count; i++)
            (void)fprintf(file, "%.*s\n", (int)page.line[i].len, page.line[i].text);
        arena_clear(&mem);
    }
    if (fclose(file))
        exit(1);
    arena_done(&mem);
    db_close(db);
}

/* ---- measuring ------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The requests of a page: the last lines of the log, or those from a time on. */
static void jump(const char *dir, int rounds)
{
    struct db *db = open_db(dir, true);
    struct arena mem = ARENA_INIT(16 << 20);
    struct rng64 rng = {.state = 2};
    struct log_span span;
    struct log_page page;
    double *took[2] = {mem_array((size_t)rounds, sizeof(double)),
                       mem_array((size_t)rounds, sizeof(double))};

    if (!took[0] || !took[1])
        exit(1);
    OK(store_log_span(db, TASK, &span, err));
    for (int i = 0; i < 2 * rounds; i++) {
        struct log_query query = {.task_id = TASK, .limit = 200, .cut_bytes = 4096};
        double start = now_s();
        int64_t line;

        OK(store_log_span(db, TASK, &span, err));
        if (i % 2) {
            int64_t at_us = (int64_t)rng64_below(&rng, (uint64_t)span.last) * STEP_US;

            OK(store_log_at(db, TASK, began_us + at_us, &mem, &line, err));
            if (line != at_us / STEP_US + 1)
                exit(1);
            query.after_id = MIN(line, span.last - 200) - 1;
        } else {
            query.is_descending = true;
        }
        OK(store_log_read(db, &query, &mem, &page, err));
        if (page.count != 200)
            exit(1);
        took[i % 2][i / 2] = now_s() - start;
        arena_clear(&mem);
    }
    for (int i = 0; i < 2; i++)
        qsort(took[i], (size_t)rounds, sizeof(double), by_size);
    (void)printf("end %.1f time %.1f\n", took[0][rounds / 2] * 1e6,
                 took[1][rounds / 2] * 1e6);
    mem_free(took[0]);
    mem_free(took[1]);
    arena_done(&mem);
    db_close(db);
}

static void search(const char *dir, int argc, char **argv)
{
    struct db *db = open_db(dir, true);
    struct log_query query = {.task_id = TASK, .cut_bytes = 1024};
    struct arena mem = ARENA_INIT(16 << 20);
    struct log_page page = {0};
    uint64_t hits = 0;
    double start = now_s();
    double first = 0;

    for (; argc > 1; argc--, argv++) {
        query.folds |= !strcmp(argv[0], "-i");
        query.is_regex |= !strcmp(argv[0], "-E");
    }
    query.search = argv[0];
    while (!page.is_end) {
        query.after_id = page.next;
        OK(store_log_read(db, &query, &mem, &page, err));
        hits += page.count;
        first = first ? first : now_s() - start;
        arena_clear(&mem);
    }
    (void)printf("took %.4f hits %" PRIu64 " first %.4f\n", now_s() - start, hits,
                 first);
    arena_done(&mem);
    db_close(db);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "make"))
        make(argv[2], strtoll(argv[3], NULL, 10));
    else if (argc == 4 && !strcmp(argv[1], "text"))
        write_text(argv[2], argv[3]);
    else if (argc == 4 && !strcmp(argv[1], "jump"))
        jump(argv[2], (int)strtol(argv[3], NULL, 10));
    else if (argc >= 4 && !strcmp(argv[1], "search"))
        search(argv[2], argc - 3, argv + 3);
    else
        return 2;
    return 0;
}
