/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/buf.h"
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

TEST(an_unknown_pool_is_refused)
{
    BED(bed);
    bed_join(&bed, "a", 8);

    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 1, .pool = "moon"}),
             DET_INVALID);
    CHECK_HAS(bed.err.text, "resource pool moon does not exist or is not available");
}

TEST(where_there_is_no_default_a_pool_must_be_named)
{
    CLEANUP(bed_done) struct bed bed = {0};

    bed_init(&bed);
    bed.config.needs_pool_name = true;
    bed_open(&bed);
    bed_join(&bed, "a", 8);

    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 1}), DET_INVALID);
    CHECK_HAS(bed.err.text, "resources.resource_pool");
    CHECK_OK(bed_try_submit(&bed, &(struct wish){.slots = 1, .pool = "compute"}));
}

TEST(a_search_that_would_begin_with_too_many_trials_is_refused)
{
    struct wish wish = {.slots = 1,
                        .searcher = "{\"name\":\"random\",\"metric\":\"loss\","
                                    "\"max_trials\":2001,"
                                    "\"max_concurrent_trials\":0}"};
    BED(bed);
    bed_join(&bed, "a", 8);

    CHECK_EQ(bed_try_submit(&bed, &wish), DET_INVALID);
    CHECK_HAS(bed.err.text, "begin with 2001 trials at once");
    CHECK_HAS(bed.err.text, "set searcher.max_concurrent_trials");
    CHECK_EQ(core_experiment(bed.core, 1), NULL);

    wish.searcher = "{\"name\":\"random\",\"metric\":\"loss\",\"max_trials\":"
                    "1000000,\"max_concurrent_trials\":16}";
    CHECK_EQ(bed_try_submit(&bed, &wish), DET_OK);
}

/* Each trial has a hyperparameter of 4 MB. */
static det_status submit_large(struct bed *bed, int64_t owner)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct core_event event = {.kind = EVENT_EXPERIMENT_SUBMITTED};

    buf_puts(&text,
             "{\"name\":\"test\",\"entrypoint\":\"./train.sh\",\"searcher\":{\"name\":"
             "\"single\",\"metric\":\"loss\"},\"checkpoint_storage\":{\"type\":"
             "\"shared_fs\"},\"resources\":{\"slots_per_trial\":1},"
             "\"hyperparameters\":{\"x\":\"");
    for (int i = 0; i < 4 << 16; i++)
        buf_puts(&text, "0123456789abcdef");
    buf_puts(&text, "\"}}");
    CHECK_OK(text.status);
    event.submitted.job_id = "job";
    event.submitted.config = text.data;
    event.submitted.original_config = "name: test\n";
    event.submitted.name = "test";
    event.submitted.owner_id = owner;
    return bed_try(bed, &event);
}

TEST(experiments_of_one_owner_take_only_so_much_memory_until_they_end)
{
    int64_t count = 0;
    det_status st;
    BED(bed);
    bed_join(&bed, "a", 8);

    while (!(st = submit_large(&bed, 1)))
        CHECK(++count < 32);
    CHECK_EQ(st, DET_STATE);
    CHECK_HAS(bed.err.text, "MB of the master's memory; at most 128 are possible");
    CHECK(count > 4);
    CHECK_EQ(submit_large(&bed, 2), DET_OK);

    CHECK_EQ(bed_act(&bed, count, ACTION_KILL), DET_OK);
    CHECK_EQ(submit_large(&bed, 1), DET_OK);
    CHECK_EQ(submit_large(&bed, 1), DET_STATE);
}

TEST(trials_without_slots_go_to_the_aux_pool)
{
    BED(bed);
    CHECK_EQ(bed_join_with(&bed, "a", "aux", 0, NULL), DET_OK);

    bed_submit(&bed, &(struct wish){.slots = 0});

    CHECK_STR(core_experiment(bed.core, 1)->resource_pool, "aux");
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(more_slots_than_there_are_is_an_error_or_a_warning_as_configured)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 16}), DET_INVALID);
    CHECK_HAS(bed.err.text, "slots requested exceeds cluster capacity");
    bed_done(&bed);

    bed_init(&bed);
    bed.config.refuses_unfittable = false;
    bed_open(&bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 16});

    CHECK_EQ(bed.out.exceeds_slots, true);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_PENDING);
}

TEST(after_a_start_nothing_is_refused_until_the_agents_had_their_time_to_join)
{
    const struct wish wide = {.slots = 4, .is_single_node = true};
    BED(bed);

    bed_do(&bed, &(struct core_event){.kind = EVENT_STARTED});
    bed_submit(&bed, &wide);
    CHECK_EQ(bed.out.exceeds_slots, true);
    CHECK_EQ(bed_try_job(&bed, &(struct job){.slots = 4}), DET_OK);
    bed_join(&bed, "a", 4);
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);

    /* The pool's agents are there: now it is known what fits. */
    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 5}), DET_INVALID);

    /* A known agent that was not heard since the start may come with more slots. */
    bed_agent(&bed, EVENT_AGENT_SILENT, "a");
    bed_do(&bed, &(struct core_event){.kind = EVENT_STARTED});
    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 5}), DET_OK);
    bed.now_us += 25 * SECOND_US;
    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 5}), DET_INVALID);
}

