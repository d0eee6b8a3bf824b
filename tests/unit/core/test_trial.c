/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core_impl.h"
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

static const struct wish one_slot = {.slots = 1, .max_restarts = 2};

/* A trial that runs on one agent; trial and experiment have id 1. */
static int64_t running(struct bed *bed, const struct wish *wish)
{
    bed_join(bed, "a", 8);
    bed_submit(bed, wish);
    return bed_start(bed, 1);
}

TEST(a_trial_that_exits_with_0_is_completed_and_so_is_its_experiment)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_COMPLETED);
    CHECK(bed.experiment[1].progress == 1);
    CHECK_EQ(bed_count(&bed, EFFECT_OVER), 1);
    CHECK_EQ(bed_count(&bed, EFFECT_EXPERIMENT_OVER), 1);
    CHECK_EQ(bed_count(&bed, EFFECT_DROP_SEARCH), 1);
    CHECK_NULL(core_trial(bed.core, 1));
    CHECK_NULL(core_experiment(bed.core, 1));
}

TEST(a_trial_that_fails_comes_again_until_its_restarts_are_used_up)
{
    BED(bed);
    running(&bed, &one_slot);

    for (int64_t i = 0; i <= one_slot.max_restarts; i++) {
        CHECK_EQ(bed.trial[1].run_id, i + 1);
        bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_FAILED);
    }

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.trial[1].restarts, 2);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_ERROR);
    CHECK(bed_logs(&bed, "exceeded max restarts"));
}

TEST(a_trial_that_would_fail_again_is_not_tried_again)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_SHARE_EXITED};

    event.share_exited.allocation_id = running(&bed, &one_slot);
    event.share_exited.exit = EXIT_FAILED;
    event.share_exited.code = 1;
    event.share_exited.reason = "its environment cannot be built";
    event.share_exited.is_final = true;
    event.journal_seq = ++bed.journal_seq;
    bed_do(&bed, &event);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK(bed_logs(&bed, "is not retried, because it would fail again: its environment "
                         "cannot be built"));
}

TEST(the_first_validation_without_the_searchers_metric_is_told_in_the_log)
{
    BED(bed);
    static const struct wish wish = {
        .slots = 1, .searcher = "{\"name\":\"single\",\"metric\":\"val_los\"}"};

    running(&bed, &wish);
    bed_validate(&bed, 1, 1, "{\"val_loss\": 1, \"kind\": \"a\"}");
    CHECK(bed_logs(&bed, "warning: the validation of trial 1 has no 'val_los'; it has "
                         "val_loss: did you mean val_loss?"));
    bed_validate(&bed, 1, 1, "{\"val_loss\": 2}");
    CHECK_EQ(bed_count(&bed, EFFECT_TASK_LOG), 0);
}

static void fail_for_good(struct bed *bed, int64_t run)
{
    struct core_event event = {.kind = EVENT_SHARE_EXITED};

    event.share_exited.allocation_id = run;
    event.share_exited.exit = EXIT_FAILED;
    event.share_exited.code = 1;
    event.share_exited.is_final = true;
    event.journal_seq = ++bed->journal_seq;
    bed_do(bed, &event);
}

TEST(validations_without_the_searchers_metric_are_no_progress)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_validate(&bed, 1, 1, "{\"accuracy\": 1}");
    fail_for_good(&bed, run);
    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.trial[1].restarts, 0);
}

TEST(what_validated_once_can_work)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_validate(&bed, 1, 1, "{\"loss\": 1}");
    fail_for_good(&bed, run);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    CHECK_EQ(bed.trial[1].restarts, 1);
}

TEST(a_validation_with_the_searchers_metric_is_not_worth_a_word)
{
    BED(bed);

    running(&bed, &one_slot);
    bed_validate(&bed, 1, 1, "{\"loss\": \"NaN\", \"accuracy\": 1}");
    CHECK_EQ(bed_count(&bed, EFFECT_TASK_LOG), 0);
}

TEST(trials_have_the_seed_that_the_configuration_gives_them)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed,
               &(struct wish){.searcher = RANDOM(2, 2),
                              .slots = 1,
                              .seeds = "{\"experiment_seed\":1,\"trial_seed\":77}"});
    bed_submit(&bed, &(struct wish){.slots = 1});

    CHECK_EQ(bed.trial[1].seed, 77);
    CHECK_EQ(bed.trial[2].seed, 77);
    CHECK(bed.trial[3].seed != 77);
}

