/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - what the heart is made of: the objects that are alive, and the heart itself.
 *
 * Maps own live objects; others point to them, since both live in one thread and leave
 * by one door (core_bury()).  What ends leaves the maps and waits among the dead until
 * no effect can point to it any more (core_apply() with an empty `out`).
 *
 * A row is what the store has.  What stands beside it is derived from rows, or is how
 * it is kept in order. */
#ifndef CORE_LIVE_H
#define CORE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/tree.h"
#include "base/vec.h"
#include "core/core.h"
#include "search/searcher.h"

enum {
    KILL_AGAIN_US = 30 * 1000 * 1000,    /* a kill is repeated until it is heard */
    INVALID_GRACE_US = 10 * 1000 * 1000, /* for a trial with invalid hyperparameters */
    SLOTS_MOST = POOL_AGENT_SLOTS_MOST,
    PRIORITY_MOST = 99,
    PORT_WORDS = 65536 / 64,
};

enum live_kind {
    LIVE_EXPERIMENT,
    LIVE_TRIAL,
    LIVE_JOB,
    LIVE_ALLOCATION,
    LIVE_SHARE,
    LIVE_AGENT,
};

/* What every live object begins with. */
struct live {
    enum live_kind kind;
    bool is_touched;
    bool is_new;     /* ADD_, not PUT_ */
    uint32_t effect; /* touched: where in `out` its row will be */
    struct live *next_touched;
    struct live *next_dead;
};

/* Something happens at `at_us` unless told otherwise; in core->timers while it is set.
 */
struct timer {
    struct tree_node node;
    enum live_kind kind; /* LIVE_ALLOCATION or LIVE_AGENT: who owns it */
    int64_t id;
    int64_t at_us; /* 0: not set */
};

struct pool_entry {
    struct pool *pool;
    char *name;
    uint32_t default_priority;
    int64_t agent_reconnect_wait_us;
    bool is_dirty; /* something changed since its last plan */
};

struct live_experiment {
    struct live live;
    struct experiment row; /* without the configurations */
    struct arena mem;      /* strings of `row`, the trees the searcher borrows */
    struct searcher *searcher;
    bool is_search_broken; /* it cannot go on: it is not fed any more */
    bool is_unsettled;
    bool is_continued; /* by this event */
    struct live_experiment *next_unsettled;
    struct tree trials; /* that live, by number */
    const char *warm_start;
    uint32_t slots;
    uint32_t max_restarts;
    int64_t trial_seed; /* -1: the searcher draws them */
    bool is_single_node;
    int64_t preemption_timeout_us;
};

/* What runs are runs of: a part of a trial and of a job.  See task.c. */
struct live_task {
    enum live_kind kind;                /* LIVE_TRIAL or LIVE_JOB: whose part it is */
    const char *id;                     /* its row's */
    struct live_allocation *allocation; /* that is not over; NULL: none */
    VEC(int64_t) blocked;               /* agents, in the order they were blocked */
};

struct live_trial {
    struct live live;
    struct live_task task;
    struct trial row; /* strings: behind this struct, but for the two below */
    struct tree_node node;
    struct live_experiment *experiment;
    char *latest_checkpoint; /* owned */
};

struct live_job {
    struct live live;
    struct live_task task;
    struct job row; /* strings: behind this struct; resource_pool is a pool's own */
};

struct live_share {
    struct live live;
    struct share row; /* strings: in the block of all shares */
    const uint32_t *slots;
    uint32_t slot_count;
    struct live_allocation *allocation;
    struct live_agent *agent; /* NULL: lost; the share then holds nothing */
    struct tree_node node;    /* of its agent */
};

struct live_allocation {
    struct live live;
    struct allocation row; /* strings: task_id is the task's, name behind this struct */
    struct live_task *task;
    struct pool_entry *pool;
    struct timer timer; /* row.preempt_deadline_us */
    char *exit_reason;  /* owned */
    struct live_share
        *share;           /* owned, one block with what they point to; NULL: waits */
    uint32_t shares_left; /* that have not exited */
    bool is_final;        /* one of them said that it will fail again */
};

struct live_agent {
    struct live live;
    struct agent row; /* strings: those below */
    char *name;
    char *devices;
    char *addresses;
    char *boot_id;
    char *version;
    char *instance;
    struct pool_entry *pool;
    struct tree shares; /* of allocations that are not over, by (allocation, rank) */
    struct timer timer; /* silent: when it counts as lost */
    bool is_open;       /* takes zero-slot tasks; what the pool was told last */
    bool *is_slot_off;  /* owned; by slot: somebody disabled it */
    bool *is_slot_open; /* the same block: takes tasks; what the pool was told last */
};

struct queued_input {
    struct live_experiment *experiment;
    struct search_input input;
};

/* While an experiment is continued: its trials as they were.  See continue.c. */
struct continuing {
    struct live_experiment *experiment; /* NULL: none is */
    bool is_single;                     /* its search has one trial only */
    bool *is_met; /* by place in `past`: its search asked for it */
    uint32_t met;
    uint32_t reopened; /* places below were given a chance to make the search go on */
};

struct core {
    struct core_config config; /* its strings are owned */
    struct pool_entry *pool;   /* config.pool_count of them */
    struct core_counters counters;
    struct map experiments;
    struct map trials;
    struct map jobs;
    struct map allocations;
    struct map allocation_names;
    struct map agents; /* by id */
    struct map agent_names;
    struct tree timers;
    uint64_t port_used[PORT_WORDS];
    uint64_t port_full[PORT_WORDS / 64]; /* which words have no room */
    uint32_t ports_used;

    /* While an event is handled. */
    int64_t now_us;
    const struct core_event *event; /* NULL: restoring */
    struct core_out *out;
    det_status status;
    struct err err;
    bool has_counted; /* a counter changed */
    struct live *touched;
    struct live **touched_tail;
    struct live_experiment *unsettled;
    VEC(struct queued_input) inputs;
    size_t inputs_fed;
    struct continuing continuing;
    struct arena scratch; /* cleared after every event */

    struct live *dead;
};

#endif
