/* SPDX-License-Identifier: Apache-2.0 */
/* bench_series.c - charts of many reports.
 *
 *   bench_series make DIRECTORY TRIALS METRICS STEPS
 *   bench_series ask DIRECTORY TRIALS METRICS POINTS ROUNDS
 *
 * `make` makes a data directory for `det serve --data-dir`: one experiment with trials
 * 1..TRIALS, each with metrics m0, m1, ... of the group "training" at 1..STEPS, packed
 * like those of an ended trial.  `ask` draws charts of all of them and prints the CPU
 * time of the median round in milliseconds.  Blocks are written directly: reporting ten
 * million rows one by one would take minutes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial.h"
#include "store/metric/metric.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/metric/metric_names.h"
#include "store/metric/metric_rows.h"
#include "store/metric/metric_summary.h"
#include "store/series/level_page.h"
#include "store/series/series.h"

#define OK(call)                                                                       \
    do {                                                                               \
        struct err ok_err = {0};                                                       \
        struct err *err = &ok_err;                                                     \
        if (call) {                                                                    \
            (void)fprintf(stderr, "%s: %s\n", #call, ok_err.text);                     \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* CPU time of this process, so other processes do not count. */
static double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- making ---------------------------------------------------------------------- */

struct maker {
    struct db *db;
    int64_t steps;
    uint32_t metrics;
    const char **name;
    struct rng64 rng;
    double *level; /* per metric: a random walk */
};

static const char config[] =
    "{\"name\":\"bench\",\"entrypoint\":\"true\",\"max_restarts\":0,"
    "\"searcher\":{\"name\":\"single\",\"metric\":\"m0\",\"smaller_is_better\":true},"
    "\"resources\":{\"slots_per_trial\":0}}";

static void add_experiment(struct db *db)
{
    struct experiment row = {.id = 1,
                             .state = EXPERIMENT_COMPLETED,
                             .job_id = "job",
                             .owner_id = 1,
                             .project_id = 1,
                             .config = config,
                             .original_config = "name: bench\n",
                             .resource_pool = "default",
                             .priority = 42,
                             .weight = 1,
                             .max_slots = -1,
                             .submitted_us = INT64_C(1700000000000000),
                             .start_us = INT64_C(1700000000000000),
                             .end_us = INT64_C(1700000000000001)};
    struct experiment_texts texts = {.name = "bench", .files = "", .labels = "[]"};

    OK(store_experiment_add(db, &row, &texts, err));
}

static void add_trial(struct db *db, int64_t id)
{
    char name[32];
    struct trial row = {.id = id,
                        .experiment_id = 1,
                        .number = id,
                        .state = TRIAL_COMPLETED,
                        .request_id = name,
                        .task_id = name,
                        .seed = 1,
                        .hparams = "{\"lr\":0.1}",
                        .run_id = 1,
                        .start_us = INT64_C(1700000000000000)};

    (void)snprintf(name, sizeof(name), "1.%" PRId64, id);
    OK(store_trial_add(db, &row, err));
}

static double next_value(struct maker *maker, uint32_t metric)
{
    double noise = (double)(int64_t)(rng64_next(&maker->rng) >> 33) / 1e9 - 1.07;

    maker->level[metric] = maker->level[metric] * 0.999 + noise * 0.1;
    return maker->level[metric];
}

/* One report the usual way, which makes the group, the run and the names; then
 * blocks. */
static void first_report(struct maker *maker, int64_t trial, struct arena *mem)
{
    struct json *avg = json_new(mem, JSON_OBJECT);
    struct metric_report report = {.trial_id = trial,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = 1,
                                   .report_us = INT64_C(1700000000000000),
                                   .avg = avg};
    bool is_new;

    for (uint32_t i = 0; i < maker->metrics; i++)
        (void)json_set(mem, avg, maker->name[i], json_new_real(mem, 1.5));
    OK(store_metric_add(maker->db, &report, mem, &is_new, err));
}

static void some_rows(struct maker *maker, int64_t first, struct metric_rows *rows,
                      struct arena *mem)
{
    rows->row = arena_array(mem, struct metric_cells, rows->count);
    for (uint32_t i = 0; rows->row && i < rows->count; i++) {
        double *value = arena_array(mem, double, maker->metrics);

        for (uint32_t k = 0; value && k < maker->metrics; k++)
            value[k] = next_value(maker, k);
        rows->row[i] = (struct metric_cells){
            .id = first + i,
            .steps = first + i,
            .report_us = INT64_C(1700000000000000) + (first + i) * 10000 +
                         (int64_t)rng64_below(&maker->rng, 9000),
            .count = maker->metrics,
            .name = maker->name,
            .value = value};
    }
    if (mem->has_failed)
        exit(1);
}

