/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - which slots exist, who holds them, who is waiting, and who is next.
 *
 * A pool is data plus rules and nothing else: no clock, no threads, no I/O.  The heart
 * tells it what happened (an agent joined, an allocation is wanted, one ended) and asks
 * for a plan.  The heart carries the plan out.  Invariants, checked by pool_check();
 * debug builds assert them after every change:
 *
 *   1. a slot is free or held by exactly one allocation;
 *   2. an allocation holds all the slots it asked for, or none;
 *   3. waiting requests are ordered by (priority, position, id);
 *   4. the counts kept for speed agree with a recount.
 *
 * A request belongs to a group: the job that wants it.  A capped group never holds more
 * than its max_slots: its further requests wait, and nobody waits behind them.  If the
 * cap is lowered, the oldest preemptible requests are asked to give their slots back.
 *
 * Rules of the priority scheduler.  A level is all requests of one priority; a lower
 * number is more important.  Requests with slots and requests without slots are
 * scheduled separately:
 *
 *   - Levels go in order, and requests within a level in order.  A request that does
 *     not fit is skipped; smaller ones of its level may start.
 *   - Once a request of a level waits, less important levels start nothing.  With
 *     preemption on, they may still start preemptible requests.
 *   - With preemption on, a request that does not fit may plan with slots that are
 *     being given back.  If these are too few, it preempts the least important and
 *     newest preemptible allocations until it fits.  It preempts less important levels,
 *     and in its own level only allocations of a later position.  An allocation that
 *     turns out not to be in the way is spared.
 *   - Requests after such a request start nothing in that pass.
 *
 * Rules of the fair-share scheduler: fair_share.c.
 *
 * Fitting, in this order:
 *
 *   1. one agent with enough free enabled slots: the fullest (`best`) or the emptiest
 *      (`worst`), then the lowest agent id;
 *   2. for several slots, whole idle agents of one size that divides the request, the
 *      largest size first;
 *   3. where heterogeneous fits are allowed, whole idle agents, largest first, that add
 *      up to the request.
 *
 * A single-node request uses 1 only.  A request that prefers a single node does so, too,
 * while an agent that it may use has enough enabled slots, even if they are held: it
 * waits for them.
 *
 * The size of an agent is the number of its enabled slots.  Each agent takes up to
 * max_aux_per_agent requests without slots.  Among busy agents free slots decide, among
 * idle agents free places.  An agent whose slots are all disabled takes none.
 *
 * Cost: waiting requests of one shape (slots, flags, blocked agents) share a queue, and
 * agents with equally many free slots share a set.  So a plan costs O(shapes + steps),
 * not O(waiting).
 *
 * To add another policy: a `const struct sched_policy` in its own file and a row in
 * policies[] of pool.c. */
#ifndef SCHED_POOL_H
#define SCHED_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct pool;

struct pool_config {
    const char *policy; /* "priority", "fair_share"; copied */
    bool is_preemptive;
    bool fits_worst; /* fitting_policy: worst */
    bool allows_heterogeneous_fits;
    uint32_t max_aux_per_agent; /* zero-slot allocations an agent may hold */
};

/* The job of a request. */
struct pool_group {
    int64_t id;    /* 0: the request is a job of its own */
    double weight; /* its share under fair share; 0 counts as 1 */
    bool is_capped;
    uint32_t max_slots; /* if it is capped */
};

/* One waiting or running allocation.  Ids are the heart's numbers. */
struct pool_request {
    int64_t allocation;
    uint32_t slots;    /* 0: auxiliary */
    uint32_t priority; /* 1..99 */
    int64_t position;  /* queue position: the job's submission time, µs */
    bool is_preemptible;
    bool is_single_node;
    bool prefers_single_node; /* so long as an agent is large enough, busy or not */
    const int64_t *blocked;   /* agents it must not use; copied */
    uint32_t blocked_count;
    int64_t avoided; /* an agent that it uses only if it fits nowhere else; 0: none */
    struct pool_group group;
};