TEST(without_restarts_there_is_one_attempt)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});

    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.trial[1].restarts, 0);
}

TEST(a_transient_failure_costs_no_restart)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});

    bed_exit(&bed, run, 0, EXIT_TRANSIENT);

    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(after_a_restore_no_run_gets_a_number_of_before)
{
    BED(bed);
    int64_t run;

    bed.core->counters.first_run = 1000;
    run = running(&bed, &(struct wish){.slots = 1});
    CHECK_EQ(bed.trial[1].run_id, 1000);

    bed_exit(&bed, run, 0, EXIT_TRANSIENT);

    CHECK_EQ(bed.trial[1].run_id, 1001);
}

TEST(a_task_killed_by_somebody_else_is_a_transient_failure)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});

    bed_exit(&bed, run, 0, EXIT_KILLED);

    CHECK_EQ(bed.allocation[run].exit, EXIT_TRANSIENT);
    CHECK_EQ(bed.trial[1].run_id, 2);
}

TEST(a_run_continues_from_the_checkpoint_with_most_steps)
{
    BED(bed);
    running(&bed, &one_slot);

    bed_checkpoint(&bed, 1, 1, "first", 100);
    bed_checkpoint(&bed, 1, 1, "late but less", 50);

    CHECK_STR(core_trial(bed.core, 1)->latest_checkpoint, "first");
    CHECK_EQ(core_trial(bed.core, 1)->latest_steps, 100);
    CHECK_STR(core_trial(bed.core, 1)->warm_start, "warm");
}

TEST(reports_of_an_earlier_run_are_stale_but_advance_the_journal)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_exit(&bed, run, 0, EXIT_FAILED);
    bed_checkpoint(&bed, 1, 1, "of run 1", 100);
    bed_validate(&bed, 1, 1, "{\"loss\":1}");

    CHECK_NULL(core_trial(bed.core, 1)->latest_checkpoint);
    CHECK_EQ(bed_count(&bed, EFFECT_ADD_SEARCH_INPUT), 0);
    CHECK_EQ(core_journal_seq(bed.core), 3);
}

TEST(a_paused_trial_saves_leaves_and_comes_back)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 0);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);
    CHECK_EQ(bed.trial[1].state, TRIAL_PAUSED);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_TERMINATED);

    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_OK);

    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(activated_again_before_it_left_a_trial_comes_back_by_itself)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_OK);
    CHECK_EQ(bed_run(&bed, 1), run);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].run_id, 2);
}

TEST(exit_0_without_an_acknowledgement_means_that_it_was_done)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
}

TEST(a_failure_on_the_way_out_counts_as_preempted_once_it_was_acknowledged)
{
    BED(bed);
    int64_t run = running(&bed, &(struct wish){.slots = 1});

    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_PAUSED);
    CHECK_EQ(bed.allocation[run].exit, EXIT_CLEAN);
}

TEST(cancel_asks_and_a_trial_that_leaves_is_canceled)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_CANCEL), DET_OK);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].state, TRIAL_CANCELED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_CANCELED);
}

TEST(a_program_that_fails_while_it_is_canceled_is_an_error)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_CANCEL), DET_OK);
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_ERROR);
}

TEST(an_agent_lost_while_a_trial_is_canceled_is_no_error)
{
    BED(bed);
    running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_CANCEL), DET_OK);
    bed_lose(&bed, "a");

    CHECK_EQ(bed.trial[1].state, TRIAL_CANCELED);
}

TEST(kill_kills_at_once_and_ends_as_canceled)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    CHECK_EQ(bed_act(&bed, 1, ACTION_KILL), DET_OK);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    bed_exit(&bed, run, 0, EXIT_KILLED);

    CHECK_EQ(bed.allocation[run].exit, EXIT_KILLED);
    CHECK_EQ(bed.trial[1].state, TRIAL_CANCELED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_CANCELED);
}

TEST(killing_one_trial_leaves_the_others_alone)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});

    bed_kill_trial(&bed, 1);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_KILLED);
    CHECK_EQ(bed.trial[1].state, TRIAL_CANCELED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_ACTIVE);
    bed_exit(&bed, bed_run(&bed, 2), 0, EXIT_CLEAN);

    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_COMPLETED);
}

TEST(a_trial_that_ended_or_never_was_cannot_be_killed)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_TRIAL_KILL, .trial_kill.trial_id = 1};
    int64_t run = running(&bed, &one_slot);

    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed_try(&bed, &event), DET_STATE);
    event.trial_kill.trial_id = 0;
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    event.trial_kill.trial_id = 2;
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    event.trial_kill.trial_id = 9;
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
    CHECK_HAS(bed.err.text, "no trial 9");
}

