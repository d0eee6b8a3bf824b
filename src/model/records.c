/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - the field tables of records.h. */
#include "model/records.h"

const char *const exit_kind_names[] = {"NONE",   "CLEAN",   "FAILED", "TRANSIENT",
                                       "KILLED", "LACKING", NULL};

const struct field experiment_fields[] = {
    FIELD(I64, experiment, id, "its number"),
    FIELD_AS_ENUM(experiment, state, experiment_state_names, "STATE_",
                  "where it stands"),
    FIELD(STR, experiment, job_id, "its entry in the job queue"),
    FIELD(I64, experiment, owner_id, "who submitted it"),
    FIELD(I64, experiment, project_id, "the project it belongs to"),
    FIELD(I64, experiment, parent_id, "the experiment it was forked from"),
    FIELD(JSON, experiment, config, "the complete configuration"),
    FIELD(STR, experiment, original_config, "the configuration as submitted"),
    FIELD(STR, experiment, resource_pool, "where its trials run"),
    FIELD(I64, experiment, priority, "1..99, lower first"),
    FIELD(F64, experiment, weight, "its share under fair share"),
    FIELD(I64, experiment, max_slots, "cap on its slots; -1: none"),
    FIELD(I64, experiment, submitted_us, "its place in the queue"),
    FIELD(I64, experiment, start_us, "when it was created"),
    FIELD(I64, experiment, end_us, "when it ended"),
    FIELD(F64, experiment, progress, "0..1"),
    FIELD(I64, experiment, trials, "trials created so far"),
    FIELD(I64, experiment, search_seq, "inputs given to the searcher"),
    FIELD(I64, experiment, snapshot_seq, "inputs in the last snapshot"),
    FIELD(I64, experiment, starter_id, "the user as whom its runs act"),
    FIELD(I64, experiment, paused_us, "how long it was paused, before"),
    FIELD(I64, experiment, paused_since_us, "since when it is; 0: it is not"),
    FIELD_END,
};

const struct field trial_fields[] = {
    FIELD(I64, trial, id, "its number"),
    FIELD(I64, trial, experiment_id, "the experiment it belongs to"),
    FIELD(I64, trial, number, "its number within the experiment"),
    FIELD_AS_ENUM(trial, state, trial_state_names, "STATE_", "where it stands"),
    FIELD(STR, trial, request_id, "the searcher's name for it"),
    FIELD(STR, trial, task_id, "its task"),
    FIELD(I64, trial, seed, "its random seed"),
    FIELD(JSON, trial, hparams, "its hyperparameters"),
    FIELD(I64, trial, restarts, "failures survived"),
    FIELD(I64, trial, run_id, "attempts so far"),
    FIELD(I64, trial, start_us, "when it was created"),
    FIELD(I64, trial, end_us, "when it ended"),
    FIELD(STR, trial, latest_checkpoint, "what it would resume from"),
    FIELD(I64, trial, latest_steps, "batches in that checkpoint"),
    FIELD(STR, trial, warm_start, "the checkpoint it began from"),
    FIELD(BOOL, trial, is_stopped_by_searcher, "the searcher wants no more of it"),
    FIELD(BOOL, trial, has_invalid_hparams, "it refused its hyperparameters"),
    FIELD(BOOL, trial, is_retry_cancelled, "a log policy forbids retries"),
    FIELD(JSON, trial, blocked_agents, "agents it must not use"),
    FIELD(F64, trial, progress, "how far it said it is, 0..1"),
    FIELD(BOOL, trial, is_metric_checked, "it has validated"),
    FIELD(BOOL, trial, lacks_metric, "without the searcher's metric"),
    FIELD_END,
};

const struct field job_fields[] = {
    FIELD(I64, job, id, "its number"),
    FIELD_AS_ENUM(job, state, job_state_names, "GENERIC_TASK_STATE_",
                  "where it stands"),
    FIELD(STR, job, task_id, "its task"),
    FIELD(I64, job, owner_id, "who submitted it"),
    FIELD(STR, job, resource_pool, "where it runs"),
    FIELD(I64, job, priority, "1..99, lower first"),
    FIELD(F64, job, weight, "its share under fair share"),
    FIELD(I64, job, slots, "slots it asks for"),
    FIELD(BOOL, job, is_single_node, "all of them on one agent"),
    FIELD(BOOL, job, is_pausable, "it may be stopped and begin again"),
    FIELD(I64, job, preemption_timeout_us, "how long it has to end when asked"),
    FIELD(I64, job, submitted_us, "its place in the queue"),
    FIELD(I64, job, start_us, "when it was created"),
    FIELD(I64, job, end_us, "when it ended"),
    FIELD(I64, job, run_id, "attempts so far"),
    FIELD_END,
};

#define ALLOCATION_PORT(at, name_, help_)                                              \
    {                                                                                  \
        .name = (name_), .help = (help_), .type = FIELD_I64,                           \
        .offset = offsetof(struct allocation, ports) + (at) * sizeof(int64_t)          \
    }

