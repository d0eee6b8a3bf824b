/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/engine/migrate.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/log/log_seek.h"
#include "tests/unit/store/old_schema.h"
#include "tests/unit/store/world.h"

static void add_schema(struct db *db, struct buf *out)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct db_query q = db_query_text(
        db, "SELECT COALESCE(sql, name) FROM sqlite_master ORDER BY type, name",
        &test_err);

    while (db_next(&q))
        buf_printf(out, "%s\n", db_col_str(&q, &mem));
    CHECK_OK(q.status);
    db_query_done(&q);
    arena_done(&mem);
}

TEST_ON_BOTH(an_old_database_becomes_what_a_new_one_is)
{
    struct world old;
    struct world new;
    struct buf old_schema = BUF_INIT;
    struct buf new_schema = BUF_INIT;

    world_init(&new, is_memory);
    world_place(&old, is_memory);
    CHECK_OK(db_open(old.io, old.path, false, &old.db, &test_err));
    CHECK_OK(db_exec(old.db, old_schema_1, &test_err));
    CHECK_OK(db_exec(old.db, "INSERT INTO texts (name, value) VALUES ('k', 'v')",
                     &test_err));
    CHECK_OK(db_migrate(old.db, migration_count, &test_err));
    add_schema(old.db, &old_schema);
    add_schema(new.db, &new_schema);
    CHECK_STR(old_schema.data, new_schema.data);
    CHECK_EQ(count_of(old.db, "texts"), 1);
    CHECK_EQ(count_of(old.db, "schema_versions"), migration_count);
    buf_done(&old_schema);
    buf_done(&new_schema);
    world_done(&old);
    world_done(&new);
}

#define AN_EXPERIMENT                                                                  \
    "INSERT INTO experiments (id, state, job_id, owner_id, project_id, parent_id,"     \
    "  resource_pool, priority, weight, max_slots, submitted_us, start_us, end_us,"    \
    "  progress, trials, search_seq, snapshot_seq, name, labels"

/* store_trial_add() needs the newest tables. */
static void insert_trial(struct db *db, int id, int experiment_id)
{
    char text[512];

    snprintf(text, sizeof(text),
             "INSERT INTO trials (id, experiment_id, number, state, seed, restarts,"
             "  run_id, start_us, end_us, latest_steps, is_stopped_by_searcher,"
             "  has_invalid_hparams, is_retry_cancelled, progress)"
             " VALUES (%d, %d, 0, 'ACTIVE', 0, 0, 1, 5, 0, 0, FALSE, FALSE, FALSE, 0)",
             id, experiment_id);
    CHECK_OK(db_exec(db, text, &test_err));
}

/* Migration 9 is the last one without unmanaged experiments. */
TEST_ON_BOTH(what_an_old_database_holds_is_there_after_its_migration)
{
    struct world w;
    struct experiment_view view;
    struct trial_view trial;

    world_place(&w, is_memory);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 9, &test_err));
    CHECK_OK(db_exec(w.db,
                     AN_EXPERIMENT ") VALUES (1, 'ACTIVE', 'j', 1, 1, 0, 'default', 42,"
                                   " 1, -1, 5, 5, 0, 0, 1, 0, 0, 'old', '[]');"
                                   "INSERT INTO experiment_configs VALUES"
                                   " (1, '{}', 'name: old')",
                     &test_err));
    insert_trial(w.db, 1, 1);
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_STR(view.name, "old");
    CHECK(!view.is_unmanaged);
    CHECK(view.external_id == NULL);
    CHECK_EQ(view.num_trials, 1);
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK(!trial.is_unmanaged);
    world_done(&w);
}

