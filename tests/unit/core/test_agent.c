/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

static const struct wish one_slot = {.slots = 1};

static void enable(struct bed *bed, const char *name, bool is_enabled, bool drains)
{
    struct core_event event = {.kind = EVENT_AGENT_ENABLE};

    event.agent_enable.name = name;
    event.agent_enable.is_enabled = is_enabled;
    event.agent_enable.drains = drains;
    bed_do(bed, &event);
}

static det_status enable_slot(struct bed *bed, uint32_t slot, bool is_enabled,
                              bool drains)
{
    struct core_event event = {.kind = EVENT_SLOT_ENABLE};

    event.slot_enable.name = "a";
    event.slot_enable.slot = slot;
    event.slot_enable.is_enabled = is_enabled;
    event.slot_enable.drains = drains;
    return bed_try(bed, &event);
}

TEST(a_new_agent_takes_what_waits)
{
    CLEANUP(bed_done) struct bed bed = {0};

    bed_init(&bed);
    bed.config.refuses_unfittable = false;
    bed_open(&bed);
    bed_submit(&bed, &one_slot);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);

    bed_join(&bed, "a", 1);

    CHECK_EQ(bed.out.id, 1);
    CHECK_EQ(bed_count(&bed, EFFECT_START), 1);
}

TEST(an_agent_of_an_unknown_pool_is_refused)
{
    BED(bed);

    CHECK_EQ(bed_join_with(&bed, "a", "moon", 1, NULL), DET_INVALID);
    CHECK_EQ(bed_join_with(&bed, "", "compute", 1, NULL), DET_INVALID);
    CHECK_EQ(bed_join_with(&bed, "a", "compute", -1, NULL), DET_INVALID);
    CHECK_NULL(core_agent(bed.core, "a"));
}

TEST(a_silent_agent_gets_nothing_new_and_keeps_what_it_has)
{
    BED(bed);
    bed_join(&bed, "a", 2);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);

    bed_agent(&bed, EVENT_AGENT_SILENT, "a");
    bed_submit(&bed, &one_slot);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    bed_agent(&bed, EVENT_AGENT_HEARD, "a");

    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
    CHECK_EQ(core_next_deadline_us(bed.core), INT64_MAX);
}

TEST(a_silent_agent_without_slots_gets_nothing_new_either)
{
    BED(bed);
    CHECK_EQ(bed_join_with(&bed, "a", "aux", 0, NULL), DET_OK);
    bed_agent(&bed, EVENT_AGENT_SILENT, "a");

    bed_submit(&bed, &(struct wish){.slots = 0});
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);
    bed_agent(&bed, EVENT_AGENT_HEARD, "a");

    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(an_agent_silent_for_too_long_is_lost_and_its_tasks_go_elsewhere)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);
    bed_join(&bed, "b", 1);

    bed_agent(&bed, EVENT_AGENT_SILENT, "a");
    bed_wait(&bed, 24);
    CHECK(core_agent(bed.core, "a") != NULL);
    bed_wait(&bed, 1);

    CHECK_NULL(core_agent(bed.core, "a"));
    CHECK_EQ(bed_count(&bed, EFFECT_DROP_AGENT), 1);
    CHECK_EQ(bed.allocation[1].exit, EXIT_TRANSIENT);
    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(an_agent_that_comes_back_with_its_task_goes_on)
{
    BED(bed);
    char task[128];

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);
    snprintf(task, sizeof(task), "%s/0", core_allocation(bed.core, 1)->name);
    bed_agent(&bed, EVENT_AGENT_SILENT, "a");

    CHECK_EQ(bed_join_with(&bed, "a", "compute", 1, task), DET_OK);

    CHECK_EQ(bed.out.id, 1);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL_STRAY), 0);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
}

TEST(a_task_its_agent_does_not_have_any_more_is_a_transient_failure)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);

    bed_wait(&bed, 10); /* a run that ends sooner is followed by a wait */
    bed_join(&bed, "a", 1);

    CHECK_EQ(bed.allocation[1].exit, EXIT_TRANSIENT);
    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(a_task_that_was_never_heard_of_is_started_again)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);

    bed_join(&bed, "a", 1);

    CHECK_EQ(bed.trial[1].run_id, 1);
    CHECK_EQ(bed_count(&bed, EFFECT_START), 1);
}