static void make_trial(struct maker *maker, int64_t id)
{
    struct arena mem = ARENA_INIT(1 << 30);
    struct metric_run *runs;
    struct metric_key key;
    uint32_t count;
    bool did = true;

    OK(db_begin(maker->db, err));
    add_trial(maker->db, id);
    first_report(maker, id, &mem);
    while (did)
        OK(store_metric_compact(maker->db, true, &did, err));
    OK(metric_runs_load(maker->db, id, "training", &mem, &runs, &count, err));
    key = runs[0].key;
    for (int64_t at = 2; at <= maker->steps;) {
        struct arena scratch = ARENA_INIT(1 << 30);
        struct metric_rows rows = {
            .count = (uint32_t)MIN((int64_t)METRIC_BLOCK_ROWS, maker->steps + 1 - at)};

        some_rows(maker, at, &rows, &scratch);
        OK(metric_block_put(maker->db, &key, &rows, &scratch, err));
        OK(level_grow(maker->db, &key, err));
        at += rows.count;
        arena_done(&scratch);
    }
    OK(db_commit(maker->db, err));
    arena_done(&mem);
}

static void make(const char *dir, int64_t trials, uint32_t metrics, int64_t steps)
{
    struct maker maker = {.steps = steps, .metrics = metrics, .rng = {1}};
    char path[512];

    maker.name = mem_array(metrics, sizeof(*maker.name));
    maker.level = mem_array(metrics, sizeof(*maker.level));
    if (!maker.name || !maker.level)
        exit(1);
    for (uint32_t i = 0; i < metrics; i++) {
        char *name = mem_alloc(16);

        if (!name)
            exit(1);
        (void)snprintf(name, 16, "m%" PRIu32, i);
        maker.name[i] = name; /* m0..m9 are sorted */
    }
    OK(io_mkdir(io_system(), dir, true, err) == DET_NOMEM);
    (void)snprintf(path, sizeof(path), "%s/det.db", dir);
    OK(db_open(io_system(), path, false, &maker.db, err));
    OK(db_migrate(maker.db, migration_count, err));
    add_experiment(maker.db);
    for (int64_t i = 1; i <= trials; i++)
        make_trial(&maker, i);
    OK(db_checkpoint(maker.db, true, err));
    db_close(maker.db);
    for (uint32_t i = 0; i < metrics; i++)
        mem_free((void *)maker.name[i]);
    mem_free(maker.name);
    mem_free(maker.level);
}

/* ---- asking ---------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

static void ask(const char *dir, struct series_ask *question, int rounds)
{
    double *ms = mem_array((size_t)rounds, sizeof(*ms));
    uint64_t numbers = 0;
    char path[512];
    struct db *db;

    if (!ms)
        exit(1);
    (void)snprintf(path, sizeof(path), "%s/det.db", dir);
    OK(db_open(io_system(), path, true, &db, err));
    for (int i = -1; i < rounds; i++) { /* the first is a warm-up */
        struct arena mem = ARENA_INIT(1 << 30);
        struct series series;
        double start = now_ms();

        OK(store_series(db, question, &mem, &series, err));
        if (i >= 0)
            ms[i] = now_ms() - start;
        numbers = 0;
        for (uint32_t k = 0; k < series.chart_count; k++)
            numbers +=
                (uint64_t)series.chart[k].x_count * (series.chart[k].line_count + 1);
        arena_done(&mem);
    }
    qsort(ms, (size_t)rounds, sizeof(*ms), by_value);
    (void)printf("%.3f ms, %" PRIu64 " numbers\n", ms[rounds / 2], numbers);
    db_close(db);
    mem_free(ms);
}

/* ---- many names ------------------------------------------------------------------ */

enum { WIDE_NAMES = 12000, WIDE_REPORTS = 60 };

static double begin_ms;

static void lap(const char *what)
{
    (void)printf("%-46s %9.2f ms\n", what, now_ms() - begin_ms);
    begin_ms = now_ms();
}