static void early_exit(struct bed *bed, int64_t trial)
{
    struct core_event event = {.kind = EVENT_EARLY_EXIT, .early_exit.trial_id = trial};

    bed_do(bed, &event);
}

TEST(a_trial_that_refuses_its_hyperparameters_has_ten_seconds_to_leave)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    early_exit(&bed, 1);
    bed_wait(&bed, 9);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 0);
    bed_wait(&bed, 1);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    bed_exit(&bed, run, 0, EXIT_KILLED);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
    CHECK_EQ(bed.trial[1].has_invalid_hparams, true);
}

TEST(refused_hyperparameters_are_not_tried_again_and_random_draws_others)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed,
               &(struct wish){.searcher = RANDOM(1, 1), .slots = 1, .max_restarts = 5});

    early_exit(&bed, 1);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
    CHECK_EQ(bed.trial[1].restarts, 0);
    CHECK_EQ(bed.trial[2].state, TRIAL_ACTIVE);
}

TEST(a_log_policy_may_forbid_retries)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);
    struct core_event event = {.kind = EVENT_LOG_POLICY};

    event.log_policy.trial_id = 1;
    event.log_policy.cancels_retries = true;
    bed_do(&bed, &event);
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK_EQ(bed.trial[1].restarts, 0);
}

static void exclude(struct bed *bed, const char *agent)
{
    struct core_event event = {.kind = EVENT_LOG_POLICY};

    event.log_policy.trial_id = 1;
    event.log_policy.exclude_agent = agent;
    bed_do(bed, &event);
}

TEST(an_excluded_agent_gets_the_trial_no_more)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_join(&bed, "b", 8);
    exclude(&bed, "a");
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed_count(&bed, EFFECT_START), 1);
    for (uint32_t i = 0; i < bed.out.count; i++)
        if (bed.out.effect[i].kind == EFFECT_START)
            CHECK_STR(bed.out.effect[i].share.agent, "b");
}

TEST(several_agents_may_be_excluded)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_join(&bed, "b", 8);
    bed_join(&bed, "c", 8);
    exclude(&bed, "a");
    exclude(&bed, "b");
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed_count(&bed, EFFECT_START), 1);
    for (uint32_t i = 0; i < bed.out.count; i++)
        if (bed.out.effect[i].kind == EFFECT_START)
            CHECK_STR(bed.out.effect[i].share.agent, "c");
}

TEST(a_trial_with_no_agents_left_is_an_error)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    exclude(&bed, "a");
    bed_exit(&bed, run, 0, EXIT_FAILED);

    CHECK_EQ(bed.trial[1].state, TRIAL_ERROR);
    CHECK(bed_logs(&bed, "too few agents"));
}

static void progress(struct bed *bed, double value)
{
    struct core_event event = {.kind = EVENT_PROGRESS};

    event.progress.trial_id = 1;
    event.progress.progress = value;
    bed_do(bed, &event);
}

TEST(progress_counts_in_hundredths_and_is_not_recorded_twice)
{
    BED(bed);
    running(&bed, &one_slot);

    progress(&bed, 0.29);
    CHECK_EQ(bed_count(&bed, EFFECT_ADD_SEARCH_INPUT), 1);
    CHECK(bed.trial[1].progress == 0.29);
    CHECK(bed.experiment[1].progress > 0.28 && bed.experiment[1].progress < 0.3);
    progress(&bed, 0.2955);

    CHECK_EQ(bed.out.count, 0);
}

TEST(late_messages_about_what_is_over_change_nothing)
{
    BED(bed);
    int64_t run = running(&bed, &one_slot);

    bed_exit(&bed, run, 0, EXIT_CLEAN);
    progress(&bed, 0.5);
    CHECK_EQ(bed.out.count, 0);
    early_exit(&bed, 1);
    CHECK_EQ(bed.out.count, 0);
    exclude(&bed, "a");
    CHECK_EQ(bed.out.count, 0);
    bed_acknowledge(&bed, run);
    CHECK_EQ(bed.out.count, 0);
    bed_state(&bed, run, 0, ALLOCATION_RUNNING);
    CHECK_EQ(bed.out.count, 0);
    bed_exit(&bed, run, 0, EXIT_FAILED);
    CHECK_EQ(bed_count(&bed, EFFECT_PUT_COUNTERS), bed.out.count);
}
