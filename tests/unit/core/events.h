/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - events that a test sends to the core of a bed, one function each. */
#ifndef TESTS_UNIT_CORE_EVENTS_H
#define TESTS_UNIT_CORE_EVENTS_H

#include "tests/unit/core/fixture.h"

static inline det_status bed_join_with(struct bed *bed, const char *name,
                                       const char *pool, int64_t slots,
                                       const char *task)
{
    struct core_event event = {.kind = EVENT_AGENT_JOINED};

    event.agent_joined.name = name;
    event.agent_joined.resource_pool = pool;
    event.agent_joined.devices = "[]";
    event.agent_joined.addresses = "[]";
    event.agent_joined.slots = slots;
    event.agent_joined.boot_id = "boot";
    event.agent_joined.version = "0.1.0";
    event.agent_joined.tasks = &task;
    event.agent_joined.task_count = task != NULL;
    return bed_try(bed, &event);
}

/* An agent with the given instance and boot id. */
static inline det_status bed_join_as(struct bed *bed, const char *name,
                                     const char *instance, const char *boot_id)
{
    struct core_event event = {.kind = EVENT_AGENT_JOINED};

    event.agent_joined.name = name;
    event.agent_joined.resource_pool = "compute";
    event.agent_joined.devices = "[]";
    event.agent_joined.addresses = "[]";
    event.agent_joined.slots = 1;
    event.agent_joined.boot_id = boot_id;
    event.agent_joined.version = "0.1.0";
    event.agent_joined.instance = instance;
    return bed_try(bed, &event);
}

static inline void bed_join(struct bed *bed, const char *name, int64_t slots)
{
    CHECK_EQ(bed_join_with(bed, name, "compute", slots, NULL), DET_OK);
}

struct wish {
    const char *searcher; /* NULL: single */
    int slots;            /* per trial */
    int priority;
    int max_restarts;
    int preemption_timeout_s; /* 0: the cluster's */
    bool is_single_node;
    const char *entrypoint; /* not NULL: it decides how many agents a trial may use */
    bool is_paused;
    const char *pool;
    const char *warning;
    const char *seeds; /* NULL: {"experiment_seed":1} */
};

static inline det_status bed_try_submit(struct bed *bed, const struct wish *wish)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_SUBMITTED};
    const char *entrypoint = wish->entrypoint ? wish->entrypoint : "./train.sh";
    const char *single_node = wish->is_single_node ? "true" : "false";
    char *text = bed->text;

    snprintf(
        text, sizeof(bed->text),
        "{\"name\":\"test\",\"entrypoint\":\"%s\",\"searcher\":%s,\"hyperparameters\":{"
        "\"x\":{\"type\":"
        "\"int\",\"minval\":1,\"maxval\":3,\"count\":3}},\"checkpoint_storage\":"
        "{\"type\":\"shared_fs\"},\"max_restarts\":%d,\"preemption_timeout\":%d,"
        "\"resources\":{\"slots_per_trial\":%d,\"priority\":%d,\"is_single_node\":%s,"
        "\"resource_pool\":\"%s\"},\"reproducibility\":%s}",
        entrypoint,
        wish->searcher ? wish->searcher : "{\"name\":\"single\",\"metric\":\"loss\"}",
        wish->max_restarts,
        wish->preemption_timeout_s ? wish->preemption_timeout_s : -1, wish->slots,
        wish->priority, wish->entrypoint ? "null" : single_node,
        wish->pool ? wish->pool : "",
        wish->seeds ? wish->seeds : "{\"experiment_seed\":1}");
    event.submitted.job_id = "job";
    event.submitted.config = text;
    event.submitted.original_config = "name: test\n";
    event.submitted.name = "test";
    event.submitted.warm_start = "warm";
    event.submitted.warning = wish->warning;
    event.submitted.activate = !wish->is_paused;
    return bed_try(bed, &event);
}

/* Returns its id. */
static inline int64_t bed_submit(struct bed *bed, const struct wish *wish)
{
    det_status st = bed_try_submit(bed, wish);

    if (st)
        fail_msg("submit: %s", bed->err.text);
    return bed->out.id;
}

static inline det_status bed_act(struct bed *bed, int64_t id, enum experiment_action to)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_ACTION};

    event.action.experiment_id = id;
    event.action.action = to;
    return bed_try(bed, &event);
}

static inline void bed_state(struct bed *bed, int64_t allocation, int64_t rank,
                             enum allocation_state state)
{
    struct core_event event = {.kind = EVENT_SHARE_STATE};

    event.share_state.allocation_id = allocation;
    event.share_state.rank = rank;
    event.share_state.state = state;
    bed_do(bed, &event);
}

