/* SPDX-License-Identifier: Apache-2.0 */
/* test_continue.c - ended experiments go on. */
#include "base/fault.h"
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

/* The rows that the store would have. */
struct past {
    struct experiment row;
    struct trial trial[8];
    uint32_t count;
};

static const char *const task_ids[] = {"1.a", "1.b", "1.c", "1.d",
                                       "1.e", "1.f", "1.g", "1.h"};

static void read_past(const struct bed *bed, int64_t id, struct past *past)
{
    past->row = bed->experiment[id];
    past->row.job_id = "job";
    past->row.resource_pool = "compute";
    past->row.config = bed->text;
    past->row.original_config = "name: test\n";
    past->count = 0;
    for (int64_t i = 1; i < BED_IDS; i++) {
        struct trial *trial = &past->trial[past->count];

        if (bed->trial[i].experiment_id != id)
            continue;
        *trial = bed->trial[i];
        trial->request_id = "request";
        trial->task_id = task_ids[past->count];
        trial->hparams = "{\"x\":9}";
        trial->latest_checkpoint = trial->latest_checkpoint ? "saved" : NULL;
        trial->warm_start = "warm";
        trial->blocked_agents = NULL;
        past->count++;
    }
}

static det_status try_continue(struct bed *bed, const struct past *past)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_CONTINUED};

    event.continued.row = &past->row;
    event.continued.past = past->trial;
    event.continued.past_count = past->count;
    return bed_try(bed, &event);
}

static void go_on(struct bed *bed, int64_t id)
{
    struct past past;
    det_status st;

    read_past(bed, id, &past);
    st = try_continue(bed, &past);
    if (st)
        fail_msg("continue: %s", bed->err.text);
}

static void end_run(struct bed *bed, int64_t trial, enum exit_kind exit)
{
    bed_exit(bed, bed_start(bed, trial), 0, exit);
}

static int64_t live_trials(const struct bed *bed)
{
    int64_t count = 0;

    for (int64_t i = 1; i < BED_IDS; i++)
        count += core_trial(bed->core, i) != NULL;
    return count;
}

TEST(a_completed_trial_goes_on_from_its_latest_checkpoint)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    int64_t id = bed_submit(&bed, &(struct wish){.slots = 1, .max_restarts = 1});
    int64_t run = bed_start(&bed, 1);

    bed_checkpoint(&bed, 1, 1, "saved", 40);
    bed_exit(&bed, run, 0, EXIT_CLEAN);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_COMPLETED);
    CHECK(core_experiment(bed.core, id) == NULL);

    bed.now_us += SECOND_US;
    go_on(&bed, id);
    CHECK_EQ(bed_count(&bed, EFFECT_CONTINUE_EXPERIMENT), 1);
    CHECK_EQ(bed_count(&bed, EFFECT_PUT_EXPERIMENT), 0);
    CHECK_EQ(bed_count(&bed, EFFECT_ADD_TRIAL), 0);
    CHECK_EQ(bed_count(&bed, EFFECT_START), 1);
    CHECK(bed_logs(&bed, "is continued from checkpoint saved, after 40 batches"));
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_ACTIVE);
    CHECK_EQ(bed.experiment[id].end_us, 0);
    CHECK_EQ(bed.experiment[id].trials, 1);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    CHECK_EQ(bed.trial[1].run_id, 2);
    CHECK_EQ(bed.trial[1].end_us, 0);
    CHECK_STR(core_trial(bed.core, 1)->latest_checkpoint, "saved");
    CHECK_EQ(bed.trial[1].latest_steps, 40);

    end_run(&bed, 1, EXIT_CLEAN);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_COMPLETED);
    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
}

TEST(the_only_trial_of_a_search_takes_the_hyperparameters_of_the_new_configuration)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    int64_t id = bed_submit(&bed, &(struct wish){.slots = 1});

    end_run(&bed, 1, EXIT_CLEAN);
    go_on(&bed, id);
    CHECK(strcmp(core_trial(bed.core, 1)->hparams, "{\"x\":9}") != 0);
    CHECK(bed_logs(&bed, "is continued from the beginning"));
}

TEST(a_trial_that_failed_for_good_may_fail_again_as_often_as_configured)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    int64_t id = bed_submit(&bed, &(struct wish){.slots = 1, .max_restarts = 1});

    end_run(&bed, 1, EXIT_FAILED);
    end_run(&bed, 1, EXIT_FAILED);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_ERROR);
    go_on(&bed, id);
    CHECK_EQ(bed.trial[1].restarts, 0);
    end_run(&bed, 1, EXIT_FAILED);
    CHECK_EQ(bed.trial[1].state, TRIAL_ACTIVE);
    end_run(&bed, 1, EXIT_FAILED);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_ERROR);
}

