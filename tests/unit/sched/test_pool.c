/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - the rules of a pool, one test per rule. */
#include "tests/unit/sched/fixture.h"

#include <string.h>

#include "sched/pool_fit.h"
#include "tests/support/pool_ahead.h"

/* ---------------------------------------------------------------------- fitting */

TEST(best_fit_takes_the_fullest_agent_that_has_room)
{
    struct pool *pool = POOL();

    AGENTS(pool, 8, 4, 2);
    ADD(pool, .allocation = 1, .slots = 3);
    ADD(pool, .allocation = 2, .slots = 1);

    PLAN(pool, "+1@2:0,1,2 +2@2:3");
    done(pool);
}

TEST(worst_fit_takes_the_agent_with_the_largest_free_part)
{
    struct pool *pool = POOL(.fits_worst = true);

    AGENTS(pool, 8, 4);
    ADD(pool, .allocation = 1, .slots = 2);
    ADD(pool, .allocation = 2, .slots = 2);
    ADD(pool, .allocation = 3, .slots = 2);

    PLAN(pool, "+1@1:0,1 +2@2:0,1 +3@1:2,3");
    done(pool);
}

TEST(of_equal_agents_the_lowest_id_is_taken)
{
    struct pool *pool = POOL();

    CHECK_OK(pool_add_agent(pool, 9, 2, &test_err));
    CHECK_OK(pool_add_agent(pool, 4, 2, &test_err));
    CHECK_OK(pool_add_agent(pool, 6, 2, &test_err));
    ADD(pool, .allocation = 1, .slots = 2);
    ADD(pool, .allocation = 2, .slots = 2);

    PLAN(pool, "+1@4:0,1 +2@6:0,1");
    done(pool);
}

TEST(a_large_request_takes_whole_idle_agents_of_one_size)
{
    struct pool *pool = POOL();

    AGENTS(pool, 2, 4, 2, 4);
    ADD(pool, .allocation = 1, .slots = 8);

    PLAN(pool, "+1@2:0,1,2,3@4:0,1,2,3");
    done(pool);
}

TEST(a_size_that_does_not_divide_the_request_is_passed_over)
{
    struct pool *pool = POOL();

    AGENTS(pool, 4, 4, 3, 3);
    ADD(pool, .allocation = 1, .slots = 6);

    PLAN(pool, "+1@3:0,1,2@4:0,1,2");
    done(pool);
}

TEST(an_agent_in_use_takes_no_part_of_a_large_request)
{
    struct pool *pool = POOL();

    AGENTS(pool, 4, 4);
    ADD(pool, .allocation = 1, .slots = 1);
    ADD(pool, .allocation = 2, .slots = 8);

    PLAN(pool, "+1@1:0");
    pool_remove(pool, 1);
    PLAN(pool, "+2@1:0,1,2,3@2:0,1,2,3");
    done(pool);
}

TEST(agents_of_several_sizes_are_joined_only_where_that_is_allowed)
{
    for (int is_allowed = 0; is_allowed < 2; is_allowed++) {
        struct pool *pool = POOL(.allows_heterogeneous_fits = is_allowed);

        AGENTS(pool, 2, 4, 1);
        ADD(pool, .allocation = 1, .slots = 7);

        PLAN(pool, is_allowed ? "+1@2:0,1,2,3@1:0,1@3:0" : "");
        done(pool);
    }
}

TEST(blocked_agents_are_not_used_in_any_way)
{
    struct pool *pool = POOL(.max_aux_per_agent = 2);
    const int64_t blocked[] = {2, 1, 2};

    AGENTS(pool, 2, 2, 2, 2);
    ADD(pool, .allocation = 1, .slots = 1, .blocked = blocked, .blocked_count = 3);
    ADD(pool, .allocation = 2, .slots = 4, .blocked = blocked, .blocked_count = 1);
    ADD(pool, .allocation = 3, .slots = 4);
    ADD(pool, .allocation = 4, .blocked = blocked, .blocked_count = 2);

    PLAN(pool, "+1@3:0 +2@1:0,1@4:0,1 +4@4");
    done(pool);
}

