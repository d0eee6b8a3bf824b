/* SPDX-License-Identifier: Apache-2.0 */
/* test_single_node.c - requests that must, or rather would, have all slots on one agent. */
#include "tests/unit/sched/fixture.h"

TEST(a_single_node_request_is_never_spread)
{
    struct pool *pool = POOL();

    AGENTS(pool, 4, 4);
    ADD(pool, .allocation = 1, .slots = 8, .is_single_node = true);

    PLAN(pool, "");
    done(pool);
}

TEST(a_request_that_prefers_one_agent_waits_while_one_is_large_enough)
{
    struct pool *pool = POOL();

    AGENTS(pool, 1, 1, 2);
    ADD(pool, .allocation = 1, .slots = 2);
    PLAN(pool, "+1@3:0,1");
    ADD(pool, .allocation = 2, .slots = 2, .prefers_single_node = true);
    PLAN(pool, "");
    pool_remove(pool, 1);
    PLAN(pool, "+2@3:0,1");
    done(pool);
}

TEST(a_request_that_prefers_one_agent_is_spread_if_none_is_large_enough)
{
    struct pool *pool = POOL();

    AGENTS(pool, 1, 1, 2);
    disable(pool, 3, 1);
    ADD(pool, .allocation = 1, .slots = 2, .prefers_single_node = true);
    PLAN(pool, "+1@1:0@2:0");
    done(pool);
}

TEST(a_blocked_agent_is_not_waited_for_and_an_avoided_one_is)
{
    struct pool *pool = POOL();
    const int64_t blocked[] = {3};

    AGENTS(pool, 1, 1, 2);
    ADD(pool, .allocation = 1, .slots = 2);
    PLAN(pool, "+1@3:0,1");
    ADD(pool, .allocation = 2, .slots = 2, .prefers_single_node = true, .avoided = 3);
    PLAN(pool, "");
    ADD(pool, .allocation = 3, .slots = 2, .prefers_single_node = true,
        .blocked = blocked, .blocked_count = 1);
    PLAN(pool, "+3@1:0@2:0");
    done(pool);
}

TEST(a_request_that_prefers_one_agent_preempts_there_and_not_elsewhere)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2, 1, 1);
    ADD(pool, .allocation = 1, .slots = 2, .priority = 50, .is_preemptible = true);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 50, .is_preemptible = true);
    PLAN(pool, "+1@1:0,1 +2@2:0");
    ADD(pool, .allocation = 3, .slots = 2, .priority = 1, .prefers_single_node = true);
    PLAN(pool, "-1");
    done(pool);
}

TEST(a_single_node_request_preempts_once_enough_slots_are_enabled)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 4);
    disable(pool, 1, 2);
    disable(pool, 1, 3);
    ADD(pool, .allocation = 1, .slots = 2, .priority = 50, .is_preemptible = true);
    PLAN(pool, "+1@1:0,1");
    ADD(pool, .allocation = 2, .slots = 4, .priority = 1, .is_single_node = true);
    PLAN(pool, "");
    for (uint32_t slot = 2; slot < 4; slot++)
        CHECK_OK(pool_enable_slot(pool, 1, slot, true, &test_err));
    PLAN(pool, "-1");
    done(pool);
}

TEST(a_request_that_waits_for_one_agent_is_known)
{
    struct pool *pool = POOL();

    AGENTS(pool, 1, 1, 2);
    ADD(pool, .allocation = 1, .slots = 2);
    PLAN(pool, "+1@3:0,1");
    ADD(pool, .allocation = 2, .slots = 2, .prefers_single_node = true);
    ADD(pool, .allocation = 3, .slots = 2);
    ADD(pool, .allocation = 4, .slots = 1, .prefers_single_node = true);
    ADD(pool, .allocation = 5, .slots = 3, .prefers_single_node = true);

    CHECK(pool_waits_for_one_agent(pool, 2));
    CHECK(!pool_waits_for_one_agent(pool, 1)); /* runs */
    CHECK(!pool_waits_for_one_agent(pool, 3)); /* may use several */
    CHECK(!pool_waits_for_one_agent(pool, 4)); /* one slot is never on several */
    CHECK(!pool_waits_for_one_agent(pool, 5)); /* no agent is large enough */
    CHECK(!pool_waits_for_one_agent(pool, 6)); /* unknown */
    pool_remove(pool, 1);
    CHECK(!pool_waits_for_one_agent(pool, 2)); /* fits now */
    done(pool);
}

TEST(nothing_waits_for_one_agent_where_there_is_only_one)
{
    struct pool *pool = POOL();

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 2);
    PLAN(pool, "+1@1:0,1");
    ADD(pool, .allocation = 2, .slots = 2, .prefers_single_node = true);
    CHECK(!pool_waits_for_one_agent(pool, 2));
    done(pool);
}
