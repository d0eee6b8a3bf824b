/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

static int64_t running(struct bed *bed, const struct wish *wish)
{
    bed_join(bed, "a", 8);
    bed_submit(bed, wish);
    return bed_start(bed, 1);
}

/* A gang on two agents. */
static int64_t gang(struct bed *bed)
{
    bed_join(bed, "a", 8);
    bed_join(bed, "b", 8);
    bed_submit(bed, &(struct wish){.slots = 16, .max_restarts = 1});
    return bed_run(bed, 1);
}

TEST(an_order_to_start_says_where_with_which_slots_and_under_which_name)
{
    BED(bed);
    const struct core_effect *start = NULL;

    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 2});
    for (uint32_t i = 0; i < bed.out.count; i++)
        if (bed.out.effect[i].kind == EFFECT_START)
            start = &bed.out.effect[i];

    CHECK(start != NULL);
    CHECK_STR(start->share.agent, "a");
    CHECK_STR(start->share.slots, "[0,1]");
    CHECK(uuid_is_valid(start->share.container_id));
    CHECK_EQ(start->share.rank, 0);
    CHECK_EQ(bed.allocation[1].ports[0], 12350);
    CHECK_EQ(bed.allocation[1].ports[1], 12360);
    CHECK_EQ(bed.allocation[1].ports[2], 12365);
    CHECK_EQ(bed.allocation[1].ports[3], 29400);
    CHECK_STR(core_allocation(bed.core, 1)->name +
                  strlen(core_trial(bed.core, 1)->task_id),
              ".1");
    CHECK(core_allocation_named(bed.core, core_allocation(bed.core, 1)->name) ==
          core_allocation(bed.core, 1));
}

TEST(ports_are_never_shared_and_come_back)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.searcher = RANDOM(3, 2), .slots = 1});
    CHECK_EQ(bed.allocation[1].ports[0], 12350);
    CHECK_EQ(bed.allocation[2].ports[0], 12351);

    bed_exit(&bed, 1, 0, EXIT_CLEAN);

    CHECK_EQ(bed.allocation[3].ports[0], 12350);
    CHECK_EQ(bed.allocation[3].ports[3], 29400);
}

TEST(reserved_ports_are_left_to_others)
{
    static const int64_t reserved[] = {12350, 12352, 29400};
    CLEANUP(bed_done) struct bed bed = {0};

    bed_init(&bed);
    bed.config.reserved_ports = reserved;
    bed.config.reserved_port_count = ARRAY_LEN(reserved);
    bed_open(&bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});

    CHECK_EQ(bed.allocation[1].ports[0], 12351);
    CHECK_EQ(bed.allocation[2].ports[0], 12353);
    CHECK_EQ(bed.allocation[1].ports[3], 29401);
}

TEST(it_is_ready_when_all_its_shares_run)
{
    BED(bed);
    int64_t run = gang(&bed);

    bed_state(&bed, run, 0, ALLOCATION_PULLING);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PULLING);
    bed_state(&bed, run, 1, ALLOCATION_RUNNING);
    CHECK_EQ(core_allocation(bed.core, run)->is_ready, false);
    bed_state(&bed, run, 0, ALLOCATION_RUNNING);

    CHECK_EQ(core_allocation(bed.core, run)->is_ready, true);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
    CHECK(bed_logs(&bed, "Resources for Trial 1 (Experiment 1) have started"));
    bed_state(&bed, run, 0, ALLOCATION_STARTING); /* late */
    CHECK_EQ(bed.out.count, 0);
}

TEST(what_is_not_ready_is_killed_instead_of_asked)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 1});

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);

    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 0);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_KILLED);
    CHECK_EQ(bed.trial[1].state, TRIAL_PAUSED);
}

TEST(what_waits_is_simply_over)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1});
    bed_submit(&bed, &(struct wish){.slots = 1});

    CHECK_EQ(bed_act(&bed, 2, ACTION_PAUSE), DET_OK);

    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 0);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_TERMINATED);
    CHECK_EQ(bed.trial[2].state, TRIAL_PAUSED);
}

TEST(who_does_not_leave_in_time_is_killed_and_killed_again)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    CHECK_EQ(core_next_deadline_us(bed.core), bed.now_us + 3600 * (int64_t)SECOND_US);
    bed_wait(&bed, 3599);
    CHECK_EQ(bed.out.count, 0);
    bed_wait(&bed, 1);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    bed_wait(&bed, 29);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 0);
    bed_wait(&bed, 1);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    bed_exit(&bed, run, 0, EXIT_KILLED);

    CHECK_EQ(bed.trial[1].state, TRIAL_PAUSED);
    CHECK_EQ(core_next_deadline_us(bed.core), INT64_MAX);
}

TEST(an_experiment_may_set_its_own_preemption_timeout)
{
    BED(bed);
    running(&bed, &(struct wish){.slots = 1, .preemption_timeout_s = 5});

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);

    CHECK_EQ(core_next_deadline_us(bed.core), bed.now_us + 5 * (int64_t)SECOND_US);
}