TEST(an_avoided_agent_is_used_only_if_there_is_no_other)
{
    struct pool *pool = POOL(.max_aux_per_agent = 1);
    const int64_t blocked[] = {1, 2};

    AGENTS(pool, 2, 2, 2);
    ADD(pool, .allocation = 1, .slots = 2, .avoided = 1);
    ADD(pool, .allocation = 2, .slots = 6, .avoided = 1);
    ADD(pool, .allocation = 3, .avoided = 1);
    ADD(pool, .allocation = 4, .slots = 2, .avoided = 1, .blocked = blocked,
        .blocked_count = 2);
    ADD(pool, .allocation = 5, .slots = 2, .avoided = 1);
    ADD(pool, .allocation = 6, .slots = 2, .avoided = 1);

    PLAN(pool, "+1@2:0,1 +4@3:0,1 +5@1:0,1 +3@2");
    done(pool);
}

TEST(a_request_with_blocked_agents_does_not_hold_back_others)
{
    struct pool *pool = POOL();
    const int64_t blocked[] = {1};

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 1, .blocked = blocked, .blocked_count = 1);
    ADD(pool, .allocation = 2, .slots = 1);

    PLAN(pool, "+2@1:0");
    done(pool);
}

TEST(disabled_slots_are_not_given_out_and_who_holds_them_keeps_them)
{
    struct pool *pool = POOL();
    struct pool_stats stats;

    AGENTS(pool, 4);
    ADD(pool, .allocation = 1, .slots = 1);
    PLAN(pool, "+1@1:0");
    disable(pool, 1, 0);
    disable(pool, 1, 2);
    ADD(pool, .allocation = 2, .slots = 2);
    ADD(pool, .allocation = 3, .slots = 1);

    PLAN(pool, "+2@1:1,3");
    pool_get_stats(pool, &stats);
    CHECK_EQ(stats.slots_used, 3);
    pool_remove(pool, 1);
    PLAN(pool, "");
    CHECK_OK(pool_enable_slot(pool, 1, 0, true, &test_err));
    PLAN(pool, "+3@1:0");
    done(pool);
}

TEST(the_size_of_an_agent_is_what_is_enabled)
{
    struct pool *pool = POOL();

    AGENTS(pool, 4, 3);
    disable(pool, 1, 1);
    ADD(pool, .allocation = 1, .slots = 6);

    PLAN(pool, "+1@1:0,2,3@2:0,1,2");
    done(pool);
}

TEST(agents_with_more_slots_than_a_word_has_bits)
{
    struct pool *pool = POOL();
    struct arena mem = ARENA_INIT(1 << 20);
    struct pool_plan plan;

    AGENTS(pool, 130);
    disable(pool, 1, 70);
    ADD(pool, .allocation = 1, .slots = 70);
    ADD(pool, .allocation = 2, .slots = 59);
    ADD(pool, .allocation = 3, .slots = 1);

    CHECK_OK(pool_schedule(pool, &mem, &plan, &test_err));
    CHECK_EQ(plan.count, 2);
    CHECK_EQ(plan.step[1].share[0].slots[0], 71);
    CHECK_EQ(plan.step[1].share[0].slots[58], 129);
    arena_done(&mem);
    done(pool);
}

/* ------------------------------------------------------------------- zero slots */

TEST(requests_without_slots_need_no_slot_and_do_not_compete)
{
    struct pool *pool = POOL(.max_aux_per_agent = 2);

    AGENTS(pool, 1);
    ADD(pool, .allocation = 1, .slots = 2, .priority = 1);
    ADD(pool, .allocation = 2);
    ADD(pool, .allocation = 3);
    ADD(pool, .allocation = 4);

    PLAN(pool, "+2@1 +3@1");
    pool_remove(pool, 2);
    PLAN(pool, "+4@1");
    done(pool);
}

TEST(an_agent_with_no_slots_at_all_takes_them_but_not_one_out_of_service)
{
    struct pool *pool = POOL(.max_aux_per_agent = 1);

    AGENTS(pool, 0, 1);
    disable(pool, 2, 0);
    ADD(pool, .allocation = 1);
    ADD(pool, .allocation = 2);

    PLAN(pool, "+1@1");
    CHECK_OK(pool_enable_slot(pool, 2, 0, true, &test_err));
    PLAN(pool, "+2@2");
    done(pool);
}

TEST(requests_without_slots_preempt_only_their_like)
{
    struct pool *pool = POOL(.is_preemptive = true, .max_aux_per_agent = 1);

    AGENTS(pool, 1);
    ADD(pool, .allocation = 1, .is_preemptible = true);
    ADD(pool, .allocation = 2, .slots = 1, .is_preemptible = true);
    PLAN(pool, "+2@1:0 +1@1");
    ADD(pool, .allocation = 3, .priority = 1);

    PLAN(pool, "-1");
    pool_remove(pool, 1);
    PLAN(pool, "+3@1");
    done(pool);
}