/* `each` names per report: together several reports have all names. */
static void add_wide(struct db *db, int64_t trial, int64_t steps, int each)
{
    struct arena mem = ARENA_INIT(1 << 30);
    struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct json *avg;
    struct metric_report report = {.trial_id = trial,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = steps,
                                   .report_us = INT64_C(1700000000000000) + steps};
    bool is_new;

    jw_object(&w, NULL);
    for (int i = 0; i < each; i++) {
        int name = (int)(steps * each + i) % WIDE_NAMES;
        char key[32];

        (void)snprintf(key, sizeof(key), "layer/%05d/norm", name);
        jw_real(&w, key, (double)steps / (name + 1));
    }
    jw_end_object(&w);
    OK(json_parse(text.data, text.len, &mem, &avg, err));
    report.avg = avg;
    OK(store_metric_add(db, &report, &mem, &is_new, err));
    buf_done(&text);
    arena_done(&mem);
}

static void read_wide(struct db *db, int64_t trial)
{
    struct arena mem = ARENA_INIT(1 << 30);
    struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct series_metric metric[40];
    struct series_ask question = {.trial = &trial,
                                  .trials = 1,
                                  .metric = metric,
                                  .metrics = 40,
                                  .points = 600,
                                  .from = -INFINITY,
                                  .to = INFINITY};
    struct series series;
    struct series_metric *names;
    uint32_t count;

    begin_ms = now_ms();
    jw_array(&w, NULL);
    OK(store_metric_list(db, trial, &w, err));
    jw_end_array(&w);
    lap("  names of the trial");
    buf_clear(&text);
    OK(store_metric_summary(db, trial, &text, err));
    lap("  summary of the trial");
    OK(store_series_names(db, &trial, 1, &mem, &names, &count, err));
    (void)printf("  %" PRIu32 " names\n", count);
    lap("  names of charts");
    for (int i = 0; i < 40; i++)
        metric[i] = (struct series_metric){"training",
                                           arena_printf(&mem, "layer/%05d/norm", i)};
    OK(store_series(db, &question, &mem, &series, err));
    lap("  40 charts");
    buf_done(&text);
    arena_done(&mem);
}

static void wide_trial(struct db *db, int64_t trial, int reports, int each)
{
    bool did = true;

    (void)printf("%d names, %d a report\n", WIDE_NAMES, each);
    OK(db_begin(db, err));
    add_trial(db, trial);
    begin_ms = now_ms();
    for (int i = 0; i < reports; i++)
        add_wide(db, trial, i, each);
    OK(db_commit(db, err));
    lap("  reports");
    read_wide(db, trial);
    OK(db_begin(db, err));
    begin_ms = now_ms();
    while (did)
        OK(store_metric_compact(db, true, &did, err));
    OK(db_commit(db, err));
    lap("  compaction");
    read_wide(db, trial);
}

static void wide(const char *dir)
{
    char path[512];
    struct db *db;

    OK(io_mkdir(io_system(), dir, true, err) == DET_NOMEM);
    (void)snprintf(path, sizeof(path), "%s/det.db", dir);
    OK(db_open(io_system(), path, false, &db, err));
    OK(db_migrate(db, migration_count, err));
    add_experiment(db);
    wide_trial(db, 1, WIDE_REPORTS, WIDE_NAMES);
    wide_trial(db, 2, WIDE_NAMES, 1);
    wide_trial(db, 3, 4000, 30);
    db_close(db);
}

static int usage(void)
{
    (void)fprintf(stderr, "bench_series make DIRECTORY TRIALS METRICS STEPS\n"
                          "bench_series ask DIRECTORY TRIALS METRICS POINTS ROUNDS\n");
    return 2;
}

int main(int argc, char **argv)
{
    static int64_t trial[10000];
    static struct series_metric metric[10];
    static const char *const name[] = {"m0", "m1", "m2", "m3", "m4",
                                       "m5", "m6", "m7", "m8", "m9"};
    struct series_ask question = {
        .trial = trial, .metric = metric, .from = -INFINITY, .to = INFINITY};

    if (argc == 6 && !strcmp(argv[1], "make")) {
        make(argv[2], atoll(argv[3]), (uint32_t)atoll(argv[4]), atoll(argv[5]));
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "wide")) {
        wide(argv[2]);
        return 0;
    }
    if (argc != 7 || strcmp(argv[1], "ask") != 0)
        return usage();
    question.trials = (uint32_t)MIN(atoll(argv[3]), INT64_C(10000));
    question.metrics = (uint32_t)MIN(atoll(argv[4]), INT64_C(10));
    question.points = (uint32_t)atoll(argv[5]);
    for (uint32_t i = 0; i < question.trials; i++)
        trial[i] = i + 1;
    for (uint32_t i = 0; i < question.metrics; i++)
        metric[i] = (struct series_metric){"training", name[i]};
    ask(argv[2], &question, (int)MAX(atoll(argv[6]), INT64_C(1)));
    return 0;
}
