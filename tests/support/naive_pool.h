/* SPDX-License-Identifier: Apache-2.0 */
/* naive_pool.h - a pool that follows the rules of pool.h literally.
 *
 * It has flat arrays, sorts in every pass and copies the whole state to try something; it
 * has no queues, classes or logs.  The oracle of the pool's tests. */
#ifndef TESTS_SUPPORT_NAIVE_POOL_H
#define TESTS_SUPPORT_NAIVE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/pool.h"

enum { AGENTS = 9, SLOTS = 8, REQUESTS = 28, BLOCKED = 2, GROUPS = 6 };

struct twin_agent {
    int64_t id; /* 0: nobody */
    uint32_t slots;
    int64_t holder[SLOTS]; /* 0: free */
    bool is_off[SLOTS];
    uint32_t aux;
};

enum life { NONE, WAITS, RUNS, LEAVES };

struct twin_request {
    enum life life;
    struct pool_request want;
    int64_t blocked[BLOCKED];
    int64_t aux_agent;
};

struct world {
    struct pool_config config;
    struct twin_agent agent[AGENTS];
    struct twin_request request[REQUESTS];
    struct pool_group group[GROUPS];
};

/* A decision, in words that can be compared. */
struct step {
    enum pool_action action;
    int64_t allocation;
    bool is_backfilled;
    uint32_t share_count;
    int64_t agent[AGENTS];
    uint32_t slots[AGENTS]; /* bit set */
};

struct plan {
    struct step start[REQUESTS];
    struct step preempt[REQUESTS];
    uint32_t starts;
    uint32_t preempts;
};

struct place {
    uint32_t count;
    struct twin_agent *agent[AGENTS];
    uint32_t slots[AGENTS];
};

/* Slots that are enabled and not held; slots that are held. */
uint32_t naive_free_slots(const struct twin_agent *agent);
uint32_t naive_used(const struct twin_agent *agent);
/* By (priority, position, allocation). */
int naive_compare(const struct pool_request *a, const struct pool_request *b);
/* The next after `last` in one state (`way` 1), or the one before it (-1). */
struct twin_request *naive_neighbour(struct world *w, enum life life, bool has_slots,
                                     const struct twin_request *last, int way);
/* Where the request fits. */
bool naive_find(struct world *w, const struct pool_request *want, struct place *place);
/* Gives the lowest free slots of each agent out in `w`. */
void naive_occupy(struct world *w, struct twin_request *request,
                  const struct place *place, struct step *step);
void naive_vacate(struct world *w, const struct twin_request *request);
/* Marks the oldest of a group until it holds no more than `most`. */
void naive_mark_excess(const struct world *w, int64_t group, uint32_t most,
                       bool goes[REQUESTS]);
void naive_preempt_marked(struct world *w, const bool goes[REQUESTS],
                          struct plan *plan);

/* What the policies decide; carried out in `w` at once. */
struct plan naive_plan_by_priority(struct world *w);
struct plan naive_plan_fairly(struct world *w);

#endif