/* ----------------------------------------------------------------------- order */

TEST(more_important_first_then_by_position_then_by_id)
{
    struct pool *pool = POOL();

    AGENTS(pool, 4);
    ADD(pool, .allocation = 1, .slots = 1, .priority = 50);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 42, .position = 9);
    ADD(pool, .allocation = 4, .slots = 1, .priority = 42, .position = 3);
    ADD(pool, .allocation = 3, .slots = 1, .priority = 42, .position = 3);

    CHECK_EQ(pool_ahead(pool, 3), 0);
    CHECK_EQ(pool_ahead(pool, 4), 1);
    CHECK_EQ(pool_ahead(pool, 1), 3);
    PLAN(pool, "+3@1:0 +4@1:1 +2@1:2 +1@1:3");
    CHECK_EQ(pool_ahead(pool, 1), -1);
    CHECK_EQ(pool_ahead(pool, 77), -1);
    done(pool);
}

TEST(within_a_level_smaller_ones_pass_what_does_not_fit)
{
    struct pool *pool = POOL();

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 3, .position = 1);
    ADD(pool, .allocation = 2, .slots = 1, .position = 2);

    PLAN(pool, "+2@1:0");
    done(pool);
}

TEST(without_preemption_nothing_starts_below_a_level_that_waits)
{
    struct pool *pool = POOL();

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 3, .priority = 1);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 2, .is_preemptible = true);

    PLAN(pool, "");
    pool_remove(pool, 1);
    PLAN(pool, "+2@1:0");
    done(pool);
}

TEST(with_preemption_only_preemptible_ones_are_backfilled)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 3, .priority = 1);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 2);
    ADD(pool, .allocation = 3, .slots = 1, .priority = 3, .is_preemptible = true);

    PLAN(pool, "~3@1:0");
    done(pool);
}

TEST(a_new_priority_moves_what_waits_and_what_runs)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 1);
    ADD(pool, .allocation = 1, .slots = 1, .is_preemptible = true);
    PLAN(pool, "+1@1:0");
    ADD(pool, .allocation = 2, .slots = 1, .priority = 50, .is_preemptible = true);
    ADD(pool, .allocation = 3, .slots = 1, .priority = 51, .is_preemptible = true);
    PLAN(pool, "");

    CHECK_OK(pool_set_priority(pool, 3, 49, &test_err));
    PLAN(pool, "");
    CHECK_OK(pool_set_priority(pool, 1, 60, &test_err));
    PLAN(pool, "-1");
    pool_remove(pool, 1);
    PLAN(pool, "+3@1:0");
    done(pool);
}

/* ------------------------------------------------------------------- preemption */

TEST(the_least_important_and_newest_leave_until_it_fits)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 4);
    ADD(pool, .allocation = 1, .slots = 1, .position = 1, .is_preemptible = true);
    ADD(pool, .allocation = 2, .slots = 1, .position = 3, .is_preemptible = true);
    ADD(pool, .allocation = 3, .slots = 1, .position = 2, .is_preemptible = true);
    ADD(pool, .allocation = 4, .slots = 1, .priority = 41, .is_preemptible = true);
    PLAN(pool, "+4@1:0 +1@1:1 +3@1:2 +2@1:3");
    ADD(pool, .allocation = 5, .slots = 2, .priority = 10);

    PLAN(pool, "-2 -3");
    PLAN(pool, "");
    pool_remove(pool, 2);
    PLAN(pool, "");
    pool_remove(pool, 3);
    PLAN(pool, "+5@1:2,3");
    done(pool);
}

TEST(what_is_not_preemptible_stays)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 1);
    ADD(pool, .allocation = 1, .slots = 1, .priority = 99);
    PLAN(pool, "+1@1:0");
    ADD(pool, .allocation = 2, .slots = 1, .priority = 1);

    PLAN(pool, "");
    done(pool);
}

TEST(nobody_leaves_where_that_would_not_help)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 1, .priority = 1);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 99, .is_preemptible = true);
    PLAN(pool, "+1@1:0 +2@1:1");
    ADD(pool, .allocation = 3, .slots = 2, .priority = 1);

    PLAN(pool, "");
    done(pool);
}

