/* SPDX-License-Identifier: Apache-2.0 */
/* Records of runs: equal ones are one row. */
#include "store/task/allocation.h"
#include "store/task/run_record.h"
#include "tests/unit/store/world.h"

static void add_run(struct world *w, int64_t id, int64_t trial)
{
    struct allocation row = {.id = id,
                             .trial_id = trial,
                             .experiment_id = 1,
                             .task_id = "1.r",
                             .run_id = id,
                             .name = arena_printf(&w->mem, "1.r.%d", (int)id),
                             .ports = {1, 2, 3, 4}};
    struct share share = {.allocation_id = id, .agent = "a", .slots = "[0]"};

    CHECK_OK(store_allocation_put(w->db, &row, &test_err));
    CHECK_OK(store_share_put(w->db, &share, &test_err));
}

static void world_of_runs(struct world *w, bool is_memory)
{
    world_init(w, is_memory);
    add_experiment(w, 1, SIMPLE_CONFIG);
    add_trial(w, 1, 1);
    add_trial(w, 2, 1);
    add_run(w, 1, 1);
    add_run(w, 2, 1);
    add_run(w, 3, 2);
}

static void put(struct world *w, int64_t allocation, int64_t rank, const char *record)
{
    CHECK_OK(store_run_record_put(w->db, allocation, rank, record, &test_err));
}

TEST_ON_BOTH(equal_records_are_kept_once)
{
    struct world w;
    struct run_record *rows;
    uint32_t count = 0;

    world_of_runs(&w, is_memory);
    put(&w, 1, 0, "{\"det\":1}");
    put(&w, 2, 0, "{\"det\":1}");
    put(&w, 2, 1, "{\"det\":2}");
    put(&w, 3, 0, "{\"det\":1}");

    CHECK_EQ(count_of(w.db, "records"), 2);
    CHECK_OK(store_run_records(w.db, 1, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 3);
    CHECK_EQ(rows[0].run_id, 1);
    CHECK_STR(rows[0].agent, "a");
    CHECK_STR(rows[0].record, "{\"det\":1}");
    CHECK_EQ(rows[2].rank, 1);
    CHECK_STR(rows[2].record, "{\"det\":2}");
    world_done(&w);
}

TEST_ON_BOTH(a_record_that_comes_again_takes_the_place_of_the_first)
{
    struct world w;
    struct run_record *rows;
    uint32_t count = 0;

    world_of_runs(&w, is_memory);
    put(&w, 1, 0, "{\"det\":1}");
    put(&w, 1, 0, "{\"det\":2}");

    CHECK_OK(store_run_records(w.db, 1, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].record, "{\"det\":2}");
    CHECK_OK(store_run_records(w.db, 2, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 0);
    world_done(&w);
}
