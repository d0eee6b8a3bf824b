/* SPDX-License-Identifier: Apache-2.0 */
/* live_objects.h - the live objects of the core, and the core itself.
 *
 * Maps own live objects; other objects may point to them, because all are used by one
 * thread and all leave through core_bury().  An object that ended leaves the maps and
 * stays in the list of dead objects until no effect can point to it (core_apply() with
 * an empty `out`).
 *
 * The row of an object is what the store has.  The other members are derived from rows,
 * or link objects. */
#ifndef CORE_LIVE_OBJECTS_H
#define CORE_LIVE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/tree.h"
#include "base/memory/vec.h"
#include "core/core.h"
#include "search/searcher.h"

enum {
    KILL_AGAIN_US = 30 * 1000 * 1000,    /* a kill is repeated until the shares exit */
    INVALID_GRACE_US = 10 * 1000 * 1000, /* for a trial with invalid hyperparameters */
    QUICK_END_US = 10 * 1000 * 1000,     /* a run that ends sooner ended too soon */
    RETRY_MOST_US = 60 * 1000 * 1000,    /* no retry waits longer */
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

/* The first member of every live object. */
struct live {
    enum live_kind kind;
    bool is_touched;
    bool is_new;     /* ADD_, not PUT_ */
    uint32_t effect; /* touched: index of its row in `out` */
    struct live *next_touched;
    struct live *next_dead;
};

/* A deadline of its owner; in core->timers while it is set. */
struct timer {
    struct tree_node node;
    enum live_kind kind; /* of its owner: LIVE_ALLOCATION or LIVE_AGENT */
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
    bool is_search_broken; /* it failed and gets no more inputs */
    bool is_unsettled;
    bool is_continued; /* by this event */
    struct live_experiment *next_unsettled;
    struct tree trials; /* live ones, by number */
    size_t trial_bytes; /* of the live ones */
    const char *warm_start;
    const char *metric; /* the searcher's; NULL: none named */
    uint32_t slots;
    uint32_t max_restarts;
    int64_t trial_seed; /* -1: the searcher draws them */
    bool is_single_node;
    bool prefers_single_node;
    int64_t preemption_timeout_us;
};

/* The part that trials and jobs share.  See task.c. */
struct live_task {
    enum live_kind kind;                /* LIVE_TRIAL or LIVE_JOB */
    const char *id;                     /* the row's task_id */
    struct live_allocation *allocation; /* its run that is not over; NULL: none */
    VEC(int64_t) blocked;               /* agents, in the order they were blocked */
};

/* About what the run of a trial takes that waits for slots (measured). */
enum { TRIAL_RUN_BYTES = 512 };

struct live_trial {
    struct live live;
    struct live_task task;
    struct trial row; /* strings: behind this struct, except the one below */
    struct tree_node node;
    struct live_experiment *experiment;
    char *latest_checkpoint; /* owned */
    size_t bytes;            /* of this struct, its strings and its run */
};

struct live_job {
    struct live live;
    struct live_task task;
    struct job row; /* strings: behind this struct; resource_pool is the pool's name */
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
    struct timer timer;       /* row.retry_us, then row.preempt_deadline_us */
    char *exit_reason;        /* owned */
    char *wait_reason;        /* owned */
    struct live_share *share; /* owned, one block with their strings; NULL: it waits */
    uint32_t shares_left;     /* shares that have not exited */
    bool is_final;            /* a share reported that a retry would fail, too */
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
    bool is_open;       /* takes zero-slot tasks, as the pool was told last */
    bool *is_slot_off;  /* owned; by slot: a user disabled it */
    bool *is_slot_open; /* the same block: takes tasks, as the pool was told last */
};

struct queued_input {
    struct live_experiment *experiment;
    struct search_input input;
};

/* The experiment that this event continues.  See continue.c. */
struct continuing {
    struct live_experiment *experiment; /* NULL: none */
    bool is_single;                     /* its search has one trial only */
    bool *is_met; /* by index in `past`: its search asked for it */
    uint32_t met;
    uint32_t reopened; /* trials of `past` below this index were reopened if needed */
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
    uint64_t port_reserved[PORT_WORDS];  /* tasks do not get these */
    uint64_t port_full[PORT_WORDS / 64]; /* which words are full */
    uint32_t ports_used;
    int64_t started_us; /* EVENT_STARTED; 0: not yet */

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
