/* SPDX-License-Identifier: Apache-2.0 */
/* The load of a trial's machines: bounded, however long it runs. */
#include "store/experiment/trial_load.h"
#include "tests/unit/store/world.h"

static void put(struct world *w, int64_t trial, const char *agent, int64_t time_us)
{
    struct trial_load load = {.agent = agent, .time_us = time_us, .load = "{\"a\":1}"};

    CHECK_OK(store_trial_load_add(w->db, trial, &load, &test_err));
}

TEST_ON_BOTH(loads_are_listed_by_agent_and_time)
{
    struct world w;
    struct trial_load *rows;
    uint32_t count;

    world_init(&w, is_memory);
    put(&w, 1, "b", 5);
    put(&w, 1, "a", 9);
    put(&w, 1, "a", 3);
    put(&w, 1, "a", 3); /* the same again */
    put(&w, 2, "a", 4);
    CHECK_OK(store_trial_loads(w.db, 1, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 3);
    CHECK_STR(rows[0].agent, "a");
    CHECK_EQ(rows[0].time_us, 3);
    CHECK_EQ(rows[1].time_us, 9);
    CHECK_STR(rows[2].agent, "b");
    CHECK_STR(rows[2].load, "{\"a\":1}");
    world_done(&w);
}

TEST_ON_BOTH(a_long_curve_becomes_coarser_and_keeps_its_length)
{
    struct world w;
    struct trial_load *rows;
    uint32_t count;

    world_init(&w, is_memory);
    CHECK_OK(db_begin(w.db, &test_err));
    put(&w, 1, "b", 1);
    for (int i = 1; i <= 5 * TRIAL_LOADS_MOST; i++)
        put(&w, 1, "a", i);
    CHECK_OK(db_commit(w.db, &test_err));
    CHECK_OK(store_trial_loads(w.db, 1, &w.mem, &rows, &count, &test_err));
    CHECK(count > TRIAL_LOADS_MOST / 2 && count <= TRIAL_LOADS_MOST + 1);
    CHECK_EQ(rows[0].time_us, 1);
    CHECK_EQ(rows[count - 2].time_us, 5 * TRIAL_LOADS_MOST);
    CHECK_STR(rows[count - 1].agent, "b"); /* another agent's stay */
    world_done(&w);
}
