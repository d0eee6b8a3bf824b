/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - which slots exist, who holds them, who is waiting, and who is next.
 *
 * A pool is data plus rules and nothing else: no clock, no threads, no I/O.  The heart
 * tells it what happened (an agent came, an allocation is wanted, one ended) and asks
 * for a plan; carrying the plan out is the heart's business.  Invariants, checked by
 * pool_check():
 *
 *   1. a slot is free or held by exactly one allocation;
 *   2. an allocation holds all the slots it asked for, or none;
 *   3. waiting requests are ordered by (priority, position, id);
 *   4. the counts kept for speed agree with a recount.
 *
 * Rules: facts of the priority scheduler.  Lower number = more important.  Requests
 * with slots and requests without are scheduled apart.  Level by level, in order; what
 * does not fit is skipped within its level (smaller ones may pass); once something of a
 * level waits, lower levels start nothing (no preemption), or only preemptible requests
 * (preemption on).  With preemption on, a request that does not fit counts on slots
 * that are being given back; if these do not do, it makes the least important, newest
 * preemptible allocations leave, down to its own level (there only those of a later
 * position), until it fits; of these, who turns out not to be in the way is spared.
 * Whatever comes after such a request in the order starts nothing in that pass.
 *
 * Fitting: one agent with enough free enabled slots, the fullest first (`best`) or the
 * emptiest (`worst`), ties by agent id; else, for several slots, whole idle agents of
 * one size n that divides the request, largest n first; else, where heterogeneous fits
 * are allowed, whole idle agents, largest first, that add up to it.  The size of an
 * agent is the number of its enabled slots.  Requests without slots go by places
 * (max_aux_per_agent), to agents where something runs by free slots, to idle ones by
 * free places; an agent all of whose slots are disabled takes none.
 *
 * Cost: waiting requests of one shape (slots, flags, blocked agents) share a
 * queue, agents of one free count a set, so that a plan costs O(shapes + steps), not
 * O(waiting).
 *
 * To add another policy: a `const struct sched_policy` in a file of its own and a row
 * in policies[]. */
#ifndef SCHED_POOL_H
#define SCHED_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct pool;

struct pool_config {
    const char *policy; /* "priority"; copied */
    bool is_preemptive;
    bool fits_worst; /* fitting_policy: worst */
    bool allows_heterogeneous_fits;
    uint32_t max_aux_per_agent; /* zero-slot allocations an agent may hold */
};

/* One waiting or running allocation.  Ids are the heart's numbers. */
struct pool_request {
    int64_t allocation;
    uint32_t slots;    /* 0: auxiliary */
    uint32_t priority; /* 1..99 */
    int64_t position;  /* queue position: the job's submission time, µs */
    bool is_preemptible;
    bool is_single_node;
    const int64_t *blocked; /* agents it must not use; copied */
    uint32_t blocked_count;
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

/* Copies `name` and what `config` points to.  pool_free(NULL) does nothing. */
det_status pool_new(const char *name, const struct pool_config *config,
                    struct pool **ret_pool, struct err *err);
void pool_free(struct pool *pool);
const char *pool_name(const struct pool *pool);
const struct pool_config *pool_settings(const struct pool *pool);

/* An agent joined with `slots` slots, all free and enabled.  DET_EXISTS if it is there.
 * Leaving: DET_NOT_FOUND if it is not there, DET_STATE while allocations hold its slots
 * (the heart ends those first). */
det_status pool_add_agent(struct pool *pool, int64_t agent, uint32_t slots,
                          struct err *err);
det_status pool_remove_agent(struct pool *pool, int64_t agent, struct err *err);
/* A disabled slot is never given out; who holds it keeps it. */
det_status pool_enable_slot(struct pool *pool, int64_t agent, uint32_t slot,
                            bool is_enabled, struct err *err);
/* Whether it takes zero-slot requests; a new agent does.  (One all of whose slots are
 * disabled does not in any case; this is for agents that have none.) */
det_status pool_enable_aux(struct pool *pool, int64_t agent, bool is_enabled,
                           struct err *err);

/* An allocation waits.  DET_EXISTS if it is there. */
det_status pool_add(struct pool *pool, const struct pool_request *request,
                    struct err *err);
/* At restore: an allocation that already holds these slots.  One share an agent; a
 * request without slots has one empty share.  DET_STATE if a slot is held. */
det_status pool_add_running(struct pool *pool, const struct pool_request *request,
                            const struct pool_share *share, uint32_t share_count,
                            struct err *err);
/* Waiting or running, it is gone now and its slots are free.  Nothing if unknown. */
void pool_remove(struct pool *pool, int64_t allocation);
det_status pool_set_priority(struct pool *pool, int64_t allocation, uint32_t priority,
                             struct err *err);
/* It was asked to give its slots back (by a plan or by the user): it counts as leaving
 * and is not preempted twice. */
void pool_mark_leaving(struct pool *pool, int64_t allocation);

/* What to start and whom to preempt now.  Steps that start are applied to the pool at
 * once (the allocation holds its slots when this returns), steps that preempt mark the
 * allocation as leaving.  The same pool always gives the same plan.  DET_NOMEM leaves
 * the pool as it was. */
det_status pool_schedule(struct pool *pool, struct arena *mem,
                         struct pool_plan *ret_plan, struct err *err);

/* Whether a request of that shape could ever start on the agents there are, disabled
 * slots included. */
bool pool_could_fit(const struct pool *pool, uint32_t slots, bool is_single_node);

struct pool_stats {
    uint32_t agents;
    uint32_t slots;
    uint32_t slots_used;
    uint32_t aux_running;
    uint32_t waiting;
    uint32_t running;
};
void pool_get_stats(const struct pool *pool, struct pool_stats *ret_stats);
/* How many waiting requests come before it; -1 when it does not wait.  O(waiting in
 * its level). */
int64_t pool_ahead(const struct pool *pool, int64_t allocation);

/* DET_OK, or DET_CORRUPT with the invariant that is broken.  O(everything). */
det_status pool_check(const struct pool *pool, struct err *err);

#endif
