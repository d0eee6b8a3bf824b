/* SPDX-License-Identifier: Apache-2.0 */
/* test_oracle.c - the pool against a naive implementation.
 *
 * The naive one follows the rules literally: it has flat arrays, sorts in every pass and
 * copies the whole state to try something; it has no queues, classes or logs.  Both get
 * the same random events, from a seed, and must make the same plan at every step.  A
 * failure names the seed and the step. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/rng.h"
#include "sched/pool.h"
#include "sched/pool_check.h"
#include "tests/support/pool_ahead.h"

enum { AGENTS = 9, SLOTS = 8, REQUESTS = 28, BLOCKED = 2, STEPS = 70, SEEDS = 3000 };

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

static uint32_t enabled(const struct twin_agent *agent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < agent->slots; i++)
        count += !agent->is_off[i];
    return count;
}

static uint32_t free_slots(const struct twin_agent *agent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < agent->slots; i++)
        count += !agent->is_off[i] && !agent->holder[i];
    return count;
}

static uint32_t used(const struct twin_agent *agent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < agent->slots; i++)
        count += agent->holder[i] != 0;
    return count;
}

static bool is_blocked(const struct pool_request *want, int64_t agent)
{
    for (uint32_t i = 0; i < want->blocked_count; i++)
        if (want->blocked[i] == agent)
            return true;
    return false;
}

static double ratio(uint32_t part, uint32_t whole)
{
    return whole ? (double)part / whole : 0;
}

static double score(const struct world *w, const struct pool_request *want,
                    const struct twin_agent *agent)
{
    uint32_t most = w->config.max_aux_per_agent;

    if (used(agent) || want->slots)
        return w->config.fits_worst ? ratio(free_slots(agent), enabled(agent))
                                    : 1.0 / (1.0 + free_slots(agent));
    return w->config.fits_worst ? ratio(most - agent->aux, most)
                                : 1.0 / (1.0 + most - agent->aux);
}

static bool takes_aux(const struct world *w, const struct twin_agent *agent)
{
    return agent->aux < w->config.max_aux_per_agent &&
           (!agent->slots || enabled(agent));
}

static bool find_shared(struct world *w, const struct pool_request *want,
                        struct place *place)
{
    struct twin_agent *best = NULL;

    for (int i = 0; i < AGENTS; i++) {
        struct twin_agent *agent = &w->agent[i];

        if (!agent->id || is_blocked(want, agent->id))
            continue;
        if (want->slots ? free_slots(agent) < want->slots : !takes_aux(w, agent))
            continue;
        if (!best || score(w, want, agent) > score(w, want, best) ||
            (score(w, want, agent) == score(w, want, best) && agent->id < best->id))
            best = agent;
    }
    if (best)
        *place = (struct place){1, {best}, {want->slots}};
    return best != NULL;
}

/* Up to `most` idle agents with n enabled slots each, by id. */
static uint32_t take_idle(struct world *w, const struct pool_request *want, uint32_t n,
                          uint32_t most, struct place *place)
{
    uint32_t taken = 0;
    int64_t last = 0;

    while (taken < most) {
        struct twin_agent *next = NULL;

        for (int i = 0; i < AGENTS; i++) {
            struct twin_agent *agent = &w->agent[i];

            if (agent->id > last && !is_blocked(want, agent->id) && !used(agent) &&
                enabled(agent) == n && (!next || agent->id < next->id))
                next = agent;
        }
        if (!next)
            break;
        place->agent[place->count] = next;
        place->slots[place->count++] = n;
        last = next->id;
        taken++;
    }
    return taken;
}

static bool find_several(struct world *w, const struct pool_request *want,
                         struct place *place)
{
    uint32_t left = want->slots;

    for (uint32_t n = SLOTS; n > 0; n--) {
        place->count = 0;
        if (want->slots % n == 0 &&
            take_idle(w, want, n, want->slots / n, place) == want->slots / n)
            return true;
    }
    place->count = 0;
    if (!w->config.allows_heterogeneous_fits)
        return false;
    for (uint32_t n = SLOTS; n > 0; n--)
        left -= n * take_idle(w, want, n, left / n, place);
    return left == 0;
}

static bool is_kept_together(const struct world *w, const struct pool_request *want)
{
    if (want->is_single_node)
        return true;
    for (int i = 0; i < AGENTS && want->prefers_single_node; i++) {
        const struct twin_agent *agent = &w->agent[i];

        if (agent->id && !is_blocked(want, agent->id) && enabled(agent) >= want->slots)
            return true;
    }
    return false;
}

static bool find(struct world *w, const struct pool_request *want, struct place *place)
{
    if (find_shared(w, want, place))
        return true;
    if (want->slots < 2 || is_kept_together(w, want))
        return false;
    return find_several(w, want, place);
}

