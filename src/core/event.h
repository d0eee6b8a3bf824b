/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - the inputs of the core: what can happen to the platform.
 *
 * Events come from users (through the API), from tasks (through the journal: these
 * carry a journal number and are applied exactly once), from agents and from the clock.
 * The core borrows their strings until core_apply() returns. */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/records.h"

enum core_event_kind {
    EVENT_EXPERIMENT_SUBMITTED,
    EVENT_EXPERIMENT_ACTION,
    EVENT_EXPERIMENT_RESOURCES, /* priority, weight, cap or pool changed */
    EVENT_TRIAL_KILL,
    EVENT_VALIDATED,    /* journal */
    EVENT_PROGRESS,     /* journal, or a separate call */
    EVENT_CHECKPOINTED, /* journal */
    EVENT_EARLY_EXIT, /* likewise: a trial reports that its hyperparameters are invalid */
    EVENT_LOG_POLICY,   /* a line of its log matched a policy */
    EVENT_SHARE_STATE,  /* a share is PULLING, STARTING or RUNNING now */
    EVENT_SHARE_EXITED, /* journal: a share ended */
    EVENT_PREEMPT_ACKNOWLEDGED,
    EVENT_PREEMPT_REQUESTED, /* the task itself asks to be preempted */
    EVENT_RUN_KILL,          /* a user kills a run; its trial or job goes on */
    EVENT_AGENT_JOINED,
    EVENT_AGENT_SILENT,      /* not heard for a while, or it signed off */
    EVENT_AGENT_HEARD,       /* heard again: the same agent, nothing lost */
    EVENT_AGENT_TASKS_HEARD, /* not the agent, but a supervisor on its machine */
    EVENT_AGENT_ENABLE,
    EVENT_SLOT_ENABLE,
    EVENT_TICK,         /* it is core_next_deadline_us() or later */
    EVENT_STARTED,      /* the master started; it heard nobody while it was away */
    EVENT_CLOCK_JUMPED, /* the wall clock was set: deadlines move with it */
    EVENT_EXPERIMENT_CONTINUED, /* an ended experiment goes on */
    EVENT_UNMANAGED_EXPERIMENT, /* one that the master only records: gets a number */
    EVENT_UNMANAGED_TRIAL,      /* a trial of an unmanaged experiment */
    EVENT_JOB_SUBMITTED,        /* a generic job */
    EVENT_JOB_ACTION,
    EVENT_JOB_RESOURCES,
    EVENT_KINDS,
};

enum experiment_action { ACTION_ACTIVATE, ACTION_PAUSE, ACTION_CANCEL, ACTION_KILL };

struct core_event {
    enum core_event_kind kind;
    int64_t journal_seq; /* > 0 for journal events: applied only if it is the next */
    union {
        struct {
            int64_t owner_id;
            int64_t project_id;
            int64_t parent_id;
            const char *job_id;          /* a fresh uuid */
            const char *config;          /* complete, JSON */
            const char *original_config; /* YAML */
            const char *name;            /* these three only go into the row */
            const char *description;
            const char *labels; /* JSON list */
            const void
                *files; /* the model definition, tar.gz; only goes into the row */
            uint64_t files_len;
            const char *warm_start; /* checkpoint uuid its trials begin from, or NULL */
            const char *warning;    /* for the log of its first trial, or NULL */
            bool activate;
        } submitted;
        struct {
            int64_t experiment_id;
            enum experiment_action action;
        } action;
        struct {
            int64_t experiment_id;     /* of EXPERIMENT_RESOURCES */
            int64_t job_id;            /* of JOB_RESOURCES */
            int64_t priority;          /* 0: unchanged */
            double weight;             /* 0: unchanged */
            int64_t max_slots;         /* -2: unchanged; -1: no cap; not for jobs */
            const char *resource_pool; /* NULL: unchanged */
        } resources;
        struct {
            int64_t trial_id;
        } trial_kill;
        struct {
            int64_t trial_id;
            int64_t run_id;
            int64_t steps;
            const char *metrics; /* JSON object */
        } validated;
        struct {
            int64_t trial_id;
            double progress;
        } progress;
        struct {
            int64_t trial_id;
            int64_t run_id;
            const char *uuid;
            int64_t steps;
        } checkpointed;
        struct {
            int64_t trial_id;
        } early_exit;
        struct {
            int64_t trial_id;
            bool cancels_retries;
            const char *exclude_agent; /* NULL: none */
        } log_policy;
        struct {
            int64_t allocation_id;
            int64_t rank;
            enum allocation_state state;
        } share_state;
        struct {
            int64_t allocation_id;
            int64_t rank;
            enum exit_kind exit; /* not NONE */
            int64_t code;
            const char *reason; /* may be NULL */
            bool is_final;      /* a retry would fail, too */
        } share_exited;
        struct {
            int64_t allocation_id;
        } preempt; /* both kinds */
        struct {
            int64_t allocation_id;
        } run_kill;
        struct {
            const char *name;
            const char *resource_pool;
            const char *devices;   /* JSON list */
            const char *addresses; /* JSON list */
            int64_t slots;
            const char *boot_id;
            const char *version;
            const char *instance; /* NULL or "": unknown */
            /* The shares it has now, each as "<allocation name>/<rank>".  A share that
             * the core assigned to it and that it does not list was lost: a transient
             * failure. */
            const char *const *tasks;
            uint32_t task_count;
        } agent_joined;
        struct {
            const char *name;
        } agent; /* SILENT, HEARD, TASKS_HEARD */
        struct {
            const char *name;
            bool is_enabled;
            bool drains; /* disable: let running tasks end */
        } agent_enable;
        struct {
            const char *name;
            uint32_t slot;
            bool is_enabled;
            bool drains;
        } slot_enable;
        struct {
            int64_t by_us; /* > 0: forwards */
        } clock_jumped;
        struct {
            /* As the store has it, terminal, except for the two configurations: they
             * are those with which it goes on. */
            const struct experiment *row;
            /* All its trials as the store has them, by number; each resumes from its
             * latest_checkpoint. */
            const struct trial *past;
            uint32_t past_count;
            const char *name; /* these three go into the row; NULL: unchanged */
            const char *description;
            const char *labels;
            bool takes_resources; /* from the configuration; else the row's stay */
        } continued;
        struct {
            const struct experiment *row; /* except its id */
            const char *name;             /* these four go into the row */
            const char *description;
            const char *labels;
            const char *external_id; /* NULL: none */
        } unmanaged;
        const struct trial *unmanaged_trial; /* except its id */
        struct {
            /* task_id (a fresh uuid), owner and needs; resource_pool NULL or "" and
             * priority 0: the defaults */
            const struct job *row;
            const char *name; /* this and the rest only go into the row */
            const char *config;
            const char *forked_from; /* task id, or NULL */
            const char *type;        /* "TENSORBOARD"; NULL: any program */
            const char *sources;     /* JSON: the runs it shows; NULL: none */
            int64_t workspace_id;
            const void *files;
            uint64_t files_len;
        } job_submitted;
        struct {
            int64_t job_id;
            enum experiment_action action; /* ACTIVATE, PAUSE or KILL */
        } job_action;
    };
};

#endif
