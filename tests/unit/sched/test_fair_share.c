/* SPDX-License-Identifier: Apache-2.0 */
/* test_fair_share.c - slots by weight, and caps of jobs under both policies.
 *
 * Vectors of pools in which more slots are held than exist are left out: the pool refuses
 * such requests. */
#include "tests/unit/sched/fixture.h"

#define FAIR(...) make_pool((struct pool_config){.policy = "fair_share", __VA_ARGS__})

/* It runs already, on the lowest free slots of an agent. */
static void run(struct pool *pool, struct pool_request request, int64_t agent,
                uint32_t slot)
{
    uint32_t slots[8];

    for (uint32_t i = 0; i < request.slots; i++)
        slots[i] = slot + i;
    request.priority = 42;
    CHECK_OK(pool_add_running(pool, &request,
                              &(struct pool_share){agent, request.slots, slots}, 1,
                              &test_err));
}

static struct pool_request preemptible(int64_t allocation, uint32_t slots, int64_t job)
{
    return (struct pool_request){.allocation = allocation,
                                 .slots = slots,
                                 .position = job,
                                 .is_preemptible = true,
                                 .group.id = job};
}

static struct pool_request capped(struct pool_request request, uint32_t most)
{
    request.group.is_capped = true;
    request.group.max_slots = most;
    return request;
}

static struct pool_request weighted(struct pool_request request, double weight)
{
    request.group.weight = weight;
    return request;
}

/* ---- the vectors ----------------------------------------------------------------- */

TEST(a_capped_job_leaves_the_rest_to_others)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4);
    for (int64_t i = 0; i < 4; i++) {
        add(pool, capped(preemptible(10 + i, 1, 1), 1));
        add(pool, preemptible(20 + i, 1, 2));
    }
    PLAN(pool, "+10@1:0 +20@1:1 +21@1:2 +22@1:3");
    done(pool);
}

TEST(weights_decide)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 8);
    for (int64_t i = 0; i < 3; i++)
        add(pool, weighted(preemptible(10 + i, 1, 1), 10));
    for (int64_t i = 0; i < 7; i++)
        add(pool, weighted(preemptible(20 + i, 1, 2), 30));
    PLAN(pool, "+10@1:0 +11@1:1 +20@1:2 +21@1:3 +22@1:4 +23@1:5 +24@1:6 +25@1:7");
    done(pool);
}

TEST(each_gets_an_agent)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4, 4);
    add(pool, preemptible(1, 4, 1));
    add(pool, preemptible(2, 4, 2));
    PLAN(pool, "+1@1:0,1,2,3 +2@2:0,1,2,3");
    done(pool);
}

TEST(a_job_above_its_cap_gives_the_oldest_back)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4);
    for (uint32_t i = 0; i < 4; i++)
        run(pool, capped(preemptible(10 + i, 1, 1), 2), 1, i);
    PLAN(pool, "-10 -11");
    PLAN(pool, ""); /* they leave already */
    done(pool);
}

TEST(two_that_want_all_do_not_block_each_other)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 2);
    add(pool, preemptible(1, 2, 1));
    add(pool, preemptible(2, 2, 2));
    PLAN(pool, "+1@1:0,1");
    pool_remove(pool, 1);
    PLAN(pool, "+2@1:0,1");
    done(pool);
}

TEST(a_request_for_more_than_there_is_counts_for_nothing)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4);
    add(pool, preemptible(1, 5, 1));
    add(pool, preemptible(2, 4, 2));
    PLAN(pool, "+2@1:0,1,2,3");
    done(pool);
}

TEST(a_gang_waits_while_the_offers_are_too_small)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4, 3);
    run(pool, preemptible(21, 1, 2), 2, 0);
    add(pool, preemptible(10, 3, 1));
    add(pool, preemptible(20, 1, 2));
    add(pool, preemptible(30, 4, 3));
    add(pool, preemptible(40, 1, 4));
    PLAN(pool, "+40@2:1 +20@2:2 +10@1:0,1,2");
    done(pool);
}

TEST(a_newcomer_gets_its_share_from_the_owner_of_all)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4);
    for (uint32_t i = 0; i < 4; i++)
        run(pool, preemptible(10 + i, 1, 1), 1, i);
    add(pool, preemptible(20, 1, 2));
    add(pool, preemptible(21, 1, 2));
    PLAN(pool, "-10 -11");
    PLAN(pool, "");
    pool_remove(pool, 10);
    add(pool, preemptible(14, 1, 1)); /* its next run waits again */
    PLAN(pool, "+20@1:0");
    pool_remove(pool, 11);
    PLAN(pool, "+21@1:1");
    PLAN(pool, "");
    done(pool);
}

