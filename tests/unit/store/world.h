/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a database to test with, in memory or in a temporary directory. */
#ifndef TESTS_UNIT_STORE_WORLD_H
#define TESTS_UNIT_STORE_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/migrate.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial.h"
#include "tests/support/test.h"

/* The same test on a memory file system and on the machine's. */
#define TEST_ON_BOTH(name_)                                                            \
    static void name_##_on(bool is_memory);                                            \
    TEST(name_##_in_memory)                                                            \
    {                                                                                  \
        name_##_on(true);                                                              \
    }                                                                                  \
    TEST(name_##_on_disk)                                                              \
    {                                                                                  \
        name_##_on(false);                                                             \
    }                                                                                  \
    static void name_##_on(bool is_memory)

struct world {
    struct io *io;
    bool is_memory;
    char dir[64];
    char path[80];
    struct db *db; /* the writer's connection, migrated */
    struct arena mem;
};

static inline void world_place(struct world *w, bool is_memory)
{
    *w = (struct world){.is_memory = is_memory, .mem = ARENA_INIT(256 << 20)};
    if (is_memory) {
        CHECK_OK(io_memory_new(&w->io, &test_err));
        (void)snprintf(w->dir, sizeof(w->dir), "/data");
        CHECK_OK(io_mkdir(w->io, w->dir, true, &test_err));
        CHECK_OK(io_sync_dir(w->io, "/", &test_err));
    } else {
        w->io = io_system();
        (void)snprintf(w->dir, sizeof(w->dir), "/tmp/det-store-XXXXXX");
        CHECK(mkdtemp(w->dir) != NULL);
    }
    (void)snprintf(w->path, sizeof(w->path), "%s/det.db", w->dir);
}

static inline void world_init(struct world *w, bool is_memory)
{
    world_place(w, is_memory);
    CHECK_OK(db_open(w->io, w->path, false, &w->db, &test_err));
    CHECK_OK(db_migrate(w->db, migration_count, &test_err));
}

static inline void world_done(struct world *w)
{
    db_close(w->db);
    arena_done(&w->mem);
    if (w->is_memory)
        io_free(w->io);
    else
        (void)io_remove_tree(w->io, w->dir, NULL);
}

static inline int64_t count_of(struct db *db, const char *what)
{
    char text[256];
    struct db_query q;
    int64_t count = -1;

    (void)snprintf(text, sizeof(text), "SELECT COUNT(*) FROM %s", what);
    q = db_query_text(db, text, &test_err);
    if (db_next(&q))
        count = db_col_i64(&q);
    db_query_done(&q);
    return count;
}

static inline struct json *parse(struct arena *mem, const char *text)
{
    struct json *json = NULL;

    CHECK_OK(json_parse(text, strlen(text), mem, &json, &test_err));
    return json;
}

/* An experiment with trials 1..trials, all active in run 1. */
static inline void add_experiment(struct world *w, int64_t id, const char *config)
{
    struct experiment row = {.id = id,
                             .state = EXPERIMENT_ACTIVE,
                             .job_id = "job",
                             .owner_id = 1,
                             .project_id = 1,
                             .config = config,
                             .original_config = "name: x\n",
                             .resource_pool = "default",
                             .priority = 42,
                             .weight = 1,
                             .max_slots = -1,
                             .submitted_us = 100 + id,
                             .start_us = 100 + id};
    struct experiment_texts texts = {.name = "an experiment",
                                     .description = "tests",
                                     .labels = "[\"a\", \"b\"]",
                                     .files = "tgz",
                                     .files_len = 3};

    CHECK_OK(store_experiment_add(w->db, &row, &texts, &test_err));
}

static inline struct trial a_trial(int64_t id, int64_t experiment_id)
{
    return (struct trial){.id = id,
                          .experiment_id = experiment_id,
                          .number = id - 1,
                          .state = TRIAL_ACTIVE,
                          .request_id = "r",
                          .task_id = "1.r",
                          .seed = 7,
                          .hparams = "{\"lr\":0.1}",
                          .run_id = 1,
                          .start_us = 1000};
}

static inline void add_trial(struct world *w, int64_t id, int64_t experiment_id)
{
    struct trial row = a_trial(id, experiment_id);

    CHECK_OK(store_trial_add(w->db, &row, &test_err));
}

static inline void set_run(struct world *w, int64_t id, int64_t experiment_id,
                           int64_t run)
{
    struct trial row = a_trial(id, experiment_id);

    row.run_id = run;
    CHECK_OK(store_trial_put(w->db, &row, &test_err));
}

#define SIMPLE_CONFIG                                                                  \
    "{\"searcher\":{\"name\":\"single\",\"metric\":\"loss\",\"smaller_is_better\":"    \
    "true}}"

#endif
