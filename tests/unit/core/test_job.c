/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/core_view.h"
#include "tests/unit/core/events.h"

static const struct job one_slot = {.slots = 1, .is_pausable = true};

static int64_t running(struct bed *bed)
{
    int64_t id;

    bed_join(bed, "a", 2);
    id = bed_submit_job(bed, &one_slot);
    bed_start_job(bed, id);
    return id;
}

TEST(a_job_is_placed_like_a_trial_and_runs_once)
{
    BED(bed);
    int64_t id = running(&bed);
    int64_t run = bed.job_run[id];

    CHECK_EQ(bed.allocation[run].state, ALLOCATION_RUNNING);
    CHECK_EQ(bed.allocation[run].job_id, id);
    CHECK_EQ(bed.allocation[run].trial_id, 0);
    CHECK_EQ(bed.allocation[run].slots, 1);
    CHECK(core_allocation_named(bed.core, "uuid.1") != NULL);
    CHECK_EQ(bed.job[id].priority, 42);
    CHECK_EQ(bed.job[id].state, JOB_ACTIVE);

    bed_exit(&bed, run, 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].state, JOB_COMPLETED);
    CHECK_EQ(bed.job[id].end_us, bed.now_us);
    CHECK(core_job(bed.core, id) == NULL);
    CHECK_EQ(bed_count(&bed, EFFECT_START), 0);
    CHECK(bed_logs(&bed, "Job uuid was terminated: it finished"));
}

TEST(a_job_that_fails_is_not_tried_again)
{
    BED(bed);
    int64_t id = running(&bed);

    bed_exit(&bed, bed.job_run[id], 0, EXIT_FAILED);
    CHECK_EQ(bed.job[id].state, JOB_ERROR);
    CHECK_EQ(bed.allocation[bed.job_run[id]].exit_code, 3);
    CHECK_EQ(bed.job[id].run_id, 1);
}

TEST(a_job_whose_machine_was_lost_begins_again)
{
    BED(bed);
    int64_t id = running(&bed);

    bed_lose(&bed, "a");
    CHECK_EQ(bed.job[id].state, JOB_ACTIVE);
    CHECK_EQ(bed.job[id].run_id, 2);
    CHECK(bed_logs(&bed, "begins again from its start"));
}

TEST(a_job_is_paused_and_begins_again)
{
    BED(bed);
    int64_t id = running(&bed);
    int64_t run = bed.job_run[id];

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed.job[id].state, JOB_STOPPING_PAUSED);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].state, JOB_PAUSED);
    CHECK_EQ(bed.job[id].end_us, 0);

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_ACTIVATE), DET_OK);
    CHECK_EQ(bed.job[id].state, JOB_ACTIVE);
    CHECK_EQ(bed.job[id].run_id, 2);
    bed_exit(&bed, bed_start_job(&bed, id), 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].state, JOB_COMPLETED);
}

TEST(a_job_that_does_not_hear_that_it_must_stop_is_killed_in_time)
{
    BED(bed);
    int64_t id = running(&bed);

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    bed_wait(&bed, 10);
    CHECK_EQ(bed_count(&bed, EFFECT_KILL), 1);
    bed_exit(&bed, bed.job_run[id], 0, EXIT_KILLED);
    CHECK_EQ(bed.job[id].state, JOB_PAUSED);
}

TEST(a_job_that_ends_with_0_because_it_was_killed_has_not_finished)
{
    BED(bed);
    int64_t id = running(&bed);

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    bed_wait(&bed, 10);
    bed_exit(&bed, bed.job_run[id], 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].state, JOB_PAUSED);
}

TEST(a_waiting_job_is_paused_at_once)
{
    BED(bed);
    int64_t first = running(&bed);
    int64_t id = bed_submit_job(
        &bed, &(struct job){.task_id = "other", .slots = 2, .is_pausable = true});

    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_PENDING);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed.job[id].state, JOB_PAUSED);
    bed_exit(&bed, bed.job_run[first], 0, EXIT_CLEAN);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_KILL), DET_OK);
    CHECK_EQ(bed.job[id].state, JOB_CANCELED);
}

TEST(a_job_that_finishes_while_it_is_to_pause_has_finished)
{
    BED(bed);
    int64_t id = running(&bed);

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    bed_exit(&bed, bed.job_run[id], 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].state, JOB_COMPLETED);
}

TEST(a_job_unpaused_before_it_stopped_runs_again)
{
    BED(bed);
    int64_t id = running(&bed);
    int64_t run = bed.job_run[id];

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_OK);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_ACTIVATE), DET_OK);
    CHECK_EQ(bed.job_run[id], run);
    bed_acknowledge(&bed, run);
    bed_exit(&bed, run, 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].state, JOB_ACTIVE);
    CHECK_EQ(bed.job[id].run_id, 2);
}

TEST(a_job_is_killed)
{
    BED(bed);
    int64_t id = running(&bed);

    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_KILL), DET_OK);
    CHECK_EQ(bed.job[id].state, JOB_STOPPING_CANCELED);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_KILL), DET_OK);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_STATE);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_ACTIVATE), DET_STATE);
    bed_exit(&bed, bed.job_run[id], 0, EXIT_KILLED);
    CHECK_EQ(bed.job[id].state, JOB_CANCELED);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_KILL), DET_STATE);
    CHECK(strstr(bed.err.text, "has ended"));
    CHECK_EQ(bed_act_on_job(&bed, 9, ACTION_KILL), DET_NOT_FOUND);
}

