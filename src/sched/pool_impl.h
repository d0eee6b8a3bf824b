/* SPDX-License-Identifier: Apache-2.0 */
/* pool_impl.h - the parts of a pool; for the files of this room only.
 *
 *   pool.c        the pool: agents, requests, slots
 *   queue.c       waiting requests, grouped by level and shape
 *   pool_fit.c    where a request fits, and the index that makes the search fast
 *   pass.c        one pass of a policy: a simulation that is kept or undone
 *   group.c       requests of one job, counted together
 *   priority.c    the priority policy
 *   fair_share.c  the fair-share policy
 *   pool_check.c  the invariants, recounted
 *
 * Agents are in an array in the order of their ids; the index of an agent in it is its
 * rank.  Agents with equally many enabled slots form a *size*.  Agents of one size with
 * equally many free slots form a *class*.  Idle agents, which hold nothing at all, have
 * a separate class per size, because only they serve requests for several agents.  A
 * class is a bit set over ranks, so the lowest set bit is the lowest agent id.
 *
 * Waiting requests of one priority and shape form a *queue*.  If the first of a queue
 * does not fit, the others do not fit either, so a pass looks only at heads.  A running
 * request is in the tree of victims (preemptible), in the tree of leavers, or in
 * neither.  So one tree node per request is enough. */
#ifndef SCHED_POOL_IMPL_H
#define SCHED_POOL_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/map.h"
#include "base/memory/tree.h"
#include "base/memory/vec.h"
#include "sched/pass.h"
#include "sched/pool.h"

enum { PRIORITY_MOST = 99, LEVELS = PRIORITY_MOST + 1 };

/* Requests with slots and requests without slots never compete. */
enum kind { KIND_SLOTS, KIND_AUX, KINDS };

struct agent {
    int64_t id;
    uint32_t rank;
    uint32_t size_at; /* in index.size */
    uint32_t class;   /* in index.bits */
    uint32_t slots;
    uint32_t enabled;
    uint32_t free; /* enabled and not held */
    uint32_t used; /* held, enabled or not */
    uint32_t aux_used;
    bool is_aux_off; /* takes no zero-slot requests */
    /* scratch of a pass */
    bool is_picked;
    uint64_t stamp;    /* the walk to which the next two belong */
    uint32_t may_free; /* slots that become free when the noted victims leave */
    uint32_t may_drop; /* slots that these victims hold, disabled ones included */
    uint32_t words;
    uint64_t bits[]; /* `words` of held slots, then `words` of disabled ones */
};

struct size {
    uint32_t slots;       /* enabled slots of each agent of this size */
    uint32_t first_class; /* + free; the idle class is + slots + 1 */
};

struct index {
    uint32_t words; /* of a class */
    uint32_t size_count;
    uint32_t class_count;
    uint32_t aux_open; /* agents with a score */
    struct size *size; /* largest first */
    uint32_t *count;   /* agents in a class */
    uint64_t *bits;
    uint64_t *aux_score; /* by rank; 0: takes no zero-slot request */
    size_t size_cap;
    size_t count_cap;
    size_t bits_cap;
    size_t score_cap;
};

struct queue;

/* The requests of one job.  A queue or hold without a group belongs to a job that needs
 * no counting. */
struct group {
    int64_t id;
    double weight;
    uint64_t max_slots; /* UINT64_MAX: no cap */
    uint64_t members;   /* requests; the group ends with the last one */
    uint64_t held;      /* slots of running requests and of those that a pass starts */
    uint64_t fixed;     /* of these: not preemptible */
    uint64_t leaving;   /* of these: are being given back */
    int64_t position;   /* of its first request */
    /* scratch of a pass */
    uint64_t excess; /* slots that it has to give back */
    uint64_t demand; /* the rest: see fair_share.c */
    uint64_t offered;
    uint64_t preoffer;
    bool is_disabled;
    struct queue *queues; /* its waiting requests, linked by next_of_group */
};

/* Decides whether and where a request fits, and whether it may be backfilled. */
struct shape {
    uint32_t slots;
    bool is_single_node;
    bool prefers_single_node;
    bool is_preemptible;
    uint32_t blocked_count;
    const int64_t *blocked; /* ascending, no doubles */
    int64_t avoided;        /* used only if it fits nowhere else; 0: none */
    struct group *group;    /* NULL: is not counted */
};

struct hold_share {
    struct agent *agent;
    uint32_t count;
    uint32_t *slots;
};

struct hold {
    struct group *group; /* NULL: is not counted */
    uint32_t share_count;
    struct hold_share share[];
};

/* Exactly one cache line: when 100,000 wait, each step down a tree costs one miss. */
struct request {
    struct tree_node node; /* of its queue, or of the victims, or of the leavers */
    int64_t position;
    int64_t id;
    union {
        struct queue *queue; /* while it waits */
        struct hold *hold;   /* while it runs */
    };
    uint32_t slots;
    uint8_t priority;
    bool is_preemptible;
    bool is_running;
    bool is_leaving;
};

/* How much a walk over all victims fell short.  The walk need not be repeated until the
 * pool has gained that much, for heads whose position is not earlier. */
struct shortfall {
    uint64_t slots_until; /* a value of pool.gained_slots; 0: nothing is known */
    uint64_t idle_until;  /* a value of pool.gained_idle */
    int64_t position;
};

struct queue {
    struct tree_node node; /* of its level, by head */
    struct request *head;
    struct shape shape;
    uint32_t priority;
    uint32_t popped; /* requests taken out by the current pass */
    struct shortfall shortfall;
    struct tree requests;
    int64_t hash;
    struct queue *same_hash;
    struct queue *next_of_group; /* scratch of a pass */
    int64_t blocked[];
};

