/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

static const struct wish stubborn = {.slots = 1, .max_restarts = 100};

static void submit(struct bed *bed, const struct wish *wish)
{
    bed_join(bed, "a", 1);
    bed_submit(bed, wish);
    CHECK_EQ(bed_run_state(bed, 1), ALLOCATION_ASSIGNED);
}

/* Its run ends at once; returns how long the next one waits. */
static int64_t end_at_once(struct bed *bed, enum exit_kind exit)
{
    int64_t at_us;

    bed_exit_now(bed, bed_run(bed, 1), 0, exit);
    CHECK_EQ(bed_run_state(bed, 1), ALLOCATION_PENDING);
    CHECK_EQ(bed_count(bed, EFFECT_START), 0);
    at_us = core_next_deadline_us(bed->core);
    CHECK_EQ(bed->allocation[bed_run(bed, 1)].retry_us, at_us);
    return at_us - bed->now_us;
}

static void tick_at_deadline(struct bed *bed)
{
    bed->now_us = core_next_deadline_us(bed->core);
    bed_do(bed, &(struct core_event){.kind = EVENT_TICK});
}

TEST(a_program_that_fails_at_once_is_retried_ever_later)
{
    static const int64_t waits_ms[] = {250,  500,   1000,  2000,  4000,
                                       8000, 16000, 32000, 60000, 60000};
    BED(bed);

    submit(&bed, &stubborn);
    for (size_t i = 0; i < ARRAY_LEN(waits_ms); i++) {
        CHECK_EQ(end_at_once(&bed, EXIT_FAILED), waits_ms[i] * 1000);
        CHECK(bed_logs(&bed, "its run ended too soon: it exited with code 3"));
        CHECK_EQ(bed.trial[1].restarts, i + 1);
        bed.now_us = core_next_deadline_us(bed.core) - 1;
        bed_do(&bed, &(struct core_event){.kind = EVENT_TICK});
        CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);
        tick_at_deadline(&bed);
        CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
    }
}

TEST(a_wait_begins_anew_after_a_run_that_lived_or_made_progress)
{
    BED(bed);

    submit(&bed, &stubborn);
    end_at_once(&bed, EXIT_FAILED);
    tick_at_deadline(&bed);
    CHECK_EQ(end_at_once(&bed, EXIT_FAILED), 500000);
    tick_at_deadline(&bed);

    bed_checkpoint(&bed, 1, 3, "saved", 1);
    CHECK_EQ(end_at_once(&bed, EXIT_FAILED), 250000);
    tick_at_deadline(&bed);
    CHECK_EQ(end_at_once(&bed, EXIT_FAILED), 500000);
    tick_at_deadline(&bed);

    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_FAILED); /* after ten seconds */
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
    CHECK_EQ(end_at_once(&bed, EXIT_FAILED), 250000);
}

TEST(a_machine_that_lacks_resources_costs_no_restart)
{
    BED(bed);
    const struct wish once = {.slots = 1};

    submit(&bed, &once);
    for (int64_t wait_s = 1; wait_s < 200; wait_s *= 2) {
        CHECK_EQ(end_at_once(&bed, EXIT_LACKING), MIN(wait_s, 60) * SECOND_US);
        CHECK(bed_logs(&bed, "agent a lacks resources"));
        CHECK_EQ(bed.trial[1].restarts, 0);
        tick_at_deadline(&bed);
    }
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_CLEAN);
    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
}

/* To find out may take long, for instance until a download has failed. */
TEST(a_wait_grows_though_each_run_lacks_resources_only_late)
{
    BED(bed);

    submit(&bed, &stubborn);
    for (int64_t wait_s = 1; wait_s < 16; wait_s *= 2) {
        bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_LACKING); /* after ten seconds */
        CHECK_EQ(core_next_deadline_us(bed.core), bed.now_us + wait_s * SECOND_US);
        tick_at_deadline(&bed);
    }
}

TEST(another_agent_comes_before_one_that_lacks_resources)
{
    BED(bed);

    submit(&bed, &stubborn);
    bed_join(&bed, "b", 1);
    end_at_once(&bed, EXIT_LACKING);
    tick_at_deadline(&bed);

    for (uint32_t i = 0; i < bed.out.count; i++)
        if (bed.out.effect[i].kind == EFFECT_START)
            CHECK_STR(bed.out.effect[i].share.agent, "b");
    CHECK_EQ(bed_count(&bed, EFFECT_START), 1);
}

