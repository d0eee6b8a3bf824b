/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - rows of jobs, their place in the queue, and the callers of their
 * runs. */
#include "base/fault.h"
#include "store/engine/db.h"
#include "store/engine/migrate.h"
#include "store/page.h"
#include "store/people/caller.h"
#include "store/people/user.h"
#include "store/task/allocation.h"
#include "store/task/job.h"
#include "store/task/queue.h"
#include "tests/unit/store/world.h"

static const struct job_texts texts = {.name = "infer",
                                       .config = "{\"data\":{}}",
                                       .forked_from = "mother",
                                       .files = "tgz",
                                       .files_len = 3};

static struct job a_job(int64_t id, const char *task_id)
{
    return (struct job){.id = id,
                        .state = JOB_ACTIVE,
                        .task_id = task_id,
                        .owner_id = 1,
                        .resource_pool = "default",
                        .priority = 42,
                        .weight = 1,
                        .slots = 2,
                        .is_pausable = true,
                        .preemption_timeout_us = 10000000,
                        .submitted_us = 100 * id,
                        .start_us = 100 * id,
                        .run_id = 1};
}

static void add_job(struct world *w, int64_t id, const char *task_id)
{
    struct job row = a_job(id, task_id);

    CHECK_OK(store_job_add(w->db, &row, &texts, &test_err));
}

static void add_run(struct world *w, int64_t id, int64_t job, const char *task_id,
                    enum allocation_state state)
{
    struct allocation row = {.id = id,
                             .job_id = job,
                             .task_id = task_id,
                             .name = arena_printf(&w->mem, "%s.1", task_id),
                             .run_id = 1,
                             .state = state,
                             .resource_pool = "default",
                             .slots = 2};

    CHECK_OK(store_allocation_put(w->db, &row, &test_err));
}