TEST(a_pool_that_stays_without_agents_refuses)
{
    BED(bed);

    bed_do(&bed, &(struct core_event){.kind = EVENT_STARTED});
    bed.now_us += 25 * SECOND_US;
    CHECK_EQ(bed_try_submit(&bed, &(struct wish){.slots = 1}), DET_INVALID);
    CHECK_HAS(bed.err.text, "because no agent has joined it");
}

TEST(a_single_node_job_needs_an_agent_that_is_large_enough)
{
    BED(bed);
    struct wish job = {.slots = 16, .is_single_node = true};

    bed_join(&bed, "a", 8);
    bed_join(&bed, "b", 8);

    CHECK_EQ(bed_try_submit(&bed, &job), DET_INVALID);
    CHECK_HAS(bed.err.text, "request unfulfillable, please try requesting less slots");
    job.is_single_node = false;
    bed_submit(&bed, &job);
    CHECK_EQ(bed.allocation[bed_run(&bed, 1)].shares, 2);
}

TEST(a_trial_whose_program_may_need_one_agent_waits_for_it_and_says_so)
{
    const struct wish script = {.slots = 2, .entrypoint = "model_def:Trial"};
    const struct wish wide = {.slots = 2, .entrypoint = "det launch torch_distributed"};
    BED(bed);

    bed_join(&bed, "a", 1);
    bed_join(&bed, "b", 1);
    bed_join(&bed, "c", 2);
    bed_submit(&bed, &script);
    CHECK_EQ(bed.allocation[bed_run(&bed, 1)].shares, 1);
    bed_submit(&bed, &script);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    CHECK(bed_logs(&bed, "Trial 2 (Experiment 2) waits until one agent of pool "
                         "'compute' has 2 free slots; with resources.is_single_node: "
                         "false"));
    bed_submit(&bed, &wide);
    CHECK_EQ(bed.allocation[bed_run(&bed, 3)].shares, 2);
}

TEST(a_trial_is_spread_if_no_agent_is_large_enough_for_it)
{
    BED(bed);

    bed_join(&bed, "a", 1);
    bed_join(&bed, "b", 1);
    bed_submit(&bed, &(struct wish){.slots = 2, .entrypoint = "model_def:Trial"});
    CHECK_EQ(bed.allocation[bed_run(&bed, 1)].shares, 2);
    CHECK_EQ(bed_try_submit(
                 &bed, &(struct wish){.slots = 2, .entrypoint = "det launch mpi x"}),
             DET_INVALID);
    CHECK_HAS(bed.err.text, "resources.is_single_node");
}

TEST(a_refused_submission_leaves_no_trace)
{
    BED(bed);
    bed_join(&bed, "a", 8);

    CHECK_EQ(bed_try_submit(
                 &bed, &(struct wish){.slots = 1, .searcher = "{\"name\":\"oracle\"}"}),
             DET_UNSUPPORTED);

    CHECK_EQ(bed_submit(&bed, &(struct wish){.slots = 1}), 1);
}

TEST(a_warning_is_in_the_log_of_the_first_trial_only)
{
    struct wish wish = {.slots = 1,
                        .is_paused = true,
                        .searcher = "{\"name\":\"random\",\"metric\":\"acc\","
                                    "\"max_trials\":2,\"max_concurrent_trials\":2}"};
    uint32_t logged = 0;
    BED(bed);

    bed_join(&bed, "a", 8);
    bed_submit(&bed, &wish);
    CHECK(!bed_logs(&bed, "warning"));
    wish.warning = "larger values are better";
    bed_submit(&bed, &wish);
    CHECK(bed_logs(&bed, "warning: larger values are better"));
    for (uint32_t i = 0; i < bed.out.count; i++)
        logged += bed.out.effect[i].kind == EFFECT_TASK_LOG;
    CHECK_EQ(logged, 1);
}

