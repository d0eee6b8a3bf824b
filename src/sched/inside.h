/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - what a pool is made of; for the files of this room only.
 *
 *   pool.c      the pool: agents, requests, slots
 *   queue.c     who waits, grouped by level and shape
 *   fit.c       where a request fits, and the index that tells it fast
 *   pass.c      one pass of a policy: a simulation that is kept or undone
 *   priority.c  the priority policy
 *   check.c     the invariants, recounted
 *
 * Agents.  Kept in an array in the order of their ids; an agent's place in it is its
 * rank.  Agents with the same number of enabled slots are one *size*; those of a size
 * with the same number of free slots are one *class*, and idle ones (nothing held at
 * all) are a class of their own, since only these serve several-agent requests.  A
 * class is a bit set over ranks, so that the lowest set bit is the lowest agent id.
 *
 * Requests.  Those that wait, of one priority and shape, are one *queue*.  Whatever
 * holds for the first of a queue (it does not fit) holds for the rest, so a pass looks
 * at heads only.  Those that run are in the tree of victims (preemptible), in the tree
 * of leavers, or in none; so one tree node a request is enough. */
#ifndef SCHED_INSIDE_H
#define SCHED_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/tree.h"
#include "base/vec.h"
#include "sched/pass.h"
#include "sched/pool.h"

enum { PRIORITY_MOST = 99, LEVELS = PRIORITY_MOST + 1 };

/* Requests with slots and requests without never compete: two worlds in one pool. */
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
    uint64_t stamp;    /* the walk that the next two belong to */
    uint32_t may_free; /* what victims not freed yet would add */
    uint32_t may_drop; /* held slots they would give up */
    uint32_t words;
    uint64_t bits[]; /* `words` of held slots, then `words` of disabled ones */
};

struct size {
    uint32_t slots;       /* enabled ones of each agent of this size */
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

/* What decides whether and where a request fits, and whether it may be backfilled. */
struct shape {
    uint32_t slots;
    bool is_single_node;
    bool is_preemptible;
    uint32_t blocked_count;
    const int64_t *blocked; /* ascending, no doubles */
};

struct hold_share {
    struct agent *agent;
    uint32_t count;
    uint32_t *slots;
};

struct hold {
    uint32_t share_count;
    struct hold_share share[];
};

struct queue;

/* Exactly a cache line: with 100,000 of them waiting, each step down a tree costs one.
 */
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

/* Why a walk over all victims need not be repeated: what it fell short by.  It stays
 * true until the pool has gained as much since, for heads of no earlier position. */
struct shortfall {
    uint64_t slots_until; /* of pool.gained_slots; 0: nothing is known */
    uint64_t idle_until;  /* of pool.gained_idle */
    int64_t position;
};

struct queue {
    struct tree_node node; /* of its level, by head */
    struct request *head;
    struct shape shape;
    uint32_t priority;
    uint32_t popped; /* taken out by a pass that is not over */
    struct shortfall shortfall;
    struct tree requests;
    int64_t hash;
    struct queue *same_hash;
    int64_t blocked[];
};

struct level {
    struct tree heads; /* of queues that are not empty */
    uint32_t waiting;
};

struct sched_policy;

struct pool {
    char *name;
    struct pool_config config;
    const struct sched_policy *policy;
    VEC(struct agent *) agents; /* by id */
    struct index index;
    struct map requests;   /* by allocation */
    VEC(void *) slabs;     /* owns the memory of requests; grows only */
    struct request *spare; /* unused ones, linked by node.parent */
    struct map queues;     /* by hash; owns them */
    struct level level[KINDS][LEVELS];
    uint64_t has_level[KINDS][2]; /* bit p: level p has waiting requests */
    struct tree victims[KINDS];   /* run, preemptible, not leaving */
    struct tree leavers[KINDS];
    uint32_t slots;
    uint32_t slots_used;
    uint32_t aux_running;
    uint32_t waiting;
    uint32_t running;
    /* Upper bounds of what has become available to anybody by anything but waiting:
     * slots on any one agent, and slots of agents that may have become idle. */
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
/* NULL when it is not there. */
struct agent *pool_agent(const struct pool *pool, int64_t id);
/* By (priority, position, id). */
int request_compare(const struct tree_node *a, const struct tree_node *b);
/* From now on it runs on `hold`: joins the right tree, is counted.  Takes `hold`. */
void request_runs(struct pool *pool, struct request *request, struct hold *hold);
/* What it holds is, or will be, there for others. */
void pool_gains(struct pool *pool, const struct request *request);
/* All bets are off: agents or slots changed. */
void pool_gains_anything(struct pool *pool);
/* A hold with room for so many shares and slots, one block; NULL when out of memory. */
struct hold *hold_new(uint32_t shares, uint32_t slots);

/* queue.c */
/* The queue for such requests, made if it is not there.  NULL when out of memory. */
struct queue *queue_get(struct pool *pool, uint32_t priority,
                        const struct shape *shape);
/* Frees it if nobody is in it. */
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

/* fit.c */
/* Makes room in the index for the agents there are; false when out of memory. */
bool index_reserve(struct pool *pool);
/* Fills it anew; call after agents or enabled slots changed. */
void index_fill(struct pool *pool);
void index_done(struct index *index);
/* Counts of the agent change: moves it to its new class. */
void index_change(struct pool *pool, const struct change *change);
/* Appends to pass.picks, where room for all agents must be. */
bool fit_find(struct pool *pool, const struct shape *shape, struct fit *ret_fit);
/* Slots of agents that hold nothing at all. */
uint64_t fit_idle_slots(const struct pool *pool);
/* The free slots of the agent that has most. */
uint32_t fit_most_free(const struct pool *pool);
/* The class the agent belongs in, and its score for zero-slot requests. */
uint32_t index_class_of(const struct index *index, const struct agent *agent);
uint64_t index_aux_score_of(const struct pool *pool, const struct agent *agent);

#endif