TEST_ON_BOTH(a_job_comes_back_with_its_texts)
{
    struct world w;
    struct job_view view;
    struct job row;
    struct buf files = BUF_INIT;
    bool is_over = true;

    world_init(&w, is_memory);
    add_job(&w, 3, "uuid");
    CHECK_OK(store_job_get(w.db, "uuid", &w.mem, &view, &test_err));
    CHECK_EQ(view.row.id, 3);
    CHECK_EQ(view.row.state, JOB_ACTIVE);
    CHECK_EQ(view.row.slots, 2);
    CHECK(view.row.is_pausable);
    CHECK_STR(view.name, "infer");
    CHECK_STR(view.config, "{\"data\":{}}");
    CHECK_STR(view.forked_from, "mother");
    CHECK_STR(view.username, "");
    CHECK_EQ(view.files_size, 3);
    CHECK_OK(store_job_files(w.db, 3, &files, &test_err));
    CHECK_STR(files.data, "tgz");

    row = view.row;
    row.state = JOB_COMPLETED;
    row.end_us = 7;
    CHECK_OK(store_job_is_over(w.db, 3, &is_over, &test_err));
    CHECK(!is_over);
    CHECK_OK(store_job_put(w.db, &row, &test_err));
    CHECK_OK(store_job_is_over(w.db, 3, &is_over, &test_err));
    CHECK(is_over);
    CHECK_OK(store_job_by_id(w.db, 3, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.state, JOB_COMPLETED);
    CHECK_EQ(view.row.end_us, 7);
    CHECK_STR(view.name, "infer");
    CHECK_EQ(store_job_get(w.db, "x", &w.mem, &view, &test_err), DET_NOT_FOUND);
    CHECK_STR(test_err.text, "task 'x' not found");
    CHECK_EQ(store_job_by_id(w.db, 4, &w.mem, &view, &test_err), DET_NOT_FOUND);
    CHECK_EQ(store_job_is_over(w.db, 4, &is_over, &test_err), DET_NOT_FOUND);
    buf_done(&files);
    world_done(&w);
}

TEST(those_that_are_over_are_listed_when_asked_for)
{
    struct world w;
    struct job_view *rows;
    struct job *alive;
    struct job row = a_job(1, "one");
    struct page all = {0}, last = {.offset = 1, .limit = 1};
    uint32_t count = 0;

    world_init(&w, true);
    add_job(&w, 1, "one");
    add_job(&w, 2, "two");
    row.state = JOB_ERROR;
    CHECK_OK(store_job_put(w.db, &row, &test_err));
    CHECK_OK(store_job_list(w.db, false, &all, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].row.task_id, "two");
    CHECK(rows[0].config == NULL);
    CHECK_EQ(all.total, 1);
    all = (struct page){0};
    CHECK_OK(store_job_list(w.db, true, &all, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_STR(rows[1].row.task_id, "one");
    CHECK_OK(store_job_list(w.db, true, &last, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].row.task_id, "one");
    CHECK_EQ(last.total, 2);
    CHECK_EQ(last.start, 1);
    CHECK_OK(store_jobs_alive(w.db, &w.mem, &alive, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_EQ(alive[0].id, 2);
    world_done(&w);
}

TEST(a_list_without_memory_is_a_failure_and_gives_nothing)
{
    struct world w;
    bool is_over = false;

    world_init(&w, true);
    add_job(&w, 1, "one");
    for (int64_t nth = 1; !is_over; nth++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct page page = {0};
        struct job_view *rows = NULL;
        uint32_t count = 9;
        det_status st;

        fault_arm(FAULT_MEMORY, nth);
        st = store_job_list(w.db, true, &page, &mem, &rows, &count, &test_err);
        is_over = !fault_disarm(FAULT_MEMORY);
        CHECK_EQ(st, is_over ? DET_OK : DET_NOMEM);
        CHECK_EQ(count, is_over ? 1 : 9);
        CHECK(!rows == !is_over);
    }
    world_done(&w);
}

TEST(jobs_and_experiments_wait_in_one_queue)
{
    struct world w;
    struct allocation trial = {.id = 1,
                               .trial_id = 1,
                               .experiment_id = 1,
                               .task_id = "1.r",
                               .name = "1.r.1",
                               .state = ALLOCATION_RUNNING,
                               .resource_pool = "default",
                               .slots = 1};
    struct queue_view *rows;
    uint32_t count = 0;
    int64_t experiment = -1, job = -1;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    CHECK_OK(store_allocation_put(w.db, &trial, &test_err));
    add_job(&w, 1, "one");
    add_job(&w, 2, "two");
    add_run(&w, 2, 1, "one", ALLOCATION_PENDING);
    add_run(&w, 3, 2, "two", ALLOCATION_TERMINATED);
    CHECK_OK(store_queue_list(w.db, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_EQ(rows[0].experiment_id + rows[1].experiment_id, 1);
    CHECK_EQ(rows[0].job + rows[1].job, 1);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(rows[i].requested, rows[i].job ? 2 : 1);
        CHECK_EQ(rows[i].allocated, rows[i].job ? 0 : 1);
        CHECK_EQ(rows[i].is_scheduled, !rows[i].job);
        CHECK(rows[i].is_preemptible);
    }
    CHECK_OK(store_queue_find(w.db, "one", &experiment, &job, &test_err));
    CHECK_EQ(experiment, 0);
    CHECK_EQ(job, 1);
    CHECK_EQ(store_queue_find(w.db, "none", &experiment, &job, &test_err),
             DET_NOT_FOUND);
    world_done(&w);
}

TEST(the_owner_of_a_job_is_behind_the_token_of_its_run)
{
    struct world w;
    struct user user = {.username = "ann", .display_name = "", .is_active = true};
    struct caller_view caller;
    struct job row = a_job(1, "one");

    world_init(&w, true);
    CHECK_OK(store_user_add(w.db, &user, &row.owner_id, &test_err));
    CHECK_OK(store_job_add(w.db, &row, &texts, &test_err));
    add_run(&w, 9, 1, "one", ALLOCATION_RUNNING);
    CHECK_OK(store_caller_by_allocation(w.db, 9, &w.mem, &caller, &test_err));
    CHECK_STR(caller.username, "ann");
    CHECK_STR(caller.task_id, "one");
    CHECK_EQ(caller.trial_id, 0);
    CHECK_EQ(caller.experiment_id, 0);
    world_done(&w);
}

/* Migration 12 is the last one without jobs. */
TEST_ON_BOTH(runs_of_an_old_database_are_trials)
{
    struct world w;
    struct allocation row;

    world_place(&w, is_memory);
    CHECK_OK(db_open(w.io, w.path, false, &w.db, &test_err));
    CHECK_OK(db_migrate(w.db, 12, &test_err));
    CHECK_OK(db_exec(w.db,
                     "INSERT INTO allocations (id, trial_id, experiment_id, task_id,"
                     " name, run_id, state, resource_pool, slots, request_us, start_us,"
                     " end_us, is_ready, is_preempted, is_acknowledged, is_killed,"
                     " preempt_deadline_us, exit, exit_code, exit_reason, shares,"
                     " port_ssh, port_comm_1, port_comm_2, port_c10d) VALUES (1, 2, 3,"
                     " '3.r', '3.r.1', 1, 'RUNNING', 'default', 1, 0, 0, 0, TRUE,"
                     " FALSE, FALSE, FALSE, 0, 'NONE', 0, NULL, 1, 1, 2, 3, 4)",
                     &test_err));
    CHECK_OK(db_migrate(w.db, migration_count, &test_err));
    CHECK_OK(store_allocation_get(w.db, "3.r.1", &w.mem, &row, &test_err));
    CHECK_EQ(row.trial_id, 2);
    CHECK_EQ(row.job_id, 0);
    CHECK_EQ(row.ports[3], 4);
    world_done(&w);
}