/* Gives the slots out in `w`; the lowest free ones of each agent. */
static void occupy(struct world *w, struct twin_request *request,
                   const struct place *place, struct step *step)
{
    *step = (struct step){.action = POOL_START,
                          .allocation = request->want.allocation,
                          .share_count = place->count};
    for (uint32_t i = 0; i < place->count; i++) {
        struct twin_agent *agent = &w->agent[place->agent[i] - w->agent];
        uint32_t left = place->slots[i];

        step->agent[i] = agent->id;
        for (uint32_t slot = 0; left; slot++) {
            if (agent->is_off[slot] || agent->holder[slot])
                continue;
            agent->holder[slot] = request->want.allocation;
            step->slots[i] |= 1u << slot;
            left--;
        }
        if (!request->want.slots) {
            agent->aux++;
            request->aux_agent = agent->id;
        }
    }
}

static void vacate(struct world *w, const struct twin_request *request)
{
    for (int i = 0; i < AGENTS; i++) {
        for (int slot = 0; slot < SLOTS; slot++)
            if (w->agent[i].holder[slot] == request->want.allocation)
                w->agent[i].holder[slot] = 0;
        if (!request->want.slots && w->agent[i].id &&
            w->agent[i].id == request->aux_agent)
            w->agent[i].aux--;
    }
}

static int compare(const struct pool_request *a, const struct pool_request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return (a->allocation > b->allocation) - (a->allocation < b->allocation);
}

/* The next after `last` in one state, or the one before it. */
static struct twin_request *neighbour(struct world *w, enum life life, bool has_slots,
                                      const struct twin_request *last, int way)
{
    struct twin_request *found = NULL;

    for (int i = 0; i < REQUESTS; i++) {
        struct twin_request *r = &w->request[i];

        if (r->life != life || (r->want.slots > 0) != has_slots)
            continue;
        if (last && compare(&r->want, &last->want) * way <= 0)
            continue;
        if (!found || compare(&r->want, &found->want) * way < 0)
            found = r;
    }
    return found;
}

static bool is_same_shape(const struct pool_request *a, const struct pool_request *b)
{
    if (a->slots != b->slots || a->is_single_node != b->is_single_node ||
        a->prefers_single_node != b->prefers_single_node ||
        a->is_preemptible != b->is_preemptible)
        return false;
    for (int id = 0; id < 100; id++)
        if (is_blocked(a, id) != is_blocked(b, id))
            return false;
    return true;
}

/* Chosen requests, by their place in world.request. */
struct chosen {
    uint32_t count;
    int at[REQUESTS];
};

/* The world once all of these have ended. */
static struct world without(const struct world *before, bool has_leavers_gone,
                            const struct chosen *chosen)
{
    struct world after = *before;

    for (int i = 0; has_leavers_gone && i < REQUESTS; i++)
        if (after.request[i].life == LEAVES)
            vacate(&after, &after.request[i]);
    for (uint32_t i = 0; i < chosen->count; i++)
        vacate(&after, &after.request[chosen->at[i]]);
    return after;
}

static bool still_fits(const struct world *w, const struct world *other,
                       const struct pool_request *want, const struct place *place)
{
    for (uint32_t i = 0; i < place->count; i++) {
        const struct twin_agent *agent = &w->agent[place->agent[i] - other->agent];

        if (!want->slots && !takes_aux(w, agent))
            return false;
        if (free_slots(agent) < place->slots[i] || (place->count > 1 && used(agent)))
            return false;
    }
    return true;
}

struct sweep {
    struct world *real;
    struct world sim;
    struct plan *plan;
    bool is_releasing;
    bool has_freed_leavers;
};

static bool may_preempt(const struct pool_request *want, const struct twin_request *r)
{
    if (r->life != RUNS || !r->want.is_preemptible || !r->want.slots != !want->slots)
        return false;
    return r->want.priority > want->priority ||
           (r->want.priority == want->priority && r->want.position > want->position);
}

/* Frees leavers, then victims, in copies of the world, until it fits. */
static bool try_freeing(struct sweep *s, const struct pool_request *want,
                        struct chosen *chosen, struct place *place, struct world *then)
{
    bool has_leavers = !s->has_freed_leavers;
    const struct twin_request *at = NULL;

    *then = without(&s->sim, has_leavers, chosen);
    if (find(then, want, place))
        return true;
    while ((at = neighbour(&s->sim, RUNS, want->slots > 0, at, -1))) {
        if (!may_preempt(want, at))
            continue;
        chosen->at[chosen->count++] = (int)(at - s->sim.request);
        *then = without(&s->sim, has_leavers, chosen);
        if (find(then, want, place))
            return true;
    }
    return false;
}