/* A share of an allocation on one agent. */
struct pool_share {
    int64_t agent;
    uint32_t slot_count;
    const uint32_t *slots; /* slot numbers on that agent, ascending */
};

/* Larger agents and requests are refused with DET_INVALID. */
enum { POOL_AGENT_SLOTS_MOST = 4096, POOL_REQUEST_SLOTS_MOST = 1 << 20 };

enum pool_action { POOL_START, POOL_PREEMPT };

struct pool_step {
    enum pool_action action;
    int64_t allocation;
    bool is_backfilled;             /* START while something more important waits */
    const struct pool_share *share; /* START: in rank order */
    uint32_t share_count;
};

struct pool_plan {
    const struct pool_step *step; /* borrowed from pool_schedule()'s arena */
    uint32_t count;
};

/* Copies what `config` points to.  pool_free(NULL) does nothing. */
det_status pool_new(const struct pool_config *config, struct pool **ret_pool,
                    struct err *err);
void pool_free(struct pool *pool);

/* An agent joined with `slots` slots, all free and enabled.  DET_EXISTS if the pool has
 * it already. */
det_status pool_add_agent(struct pool *pool, int64_t agent, uint32_t slots,
                          struct err *err);
/* DET_NOT_FOUND if the pool does not have it, DET_STATE while allocations hold its slots
 * (the heart ends those first). */
det_status pool_remove_agent(struct pool *pool, int64_t agent, struct err *err);
/* A disabled slot is never given out; an allocation that holds it keeps it. */
det_status pool_enable_slot(struct pool *pool, int64_t agent, uint32_t slot,
                            bool is_enabled, struct err *err);
/* Whether the agent takes zero-slot requests; a new agent does.  This is for agents
 * without slots: an agent whose slots are all disabled takes none in any case. */
det_status pool_enable_aux(struct pool *pool, int64_t agent, bool is_enabled,
                           struct err *err);

/* An allocation waits.  DET_EXISTS if the pool has it already. */
det_status pool_add(struct pool *pool, const struct pool_request *request,
                    struct err *err);
/* At restore: an allocation that already holds these slots.  One share per agent; a
 * request without slots has one empty share.  DET_STATE if a slot is already held. */
det_status pool_add_running(struct pool *pool, const struct pool_request *request,
                            const struct pool_share *share, uint32_t share_count,
                            struct err *err);
/* Removes a waiting or running allocation and frees its slots.  Does nothing if it is
 * unknown. */
void pool_remove(struct pool *pool, int64_t allocation);
det_status pool_set_priority(struct pool *pool, int64_t allocation, uint32_t priority,
                             struct err *err);
/* The weight or the cap of its group changed.  `group` has the id that it was added
 * with; call it for each allocation of the group. */
det_status pool_set_group(struct pool *pool, int64_t allocation,
                          const struct pool_group *group, struct err *err);
/* The allocation was asked to give its slots back, by a plan or by the user.  It counts
 * as leaving and is not preempted again. */
void pool_mark_leaving(struct pool *pool, int64_t allocation);

/* What to start and what to preempt now.  The plan is applied to the pool at once: a
 * started allocation holds its slots, a preempted one is marked as leaving.  The same
 * pool always gives the same plan.  DET_NOMEM leaves the pool unchanged. */
det_status pool_schedule(struct pool *pool, struct arena *mem,
                         struct pool_plan *ret_plan, struct err *err);

/* Whether the request waits because it prefers a single agent: one is large enough but
 * has too few free slots, and there are others. */
bool pool_waits_for_one_agent(const struct pool *pool, int64_t allocation);

struct pool_stats {
    uint32_t agents;
    uint32_t slots;
    uint32_t slots_used;
    uint32_t aux_running;
    uint32_t waiting;
    uint32_t running;
};
void pool_get_stats(const struct pool *pool, struct pool_stats *ret_stats);

#endif