TEST(trials_of_a_paused_experiment_exist_and_ask_for_nothing)
{
    BED(bed);
    bed_join(&bed, "a", 8);

    bed_submit(&bed, &(struct wish){.slots = 1, .is_paused = true});
    CHECK_EQ(bed.trial[1].state, TRIAL_PAUSED);
    CHECK_EQ(bed_count(&bed, EFFECT_PUT_ALLOCATION), 0);
    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_OK);

    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(rows_are_written_once_an_event_and_in_an_order_that_fits)
{
    BED(bed);
    int at[32];
    int count = 0;
    static const int expected[] = {EFFECT_ADD_EXPERIMENT, EFFECT_ADD_TRIAL,
                                   EFFECT_PUT_ALLOCATION, EFFECT_PUT_SHARE};

    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 1});

    for (uint32_t i = 0; i < bed.out.count; i++)
        for (size_t k = 0; k < ARRAY_LEN(expected); k++)
            if ((int)bed.out.effect[i].kind == expected[k])
                at[count++] = expected[k];
    CHECK_EQ(count, ARRAY_LEN(expected));
    CHECK(!memcmp(at, expected, sizeof(expected)));
    CHECK_EQ(bed_count(&bed, EFFECT_PUT_EXPERIMENT), 0);
    CHECK_EQ(bed_count(&bed, EFFECT_PUT_TRIAL), 0);
    CHECK_STR(bed.out.effect[0].experiment.name, "test");
    CHECK_HAS(bed.out.effect[0].experiment.row.config, "slots_per_trial");
}

TEST(a_paused_experiment_that_is_canceled_ends_at_once)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed,
               &(struct wish){.searcher = RANDOM(5, 3), .slots = 1, .is_paused = true});

    CHECK_EQ(bed_act(&bed, 1, ACTION_CANCEL), DET_OK);

    for (int i = 1; i <= 3; i++)
        CHECK_EQ(bed.trial[i].state, TRIAL_CANCELED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_CANCELED);
    CHECK_EQ(bed.trial[4].id, 0); /* a search that is stopped gets no new trials */
}

static int64_t duration_s(const struct bed *bed)
{
    const struct experiment *row = &bed->experiment[1];

    return work_time_us(&(struct work_span)WORK_SPAN(row), bed->now_us) / SECOND_US;
}

TEST(the_duration_of_an_experiment_does_not_count_its_pauses)
{
    int64_t stopped_us;
    BED(bed);

    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 1, .is_paused = true});

    bed.now_us += 100 * (int64_t)SECOND_US;
    CHECK_EQ(duration_s(&bed), 0);
    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_OK);
    bed.now_us += 10 * (int64_t)SECOND_US;
    CHECK_EQ(duration_s(&bed), 10);
    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed.now_us += 1000 * (int64_t)SECOND_US;
    CHECK_EQ(duration_s(&bed), 10);
    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_OK);
    bed.now_us += 5 * (int64_t)SECOND_US;
    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_OK);
    bed.now_us += 1000 * (int64_t)SECOND_US;
    stopped_us = bed.now_us;
    CHECK_EQ(bed_act(&bed, 1, ACTION_KILL), DET_OK);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_KILLED);
    CHECK_EQ(bed.experiment[1].state, EXPERIMENT_CANCELED);
    bed.now_us += 1000 * (int64_t)SECOND_US;
    CHECK_EQ(duration_s(&bed),
             15 + (bed.experiment[1].end_us - stopped_us) / SECOND_US);
}

TEST(actions_that_make_no_sense_are_refused)
{
    BED(bed);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 1});
    bed_start(&bed, 1);

    CHECK_EQ(bed_act(&bed, 7, ACTION_PAUSE), DET_NOT_FOUND);
    CHECK_EQ(bed_act(&bed, 1, ACTION_KILL), DET_OK);
    CHECK_EQ(bed_act(&bed, 1, ACTION_ACTIVATE), DET_STATE);
    CHECK_HAS(bed.err.text, "STOPPING_KILLED");
    CHECK_EQ(bed_act(&bed, 1, ACTION_CANCEL), DET_OK); /* it stops already */
    CHECK_EQ(bed.out.count, 0);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_KILLED);
    CHECK_EQ(bed_act(&bed, 1, ACTION_PAUSE), DET_STATE);
    CHECK_HAS(bed.err.text, "experiment 1 has ended");
}

TEST(an_experiment_is_an_error_only_when_all_trials_failed)
{
    for (int failures = 1; failures <= 2; failures++) {
        BED(bed);
        bed_join(&bed, "a", 8);
        bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});

        bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_FAILED);
        CHECK_EQ(bed.experiment[1].state, EXPERIMENT_ACTIVE);
        bed_exit(&bed, bed_run(&bed, 2), 0, failures == 2 ? EXIT_FAILED : EXIT_CLEAN);

        CHECK_EQ(bed.experiment[1].state,
                 failures == 2 ? EXPERIMENT_ERROR : EXPERIMENT_COMPLETED);
    }
}

TEST(an_experiment_is_canceled_only_when_all_trials_were)
{
    for (int kills = 1; kills <= 2; kills++) {
        BED(bed);
        bed_join(&bed, "a", 8);
        bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});

        for (int i = 1; i <= 2; i++) {
            if (i <= kills)
                bed_kill_trial(&bed, i);
            bed_exit(&bed, bed_run(&bed, i), 0, i <= kills ? EXIT_KILLED : EXIT_CLEAN);
        }

        CHECK_EQ(bed.experiment[1].state,
                 kills == 2 ? EXPERIMENT_CANCELED : EXPERIMENT_COMPLETED);
    }
}