/* Migration 21 is the last one without numbers of trials in their projects. */
TEST(old_trials_are_numbered_by_project)
{
    static const struct {
        int64_t id;
        int experiment;
        int64_t number;
    } rows[] = {{1, 1, 1}, {2, 2, 1}, {3, 1, 2}, {4, 2, 2}, {5, 1, 3}};
    struct world w;
    struct trial_view trial;

    world_place(&w, true);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 21, &test_err));
    CHECK_OK(db_exec(w.db,
                     "INSERT INTO projects (id, workspace_id, name, project_key,"
                     "  owner_id) VALUES (2, 1, 'p', 'DIG', 1);" AN_EXPERIMENT
                     ") VALUES (1, 'ACTIVE', 'j', 1, 1, 0, 'default', 42, 1, -1, 5, 5,"
                     "  0, 0, 1, 0, 0, 'a', '[]'),"
                     " (2, 'ACTIVE', 'k', 1, 2, 0, 'default', 42, 1, -1, 5, 5, 0, 0,"
                     "  1, 0, 0, 'b', '[]')",
                     &test_err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        insert_trial(w.db, (int)rows[i].id, rows[i].experiment);
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_OK(store_trial_get(w.db, rows[i].id, &w.mem, &trial, &test_err));
        CHECK_EQ(trial.local_number, rows[i].number);
        CHECK_STR(trial.project_key, rows[i].experiment == 2 ? "DIG" : "UNCAT");
    }
    add_trial(&w, 6, 2); /* the project counts on */
    CHECK_OK(store_trial_get(w.db, 6, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.local_number, 3);
    world_done(&w);
}

#define THREE_EXPERIMENTS                                                              \
    AN_EXPERIMENT ") VALUES (1, 'ACTIVE', 'j', 1, 1, 0, '', 42, 1, -1, 5, 5, 0, 0, 1," \
                  "  0, 0, 'a', '[]'),"                                                \
                  " (2, 'ACTIVE', 'k', 1, 9, 0, '', 42, 1, -1, 5, 5, 0, 0, 1, 0, 0,"   \
                  "  'b', '[]'),"                                                      \
                  " (3, 'ACTIVE', 'l', 1, 8, 0, '', 42, 1, -1, 5, 5, 0, 0, 1, 0, 0,"   \
                  "  'c', '[]')"

/* As the earlier form of migration 18 left it. */
TEST(what_an_early_program_left_undone_is_repaired)
{
    static const int64_t numbers[] = {1, 3, 4, 2};
    struct world w;
    struct trial_view trial;

    world_place(&w, true);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 20, &test_err));
    CHECK_OK(db_exec(w.db,
                     "UPDATE workspaces SET owner_id = 0; UPDATE projects SET owner_id"
                     " = 0; DROP INDEX experiments_by_project;"
                     "CREATE INDEX experiments_by_project ON experiments (project_id);"
                     "INSERT INTO users (username, is_admin, is_active, is_remote,"
                     "  modified_us, last_auth_us)"
                     " VALUES ('admin', TRUE, TRUE, FALSE, 0, 0),"
                     "  ('ann', FALSE, TRUE, FALSE, 0, 0);" THREE_EXPERIMENTS,
                     &test_err));
    insert_trial(w.db, 1, 1);
    insert_trial(w.db, 2, 2);
    insert_trial(w.db, 3, 3);
    insert_trial(w.db, 4, 1);
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    CHECK_EQ(count_of(w.db, "workspaces WHERE owner_id = 1"), 1);
    CHECK_EQ(count_of(w.db, "projects WHERE owner_id = 1 AND trials_numbered = 4"), 1);
    CHECK_EQ(count_of(w.db, "experiments WHERE project_id = 1"), 3);
    CHECK_EQ(count_of(w.db, "role_assignments WHERE user_id = 1 AND role_id = 1"), 1);
    CHECK_EQ(count_of(w.db, "role_assignments"), 1);
    CHECK_EQ(count_of(w.db, "sqlite_master WHERE name = 'experiments_by_project'"
                            " AND sql LIKE '%trials)'"),
             1);
    for (int64_t i = 0; i < (int64_t)ARRAY_LEN(numbers); i++) {
        CHECK_OK(store_trial_get(w.db, i + 1, &w.mem, &trial, &test_err));
        CHECK_EQ(trial.local_number, numbers[i]);
        CHECK_STR(trial.project_key, "UNCAT");
    }
    world_done(&w);
}

TEST(of_two_that_were_brought_at_once_the_first_keeps_the_name)
{
    static const char row[] =
        AN_EXPERIMENT ", external_id, is_unmanaged) VALUES"
                      " (%d, '%s', 'j', 1, 1, 0, '', 0, 1, -1, 5,"
                      " 5, 0, 0, 0, 0, 0, 'far', '[]', 'f', TRUE)";
    static const char *const states[] = {"DELETING", "ACTIVE", "COMPLETED"};
    struct world w;

    world_place(&w, true);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 11, &test_err));
    for (int i = 0; i < 3; i++)
        CHECK_OK(db_exec(w.db, arena_printf(&w.mem, row, i + 1, states[i]), &test_err));
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    CHECK_EQ(count_of(w.db, "experiments WHERE external_id = 'f' AND id IN (1, 2)"), 2);
    CHECK_EQ(count_of(w.db, "experiments WHERE external_id IS NULL AND id = 3"), 1);
    world_done(&w);
}

