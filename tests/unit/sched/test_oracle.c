/* SPDX-License-Identifier: Apache-2.0 */
/* test_oracle.c - the pool against a naive implementation.
 *
 * Both get the same random events, from a seed, and must make the same plan at every step.
 * A failure names the seed and the step. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/rng.h"
#include "sched/pool.h"
#include "sched/pool_check.h"
#include "tests/support/naive_pool.h"
#include "tests/support/pool_ahead.h"

enum { STEPS = 70, SEEDS = 3000 };

/* ------------------------------------------------------------------ both at once */

struct both {
    struct pool *pool;
    struct world world;
    struct rng64 rng;
    int64_t next_id;
    uint64_t seed;
    int step;
    bool has_positions_of_groups; /* as jobs have; else each request has one */
    uint64_t seen[3]; /* starts, backfills, preemptions: so that the test is no sham */
};

static uint32_t below(struct both *b, uint32_t bound)
{
    return (uint32_t)rng64_below(&b->rng, bound);
}

static void fix_pointers(struct world *w)
{
    for (int i = 0; i < REQUESTS; i++)
        w->request[i].want.blocked = w->request[i].blocked;
}

static void compare_steps(const struct both *b, const struct pool_step *got,
                          const struct step *want)
{
    bool is_same = got->action == want->action && got->allocation == want->allocation &&
                   got->is_backfilled == want->is_backfilled &&
                   got->share_count == want->share_count;

    for (uint32_t i = 0; is_same && i < got->share_count; i++) {
        uint32_t slots = 0;

        for (uint32_t j = 0; j < got->share[i].slot_count; j++)
            slots |= 1u << got->share[i].slots[j];
        is_same = got->share[i].agent == want->agent[i] && slots == want->slots[i];
    }
    if (!is_same)
        fail_msg("seed %" PRIu64 ", step %d: action %d of %" PRId64
                 ", not action %d of %" PRId64,
                 b->seed, b->step, got->action, got->allocation, want->action,
                 want->allocation);
}

static void schedule_both(struct both *b)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct plan want;
    struct pool_plan got;

    fix_pointers(&b->world);
    want = strcmp(b->world.config.policy, "fair_share")
               ? naive_plan_by_priority(&b->world)
               : naive_plan_fairly(&b->world);
    CHECK_OK(pool_schedule(b->pool, &mem, &got, &test_err));
    if (got.count != want.starts + want.preempts)
        fail_msg("seed %" PRIu64
                 ", step %d: %u steps, not %u starts and %u preemptions",
                 b->seed, b->step, got.count, want.starts, want.preempts);
    for (uint32_t i = 0; i < got.count; i++) {
        const struct step *step =
            i < want.starts ? &want.start[i] : &want.preempt[i - want.starts];

        compare_steps(b, &got.step[i], step);
        b->seen[step->action == POOL_PREEMPT ? 2 : step->is_backfilled]++;
    }
    arena_done(&mem);
}

static void add_agent(struct both *b)
{
    struct twin_agent *agent = &b->world.agent[below(b, AGENTS)];

    if (agent->id)
        return;
    *agent = (struct twin_agent){.id = 1 + (agent - b->world.agent) * 7 % AGENTS};
    agent->slots = below(b, 3) ? 4 : below(b, SLOTS + 1);
    CHECK_OK(pool_add_agent(b->pool, agent->id, agent->slots, &test_err));
}

static void remove_agent(struct both *b)
{
    struct twin_agent *agent = &b->world.agent[below(b, AGENTS)];
    det_status want = !agent->id
                          ? DET_NOT_FOUND
                          : (naive_used(agent) || agent->aux ? DET_STATE : DET_OK);

    CHECK_EQ(pool_remove_agent(b->pool, agent->id, NULL), want);
    if (!want)
        *agent = (struct twin_agent){0};
}

static void toggle_slot(struct both *b)
{
    struct twin_agent *agent = &b->world.agent[below(b, AGENTS)];
    uint32_t slot = below(b, SLOTS);
    bool is_on = below(b, 3) > 0;

    if (!agent->id || slot >= agent->slots)
        return;
    agent->is_off[slot] = !is_on;
    CHECK_OK(pool_enable_slot(b->pool, agent->id, slot, is_on, &test_err));
}

/* The weight or the cap of a group changes, for all its requests. */
static void change_group(struct both *b)
{
    struct pool_group *group = &b->world.group[below(b, GROUPS)];

    group->weight = 0.5 * (1 + below(b, 6));
    group->is_capped = below(b, 3) == 0;
    group->max_slots = group->is_capped ? below(b, 12) : 0;
    for (int i = 0; i < REQUESTS; i++) {
        struct twin_request *r = &b->world.request[i];

        if (r->life == NONE || r->want.group.id != group->id)
            continue;
        r->want.group = *group;
        CHECK_OK(pool_set_group(b->pool, r->want.allocation, group, &test_err));
    }
}