static struct core_event resources(const char *pool, int64_t priority)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_RESOURCES};

    event.resources.experiment_id = 1;
    event.resources.priority = priority;
    event.resources.max_slots = -2;
    event.resources.resource_pool = pool;
    return event;
}

TEST(another_pool_means_another_run_there)
{
    BED(bed);
    struct core_event event = resources("aux", 0);
    int64_t run;

    bed_join(&bed, "a", 8);
    CHECK_EQ(bed_join_with(&bed, "b", "aux", 8, NULL), DET_OK);
    bed_submit(&bed, &(struct wish){.slots = 1});
    run = bed_start(&bed, 1);

    bed_do(&bed, &event);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);

    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_STR(core_allocation(bed.core, bed_run(&bed, 1))->resource_pool, "aux");
    CHECK_EQ(bed_run_state(&bed, 1), ALLOCATION_ASSIGNED);
}

TEST(a_waiting_run_moves_to_another_pool_at_once)
{
    BED(bed);
    struct core_event event = resources("aux", 0);

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    CHECK_EQ(bed_join_with(&bed, "b", "aux", 8, NULL), DET_OK);

    bed_do(&bed, &event);

    CHECK_EQ(bed.trial[2].run_id, 2);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_ASSIGNED);
}

TEST(a_better_priority_passes_others_in_the_queue)
{
    BED(bed);
    struct core_event event = resources(NULL, 1);

    event.resources.experiment_id = 3;
    bed_join(&bed, "a", 1);
    for (int i = 0; i < 3; i++)
        bed_submit(&bed, &(struct wish){.slots = 1});
    bed_do(&bed, &event);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_CLEAN);

    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
    CHECK_EQ(bed_run_state(&bed, 3), ALLOCATION_ASSIGNED);
    event.resources.priority = 100;
    CHECK_EQ(bed_try(&bed, &event), DET_INVALID);
}

TEST(an_entry_of_the_journal_is_applied_once_and_none_is_skipped)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_SHARE_EXITED, .journal_seq = 1};

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1, .max_restarts = 5});
    event.share_exited.allocation_id = 1;
    event.share_exited.exit = EXIT_FAILED;

    bed_do(&bed, &event);
    CHECK_EQ(bed.trial[1].restarts, 1);
    bed_do(&bed, &event);
    CHECK_EQ(bed.out.count, 0);
    event.journal_seq = 3;
    CHECK_EQ(bed_try(&bed, &event), DET_CORRUPT);
    CHECK_HAS(bed.err.text, "entry 3 of the journal came after entry 1");
}

TEST(many_inputs_make_a_snapshot)
{
    CLEANUP(bed_done) struct bed bed = {0};
    uint32_t snapshots = 0;

    bed_init(&bed);
    bed.config.snapshot_every = 4;
    bed_open(&bed);
    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1});
    for (int i = 0; i < 10; i++) {
        bed_validate(&bed, 1, 1, "{\"loss\":0.5}");
        snapshots += bed_count(&bed, EFFECT_PUT_SNAPSHOT);
        if (bed_count(&bed, EFFECT_PUT_SNAPSHOT))
            CHECK_EQ(bed.experiment[1].snapshot_seq, bed.experiment[1].search_seq);
    }

    CHECK_EQ(snapshots, 3); /* 12 inputs: start, created, ten validations */
}

TEST(an_unmanaged_experiment_only_takes_numbers)
{
    BED(bed);
    const struct experiment row = {.state = EXPERIMENT_ACTIVE, .config = "{}"};
    struct trial trial = {.experiment_id = 1, .state = TRIAL_ACTIVE, .hparams = "{}"};
    struct core_event event = {.kind = EVENT_UNMANAGED_EXPERIMENT};

    event.unmanaged.row = &row;
    event.unmanaged.external_id = "far";
    CHECK_OK(bed_try(&bed, &event));
    CHECK_EQ(bed.out.id, 1);
    CHECK(core_experiment(bed.core, 1) == NULL);
    event = (struct core_event){.kind = EVENT_UNMANAGED_TRIAL};
    event.unmanaged_trial = &trial;
    CHECK_OK(bed_try(&bed, &event));
    CHECK_EQ(bed.out.id, 1);
    CHECK(core_trial(bed.core, 1) == NULL);
    bed_join(&bed, "a", 8);
    bed_submit(&bed, &(struct wish){.slots = 1});
    CHECK(core_experiment(bed.core, 2) != NULL);
    CHECK(core_trial(bed.core, 2) != NULL);
}