TEST(one_share_that_fails_takes_the_others_with_it)
{
    BED(bed);
    int64_t run = gang(&bed);

    bed_start(&bed, 1);
    bed_exit(&bed, run, 1, EXIT_FAILED);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_TERMINATING);
    bed_exit(&bed, run, 0, EXIT_KILLED);

    CHECK_EQ(bed.allocation[run].exit, EXIT_FAILED);
    CHECK_EQ(bed.allocation[run].exit_code, 3);
    CHECK_EQ(bed.trial[1].restarts, 1);
}

TEST(a_gang_is_done_when_all_its_shares_are)
{
    BED(bed);
    int64_t run = gang(&bed);

    bed_start(&bed, 1);
    bed_exit(&bed, run, 0, EXIT_CLEAN);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
    bed_exit(&bed, run, 1, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
}

TEST(an_exit_that_is_reported_twice_counts_once)
{
    BED(bed);
    int64_t run = gang(&bed);

    bed_start(&bed, 1);
    bed_exit(&bed, run, 0, EXIT_CLEAN);
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed_count(&bed, EFFECT_PUT_COUNTERS), bed.out.count);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_RUNNING);
}

TEST(killed_but_done_before_the_kill_came_is_done)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1, .preemption_timeout_s = 1});

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed_wait(&bed, 2);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.allocation[run].exit, EXIT_CLEAN);
    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
}

TEST(killed_but_stopped_as_it_was_told_before_the_kill_came_goes_on)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1, .preemption_timeout_s = 1});

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed_wait(&bed, 2);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.allocation[run].exit, EXIT_CLEAN);
    CHECK_EQ(bed.trial[1].state, TRIAL_PAUSED);
}

TEST(a_task_may_ask_to_be_preempted)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});
    struct core_event event = {.kind = EVENT_PREEMPT_REQUESTED};

    event.preempt.allocation_id = run;
    bed_do(&bed, &event);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
}

static det_status kill_run(struct bed *bed, int64_t run)
{
    struct core_event event = {.kind = EVENT_RUN_KILL};

    event.run_kill.allocation_id = run;
    return bed_try(bed, &event);
}

TEST(a_run_that_is_killed_comes_again_for_free)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1, .max_restarts = 0});

    for (int i = 1; i <= 3; i++) {
        CHECK_EQ(kill_run(&bed, run), DET_OK);
        CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
        CHECK_EQ(kill_run(&bed, run), DET_OK); /* it is on its way */
        CHECK_EQ(bed_count(&bed, EFFECT_KILL), 0);
        bed_exit(&bed, run, 0, EXIT_KILLED);

        CHECK_EQ(bed.allocation[run].exit, EXIT_KILLED);
        CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
        CHECK_EQ(bed.trial[1].restarts, 0);
        CHECK_EQ(bed.trial[1].run_id, i + 1);
        CHECK_EQ(kill_run(&bed, run), DET_STATE);
        run++;
        bed_start(&bed, run);
    }
    CHECK_EQ(kill_run(&bed, 99), DET_NOT_FOUND);
}

TEST(a_run_that_waits_can_not_be_killed)
{
    BED(bed);

    (void)running(&bed, &(struct wish){.slots = 8});
    bed_submit(&bed, &(struct wish){.slots = 1});
    CHECK_EQ(kill_run(&bed, 2), DET_STATE);
    CHECK_EQ(bed.trial[2].run_id, 1);
}

TEST(an_acknowledgement_nobody_asked_for_means_nothing)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});

    bed_acknowledge(&bed, run);
    CHECK_EQ(bed.out.count, 0);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
}

TEST(the_scheduler_preempts_the_less_important)
{
    CLEANUP(bed_done) struct bed bed = {0};

    bed_init(&bed);
    bed.pool[0].config.is_preemptive = true;
    bed_open(&bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1, .priority = 50});
    bed_start(&bed, 1);
    bed_submit(&bed, &(struct wish){.slots = 1, .priority = 10});
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    CHECK(bed_logs(&bed, "preempted by the scheduler"));
    bed_acknowledge(&bed, bed_run(&bed, 1));
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_CLEAN);

    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);
}

TEST(the_log_tells_what_became_of_a_run)
{
    BED(bed);
    int64_t run;

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1});
    CHECK(bed_logs(&bed, "Scheduling Trial 1 (Experiment 1) (id: 1."));
    CHECK(bed_logs(&bed, "Trial 1 (Experiment 1) was assigned to an agent"));
    run = bed_start(&bed, 1);
    CHECK(bed_logs(&bed, "Service of Trial 1 (Experiment 1) is available"));
    bed_exit(&bed, run, 0, EXIT_FAILED);
    CHECK(bed_logs(&bed, "was terminated: it exited with code 3"));
}

TEST(messages_about_what_never_was_are_refused)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_SHARE_STATE};

    event.share_state.allocation_id = 5;
    event.share_state.state = ALLOCATION_RUNNING;
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    event = (struct core_event){.kind = EVENT_PREEMPT_ACKNOWLEDGED};
    event.preempt.allocation_id = 5;
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    bed_exit(&bed, 5, 0, EXIT_CLEAN); /* the journal is never refused */
    CHECK_EQ(core_journal_seq(bed.core), 1);
}
