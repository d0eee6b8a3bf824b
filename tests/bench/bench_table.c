/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.c - the cost of a page of the table, with many experiments.
 *
 *   bench_table make DIRECTORY EXPERIMENTS    makes a data directory for `det serve`
 *   bench_table find DIRECTORY [ROUNDS]       microseconds per page of 50, by query
 *
 * The experiments have ended; each has one trial with five hyperparameters and five
 * metrics, and a name, description and labels of usual length. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "model/table_query.h"
#include "store/engine/db.h"
#include "store/engine/migrate.h"
#include "store/roster/roster_find.h"
#include "store/roster/roster_view.h"
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

enum { PAGE = 50, ROUNDS = 21 };

static const char rows_sql[] =
    "WITH RECURSIVE n (i, r) AS (SELECT 1, 2654435761 %% 1000003 UNION ALL"
    "  SELECT i + 1, (i + 1) * 2654435761 %% 1000003 FROM n WHERE i < %" PRId64 ")"
    " INSERT INTO experiments (id, state, job_id, owner_id, project_id, parent_id,"
    "  resource_pool, priority, weight, max_slots, submitted_us, start_us, end_us,"
    "  progress, trials, search_seq, snapshot_seq, name, description, labels,"
    "  searcher_type, searcher_metric, is_archived, checkpoint_count, checkpoint_size)"
    " SELECT i, CASE r %% 10 WHEN 0 THEN 'ERROR' WHEN 1 THEN 'CANCELED'"
    "   ELSE 'COMPLETED' END, 'job-' || i, 1 + r %% 2, 1, 0,"
    "  CASE r %% 4 WHEN 0 THEN 'gpu' ELSE 'default' END, r %% 99, 1, -1,"
    "  1700000000000000 + i * 60000000, 1700000000000000 + i * 60000000,"
    "  1700000000000000 + i * 60000000 + r * 1000, 1, 1, 0, 0,"
    "  CASE r %% 5 WHEN 0 THEN 'mnist' WHEN 1 THEN 'resnet50' WHEN 2 THEN 'Bert'"
    "   WHEN 3 THEN 'sweep' ELSE 'baseline' END || '-' || r || '-of-run-' || i,"
    "  'learning rate ' || r || ', with the augmentation of last week, seed ' || i,"
    "  CASE r %% 3 WHEN 0 THEN '[\"nightly\",\"team-' || r %% 7 || '\"]'"
    "   WHEN 1 THEN '[\"paper\"]' ELSE '[]' END,"
    "  CASE r %% 3 WHEN 0 THEN 'single' WHEN 1 THEN 'random' ELSE 'grid' END,"
    "  'validation_loss', r %% 20 = 0, r %% 5, r * 1000 FROM n";

static const char others_sql[] =
    "INSERT INTO experiment_configs SELECT id, '{\"name\":\"' || name || '\","
    "\"hyperparameters\":{\"lr\":' || (priority / 100.0) || "
    "'},\"searcher\":{\"name\":\"'"
    " || searcher_type || '\",\"metric\":\"validation_loss\"}}', '' FROM experiments;"
    "INSERT INTO trials (id, experiment_id, number, state, request_id, task_id, seed,"
    "  hparams, restarts, run_id, start_us, end_us, latest_steps,"
    "  is_stopped_by_searcher, has_invalid_hparams, is_retry_cancelled, progress,"
    "  best_metric, best_rank, best_steps, best_validation)"
    " SELECT id, id, 0, CASE state WHEN 'ERROR' THEN 'ERROR' WHEN 'CANCELED' THEN"
    "  'CANCELED' ELSE 'COMPLETED' END, 'r' || id, id || '.r' || id, 0,"
    "  '{\"lr\":' || (priority / 100.0) || ',\"batch\":' || (priority % 8 * 16) ||"
    "  ',\"seed\":' || (id % 5) || ',\"optimizer\":\"' || CASE priority % 3 WHEN 0 THEN"
    "  'adam' WHEN 1 THEN 'sgd' ELSE 'lamb' END || '\",\"net\":{\"depth\":' ||"
    "  (priority % 5) || '}}', 0, 1, start_us, end_us, 100, FALSE,"
    "  FALSE, FALSE, 1, checkpoint_size / 1e9, checkpoint_size / 1e9, 100,"
    "  '{\"validation_loss\":' || (checkpoint_size / 1e9) || ',\"accuracy\":' ||"
    "  (priority / 99.0) || ',\"f1\":' || (priority / 101.0) || ',\"top5\":' ||"
    "  (priority / 98.0) || ',\"auc\":' || (priority / 97.0) || '}'"
    " FROM experiments;"
    "INSERT OR REPLACE INTO numbers SELECT 'next_experiment', MAX(id) + 1 FROM "
    "experiments;"
    "INSERT OR REPLACE INTO numbers SELECT 'next_trial', MAX(id) + 1 FROM trials";