TEST(in_its_own_level_a_request_preempts_later_positions_only)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 1);
    ADD(pool, .allocation = 9, .slots = 1, .position = 5, .is_preemptible = true);
    PLAN(pool, "+9@1:0");
    ADD(pool, .allocation = 3, .slots = 1, .position = 5, .is_preemptible = true);
    PLAN(pool, "");
    ADD(pool, .allocation = 4, .slots = 1, .position = 6, .is_preemptible = true);
    PLAN(pool, "");
    ADD(pool, .allocation = 5, .slots = 1, .position = 4, .is_preemptible = true);

    PLAN(pool, "-9");
    done(pool);
}

TEST(who_is_not_in_the_way_is_spared)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2, 1);
    ADD(pool, .allocation = 1, .slots = 2, .priority = 60, .is_preemptible = true);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 70, .is_preemptible = true);
    PLAN(pool, "+1@1:0,1 +2@2:0");
    ADD(pool, .allocation = 3, .slots = 2, .priority = 1);

    PLAN(pool, "-1");
    done(pool);
}

TEST(a_gang_makes_whole_agents_empty)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2, 2, 2);
    for (int id = 1; id <= 6; id++)
        ADD(pool, .allocation = id, .slots = 1, .position = id, .is_preemptible = true);
    PLAN(pool, "+1@1:0 +2@1:1 +3@2:0 +4@2:1 +5@3:0 +6@3:1");
    ADD(pool, .allocation = 7, .slots = 4, .priority = 1);

    PLAN(pool, "-6 -5 -4 -3");
    done(pool);
}

TEST(a_gang_preempts_once_that_would_empty_enough_agents)
{
    struct pool *pool = POOL(.is_preemptive = true);
    const uint32_t slot[] = {0};
    const struct pool_share on_first = {1, 1, slot};
    const struct pool_share on_second = {2, 1, slot};
    struct pool_request request = {.allocation = 1, .slots = 1, .priority = 42};

    AGENTS(pool, 4, 4);
    CHECK_OK(pool_add_running(pool, &request, &on_first, 1, &test_err));
    request = (struct pool_request){
        .allocation = 2, .slots = 1, .priority = 50, .is_preemptible = true};
    CHECK_OK(pool_add_running(pool, &request, &on_second, 1, &test_err));
    ADD(pool, .allocation = 3, .slots = 8, .priority = 1);

    PLAN(pool, "");
    pool_remove(pool, 1);
    PLAN(pool, "-2");
    done(pool);
}

TEST(nothing_behind_a_preempting_request_starts_in_that_pass)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2, 1);
    ADD(pool, .allocation = 1, .slots = 2, .priority = 60, .is_preemptible = true);
    PLAN(pool, "+1@1:0,1");
    ADD(pool, .allocation = 2, .slots = 2, .priority = 10);
    ADD(pool, .allocation = 3, .slots = 1, .priority = 11, .is_preemptible = true);

    PLAN(pool, "-1");
    PLAN(pool, "");
    pool_remove(pool, 1);
    PLAN(pool, "+2@1:0,1 +3@2:0");
    done(pool);
}

TEST(more_important_starts_of_that_pass_stand)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2, 1);
    ADD(pool, .allocation = 1, .slots = 2, .priority = 60, .is_preemptible = true);
    PLAN(pool, "+1@1:0,1");
    ADD(pool, .allocation = 2, .slots = 1, .priority = 9);
    ADD(pool, .allocation = 3, .slots = 2, .priority = 10);

    PLAN(pool, "+2@2:0 -1");
    done(pool);
}

TEST(several_requests_may_preempt_in_one_pass)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2, 2);
    for (int id = 1; id <= 2; id++)
        ADD(pool, .allocation = id, .slots = 2, .priority = 60, .is_preemptible = true);
    PLAN(pool, "+1@1:0,1 +2@2:0,1");
    ADD(pool, .allocation = 3, .slots = 2, .priority = 10);
    ADD(pool, .allocation = 4, .slots = 1, .priority = 11);
    ADD(pool, .allocation = 5, .slots = 1, .priority = 12, .is_preemptible = true);

    PLAN(pool, "-2 -1");
    PLAN(pool, "");
    pool_remove(pool, 1);
    PLAN(pool, "+3@1:0,1");
    pool_remove(pool, 2);
    PLAN(pool, "+4@2:0 +5@2:1");
    done(pool);
}