TEST(a_job_made_not_to_be_paused_is_not)
{
    BED(bed);
    int64_t id;

    bed_join(&bed, "a", 1);
    id = bed_submit_job(&bed, &(struct job){.slots = 1});
    bed_start_job(&bed, id);
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_PAUSE), DET_STATE);
    CHECK(strstr(bed.err.text, "cannot be paused"));
    CHECK_EQ(bed_act_on_job(&bed, id, ACTION_CANCEL), DET_INVALID);
}

TEST(a_job_that_no_pool_can_place_is_refused)
{
    BED(bed);

    bed_join(&bed, "a", 1);
    CHECK_EQ(bed_try_job(&bed, &(struct job){.slots = 3}), DET_INVALID);
    CHECK(strstr(bed.err.text, "exceeds cluster capacity: 3 are wanted"));
    CHECK_EQ(bed_try_job(&bed, &(struct job){.slots = 1, .resource_pool = "none"}),
             DET_INVALID);
    CHECK_EQ(bed_try_job(&bed, &(struct job){.slots = 1, .priority = 100}),
             DET_INVALID);
    CHECK_EQ(bed_try_job(&bed, &(struct job){.slots = -1}), DET_INVALID);
}

TEST(jobs_wait_for_trials_and_trials_for_jobs)
{
    BED(bed);
    int64_t id;

    bed_join(&bed, "a", 1);
    bed_submit(&bed, &(struct wish){.slots = 1, .priority = 10});
    bed_start(&bed, 1);
    id = bed_submit_job(&bed, &one_slot);
    bed_submit(&bed, &(struct wish){.slots = 1, .priority = 50});
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_PENDING);
    bed_exit(&bed, bed_run(&bed, 1), 0, EXIT_CLEAN);
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_ASSIGNED);
    CHECK_EQ(bed_run_state(&bed, 2), ALLOCATION_PENDING);
}

TEST(a_job_moves_in_the_queue_and_between_pools)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_JOB_RESOURCES};
    int64_t id = running(&bed);

    CHECK_EQ(bed_join_with(&bed, "b", "aux", 1, NULL), DET_OK);
    event.resources.job_id = id;
    event.resources.priority = 7;
    event.resources.weight = 2;
    event.resources.max_slots = -2;
    bed_do(&bed, &event);
    CHECK_EQ(bed.job[id].priority, 7);
    CHECK(bed.job[id].weight == 2);
    event.resources.priority = 0;
    event.resources.resource_pool = "aux";
    bed_do(&bed, &event);
    CHECK_EQ(bed_count(&bed, EFFECT_PREEMPT), 1);
    bed_acknowledge(&bed, bed.job_run[id]);
    bed_exit(&bed, bed.job_run[id], 0, EXIT_CLEAN);
    CHECK_EQ(bed.job[id].run_id, 2);
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_ASSIGNED);
    event.resources.resource_pool = "none";
    CHECK_EQ(bed_try(&bed, &event), DET_INVALID);
    event.resources.job_id = 5;
    CHECK_EQ(bed_try(&bed, &event), DET_NOT_FOUND);
}

TEST(a_job_made_not_to_be_paused_changes_its_pool_only_while_it_waits)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_JOB_RESOURCES};
    const struct job unpausable = {.slots = 1};
    int64_t id;

    bed_join(&bed, "a", 1);
    CHECK_EQ(bed_join_with(&bed, "b", "aux", 1, NULL), DET_OK);
    id = bed_submit_job(&bed, &unpausable);
    bed_start_job(&bed, id);
    event.resources.job_id = id;
    event.resources.max_slots = -2;
    event.resources.resource_pool = "aux";
    CHECK_EQ(bed_try(&bed, &event), DET_STATE);
    CHECK(strstr(bed.err.text, "cannot be paused"));
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_RUNNING);
    event.resources.resource_pool = "compute";
    bed_do(&bed, &event);
    event.resources.resource_pool = NULL;
    event.resources.priority = 7;
    bed_do(&bed, &event);
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_RUNNING);

    id = bed_submit_job(&bed, &(struct job){.task_id = "other", .slots = 1});
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_PENDING);
    event.resources.job_id = id;
    event.resources.resource_pool = "aux";
    bed_do(&bed, &event);
    CHECK_EQ(bed.allocation[bed.job_run[id]].state, ALLOCATION_ASSIGNED);
}

TEST(a_run_of_a_job_that_somebody_killed_comes_again)
{
    BED(bed);
    struct core_event event = {.kind = EVENT_RUN_KILL};
    int64_t id = running(&bed);

    event.run_kill.allocation_id = bed.job_run[id];
    bed_do(&bed, &event);
    bed_exit(&bed, bed.job_run[id], 0, EXIT_KILLED);
    CHECK_EQ(bed.job[id].state, JOB_ACTIVE);
    CHECK_EQ(bed.job[id].run_id, 2);
}

TEST(a_submission_without_memory_is_a_failure_and_nothing_else)
{
    EACH_ALLOCATION_FAILS() {
        struct bed bed = {0};
        struct core_event event = {.kind = EVENT_JOB_SUBMITTED};
        struct job job = {.task_id = "uuid", .is_pausable = true};
        det_status st;

        bed_init(&bed);
        event.job_submitted.row = &job;
        bed.out = (struct core_out){.mem = &bed.mem};
        st = core_new(&bed.config, &bed.core, &test_err);
        if (!st)
            st = core_apply(bed.core, &event, bed.now_us, &bed.out, &test_err);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        core_free(bed.core);
        arena_done(&bed.mem);
    }
}