TEST(a_task_that_is_nobodys_is_killed)
{
    BED(bed);

    CHECK_EQ(bed_join_with(&bed, "a", "compute", 1, "1.x.1/0"), DET_OK);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL_STRAY), 1);
    CHECK_EQ(bed_join_with(&bed, "a", "compute", 1, "nonsense"), DET_OK);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL_STRAY), 1);
}

TEST(a_kill_an_agent_missed_is_ordered_again_when_it_joins)
{
    BED(bed);
    char task[128];

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);
    snprintf(task, sizeof(task), "%s/0", core_allocation(bed.core, 1)->name);
    CHECK_EQ(bed_act(&bed, 1, ACTION_KILL), DET_OK);

    CHECK_EQ(bed_join_with(&bed, "a", "compute", 1, task), DET_OK);

    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
}

TEST(an_agent_with_other_slots_is_another_agent)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);

    bed_wait(&bed, 10);
    bed_join(&bed, "a", 2);

    CHECK_EQ(bed.out.id, 2);
    CHECK_EQ(bed_count(&bed, EFFECT_DROP_AGENT), 1);
    CHECK_EQ(bed.allocation[1].exit, EXIT_TRANSIENT);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(what_was_disabled_stays_so_when_an_agent_comes_back_with_other_slots)
{
    BED(bed);
    bed_join(&bed, "a", 2);
    enable(&bed, "a", false, false);
    CHECK_EQ(enable_slot(&bed, 0, false, false), DET_OK);

    bed_join(&bed, "a", 3);
    bed_submit(&bed, &one_slot);
    CHECK(!core_agent(bed.core, "a")->is_enabled);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);

    enable(&bed, "a", true, false);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
    bed_submit(&bed, &one_slot);
    bed_submit(&bed, &one_slot); /* two of three slots are on */
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
    CHECK_EQ(bed_run_state(&bed, 3), ALLOCATION_PENDING);
}

static bool has_said(const struct bed *bed, const char *part)
{
    for (uint32_t i = 0; i < bed->out.count; i++)
        if (bed->out.effect[i].kind == EFFECT_TASK_LOG &&
            strstr(bed->out.effect[i].log.text, part))
            return true;
    return false;
}

TEST(who_waits_for_what_is_disabled_is_told)
{
    static const struct wish no_slot = {.slots = 0};
    static const struct wish two_slots = {.slots = 2};

    BED(bed);
    bed_join(&bed, "a", 2);
    bed_submit(&bed, &two_slots);
    CHECK(!has_said(&bed, "waits"));
    bed_submit(&bed, &two_slots); /* behind the first, which is another thing */
    CHECK(!has_said(&bed, "waits"));
    CHECK_EQ(enable_slot(&bed, 0, false, true), DET_OK);
    bed_submit(&bed, &two_slots);
    CHECK(has_said(
        &bed,
        "Trial 3 (Experiment 3) waits: pool 'compute' has fewer than 2 enabled "));
    bed_submit(&bed, &one_slot);
    CHECK(!has_said(&bed, "waits"));
    enable(&bed, "a", false, true);
    bed_submit(&bed, &one_slot);
    CHECK(has_said(
        &bed,
        "Trial 5 (Experiment 5) waits: there is no enabled slot in pool 'compute'"));
    bed_submit(&bed, &no_slot);
    CHECK(has_said(&bed,
                   "Trial 6 (Experiment 6) waits: there is no enabled agent in pool"));
}

TEST(a_gang_that_loses_an_agent_keeps_its_other_slots_until_it_is_gone)
{
    BED(bed);
    bed_join(&bed, "a", 4);
    bed_join(&bed, "b", 4);
    bed_submit(&bed, &(struct wish){.slots = 8});
    bed_start(&bed, 1);

    bed_lose(&bed, "a");
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    CHECK_NULL(core_agent(bed.core, "a"));
    bed_submit(&bed, &one_slot);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    bed_exit(&bed, 1, 1, EXIT_KILLED);

    CHECK_EQ(bed.allocation[1].exit, EXIT_TRANSIENT);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);
}