/* Up to migration 16 a chunk had only its own times. */
TEST_ON_BOTH(times_of_old_logs_are_found_though_senders_differed)
{
    const int64_t times[] = {10, 50, 20, 30, 60, 40};
    const int64_t wanted[][2] = {{5, 1}, {20, 2}, {50, 2}, {51, 5}, {60, 5}, {61, 7}};
    struct world w;

    world_place(&w, is_memory);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 16, &test_err));
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct log_line line = {.text = "x", .len = 1, .time_us = times[i], .rank = -1};
        struct log_batch batch = {.task_id = "t", .line = &line, .count = 1};
        uint32_t stored;

        CHECK_OK(store_log_add(w.db, &batch, &w.mem, &stored, &test_err));
        batch.task_id = "other";
        line.time_us = 1000;
        CHECK_OK(store_log_add(w.db, &batch, &w.mem, &stored, &test_err));
    }
    CHECK_OK(db_exec(w.db, "UPDATE log_chunks SET to_us = from_us", &test_err));
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        int64_t line = -1;

        CHECK_OK(store_log_at(w.db, "t", wanted[i][0], &w.mem, &line, &test_err));
        CHECK_EQ(line, wanted[i][1]);
    }
    world_done(&w);
}

/* Up to migration 21 only the mark of its exit told that a supervisor had delivered
 * everything. */
TEST(the_credentials_of_supervisors_that_reported_an_exit_have_ended)
{
    struct world w;

    world_place(&w, true);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 21, &test_err));
    CHECK_OK(db_exec(
        w.db,
        "INSERT INTO allocations (id, trial_id, experiment_id, task_id, name, run_id,"
        "  state, slots, request_us, start_us, end_us, is_ready, is_preempted,"
        "  is_acknowledged, is_killed, preempt_deadline_us, exit, exit_code, shares,"
        "  port_ssh, port_comm_1, port_comm_2, port_c10d)"
        " VALUES (7, 1, 1, 't', 't.1', 1, 'TERMINATED', 2, 0, 0, 0, TRUE, FALSE, FALSE,"
        "  FALSE, 0, 'CLEAN', 0, 2, 0, 0, 0, 0);"
        "INSERT INTO shares (allocation_id, rank, agent_id, is_running, has_exited,"
        "  exit, exit_code) VALUES (7, 0, 1, TRUE, TRUE, 'CLEAN', 0),"
        "  (7, 1, 1, TRUE, TRUE, 'TRANSIENT', 1);"
        "INSERT INTO marks (sender, seq) VALUES ('exit t.1/0', 1), ('exit x.1/1', 1)",
        &test_err));
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    CHECK_EQ(count_of(w.db, "shares WHERE is_delivered AND rank = 0"), 1);
    CHECK_EQ(count_of(w.db, "shares WHERE NOT is_delivered AND rank = 1"), 1);
    world_done(&w);
}

TEST(migrating_twice_changes_nothing)
{
    struct world w;

    world_init(&w, true);
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    CHECK_EQ(count_of(w.db, "schema_versions"), migration_count);
    world_done(&w);
}

TEST(a_newer_database_asks_for_a_newer_program)
{
    struct world w;

    world_init(&w, true);
    CHECK_OK(
        db_exec(w.db, "INSERT INTO schema_versions VALUES (999, 'future')", &test_err));
    CHECK_EQ(db_migrate(w.db, migration_count, &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "999");
    CHECK_HAS(test_err.text, "use a newer det");
    CHECK_HAS(test_err.text, w.path);
    world_done(&w);
}

TEST(a_migration_that_fails_leaves_nothing_behind)
{
    struct world w;
    int failures = 0;

    world_place(&w, true);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    for (int nth = 1;; nth++) {
        det_status st;

        fault_arm(FAULT_QUERY, nth);
        st = db_migrate(w.db, migration_count, &test_err);
        if (!fault_disarm(FAULT_QUERY)) {
            CHECK_OK(st);
            break;
        }
        failures++;
        CHECK_EQ(st, DET_IO);
        if (failures > 2) /* the table itself is there */
            CHECK_EQ(count_of(w.db, "schema_versions"), 0);
    }
    CHECK(failures > 3);
    CHECK_EQ(count_of(w.db, "schema_versions"), migration_count);
    world_done(&w);
}