TEST(what_is_not_over_or_not_there_is_not_continued)
{
    BED(bed);
    struct past past;

    bed_join(&bed, "a", 1);
    int64_t id = bed_submit(&bed, &(struct wish){.slots = 1});
    read_past(&bed, id, &past);
    CHECK_EQ(try_continue(&bed, &past), DET_STATE);
    CHECK(strstr(bed.err.text, "it is not over"));

    end_run(&bed, 1, EXIT_CLEAN);
    read_past(&bed, id, &past);
    past.row.state = EXPERIMENT_DELETING;
    CHECK_EQ(try_continue(&bed, &past), DET_STATE);
    CHECK(strstr(bed.err.text, "being deleted"));
    past.row.state = EXPERIMENT_COMPLETED;
    past.row.id = 7;
    CHECK_EQ(try_continue(&bed, &past), DET_NOT_FOUND);
    past.row.id = id;
    past.row.config = "{}";
    CHECK_EQ(try_continue(&bed, &past), DET_INVALID);
    past.row.config = bed.text;
    past.trial[0].state = TRIAL_ACTIVE;
    CHECK_EQ(try_continue(&bed, &past), DET_INVALID);
}

TEST(nobody_continues_it_twice)
{
    BED(bed);
    struct past past;

    bed_join(&bed, "a", 1);
    int64_t id = bed_submit(&bed, &(struct wish){.slots = 1});
    end_run(&bed, 1, EXIT_CLEAN);
    read_past(&bed, id, &past);
    CHECK_EQ(try_continue(&bed, &past), DET_OK);
    CHECK_EQ(try_continue(&bed, &past), DET_STATE);
}

TEST(a_complete_search_is_not_continued)
{
    BED(bed);
    struct past past;

    bed_join(&bed, "a", 2);
    int64_t id = bed_submit(&bed, &(struct wish){.searcher = RANDOM(2, 2), .slots = 1});
    end_run(&bed, 1, EXIT_CLEAN);
    end_run(&bed, 2, EXIT_CLEAN);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_COMPLETED);
    read_past(&bed, id, &past);
    CHECK_EQ(try_continue(&bed, &past), DET_STATE);
    CHECK(strstr(bed.err.text, "fork it instead"));
}

TEST(a_cancelled_search_goes_on_where_it_was)
{
    BED(bed);
    bed_join(&bed, "a", 2);
    int64_t id = bed_submit(&bed, &(struct wish){.searcher = RANDOM(4, 2), .slots = 1});

    end_run(&bed, 1, EXIT_CLEAN); /* now 2 and 3 run, and 4 is to come */
    CHECK_EQ(bed_act(&bed, id, ACTION_KILL), DET_OK);
    bed_exit(&bed, bed_run(&bed, 2), 0, EXIT_KILLED);
    bed_exit(&bed, bed_run(&bed, 3), 0, EXIT_KILLED);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_CANCELED);

    go_on(&bed, id);
    CHECK_EQ(live_trials(&bed), 2);
    CHECK_EQ(bed.trial[1].state, TRIAL_COMPLETED);
    CHECK_EQ(bed.trial[2].run_id, 2);
    CHECK_EQ(bed.trial[3].run_id, 2);
    CHECK_STR(core_trial(bed.core, 2)->hparams, "{\"x\":9}");
    end_run(&bed, 2, EXIT_CLEAN);
    CHECK_EQ(bed_count(&bed, EFFECT_ADD_TRIAL), 1);
    CHECK_EQ(bed.trial[4].number, 3);
    end_run(&bed, 3, EXIT_CLEAN);
    end_run(&bed, 4, EXIT_CLEAN);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_COMPLETED);
    CHECK_EQ(bed.experiment[id].trials, 4);
}

TEST(trials_that_exist_because_others_failed_are_not_forgotten)
{
    BED(bed);
    bed_join(&bed, "a", 1);
    int64_t id = bed_submit(&bed, &(struct wish){.searcher = RANDOM(3, 1), .slots = 1});

    end_run(&bed, 1, EXIT_FAILED);
    end_run(&bed, 2, EXIT_CLEAN);
    CHECK_EQ(bed_act(&bed, id, ACTION_KILL), DET_OK);
    bed_exit(&bed, bed_run(&bed, 3), 0, EXIT_KILLED);

    go_on(&bed, id); /* one at a time would be 1 only */
    CHECK_EQ(live_trials(&bed), 2);
    CHECK_EQ(bed_count(&bed, EFFECT_ADD_TRIAL), 0);
    end_run(&bed, 1, EXIT_CLEAN);
    end_run(&bed, 3, EXIT_CLEAN);
    CHECK_EQ(bed.experiment[id].state, EXPERIMENT_COMPLETED);
    CHECK_EQ(bed.experiment[id].trials, 3);
}

/* True while allocations failed. */
static bool continue_with_fault(int64_t nth)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_EXPERIMENT_CONTINUED};
    struct past past;
    bool has_fired;
    det_status st;

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1});
    end_run(&bed, 1, EXIT_CLEAN);
    read_past(&bed, 1, &past);
    event.continued.row = &past.row;
    event.continued.past = past.trial;
    event.continued.past_count = past.count;
    arena_clear(&bed.mem);
    bed.out = (struct core_out){.mem = &bed.mem};
    fault_arm(FAULT_MEMORY, nth);
    st = core_apply(bed.core, &event, bed.now_us, &bed.out, NULL);
    has_fired = fault_disarm(FAULT_MEMORY);
    CHECK_EQ(st, has_fired ? DET_NOMEM : DET_OK);
    return has_fired;
}

TEST(without_memory_continuing_is_an_error)
{
    int64_t nth = 1;

    while (continue_with_fault(nth))
        nth++;
    CHECK(nth > 10);
}