static void add_request(struct both *b)
{
    static const uint32_t sizes[] = {0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 16};
    struct twin_request *r = &b->world.request[below(b, REQUESTS)];

    if (r->life != NONE)
        return;
    r->life = WAITS;
    r->want = (struct pool_request){
        .allocation = b->next_id++,
        .slots = sizes[below(b, ARRAY_LEN(sizes))],
        .priority = 41 + below(b, 3),
        .position = below(b, 10),
        .is_preemptible = below(b, 4) > 0,
        .is_single_node = below(b, 5) == 0,
        .prefers_single_node = below(b, 3) == 0,
        .blocked = r->blocked,
        .blocked_count = below(b, 4) ? 0 : 1 + below(b, BLOCKED),
        .group = b->world.group[below(b, GROUPS)],
    };
    if (b->has_positions_of_groups)
        r->want.position = r->want.group.id * 7 % 5;
    for (int i = 0; i < BLOCKED; i++)
        r->blocked[i] = 1 + below(b, AGENTS);
    CHECK_OK(pool_add(b->pool, &r->want, &test_err));
}

static void remove_request(struct both *b)
{
    struct twin_request *r = &b->world.request[below(b, REQUESTS)];

    if (r->life == NONE)
        return;
    if (r->life != WAITS)
        naive_vacate(&b->world, r);
    r->life = NONE;
    pool_remove(b->pool, r->want.allocation);
}

/* Leavers end sooner than others, as in life. */
static void end_leaver(struct both *b)
{
    for (int i = 0; i < REQUESTS; i++) {
        struct twin_request *r = &b->world.request[i];

        if (r->life != LEAVES || below(b, 2))
            continue;
        naive_vacate(&b->world, r);
        r->life = NONE;
        pool_remove(b->pool, r->want.allocation);
    }
}

static void change_request(struct both *b)
{
    struct twin_request *r = &b->world.request[below(b, REQUESTS)];

    if (r->life == NONE)
        return;
    if (r->life == RUNS && below(b, 2)) {
        r->life = LEAVES;
        pool_mark_leaving(b->pool, r->want.allocation);
        return;
    }
    r->want.priority = 41 + below(b, 3);
    CHECK_OK(
        pool_set_priority(b->pool, r->want.allocation, r->want.priority, &test_err));
}

static void compare_counts(struct both *b)
{
    struct pool_stats stats;
    struct pool_stats want = {0};
    const struct twin_request *one = &b->world.request[below(b, REQUESTS)];
    int64_t ahead = 0;

    for (int i = 0; i < REQUESTS; i++) {
        const struct twin_request *r = &b->world.request[i];
        bool runs = r->life == RUNS || r->life == LEAVES;

        want.waiting += r->life == WAITS;
        want.running += runs;
        want.slots_used += runs ? r->want.slots : 0;
        want.aux_running += runs && !r->want.slots;
        ahead += r->life == WAITS && naive_compare(&r->want, &one->want) < 0;
    }
    for (int i = 0; i < AGENTS; i++) {
        want.agents += b->world.agent[i].id != 0;
        want.slots += b->world.agent[i].id ? b->world.agent[i].slots : 0;
    }
    pool_get_stats(b->pool, &stats);
    CHECK(memcmp(&stats, &want, sizeof(want)) == 0);
    CHECK_EQ(pool_ahead(b->pool, one->want.allocation),
             one->life == WAITS ? ahead : -1);
}

static void live(struct both *b)
{
    static void (*const events[])(struct both *) = {
        add_request, add_request,    add_request,    add_request,    add_request,
        add_request, remove_request, remove_request, end_leaver,     end_leaver,
        add_agent,   remove_agent,   toggle_slot,    change_request, change_group};

    for (int i = 0; i < 6; i++)
        add_agent(b);
    for (b->step = 0; b->step < STEPS; b->step++) {
        for (uint32_t i = below(b, 4); i > 0; i--)
            events[below(b, ARRAY_LEN(events))](b);
        schedule_both(b);
        CHECK_OK(pool_check(b->pool, &test_err));
        compare_counts(b);
    }
}

static void compare_lives(const char *policy, uint64_t seen[3])
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct both b = {.seed = seed, .rng = {seed}, .next_id = 1};
        struct pool_config config = {.policy = policy};

        b.has_positions_of_groups = !strcmp(policy, "fair_share");
        for (int i = 0; i < GROUPS; i++)
            b.world.group[i] = (struct pool_group){.id = i + 1, .weight = 1};
        config.is_preemptive = below(&b, 3) > 0;
        config.fits_worst = below(&b, 2);
        config.allows_heterogeneous_fits = below(&b, 2);
        config.max_aux_per_agent = below(&b, 4);
        b.world.config = config;
        CHECK_OK(pool_new(&config, &b.pool, &test_err));
        live(&b);
        pool_free(b.pool);
        for (int i = 0; i < 3; i++)
            seen[i] += b.seen[i];
    }
}

TEST(priorities_decide_as_in_the_naive_twin)
{
    uint64_t seen[3] = {0};

    compare_lives("priority", seen);
    CHECK(seen[0] > SEEDS && seen[1] > SEEDS / 10 && seen[2] > SEEDS / 10);
}

TEST(fair_share_decides_as_in_the_naive_twin)
{
    uint64_t seen[3] = {0};

    compare_lives("fair_share", seen);
    CHECK(seen[0] > SEEDS && seen[1] == 0 && seen[2] > SEEDS / 10);
}