struct level {
    struct tree heads; /* of queues that are not empty */
    uint32_t waiting;
};

struct sched_policy;

struct pool {
    struct pool_config config;
    const struct sched_policy *policy;
    VEC(struct agent *) agents; /* by id */
    struct index index;
    struct map requests;   /* by allocation */
    VEC(void *) slabs;     /* owns the memory of requests; grows only */
    struct request *spare; /* unused ones, linked by node.parent */
    struct map queues;     /* by hash; owns them */
    struct map groups;     /* by id; owns them */
    struct level level[KINDS][LEVELS];
    uint64_t has_level[KINDS][2]; /* bit p: level p has waiting requests */
    struct tree victims[KINDS];   /* run, preemptible, not leaving */
    struct tree leavers[KINDS];
    uint32_t slots;
    uint32_t slots_used;
    uint32_t aux_running;
    uint32_t waiting;
    uint32_t running;
    /* Upper bounds of the slots that became available so far: on any one agent, and on
     * agents that may have become idle.  They only grow; see struct shortfall. */
    uint64_t gained_slots;
    uint64_t gained_idle;
    struct pass pass;
};

static inline enum kind request_kind(const struct request *request)
{
    return request->slots ? KIND_SLOTS : KIND_AUX;
}

static inline struct request *request_of(const struct tree_node *node)
{
    return node ? CONTAINER_OF(node, struct request, node) : NULL;
}

static inline bool bit_is_set(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_flip(uint64_t *bits, uint32_t i)
{
    bits[i / 64] ^= UINT64_C(1) << (i % 64);
}

static inline uint64_t *agent_held(struct agent *agent)
{
    return agent->bits;
}

static inline uint64_t *agent_off(struct agent *agent)
{
    return agent->bits + agent->words;
}

/* pool.c */
/* NULL if the pool does not have it. */
struct agent *pool_agent(const struct pool *pool, int64_t id);
/* By (priority, position, id). */
int request_compare(const struct tree_node *a, const struct tree_node *b);
/* The request runs on `hold`: joins the right tree and is counted.  Takes `hold`. */
void request_runs(struct pool *pool, struct request *request, struct hold *hold);
/* The slots of a running request became, or will become, available to others. */
void pool_gains(struct pool *pool, const struct request *request);
/* Agents or slots changed: every known shortfall is void. */
void pool_gains_anything(struct pool *pool);
/* A hold for `shares` shares and `slots` slots, in one block; NULL: out of memory. */
struct hold *hold_new(uint32_t shares, uint32_t slots);

/* group.c */
/* The group of such a request, made if necessary; *ret_group is NULL if it needs none.
 * The caller adds a member, or drops it.  False: out of memory. */
bool group_get(struct pool *pool, const struct pool_request *request,
               struct group **ret_group);
/* Ends the group if it has no members; NULL does nothing. */
void group_drop_if_empty(struct pool *pool, struct group *group);
void group_add_member(struct group *group);
/* Ends the group with its last member. */
void group_remove_member(struct pool *pool, struct group *group);
/* The slots of a request are held, or given back; NULL does nothing. */
void group_take(struct group *group, const struct request *request);
void group_give_back(struct group *group, const struct request *request);
/* Whether the cap of the group leaves no room for this many slots. */
bool group_is_full(const struct group *group, uint32_t slots);
/* Preempts what groups have in excess, the oldest first.  DET_NOMEM. */
det_status group_release_excess(struct pool *pool);

/* queue.c */
/* The queue for such requests, made if necessary.  NULL: out of memory. */
struct queue *queue_get(struct pool *pool, uint32_t priority,
                        const struct shape *shape);
/* Frees the queue if it is empty. */
void queue_drop_if_empty(struct pool *pool, struct queue *queue);
void queue_add(struct pool *pool, struct queue *queue, struct request *request);
/* The request keeps pointing to its queue. */
void queue_remove(struct pool *pool, struct request *request);
/* The queue of that level whose head comes first after (position, id) of `after`, or
 * first at all. */
struct queue *queue_after(const struct pool *pool, enum kind kind, uint32_t priority,
                          const struct request *after);
/* The first level >= `priority` where something waits; 0: none. */
uint32_t queue_next_level(const struct pool *pool, enum kind kind, uint32_t priority);

/* pool_fit.c */
/* Makes room in the index for all agents of the pool; false: out of memory. */
bool index_reserve(struct pool *pool);
/* Fills the index anew; call it after agents or enabled slots changed. */
void index_fill(struct pool *pool);
void index_done(struct index *index);
/* Changes the counts of an agent and moves it to its new class. */
void index_change(struct pool *pool, const struct change *change);
/* Appends to pass.picks, which must have room for all agents (pass_reserve()). */
bool fit_find(struct pool *pool, const struct shape *shape, struct fit *ret_fit);
/* Whether the request may use several agents as the pool is now. */
bool fit_may_spread(const struct pool *pool, const struct shape *shape);
/* Slots of idle agents. */
uint64_t fit_idle_slots(const struct pool *pool);
/* The most free slots of any agent. */
uint32_t fit_most_free(const struct pool *pool);
/* Whether the request would fit if all agents were idle. */
bool fit_is_possible(const struct pool *pool, const struct shape *shape);
/* The class the agent belongs in, and its score for zero-slot requests. */
uint32_t index_class_of(const struct index *index, const struct agent *agent);
uint64_t index_aux_score_of(const struct pool *pool, const struct agent *agent);

#endif