const struct field allocation_fields[] = {
    FIELD(I64, allocation, id, "its number"),
    FIELD(I64, allocation, trial_id, "the trial it runs"),
    FIELD(I64, allocation, experiment_id, "that trial's experiment"),
    FIELD(STR, allocation, task_id, "the task it runs"),
    FIELD(STR, allocation, name, "its id on the wire"),
    FIELD(I64, allocation, run_id, "which attempt it is"),
    FIELD_AS_ENUM(allocation, state, allocation_state_names, "STATE_",
                  "where it stands"),
    FIELD(STR, allocation, resource_pool, "where it runs"),
    FIELD(I64, allocation, slots, "slots it asked for"),
    FIELD(I64, allocation, request_us, "when it was asked for"),
    FIELD(I64, allocation, start_us, "when it got its slots"),
    FIELD(I64, allocation, end_us, "when it ended"),
    FIELD(BOOL, allocation, is_ready, "its entrypoint started"),
    FIELD(BOOL, allocation, is_preempted, "it was asked to stop"),
    FIELD(BOOL, allocation, is_acknowledged, "it said that it will"),
    FIELD(BOOL, allocation, is_killed, "its end was ordered"),
    FIELD(I64, allocation, preempt_deadline_us, "when it is killed after all"),
    FIELD_AS_ENUM(allocation, exit, exit_kind_names, "", "how it ended"),
    FIELD(I64, allocation, exit_code, "the code it ended with"),
    FIELD(STR, allocation, exit_reason, "the same as a sentence"),
    FIELD(I64, allocation, shares, "processes it consists of"),
    ALLOCATION_PORT(0, "port_ssh", "DTRAIN_SSH_PORT"),
    ALLOCATION_PORT(1, "port_comm_1", "INTER_TRAIN_PROCESS_COMM_PORT_1"),
    ALLOCATION_PORT(2, "port_comm_2", "INTER_TRAIN_PROCESS_COMM_PORT_2"),
    ALLOCATION_PORT(3, "port_c10d", "C10D_PORT"),
    FIELD(I64, allocation, job_id, "the job it runs"),
    FIELD(I64, allocation, quick_ends, "runs in a row that ended too soon before it"),
    FIELD(I64, allocation, retry_us, "until when it waits before it asks for slots"),
    FIELD(STR, allocation, wait_reason, "why it waits or waited"),
    FIELD(I64, allocation, avoided_agent, "an agent that lacked resources"),
    FIELD(BOOL, allocation, has_progressed, "it validated or saved a checkpoint"),
    FIELD_END,
};

const struct field share_fields[] = {
    FIELD(I64, share, allocation_id, "the allocation it is a part of"),
    FIELD(I64, share, rank, "0 is the chief"),
    FIELD(I64, share, agent_id, "where it runs"),
    FIELD(STR, share, agent, "that agent's name"),
    FIELD(STR, share, container_id, "its id on the wire"),
    FIELD(JSON, share, slots, "the slots it holds"),
    FIELD(BOOL, share, is_running, "its entrypoint started"),
    FIELD(BOOL, share, has_exited, "it is over"),
    FIELD_AS_ENUM(share, exit, exit_kind_names, "", "how it ended"),
    FIELD(I64, share, exit_code, "the code it ended with"),
    FIELD_END,
};

const struct field agent_fields[] = {
    FIELD(I64, agent, id, "its number"),
    FIELD(STR, agent, name, "its name"),
    FIELD(STR, agent, resource_pool, "the pool it serves"),
    FIELD(JSON, agent, devices, "what its slots are"),
    FIELD(JSON, agent, addresses, "where it can be reached"),
    FIELD(I64, agent, slots, "how many slots it offers"),
    FIELD(BOOL, agent, is_enabled, "whether it takes tasks"),
    FIELD(BOOL, agent, is_draining, "whether it lets running ones end"),
    FIELD(BOOL, agent, is_connected, "whether it is heard"),
    FIELD(JSON, agent, disabled_slots, "slots that take no tasks"),
    FIELD(STR, agent, boot_id, "this start of its machine"),
    FIELD(STR, agent, version, "its version of det"),
    FIELD(I64, agent, joined_us, "when it joined"),
    FIELD(I64, agent, silent_us, "since when nothing was heard"),
    FIELD(STR, agent, instance, "which of several that claim its name"),
    FIELD_END,
};

const struct field search_input_fields[] = {
    FIELD(I64, search_input, experiment_id, "whose searcher"),
    FIELD(I64, search_input, seq, "its place in the row of inputs"),
    {.name = "kind",
     .help = "what happened",
     .type = FIELD_ENUM,
     .offset = offsetof(struct search_input, kind),
     .names = (const char *const[]){"START", "CREATED", "VALIDATED", "EXITED",
                                    "PROGRESS", "REOPENED", NULL},
     .prefix = ""},
    FIELD(I64, search_input, trial, "to which trial"),
    {.name = "why",
     .help = "how that trial ended",
     .type = FIELD_ENUM,
     .offset = offsetof(struct search_input, why),
     .names =
         (const char *const[]){"DONE", "ERRORED", "CANCELED", "INVALID_HPARAMS", NULL},
     .prefix = ""},
    FIELD(F64, search_input, progress, "how far that trial is"),
    FIELD(JSON, search_input, metrics, "what it validated"),
    FIELD_END,
};

const struct field search_snapshot_fields[] = {
    FIELD(I64, search_snapshot, experiment_id, "whose searcher"),
    FIELD(I64, search_snapshot, seq, "how many inputs it contains"),
    FIELD(JSON, search_snapshot, state, "the searcher's state"),
    FIELD_END,
};

int64_t work_time_us(const struct work_span *span, int64_t now_us)
{
    int64_t until_us = span->end_us ? span->end_us : now_us;
    int64_t worked_us;

    if (!span->start_us)
        return 0;
    if (span->paused_since_us)
        until_us = span->paused_since_us;
    worked_us = until_us - span->start_us - span->paused_us;
    return worked_us > 0 ? worked_us : 0;
}