TEST(a_disabled_agent_loses_its_tasks_a_draining_one_does_not)
{
    for (int drains = 0; drains < 2; drains++) {
        BED(bed);
        bed_join(&bed, "a", 2);
        bed_submit(&bed, &one_slot);
        bed_start(&bed, 1);

        enable(&bed, "a", false, drains);
        CHECK_EQ(bed_count(&bed, EFFECT_KILL), drains ? 0 : 1);
        CHECK_EQ(core_agent(bed.core, "a")->is_draining, drains);
        bed_submit(&bed, &one_slot);
        CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
        enable(&bed, "a", true, false);

        CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
    }
}

TEST(a_task_killed_with_its_agent_comes_again_elsewhere_for_free)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);
    bed_join(&bed, "b", 1);

    enable(&bed, "a", false, false);
    bed_exit(&bed, 1, 0, EXIT_KILLED);

    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(a_disabled_slot_is_not_given_out)
{
    BED(bed);
    bed_join(&bed, "a", 2);
    CHECK_EQ(enable_slot(&bed, 0, false, true), DET_OK);
    CHECK_EQ(enable_slot(&bed, 2, false, true), DET_NOT_FOUND);

    bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});

    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    CHECK_EQ(enable_slot(&bed, 1, false, false), DET_OK); /* the one that is used */
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    CHECK_EQ(enable_slot(&bed, 0, true, false), DET_OK);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
}

TEST(who_disables_or_misses_an_agent_that_is_not_there_is_told)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_AGENT_SILENT};

    event.agent.name = "ghost";
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    event = (struct core_event){.kind = EVENT_AGENT_ENABLE};
    event.agent_enable.name = "ghost";
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    CHECK_HAS(bed.err.text, "no agent ghost");
}

/* ---- who is heard ---------------------------------------------------------------- */

TEST(an_agent_whose_tasks_are_heard_is_not_lost)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);

    bed_agent(&bed, EVENT_AGENT_SILENT, "a");
    for (int i = 0; i < 10; i++) {
        bed_wait(&bed, 20);
        bed_agent(&bed, EVENT_AGENT_TASKS_HEARD, "a");
    }
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
    bed_submit(&bed, &one_slot); /* but it gets nothing new */
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    bed_wait(&bed, 25);

    CHECK_NULL(core_agent(bed.core, "a"));
    CHECK_EQ(bed.allocation[1].exit, EXIT_TRANSIENT);
}

TEST(the_tasks_of_an_agent_that_is_heard_change_nothing)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_AGENT_TASKS_HEARD};

    bed_join(&bed, "a", 1);
    bed_agent(&bed, EVENT_AGENT_TASKS_HEARD, "a");
    CHECK_EQ(bed.out.count, 0);
    CHECK_EQ(core_next_deadline_us(bed.core), INT64_MAX);
    event.agent.name = "ghost";
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
}

TEST(the_time_in_which_no_master_was_there_is_nobodys_silence)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_agent(&bed, EVENT_AGENT_SILENT, "a");

    bed.now_us += INT64_C(3600) * SECOND_US;
    bed_do(&bed, &(struct core_event){.kind = EVENT_STARTED});
    bed_wait(&bed, 24);
    CHECK(core_agent(bed.core, "a") != NULL);
    bed_wait(&bed, 1);
    CHECK_NULL(core_agent(bed.core, "a"));
}