static bool make_room(struct sweep *s, int who)
{
    const struct pool_request *want = &s->real->request[who].want;
    struct chosen chosen = {0};
    struct place place;
    struct world then;
    struct step unused;

    if (!try_freeing(s, want, &chosen, &place, &then))
        return false;
    for (uint32_t i = chosen.count; i-- > 0;) {
        struct chosen fewer = chosen;
        struct world less;

        fewer.count--;
        memmove(&fewer.at[i], &fewer.at[i + 1],
                (fewer.count - i) * sizeof(fewer.at[0]));
        less = without(&s->sim, !s->has_freed_leavers, &fewer);
        if (still_fits(&less, &then, want, &place))
            chosen = fewer;
    }
    for (uint32_t i = 0; i < place.count; i++)
        place.agent[i] = &s->sim.agent[place.agent[i] - then.agent];
    s->sim = without(&s->sim, !s->has_freed_leavers, &chosen);
    for (uint32_t i = 0; i < chosen.count; i++) {
        s->plan->preempt[s->plan->preempts++] =
            (struct step){.action = POOL_PREEMPT,
                          .allocation = s->real->request[chosen.at[i]].want.allocation};
        s->sim.request[chosen.at[i]].life = NONE;
        s->real->request[chosen.at[i]].life = LEAVES;
    }
    occupy(&s->sim, &s->sim.request[who], &place, &unused);
    s->has_freed_leavers = s->is_releasing = true;
    return true;
}

static void start(struct sweep *s, int who, const struct place *place,
                  bool is_backfilled)
{
    struct step *step = &s->plan->start[s->plan->starts++];
    struct place again = *place;

    occupy(&s->sim, &s->sim.request[who], place, step);
    for (uint32_t i = 0; i < place->count; i++)
        again.agent[i] = &s->real->agent[place->agent[i] - s->sim.agent];
    occupy(s->real, &s->real->request[who], &again, step);
    step->is_backfilled = is_backfilled;
    s->sim.request[who].life = s->real->request[who].life = RUNS;
}

/* False: there is no place for it in sight. */
static bool place_one(struct sweep *s, int who, bool is_backfilling)
{
    struct place place;
    struct step unused;

    if (!find(&s->sim, &s->real->request[who].want, &place))
        return s->real->config.is_preemptive && make_room(s, who);
    if (s->is_releasing)
        occupy(&s->sim, &s->sim.request[who], &place, &unused);
    else
        start(s, who, &place, is_backfilling);
    return true;
}

static void sweep_kind(struct world *real, bool has_slots, struct plan *plan)
{
    struct sweep s = {.real = real, .sim = *real, .plan = plan};
    struct world before = *real;
    const struct twin_request *at = NULL;
    bool is_backfilling = false;
    bool is_waiting = false;
    uint32_t level = 0;
    struct chosen failed = {0};

    while ((at = neighbour(&before, WAITS, has_slots, at, 1))) {
        bool is_hopeless = false;

        if (at->want.priority != level) {
            level = at->want.priority;
            is_backfilling |= is_waiting;
            is_waiting = false;
            failed.count = 0;
        }
        if (is_backfilling && (!real->config.is_preemptive || !at->want.is_preemptible))
            continue;
        for (uint32_t i = 0; i < failed.count; i++)
            is_hopeless |= is_same_shape(&before.request[failed.at[i]].want, &at->want);
        if (is_hopeless)
            continue;
        if (place_one(&s, (int)(at - before.request), is_backfilling))
            continue;
        is_waiting = true;
        failed.at[failed.count++] = (int)(at - before.request);
    }
}

static struct plan twin_schedule(struct world *w)
{
    struct plan plan = {0};

    sweep_kind(w, true, &plan);
    sweep_kind(w, false, &plan);
    return plan;
}

/* ------------------------------------------------------------------ both at once */

struct both {
    struct pool *pool;
    struct world world;
    struct rng64 rng;
    int64_t next_id;
    uint64_t seed;
    int step;
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
    want = twin_schedule(&b->world);
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
    det_status want =
        !agent->id ? DET_NOT_FOUND : (used(agent) || agent->aux ? DET_STATE : DET_OK);

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
    };
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
        vacate(&b->world, r);
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
        vacate(&b->world, r);
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
        ahead += r->life == WAITS && compare(&r->want, &one->want) < 0;
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
        add_request, add_request,    add_request,    add_request,   add_request,
        add_request, remove_request, remove_request, end_leaver,    end_leaver,
        add_agent,   remove_agent,   toggle_slot,    change_request};

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

TEST(the_pool_decides_as_its_naive_twin_does)
{
    uint64_t seen[3] = {0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct both b = {.seed = seed, .rng = {seed}, .next_id = 1};
        struct pool_config config = {.policy = "priority"};

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
    CHECK(seen[0] > SEEDS && seen[1] > SEEDS / 10 && seen[2] > SEEDS / 10);
}