TEST(slots_that_a_user_gives_back_are_waited_for)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 1, 1);
    ADD(pool, .allocation = 1, .slots = 1, .priority = 50);
    ADD(pool, .allocation = 2, .slots = 1, .priority = 60, .is_preemptible = true);
    PLAN(pool, "+1@1:0 +2@2:0");
    pool_mark_leaving(pool, 1);
    pool_mark_leaving(pool, 1);
    pool_mark_leaving(pool, 404);
    ADD(pool, .allocation = 3, .slots = 1, .priority = 10);

    PLAN(pool, "");
    ADD(pool, .allocation = 4, .slots = 1, .priority = 11, .is_preemptible = true);
    PLAN(pool, "-2");
    done(pool);
}

TEST(victims_that_come_back_do_not_take_the_place_they_made)
{
    struct pool *pool = POOL(.is_preemptive = true);

    AGENTS(pool, 2);
    ADD(pool, .allocation = 1, .slots = 1, .position = 5, .is_preemptible = true);
    ADD(pool, .allocation = 2, .slots = 1, .position = 6, .is_preemptible = true);
    PLAN(pool, "+1@1:0 +2@1:1");
    ADD(pool, .allocation = 3, .slots = 2, .position = 4, .is_preemptible = true);
    PLAN(pool, "-2 -1");

    pool_remove(pool, 2);
    ADD(pool, .allocation = 4, .slots = 1, .position = 6, .is_preemptible = true);
    PLAN(pool, "");
    pool_remove(pool, 1);
    PLAN(pool, "+3@1:0,1");
    done(pool);
}

/* --------------------------------------------------------------------- the rest */

TEST(running_allocations_are_restored_with_their_slots)
{
    struct pool *pool = POOL(.is_preemptive = true, .max_aux_per_agent = 1);
    const uint32_t slots[] = {1, 2};
    struct pool_share shares[] = {{1, 2, slots}, {2, 2, slots}};
    struct pool_share aux = {.agent = 1};
    struct pool_request request = {
        .allocation = 7, .slots = 4, .priority = 42, .is_preemptible = true};
    struct pool_request small = {.allocation = 8, .priority = 42};

    AGENTS(pool, 3, 3);
    disable(pool, 1, 1);
    CHECK_OK(pool_add_running(pool, &request, shares, 2, &test_err));
    CHECK_OK(pool_add_running(pool, &small, &aux, 1, &test_err));
    ADD(pool, .allocation = 9, .slots = 1);
    ADD(pool, .allocation = 10, .slots = 1);
    ADD(pool, .allocation = 11, .slots = 1);
    ADD(pool, .allocation = 12);

    PLAN(pool, "+9@1:0 +10@2:0 +12@2");
    pool_remove(pool, 7);
    PLAN(pool, "+11@1:2");
    done(pool);
}

