/* SPDX-License-Identifier: Apache-2.0 */
/* Who held how many slots, and when. */
#include "store/experiment/slot_use.h"
#include "store/task/allocation.h"
#include "tests/unit/store/world.h"

static void hold(struct world *w, int64_t id, int64_t trial, int64_t start_us,
                 int64_t end_us)
{
    struct allocation row = {.id = id,
                             .trial_id = trial,
                             .experiment_id = 1,
                             .task_id = "1.r",
                             .run_id = id,
                             .name = arena_printf(&w->mem, "1.r.%d", (int)id),
                             .state =
                                 end_us ? ALLOCATION_TERMINATED : ALLOCATION_RUNNING,
                             .resource_pool = "gpus",
                             .slots = 2,
                             .start_us = start_us,
                             .end_us = end_us,
                             .ports = {1, 2, 3, 4}};

    CHECK_OK(store_allocation_put(w->db, &row, &test_err));
}

static uint32_t list(struct world *w, int64_t after, int64_t from_us, int64_t to_us,
                     struct slot_use **ret_rows)
{
    const struct slot_use_query query = {after, from_us, to_us, 3};
    uint32_t count = 0;

    CHECK_OK(store_slot_uses(w->db, &query, &w->mem, ret_rows, &count, &test_err));
    return count;
}

static void world_of_uses(struct world *w, bool is_memory)
{
    world_init(w, is_memory);
    add_experiment(w, 1, SIMPLE_CONFIG);
    add_trial(w, 1, 1);
    add_trial(w, 2, 1);
    hold(w, 1, 1, 100, 200);
    hold(w, 2, 1, 300, 400);
    hold(w, 3, 2, 350, 0);
    hold(w, 4, 2, 0, 0); /* waits */
}

TEST_ON_BOTH(allocations_that_held_slots_in_a_period_are_listed)
{
    struct world w;
    struct slot_use *rows;

    world_of_uses(&w, is_memory);
    CHECK_EQ(list(&w, 0, 0, 1000, &rows), 3);
    CHECK_EQ(rows[0].id, 1);
    CHECK_STR(rows[0].type, "TRIAL");
    CHECK_STR(rows[0].experiment, "an experiment");
    CHECK_STR(rows[0].labels, "[\"a\",\"b\"]");
    CHECK_STR(rows[0].resource_pool, "gpus");
    CHECK_EQ(rows[0].slots, 2);
    CHECK_EQ(rows[2].end_us, 0);
    CHECK_EQ(list(&w, 2, 0, 1000, &rows), 1);
    CHECK_EQ(list(&w, 0, 200, 300, &rows), 0); /* the ends do not count */
    CHECK_EQ(list(&w, 0, 199, 301, &rows), 2);
    CHECK_EQ(list(&w, 0, 5000, 6000, &rows), 1);
    world_done(&w);
}

TEST_ON_BOTH(what_is_kept_of_a_deleted_trial_is_the_same)
{
    struct world w;
    struct slot_use *rows;

    world_of_uses(&w, is_memory);
    CHECK_OK(store_slot_use_keep(w.db, 1, &test_err));
    CHECK_OK(store_slot_use_keep(w.db, 1, &test_err)); /* after a crash */
    CHECK_OK(
        db_exec(w.db, "DELETE FROM allocations; DELETE FROM experiments", &test_err));
    CHECK_EQ(list(&w, 0, 0, 1000, &rows), 2);
    CHECK_STR(rows[0].allocation, "1.r.1");
    CHECK_STR(rows[0].experiment, "an experiment");
    CHECK_EQ(rows[1].start_us, 300);
    CHECK_EQ(rows[1].end_us, 400);
    world_done(&w);
}