static void make(const char *directory, int64_t count)
{
    char path[512], text[4096];
    struct db *db;

    (void)snprintf(path, sizeof(path), "%s/det.db", directory);
    (void)snprintf(text, sizeof(text), rows_sql, count);
    OK(io_mkdir(io_system(), directory, true, err));
    OK(db_open(io_system(), path, false, &db, err));
    OK(db_migrate(db, migration_count, err));
    OK(db_begin(db, err));
    OK(db_exec(db, text, err));
    OK(db_exec(db, others_sql, err));
    OK(db_commit(db, err));
    db_close(db);
}

/* ---- asking ---------------------------------------------------------------------- */

static const char *const a_label[] = {"paper"};
static const char *const some_cells[] = {"hp.lr", "hp.optimizer", "validation.f1"};

static const struct {
    const char *what;
    struct roster_query query;
    const char *filter; /* a query line */
} questions[] = {
    {"newest", {.is_descending = true}},
    {"by name", {.sort = ROSTER_BY_NAME}},
    {"by owner", {.sort = ROSTER_BY_OWNER}},
    {"by best metric", {.sort = ROSTER_BY_BEST_METRIC}},
    {"by duration", {.sort = ROSTER_BY_DURATION, .is_descending = true}},
    {"far page", {.sort = ROSTER_BY_BEST_METRIC, .offset = -5000}},
    {"errors", {.states = 1U << EXPERIMENT_ERROR}},
    {"a label", {.labels = {(const char **)a_label, 1}}},
    {"a word", {.search = "mnist"}},
    {"a rare word", {.search = "run-777"}},
    {"no match", {.search = "qqqq"}},
    {"one letter", {.search = "e"}},
    {"with values", {.is_descending = true, .with_values = true}},
    {"by a metric", {.sort_column = "validation.accuracy"}},
    {"by a hparam", {.sort_column = "hp.optimizer", .is_descending = true}},
    {"a query", {0}, "validation_loss < 0.3 and lr >= 1e-3 and label:paper"},
    {"a long query",
     {0},
     "(accuracy > 0.5 or f1 <= 0.2) and not optimizer:sgd,lamb and hp.net.depth != 3"},
    {"cells", {.cells = {(const char **)some_cells, 3}}},
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double one_page(struct store *store, const struct roster_query *question,
                       const char *filter)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    int64_t began = clock_mono_us(&clock_system);
    struct roster_query query = *question;
    struct table_query parsed;
    struct roster_page page;
    struct db *db;

    if (filter) {
        OK(table_query_parse(filter, &mem, &parsed, err));
        query.filter = &parsed;
    }
    query.limit = PAGE;
    query.now_us = 1800000000000000;
    OK(store_reader_take(store, &db, err));
    OK(store_roster_find(store, db, &query, &mem, &page, err));
    for (size_t i = 0; i < page.count; i++) {
        struct roster_view view;
        bool is_there;

        OK(store_roster_view(db, page.ids[i], &mem, &view, &is_there, err));
    }
    store_reader_give(store, db);
    return (double)(clock_mono_us(&clock_system) - began);
}

static void find(const char *directory, int rounds)
{
    struct store_config config = {
        .io = io_system(), .directory = directory, .readers = 1};
    double *times = mem_array((size_t)rounds, sizeof(*times));
    struct executor *exec;
    struct store *store;

    OK(executor_threads_new(&clock_system, &exec, err));
    config.exec = exec;
    OK(store_open(&config, &store, err));
    printf("%-16s %10.0f\n", "first look", one_page(store, &questions[0].query, NULL));
    for (size_t i = 0; times && i < ARRAY_LEN(questions); i++) {
        for (int at = 0; at < rounds; at++)
            times[at] = one_page(store, &questions[i].query, questions[i].filter);
        qsort(times, (size_t)rounds, sizeof(*times), compare);
        printf("%-16s %10.0f\n", questions[i].what, times[rounds / 2]);
    }
    mem_free(times);
    executor_free(exec);
    store_close(store);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "make"))
        make(argv[2], strtoll(argv[3], NULL, 10));
    else if (argc >= 3 && !strcmp(argv[1], "find"))
        find(argv[2], argc > 3 ? (int)strtol(argv[3], NULL, 10) : ROUNDS);
    else
        (void)fprintf(stderr, "usage: %s make DIRECTORY EXPERIMENTS | find DIRECTORY\n",
                      argv[0]);
    return 0;
}
