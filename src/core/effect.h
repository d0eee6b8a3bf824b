/* SPDX-License-Identifier: Apache-2.0 */
/* effect.h - what the heart wants done.
 *
 * Rows are committed together, before anything else happens; the rest is carried out
 * after the commit, is keyed by allocation, and may be carried out twice.
 *
 * An event writes a row at most once; rows come in an order in which each finds what it
 * refers to.  A started share holds slots of an agent, and keeps its row when that
 * agent is dropped. */
#ifndef CORE_EFFECT_H
#define CORE_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/records.h"

enum core_effect_kind {
    /* rows */
    EFFECT_ADD_EXPERIMENT,      /* with its files and texts, from the event */
    EFFECT_PUT_EXPERIMENT,      /* the heart's columns of a row that is there */
    EFFECT_CONTINUE_EXPERIMENT, /* of one that had ended, and its configurations; only
                                   if it still ended when the event says it did */
    EFFECT_ADD_TRIAL,
    EFFECT_ADD_UNMANAGED_TRIAL, /* unless there is one of its task */
    EFFECT_PUT_TRIAL,
    EFFECT_ADD_JOB, /* with its files and texts, from the event */
    EFFECT_PUT_JOB,
    EFFECT_PUT_ALLOCATION, /* insert or replace */
    EFFECT_PUT_SHARE,
    EFFECT_PUT_AGENT,
    EFFECT_DROP_AGENT,
    EFFECT_ADD_SEARCH_INPUT,
    EFFECT_PUT_SNAPSHOT, /* and the inputs it contains may go */
    EFFECT_DROP_SEARCH,  /* snapshot and inputs of an experiment that ended */
    EFFECT_PUT_COUNTERS,
    EFFECT_TASK_LOG, /* a line of the master's own in a task's log */
    /* the rest */
    EFFECT_FIRST_ACTION,
    EFFECT_START = EFFECT_FIRST_ACTION, /* tell an agent to start a share */
    EFFECT_KILL, /* tell an agent to kill a share's process tree; an agent that never
                    saw the share reports its exit (KILLED) and starts it no more */
    EFFECT_KILL_STRAY, /* tell an agent to kill a task that is nobody's any more */
    EFFECT_PREEMPT,    /* wake whoever asks whether this allocation must stop */
    EFFECT_OVER,       /* the allocation is over: release everything that waits on it */
    EFFECT_EXPERIMENT_OVER, /* it ended: collect its checkpoints */
};

struct core_counters {
    int64_t next_experiment;
    int64_t next_trial;
    int64_t next_allocation;
    int64_t next_agent;
    int64_t journal_seq; /* the last entry applied */
    int64_t next_job;
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
            bool is_unmanaged;  /* ADD_: the heart forgets it at once */
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
            const char *task;  /* "<allocation name>/<rank>", as it said */
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
 * out. Strings of effects live in `mem`, in the heart or in the events; see
 * core_apply(). */
struct core_out {
    struct arena *mem;
    struct core_effect *effect; /* in `mem` */
    uint32_t count;
    uint32_t cap;
    det_status status;
    int64_t id; /* of what the event made: the experiment's, the job's, the agent's */
    bool exceeds_slots; /* a submission wants more slots than there are now */
};

#endif