/* At once: a run that has just begun ends too soon. */
static inline void bed_exit_now(struct bed *bed, int64_t allocation, int64_t rank,
                                enum exit_kind exit)
{
    struct core_event event = {.kind = EVENT_SHARE_EXITED,
                               .journal_seq = ++bed->journal_seq};

    event.share_exited.allocation_id = allocation;
    event.share_exited.rank = rank;
    event.share_exited.exit = exit;
    event.share_exited.code = exit == EXIT_FAILED ? 3 : exit == EXIT_KILLED ? 137 : 0;
    bed_do(bed, &event);
}

/* After a while: the end does not come too soon. */
static inline void bed_exit(struct bed *bed, int64_t allocation, int64_t rank,
                            enum exit_kind exit)
{
    bed->now_us += 10 * SECOND_US;
    bed_exit_now(bed, allocation, rank, exit);
}

static inline void bed_validate(struct bed *bed, int64_t trial, int64_t run,
                                const char *metrics)
{
    struct core_event event = {.kind = EVENT_VALIDATED,
                               .journal_seq = ++bed->journal_seq};

    event.validated.trial_id = trial;
    event.validated.run_id = run;
    event.validated.steps = 1;
    event.validated.metrics = metrics;
    bed_do(bed, &event);
}

static inline void bed_checkpoint(struct bed *bed, int64_t trial, int64_t run,
                                  const char *uuid, int64_t steps)
{
    struct core_event event = {.kind = EVENT_CHECKPOINTED,
                               .journal_seq = ++bed->journal_seq};

    event.checkpointed.trial_id = trial;
    event.checkpointed.run_id = run;
    event.checkpointed.uuid = uuid;
    event.checkpointed.steps = steps;
    bed_do(bed, &event);
}

static inline void bed_acknowledge(struct bed *bed, int64_t allocation)
{
    struct core_event event = {.kind = EVENT_PREEMPT_ACKNOWLEDGED};

    event.preempt.allocation_id = allocation;
    bed_do(bed, &event);
}

static inline void bed_agent(struct bed *bed, enum core_event_kind kind,
                             const char *name)
{
    struct core_event event = {.kind = kind};

    event.agent.name = name;
    bed_do(bed, &event);
}

/* Silent for too long. */
static inline void bed_lose(struct bed *bed, const char *name)
{
    bed_agent(bed, EVENT_AGENT_SILENT, name);
    bed->now_us += 25 * SECOND_US;
    bed_do(bed, &(struct core_event){.kind = EVENT_TICK});
}

static inline void bed_kill_trial(struct bed *bed, int64_t trial)
{
    struct core_event event = {.kind = EVENT_TRIAL_KILL};

    event.trial_kill.trial_id = trial;
    bed_do(bed, &event);
}

static inline void bed_wait(struct bed *bed, int64_t seconds)
{
    bed->now_us += seconds * SECOND_US;
    bed_do(bed, &(struct core_event){.kind = EVENT_TICK});
}

/* All shares of the trial's run have started their program. */
static inline int64_t bed_start(struct bed *bed, int64_t trial)
{
    int64_t run = bed_run(bed, trial);

    for (int64_t i = 0; i < bed->allocation[run].shares; i++)
        bed_state(bed, run, i, ALLOCATION_RUNNING);
    return run;
}

/* ---- jobs ------------------------------------------------------------------------ */

static inline det_status bed_try_job(struct bed *bed, const struct job *row)
{
    struct core_event event = {.kind = EVENT_JOB_SUBMITTED};
    struct job job = *row;

    job.task_id = row->task_id ? row->task_id : "uuid";
    if (!job.preemption_timeout_us)
        job.preemption_timeout_us = 10 * SECOND_US;
    event.job_submitted.row = &job;
    event.job_submitted.name = "infer";
    event.job_submitted.config = "{}";
    return bed_try(bed, &event);
}

static inline int64_t bed_submit_job(struct bed *bed, const struct job *row)
{
    det_status st = bed_try_job(bed, row);

    if (st)
        fail_msg("job: %s", bed->err.text);
    return bed->out.id;
}

static inline det_status bed_act_on_job(struct bed *bed, int64_t id,
                                        enum experiment_action action)
{
    struct core_event event = {.kind = EVENT_JOB_ACTION};

    event.job_action.job_id = id;
    event.job_action.action = action;
    return bed_try(bed, &event);
}

/* All shares of the job's run have started their program. */
static inline int64_t bed_start_job(struct bed *bed, int64_t job)
{
    int64_t run = bed->job_run[job];

    for (int64_t i = 0; i < bed->allocation[run].shares; i++)
        bed_state(bed, run, i, ALLOCATION_RUNNING);
    return run;
}

#define RANDOM(trials, at_once)                                                        \
    "{\"name\":\"random\",\"metric\":\"loss\",\"max_trials\":" #trials                 \
    ",\"max_concurrent_trials\":" #at_once "}"

#endif