TEST(one_that_cannot_be_preempted_is_offered_what_it_holds)
{
    for (uint32_t slot = 0; slot < 2; slot++) {
        struct pool *pool = FAIR();
        struct pool_request fixed = capped(preemptible(1, 1, 1), 1);

        AGENTS(pool, 2);
        fixed.is_preemptible = false;
        run(pool, fixed, 1, slot);
        run(pool, capped(preemptible(2, 1, 1), 1), 1, 1 - slot);
        PLAN(pool, "-2");
        done(pool);
    }
}

TEST(a_blocked_agent_is_of_no_use)
{
    struct pool *pool = FAIR();
    int64_t agent = 1;
    struct pool_request blocked = preemptible(1, 1, 1);

    AGENTS(pool, 1);
    blocked.blocked = &agent;
    blocked.blocked_count = 1;
    add(pool, blocked);
    add(pool, preemptible(2, 1, 2));
    PLAN(pool, "+2@1:0");
    done(pool);
}

/* ---- beyond the vectors ---------------------------------------------------------- */

TEST(a_job_keeps_what_it_holds_when_its_next_request_is_too_large)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4);
    run(pool, preemptible(10, 1, 1), 1, 0);
    add(pool, preemptible(11, 4, 1));
    for (int64_t i = 0; i < 4; i++)
        add(pool, preemptible(20 + i, 1, 2));
    PLAN(pool, "+20@1:1 +21@1:2 +22@1:3");
    done(pool);
}

TEST(requests_without_slots_start_beside_full_agents)
{
    struct pool *pool = FAIR(.max_aux_per_agent = 1);

    AGENTS(pool, 1);
    run(pool, preemptible(1, 1, 1), 1, 0);
    add(pool, preemptible(2, 0, 1));
    add(pool, preemptible(3, 0, 2));
    PLAN(pool, "+2@1");
    done(pool);
}

TEST(a_changed_weight_moves_slots)
{
    struct pool *pool = FAIR();

    AGENTS(pool, 4);
    for (uint32_t i = 0; i < 4; i++) {
        add(pool, preemptible(10 + i, 1, 1));
        add(pool, preemptible(20 + i, 1, 2));
    }
    PLAN(pool, "+10@1:0 +11@1:1 +20@1:2 +21@1:3");
    for (int64_t i = 0; i < 4; i++)
        CHECK_OK(pool_set_group(pool, 20 + i,
                                &(struct pool_group){.id = 2, .weight = 3}, &test_err));
    PLAN(pool, "-10");
    pool_remove(pool, 10);
    PLAN(pool, "+22@1:0");
    done(pool);
}

/* ---- caps under the priority policy ---------------------------------------------- */

TEST(a_cap_holds_under_priorities_and_nobody_waits_behind_it)
{
    struct pool *pool = POOL();

    AGENTS(pool, 4);
    for (int64_t i = 0; i < 3; i++)
        add(pool, capped(preemptible(10 + i, 1, 1), 2));
    ADD(pool, .allocation = 20, .slots = 1, .priority = 90);
    PLAN(pool, "+10@1:0 +11@1:1 +20@1:2");
    pool_remove(pool, 10);
    PLAN(pool, "+12@1:0");
    done(pool);
}

TEST(a_cap_that_changes_is_followed)
{
    struct pool *pool = POOL();
    struct pool_group lower = {.id = 1, .is_capped = true, .max_slots = 1};
    struct pool_group none = {.id = 1};

    AGENTS(pool, 4);
    for (int64_t i = 0; i < 4; i++)
        add(pool, preemptible(10 + i, 1, 1));
    PLAN(pool, "+10@1:0 +11@1:1 +12@1:2 +13@1:3");
    for (int64_t i = 0; i < 4; i++)
        CHECK_OK(pool_set_group(pool, 10 + i, &lower, &test_err));
    PLAN(pool, "-10 -11 -12");
    pool_remove(pool, 10);
    add(pool, capped(preemptible(14, 1, 1), 1));
    PLAN(pool, "");
    for (int64_t i = 1; i < 5; i++)
        CHECK_OK(pool_set_group(pool, 10 + i, &none, &test_err));
    PLAN(pool, "+14@1:0");
    CHECK_EQ(pool_set_group(pool, 99, &none, NULL), DET_NOT_FOUND);
    done(pool);
}

TEST(a_full_job_preempts_nobody)
{
    struct pool *pool = POOL(.is_preemptive = true);
    struct pool_request next = capped(preemptible(11, 1, 1), 1);

    AGENTS(pool, 2);
    run(pool, capped(preemptible(10, 1, 1), 1), 1, 0);
    run(pool, preemptible(20, 1, 2), 1, 1);
    next.priority = 1;
    add(pool, next);
    PLAN(pool, "");
    done(pool);
}
