/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - the trial or job of an allocation.
 *
 * A task asks for slots, is run, stopped and run again; allocation.c and plan.c know
 * nothing else of it.  A trial is one kind, a job another: both hold a `struct
 * live_task`.  This file has everything in which they differ for a run.  To add a kind:
 * a record with such a part, and a line in each function below. */
#include "core/task.h"

#include <assert.h>
#include <inttypes.h>

#include "core/core_impl.h"

static struct live_trial *trial_of(const struct live_task *task)
{
    assert(task->kind == LIVE_TRIAL);
    return CONTAINER_OF((struct live_task *)task, struct live_trial, task);
}

static struct live_job *job_of(const struct live_task *task)
{
    assert(task->kind == LIVE_JOB);
    return CONTAINER_OF((struct live_task *)task, struct live_job, task);
}

struct task_need task_need(const struct live_task *task)
{
    const struct live_experiment *experiment;
    const struct job *job;

    if (task->kind == LIVE_JOB) {
        job = &job_of(task)->row;
        return (struct task_need){
            .pool = job->resource_pool,
            .slots = (uint32_t)job->slots,
            .priority = (uint32_t)job->priority,
            .position = job->submitted_us,
            .is_preemptible = job->is_pausable,
            .is_single_node = job->is_single_node,
            .group = {.id = -job->id, .weight = job->weight},
            .preemption_timeout_us = job->preemption_timeout_us,
        };
    }
    experiment = trial_of(task)->experiment;
    return (struct task_need){
        .pool = experiment->row.resource_pool,
        .slots = experiment->slots,
        .priority = (uint32_t)experiment->row.priority,
        .position = experiment->row.submitted_us,
        .is_preemptible = true,
        .is_single_node = experiment->is_single_node,
        .prefers_single_node = experiment->prefers_single_node,
        .group = {.id = experiment->row.id,
                  .weight = experiment->row.weight,
                  .is_capped = experiment->row.max_slots >= 0,
                  /* a smaller cap is refused today, and was of no effect before */
                  .max_slots = (uint32_t)MIN(
                      MAX(experiment->row.max_slots, (int64_t)experiment->slots),
                      POOL_REQUEST_SLOTS_MOST)},
        .preemption_timeout_us = experiment->preemption_timeout_us,
    };
}

const char *task_title(struct core *core, const struct live_task *task)
{
    const struct trial *row;
    const char *title;

    if (task->kind == LIVE_JOB) {
        title = arena_printf(&core->scratch, "Job %s", task->id);
    } else {
        row = &trial_of(task)->row;
        title =
            arena_printf(&core->scratch, "Trial %" PRId64 " (Experiment %" PRId64 ")",
                         row->id, row->experiment_id);
    }
    if (!title)
        core_fail_memory(core);
    return title ? title : "";
}

int64_t task_run_id(const struct live_task *task)
{
    return task->kind == LIVE_JOB ? job_of(task)->row.run_id
                                  : trial_of(task)->row.run_id;
}

void task_begin_run(struct core *core, struct live_task *task, int64_t run_id,
                    struct allocation *ret_row)
{
    if (task->kind == LIVE_JOB) {
        struct live_job *job = job_of(task);

        job->row.run_id = run_id;
        ret_row->job_id = job->row.id;
        core_touch(core, &job->live);
    } else {
        struct live_trial *trial = trial_of(task);

        trial->row.run_id = run_id;
        ret_row->trial_id = trial->row.id;
        ret_row->experiment_id = trial->row.experiment_id;
        core_touch(core, &trial->live);
    }
}

void task_run_over(struct core *core, struct live_task *task,
                   const struct live_allocation *run)
{
    assert(task->allocation == run);
    task->allocation = NULL;
    if (task->kind == LIVE_JOB)
        job_run_over(core, job_of(task), run);
    else
        trial_run_over(core, trial_of(task), run);
}

bool task_can_work(const struct live_allocation *run)
{
    const struct live_trial *trial;

    if (run->task->kind == LIVE_JOB)
        return run->row.has_progressed;
    trial = CONTAINER_OF(run->task, const struct live_trial, task);
    /* From rows alone, earlier runs included: a restored core decides the same. */
    return !trial->row.lacks_metric &&
           (run->row.has_progressed || trial->row.is_metric_checked ||
            trial->row.latest_checkpoint || trial->row.progress > 0);
}

void task_fails_for_good(struct core *core, struct live_task *task)
{
    struct live_trial *trial;

    if (task->kind == LIVE_JOB) /* jobs have no restarts */
        return;
    trial = trial_of(task);
    trial->row.is_retry_cancelled = true;
    core_touch(core, &trial->live);
}

const char *task_late_reason(const struct live_task *task)
{
    if (task->kind == LIVE_TRIAL && trial_of(task)->row.has_invalid_hparams)
        return "its hyperparameters are invalid";
    return "it did not stop in the time it was given";
}

bool task_block(struct live_task *task, int64_t agent)
{
    for (size_t i = 0; i < task->blocked.count; i++)
        if (task->blocked.at[i] == agent)
            return true;
    return vec_push(&task->blocked, agent);
}