TEST(a_clock_that_is_set_moves_deadlines_with_it)
{
    for (int64_t by_us = -INT64_C(3600) * SECOND_US; by_us <= INT64_C(3600) * SECOND_US;
         by_us += INT64_C(7200) * SECOND_US) {
        BED(bed);
        struct core_event event = {.kind = EVENT_CLOCK_JUMPED};

        bed.now_us += INT64_C(9000) * SECOND_US;
        event.clock_jumped.by_us = by_us;
        bed_join(&bed, "a", 1);
        bed_join(&bed, "b", 1);
        bed_submit(&bed, &(struct wish){.slots = 1, .preemption_timeout_s = 60});
        bed_start(&bed, 1);
        CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
        bed_agent(&bed, EVENT_AGENT_SILENT, "b");
        bed.now_us += by_us;
        bed_do(&bed, &event);
        bed_wait(&bed, 24);
        CHECK(core_agent(bed.core, "b") != NULL);
        bed_wait(&bed, 1);
        CHECK_NULL(core_agent(bed.core, "b"));
        CHECK_EQ(bed.allocation[1].is_killed, false);
        bed_wait(&bed, 35);
        CHECK_EQ(bed.allocation[1].is_killed, true);
    }
}

TEST(a_deadline_far_in_the_future_is_cut_short_when_the_master_starts)
{
    BED(bed);
    bed.now_us += INT64_C(9000) * SECOND_US;
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1, .preemption_timeout_s = 60});
    bed_start(&bed, 1);
    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);

    bed.now_us -= INT64_C(3600) * SECOND_US; /* the clock was set back meanwhile */
    bed_do(&bed, &(struct core_event){.kind = EVENT_STARTED});
    bed_wait(&bed, 60);
    CHECK_EQ(bed.allocation[1].is_killed, true);
}

/* ---- two of one name ------------------------------------------------------------- */

TEST(a_second_agent_of_a_name_is_refused_while_the_first_is_heard)
{
    BED(bed);
    CHECK_EQ(bed_join_as(&bed, "a", "one", "boot"), DET_OK);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);

    CHECK_EQ(bed_join_as(&bed, "a", "two", "boot"), DET_EXISTS);
    CHECK_HAS(bed.err.text, "another agent is connected as 'a'");
    CHECK_EQ(bed_join_as(&bed, "a", "one", "copy"),
             DET_EXISTS); /* a copied directory */
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
}

TEST(a_second_agent_of_a_name_takes_the_place_of_one_that_is_gone)
{
    BED(bed);
    CHECK_EQ(bed_join_as(&bed, "a", "one", "boot"), DET_OK);
    bed_submit(&bed, &one_slot);
    bed_start(&bed, 1);
    bed_agent(&bed, EVENT_AGENT_SILENT, "a");

    bed_wait(&bed, 10);
    CHECK_EQ(bed_join_as(&bed, "a", "two", "boot"), DET_OK);
    CHECK_EQ(bed.allocation[1].exit, EXIT_TRANSIENT);
    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
    CHECK_STR(core_agent(bed.core, "a")->instance, "two");
}

/* As rows of an earlier version have it. */
TEST(an_agent_that_did_not_say_which_it_is_keeps_its_tasks_once_it_does)
{
    BED(bed);
    CHECK_EQ(bed_join_as(&bed, "a", NULL, "boot"), DET_OK);
    bed_submit(&bed, &one_slot);

    CHECK_EQ(bed_join_as(&bed, "a", "one", "copy"), DET_EXISTS);
    CHECK_EQ(bed_join_as(&bed, "a", "one", "boot"), DET_OK);
    CHECK_EQ(bed.allocation[1].state, ALLOCATION_ASSIGNED);
    CHECK_STR(core_agent(bed.core, "a")->instance, "one");
    CHECK_EQ(bed_join_as(&bed, "a", NULL, "boot"), DET_EXISTS);
}

TEST(an_agent_whose_machine_restarted_is_the_same_agent)
{
    BED(bed);
    CHECK_EQ(bed_join_as(&bed, "a", "one", "boot"), DET_OK);
    bed_agent(&bed, EVENT_AGENT_SILENT, "a");

    CHECK_EQ(bed_join_as(&bed, "a", "one", "next boot"), DET_OK);
    CHECK_EQ(core_agent(bed.core, "a")->id, 1);
    CHECK_STR(core_agent(bed.core, "a")->boot_id, "next boot");
}