TEST(a_trial_that_waits_holds_no_slots)
{
    BED(bed);

    submit(&bed, &stubborn);
    end_at_once(&bed, EXIT_FAILED);
    bed_submit(&bed, &stubborn);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
}

TEST(a_trial_that_waits_is_paused_activated_and_killed_at_once)
{
    BED(bed);

    submit(&bed, &stubborn);
    end_at_once(&bed, EXIT_FAILED);
    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_TERMINATED);
    CHECK_EQ(core_next_deadline_us(bed.core), INT64_MAX);

    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_OK);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);

    CHECK_EQ(end_at_once(&bed, EXIT_LACKING), SECOND_US);
    CHECK_EQ(bed_act(&bed, 1, ACTION_KILL), DET_OK);
    CHECK_EQ(bed.trial[1].state, TRIAL_CANCELED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_CANCELED);
}

TEST(a_wait_moves_with_the_clock_and_is_never_longer_than_one_that_begins_now)
{
    BED(bed);
    struct core_event jump = {.kind = EVENT_CLOCK_JUMPED};

    submit(&bed, &stubborn);
    end_at_once(&bed, EXIT_LACKING);
    jump.clock_jumped.by_us = -500 * (int64_t)SECOND_US;
    bed.now_us += jump.clock_jumped.by_us;
    bed_do(&bed, &jump);
    CHECK_EQ(core_next_deadline_us(bed.core), bed.now_us + SECOND_US);

    bed.now_us -= 500 * (int64_t)SECOND_US; /* while the master was away */
    bed_do(&bed, &(struct core_event){.kind = EVENT_STARTED});
    CHECK_EQ(core_next_deadline_us(bed.core), bed.now_us + 60 * SECOND_US);
}

TEST(a_trial_that_waits_follows_a_change_of_its_resources)
{
    BED(bed);
    struct core_event change = {.kind = EVENT_EXPERIMENT_RESOURCES};

    submit(&bed, &stubborn);
    CHECK_EQ(bed_join_with(&bed, "x", "aux", 1, NULL), DET_OK);
    end_at_once(&bed, EXIT_FAILED);
    change.resources.experiment_id = 1;
    change.resources.priority = 7;
    change.resources.max_slots = -2;
    bed_do(&bed, &change);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);

    change.resources.resource_pool = "aux";
    bed_do(&bed, &change);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(a_job_waits_when_its_machine_lacks_resources)
{
    BED(bed);
    int64_t id;

    bed_join(&bed, "a", 1);
    id = bed_submit_job(&bed, &(struct job){.slots = 1, .is_pausable = true});
    bed_exit_now(&bed, bed.job_run[id], 0, EXIT_LACKING);
    CHECK_EQ(bed.job[id].state, JOB_ACTIVE);
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_PENDING);
    CHECK_EQ(core_next_deadline_us(bed.core), bed.now_us + SECOND_US);

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed.job[id].state, JOB_PAUSED);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_ACTIVATE), DET_OK);
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_ASSIGNED);
    bed_exit_now(&bed, bed.job_run[id], 0, EXIT_FAILED);
    CHECK_EQ(bed.job[id].state, JOB_ERROR);
}

/* Its command is not there: that would repeat. */
static void end_for_good(struct bed *bed)
{
    struct core_event event = {.kind = EVENT_SHARE_EXITED};

    event.share_exited.allocation_id = bed_run(bed, 1);
    event.share_exited.exit = EXIT_FAILED;
    event.share_exited.code = 127;
    event.share_exited.reason = "its command was not found";
    event.share_exited.is_final = true;
    event.journal_seq = ++bed->journal_seq;
    bed_do(bed, &event);
}

TEST(an_end_that_would_repeat_counts_only_before_the_first_progress)
{
    BED(bed);

    submit(&bed, &stubborn);
    bed_validate(&bed, 1, 1, "{\"loss\":1}");
    end_for_good(&bed);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    CHECK_EQ(bed.trial[1].restarts, 1);
    tick_at_deadline(&bed);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
    end_for_good(&bed); /* the next run, on a broken machine, did not get that far */
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    CHECK_EQ(bed.trial[1].restarts, 2);
}

TEST(an_end_that_would_repeat_is_the_end_without_progress)
{
    BED(bed);

    submit(&bed, &stubborn);
    end_for_good(&bed);
    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
}