TEST(shares_that_make_no_sense_are_refused)
{
    struct pool *pool = POOL(.max_aux_per_agent = 1);
    const uint32_t slots[] = {0, 0, 9};
    struct pool_request request = {.allocation = 7, .slots = 2, .priority = 42};
    struct pool_share twice[] = {{1, 1, slots}, {1, 1, slots}};
    struct pool_share last_twice[] = {{1, 1, slots}, {2, 1, slots}, {2, 1, slots + 2}};

    AGENTS(pool, 3, 10);
    CHECK_EQ(pool_add_running(pool, &request, twice, 2, NULL), DET_INVALID);
    CHECK_EQ(pool_add_running(pool, &request, twice, 1, NULL), DET_INVALID);
    CHECK_EQ(pool_add_running(pool, &request, NULL, 0, NULL), DET_INVALID);
    request.slots = 3;
    CHECK_EQ(pool_add_running(pool, &request, last_twice, 3, NULL), DET_INVALID);
    request.slots = 2;
    CHECK_EQ(
        pool_add_running(pool, &request, &(struct pool_share){1, 2, slots}, 1, NULL),
        DET_INVALID);
    CHECK_EQ(pool_add_running(pool, &request, &(struct pool_share){1, 2, slots + 1}, 1,
                              NULL),
             DET_INVALID);
    CHECK_EQ(
        pool_add_running(pool, &request, &(struct pool_share){5, 2, slots}, 1, NULL),
        DET_NOT_FOUND);
    request.slots = 1;
    CHECK_OK(pool_add_running(pool, &request, twice, 1, &test_err));
    request.allocation = 8;
    CHECK_EQ(pool_add_running(pool, &request, twice, 1, &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "slot 0 of agent 1 is held already");
    done(pool);
}

TEST(mistakes_are_told_and_change_nothing)
{
    struct pool *pool = NULL;
    struct pool_request request = {.allocation = 1, .slots = 1, .priority = 42};

    CHECK_EQ(pool_new(&(struct pool_config){.policy = "dice"}, &pool, &test_err),
             DET_INVALID);
    CHECK_HAS(test_err.text, "no scheduling policy 'dice'");
    pool = POOL();
    AGENTS(pool, 1);
    CHECK_OK(pool_add(pool, &request, &test_err));
    CHECK_EQ(pool_add(pool, &request, NULL), DET_EXISTS);
    request.allocation = 2;
    request.priority = 0;
    CHECK_EQ(pool_add(pool, &request, NULL), DET_INVALID);
    request.priority = 100;
    CHECK_EQ(pool_add(pool, &request, NULL), DET_INVALID);
    request =
        (struct pool_request){.allocation = 2, .slots = UINT32_MAX, .priority = 1};
    CHECK_EQ(pool_add(pool, &request, NULL), DET_INVALID);
    CHECK_EQ(pool_set_priority(pool, 1, 100, NULL), DET_INVALID);
    CHECK_EQ(pool_set_priority(pool, 3, 1, NULL), DET_NOT_FOUND);
    CHECK_EQ(pool_add_agent(pool, 1, 4, NULL), DET_EXISTS);
    CHECK_EQ(pool_add_agent(pool, 2, UINT32_MAX, NULL), DET_INVALID);
    CHECK_EQ(pool_remove_agent(pool, 2, NULL), DET_NOT_FOUND);
    CHECK_EQ(pool_enable_slot(pool, 2, 0, true, NULL), DET_NOT_FOUND);
    CHECK_EQ(pool_enable_slot(pool, 1, 1, true, NULL), DET_NOT_FOUND);
    pool_remove(pool, 99);
    PLAN(pool, "+1@1:0");
    CHECK_EQ(pool_remove_agent(pool, 1, NULL), DET_STATE);
    pool_remove(pool, 1);
    CHECK_OK(pool_remove_agent(pool, 1, &test_err));
    PLAN(pool, "");
    done(pool);
    pool_free(NULL);
}

TEST(whether_something_could_ever_fit_goes_by_whole_agents)
{
    struct pool *pool = POOL();
    struct pool *mixed =
        POOL(.allows_heterogeneous_fits = true, .max_aux_per_agent = 1);

    CHECK(!pool_could_fit(mixed, 0, false));
    AGENTS(pool, 4, 4, 2);
    AGENTS(mixed, 4, 4, 2);
    disable(pool, 1, 0);
    ADD(pool, .allocation = 1, .slots = 1);
    PLAN(pool, "+1@3:0");

    CHECK(pool_could_fit(pool, 4, true));
    CHECK(!pool_could_fit(pool, 5, true));
    CHECK(pool_could_fit(pool, 8, false));
    CHECK(!pool_could_fit(pool, 8, true));
    CHECK(!pool_could_fit(pool, 10, false));
    CHECK(pool_could_fit(mixed, 10, false));
    CHECK(!pool_could_fit(mixed, 10, true));
    CHECK(!pool_could_fit(mixed, 12, false));
    CHECK(!pool_could_fit(pool, 0, false));
    CHECK(pool_could_fit(mixed, 0, false));
    done(pool);
    done(mixed);
}

TEST(counts_are_kept)
{
    struct pool *pool = POOL(.max_aux_per_agent = 1);
    struct pool_stats stats;

    AGENTS(pool, 4, 4);
    ADD(pool, .allocation = 1, .slots = 3);
    ADD(pool, .allocation = 2);
    ADD(pool, .allocation = 3, .slots = 9);
    PLAN(pool, "+1@1:0,1,2 +2@1");

    pool_get_stats(pool, &stats);
    CHECK_EQ(stats.agents, 2);
    CHECK_EQ(stats.slots, 8);
    CHECK_EQ(stats.slots_used, 3);
    CHECK_EQ(stats.aux_running, 1);
    CHECK_EQ(stats.waiting, 1);
    CHECK_EQ(stats.running, 2);
    done(pool);
}
