/* SPDX-License-Identifier: Apache-2.0 */
/* effect.h - the outputs of the core: rows to store and actions to carry out.
 *
 * The heart first commits all rows together, then carries out the actions.  Actions are
 * keyed by allocation and may be carried out twice.
 *
 * An event writes a row at most once.  A row comes after the rows it refers to.  A share
 * keeps its row when its agent is dropped. */
#ifndef CORE_EFFECT_H
#define CORE_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/arena.h"
#include "model/records.h"

enum core_effect_kind {
    /* rows */
    EFFECT_ADD_EXPERIMENT,      /* with its files and texts, from the event */
    EFFECT_PUT_EXPERIMENT,      /* the core's columns of an existing row */
    EFFECT_CONTINUE_EXPERIMENT, /* the same of an ended one, and its configurations; only
                                   if its end is still the one of the event */
    EFFECT_ADD_TRIAL,
    EFFECT_ADD_UNMANAGED_TRIAL, /* unless its task has a trial already */
    EFFECT_PUT_TRIAL,
    EFFECT_ADD_JOB, /* with its files and texts, from the event */
    EFFECT_PUT_JOB,
    EFFECT_PUT_ALLOCATION, /* insert or replace */
    EFFECT_PUT_SHARE,
    EFFECT_PUT_AGENT,
    EFFECT_DROP_AGENT,
    EFFECT_ADD_SEARCH_INPUT,
    EFFECT_PUT_SNAPSHOT, /* and the inputs it contains may be deleted */
    EFFECT_DROP_SEARCH,  /* snapshot and inputs of an experiment that ended */
    EFFECT_PUT_COUNTERS,
    EFFECT_TASK_LOG, /* a line that the master adds to a task's log */
    /* actions */
    EFFECT_FIRST_ACTION,
    EFFECT_START = EFFECT_FIRST_ACTION, /* tell an agent to start a share */
    EFFECT_KILL, /* tell an agent to kill a share's process tree; an agent that never
                    saw the share reports its exit (KILLED) and never starts it */
    EFFECT_KILL_STRAY, /* tell an agent to kill a task that has no live allocation */
    EFFECT_PREEMPT, /* answer long polls that ask whether this allocation must stop */
    EFFECT_OVER,    /* the allocation is over: release everything that waits for it */
    EFFECT_EXPERIMENT_OVER, /* the experiment ended: collect its checkpoints */
};

struct core_counters {
    int64_t next_experiment;
    int64_t next_trial;
    int64_t next_allocation;
    int64_t next_agent;
    int64_t journal_seq; /* the last entry applied */
    int64_t next_job;
    int64_t first_run; /* no run gets a smaller number; above 1 after a restore */
};

struct core_effect {
    enum core_effect_kind kind;
    union {
        struct {
            struct experiment row;
            const char *name;
            const char *description;
            const char *labels;
            const void *files;
            uint64_t files_len;
            int64_t was_end_us; /* CONTINUE_ */
            bool is_unmanaged;  /* ADD_: the core does not keep it */
            const char *external_id;
        } experiment;       /* ADD_, CONTINUE_; PUT_EXPERIMENT: the row, without
                               the two configurations, which never change */
        struct trial trial; /* ADD_, ADD_UNMANAGED_, PUT_TRIAL */
        struct {
            struct job row;
            const char *name;
            const char *config;
            const char *forked_from;
            const char *type;
            const char *sources;
            int64_t workspace_id;
            const void *files;
            uint64_t files_len;
        } job;                        /* ADD_JOB; PUT_JOB: the row */
        struct allocation allocation; /* PUT_ALLOCATION */
        struct share share;           /* PUT_SHARE, START, KILL (with allocation_id) */
        struct agent agent;           /* PUT_, DROP_AGENT */
        struct search_input input;
        struct search_snapshot snapshot;
        int64_t experiment_id; /* DROP_SEARCH, EXPERIMENT_OVER */
        int64_t allocation_id; /* PREEMPT, OVER */
        struct core_counters counters;
        struct {
            const char *agent; /* its name */
            const char *task;  /* "<allocation name>/<rank>", as the agent said */
        } stray;
        struct {
            const char *task_id;
            const char *allocation; /* its name; may be NULL */
            const char *text;       /* one line, without its end */
        } log;
    };
};

/* A sticky builder; `status` is DET_NOMEM once memory ran out.  The effects of several
 * events may gather in one: set `count` to 0 (and clear `mem`) once they are carried
 * out.  Strings of effects live in `mem`, in the core or in the events; see
 * core_apply(). */
struct core_out {
    struct arena *mem;
    struct core_effect *effect; /* in `mem` */
    uint32_t count;
    uint32_t cap;
    det_status status;
    int64_t id;         /* of the experiment, trial, job or agent that the event made */
    bool exceeds_slots; /* a submission asks for more slots than the pool has now */
};

#endif
