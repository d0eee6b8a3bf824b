/* SPDX-License-Identifier: Apache-2.0 */
/* naive_pool.c - the naive pool and its priorities. */
#include "tests/support/naive_pool.h"

#include <string.h>

static uint32_t enabled(const struct twin_agent *agent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < agent->slots; i++)
        count += !agent->is_off[i];
    return count;
}

uint32_t naive_free_slots(const struct twin_agent *agent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < agent->slots; i++)
        count += !agent->is_off[i] && !agent->holder[i];
    return count;
}

uint32_t naive_used(const struct twin_agent *agent)
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

    if (naive_used(agent) || want->slots)
        return w->config.fits_worst ? ratio(naive_free_slots(agent), enabled(agent))
                                    : 1.0 / (1.0 + naive_free_slots(agent));
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
        if (want->slots ? naive_free_slots(agent) < want->slots : !takes_aux(w, agent))
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

            if (agent->id > last && !is_blocked(want, agent->id) &&
                !naive_used(agent) && enabled(agent) == n &&
                (!next || agent->id < next->id))
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

bool naive_find(struct world *w, const struct pool_request *want, struct place *place)
{
    if (find_shared(w, want, place))
        return true;
    if (want->slots < 2 || is_kept_together(w, want))
        return false;
    return find_several(w, want, place);
}

/* Gives the slots out in `w`; the lowest free ones of each agent. */
void naive_occupy(struct world *w, struct twin_request *request,
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

void naive_vacate(struct world *w, const struct twin_request *request)
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

int naive_compare(const struct pool_request *a, const struct pool_request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return (a->allocation > b->allocation) - (a->allocation < b->allocation);
}

/* The next after `last` in one state, or the one before it. */
struct twin_request *naive_neighbour(struct world *w, enum life life, bool has_slots,
                                     const struct twin_request *last, int way)
{
    struct twin_request *found = NULL;

    for (int i = 0; i < REQUESTS; i++) {
        struct twin_request *r = &w->request[i];

        if (r->life != life || (r->want.slots > 0) != has_slots)
            continue;
        if (last && naive_compare(&r->want, &last->want) * way <= 0)
            continue;
        if (!found || naive_compare(&r->want, &found->want) * way < 0)
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
    if ((a->group.is_capped || b->group.is_capped) && a->group.id != b->group.id)
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
            naive_vacate(&after, &after.request[i]);
    for (uint32_t i = 0; i < chosen->count; i++)
        naive_vacate(&after, &after.request[chosen->at[i]]);
    return after;
}

static bool still_fits(const struct world *w, const struct world *other,
                       const struct pool_request *want, const struct place *place)
{
    for (uint32_t i = 0; i < place->count; i++) {
        const struct twin_agent *agent = &w->agent[place->agent[i] - other->agent];

        if (!want->slots && !takes_aux(w, agent))
            return false;
        if (naive_free_slots(agent) < place->slots[i] ||
            (place->count > 1 && naive_used(agent)))
            return false;
    }
    return true;
}

/* Slots that the requests of a group hold. */
static uint32_t held_by(const struct world *w, int64_t group, bool with_leavers)
{
    uint32_t sum = 0;

    for (int i = 0; i < REQUESTS; i++) {
        const struct twin_request *r = &w->request[i];

        if (r->want.group.id == group &&
            (r->life == RUNS || (r->life == LEAVES && with_leavers)))
            sum += r->want.slots;
    }
    return sum;
}

static void preempt(struct twin_request *request, struct plan *plan)
{
    plan->preempt[plan->preempts++] =
        (struct step){.action = POOL_PREEMPT, .allocation = request->want.allocation};
    request->life = LEAVES;
}

/* Until the group holds no more than `most`, the oldest go. */
void naive_mark_excess(const struct world *w, int64_t group, uint32_t most,
                       bool goes[REQUESTS])
{
    uint32_t stays = held_by(w, group, false);
    const struct twin_request *at = NULL;

    while (stays > most &&
           (at = naive_neighbour((struct world *)(uintptr_t)w, RUNS, true, at, 1))) {
        if (at->want.group.id != group || !at->want.is_preemptible)
            continue;
        goes[at - w->request] = true;
        stays -= at->want.slots;
    }
}

void naive_preempt_marked(struct world *w, const bool goes[REQUESTS], struct plan *plan)
{
    const struct world before = *w;
    const struct twin_request *at = NULL;

    while (
        (at = naive_neighbour((struct world *)(uintptr_t)&before, RUNS, true, at, 1)))
        if (goes[at - before.request])
            preempt(&w->request[at - before.request], plan);
}

struct sweep {
    struct world *real;
    struct world sim;
    struct plan *plan;
    bool is_releasing;
    bool has_freed_leavers;
    uint32_t held_back[GROUPS + 1]; /* slots that wait for leavers, by group */
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
    if (naive_find(then, want, place))
        return true;
    while ((at = naive_neighbour(&s->sim, RUNS, want->slots > 0, at, -1))) {
        if (!may_preempt(want, at))
            continue;
        chosen->at[chosen->count++] = (int)(at - s->sim.request);
        *then = without(&s->sim, has_leavers, chosen);
        if (naive_find(then, want, place))
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
    naive_occupy(&s->sim, &s->sim.request[who], &place, &unused);
    s->held_back[want->group.id] += want->slots;
    s->has_freed_leavers = s->is_releasing = true;
    return true;
}

static void start(struct sweep *s, int who, const struct place *place,
                  bool is_backfilled)
{
    struct step *step = &s->plan->start[s->plan->starts++];
    struct place again = *place;

    naive_occupy(&s->sim, &s->sim.request[who], place, step);
    for (uint32_t i = 0; i < place->count; i++)
        again.agent[i] = &s->real->agent[place->agent[i] - s->sim.agent];
    naive_occupy(s->real, &s->real->request[who], &again, step);
    step->is_backfilled = is_backfilled;
    s->sim.request[who].life = s->real->request[who].life = RUNS;
}

static void hold_back(struct sweep *s, int who, const struct place *place)
{
    const struct pool_request *want = &s->real->request[who].want;
    struct step unused;

    naive_occupy(&s->sim, &s->sim.request[who], place, &unused);
    s->held_back[want->group.id] += want->slots;
}

static bool is_group_full(const struct sweep *s, const struct pool_request *want)
{
    return want->group.is_capped && want->slots &&
           held_by(s->real, want->group.id, true) + s->held_back[want->group.id] +
                   want->slots >
               want->group.max_slots;
}

/* False: there is no place for it in sight. */
static bool place_one(struct sweep *s, int who, bool is_backfilling)
{
    struct place place;

    if (!naive_find(&s->sim, &s->real->request[who].want, &place))
        return s->real->config.is_preemptive && make_room(s, who);
    if (s->is_releasing)
        hold_back(s, who, &place);
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

    while ((at = naive_neighbour(&before, WAITS, has_slots, at, 1))) {
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
        if (is_hopeless || is_group_full(&s, &at->want))
            continue;
        if (place_one(&s, (int)(at - before.request), is_backfilling))
            continue;
        is_waiting = true;
        failed.at[failed.count++] = (int)(at - before.request);
    }
}

struct plan naive_plan_by_priority(struct world *w)
{
    struct plan plan = {0};
    bool goes[REQUESTS] = {0};

    for (int i = 0; i < GROUPS; i++)
        if (w->group[i].is_capped)
            naive_mark_excess(w, w->group[i].id, w->group[i].max_slots, goes);
    naive_preempt_marked(w, goes, &plan);
    sweep_kind(w, true, &plan);
    sweep_kind(w, false, &plan);
    return plan;
}
