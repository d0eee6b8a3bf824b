/* SPDX-License-Identifier: Apache-2.0 */
/* priority.c - the priority policy.
 *
 * Requests with slots come first, then those without; each kind is scheduled
 * separately: level by level, within a level by (position, id).  For each request:
 *
 *   fits now            it starts (or is held back, see below)
 *   does not fit        it waits; so do the later ones of its shape in the level
 *     no preemption       less important levels start nothing
 *     preemption          it plans with slots that are being given back already; if
 *                         these are not enough, it preempts others: the least
 *                         important first, the newest first, never a more important
 *                         one, in its own level only those with a later position
 *
 * Once a request plans with slots that are not free yet, no later request starts in
 * this pass.  Later requests that would fit are held back, so they do not use the slots
 * being freed.  Starts decided before, for more important requests, stand.
 *
 * While a request of a more important level has no place in sight, only preemptible
 * requests take part (backfilling): they can be preempted when they are in the way.
 *
 * An allocation chosen for preemption is spared if its slots turn out not to be needed.
 *
 * A request whose group is full waits for its own job: it takes part in nothing.
 */
#include "sched/policy.h"
#include "sched/pool_impl.h"

/* The state of one pass over one kind. */
struct sweep {
    struct pool *pool;
    enum kind kind;
    bool is_backfilling;    /* a more important level has a waiting request */
    bool is_releasing;      /* a request plans with slots that are not free yet */
    bool has_freed_leavers; /* the simulation has freed the leavers' slots */
    bool is_waiting;        /* a request of this level has no place in sight */
};

static bool is_behind(const struct request *candidate, const struct request *request)
{
    if (candidate->priority != request->priority)
        return candidate->priority > request->priority;
    return candidate->position > request->position;
}

/* Whether the chosen place fails if `victim` stays. */
static bool is_in_the_way(const struct request *victim, const struct shape *shape,
                          bool is_shared)
{
    for (uint32_t i = 0; i < victim->hold->share_count; i++) {
        const struct hold_share *share = &victim->hold->share[i];
        const struct agent *agent = share->agent;

        if (!agent->is_picked)
            continue;
        if (!is_shared || !shape->slots ||
            agent->free < shape->slots + share_enabled(share))
            return true;
    }
    return false;
}

static void mark_picked(struct pool *pool, struct fit fit, bool is_picked)
{
    for (size_t i = 0; i < fit.count; i++)
        pool->pass.picks.at[fit.first + i].agent->is_picked = is_picked;
}

/* Spares the victims chosen since `first` that are not in the way, the most important
 * first. */
static det_status spare_victims(struct pool *pool, const struct shape *shape,
                                struct fit fit, size_t first)
{
    struct pass *pass = &pool->pass;
    bool is_ok = true;

    mark_picked(pool, fit, true);
    for (size_t i = pass->preempted.count; is_ok && i-- > first;) {
        if (is_in_the_way(pass->preempted.at[i], shape, fit.count == 1))
            continue;
        is_ok = pass_unfree(pool, pass->preempted.at[i]);
        vec_remove(&pass->preempted, i);
    }
    mark_picked(pool, fit, false);
    return is_ok ? DET_OK : DET_NOMEM;
}

static det_status free_leavers(struct sweep *sweep)
{
    const struct tree *leavers = &sweep->pool->leavers[sweep->kind];

    for (struct tree_node *at = tree_first(leavers); at; at = tree_next(at))
        if (!pass_free(sweep->pool, request_of(at)))
            return DET_NOMEM;
    return DET_OK;
}

/* A walk over victims.  One victim alone rarely makes room, so the walk only notes at
 * each agent how much the victims would free.  It frees them and looks for a fit when
 * one agent has enough free slots or enough agents have become idle. */
struct walk {
    const struct shape *shape;
    bool may_spread;
    uint32_t most_free;  /* the most free slots of an agent with a noted victim */
    uint64_t idle_slots; /* as if the noted victims had left */
    size_t freed;        /* pass.preempted up to here are freed */
};

/* Notes how much `victim` would free; true: the request might fit now. */
static bool note_victim(struct walk *walk, const struct request *victim, uint64_t stamp)
{
    uint32_t need = walk->shape->slots;
    bool is_enough = need == 0;

    for (uint32_t i = 0; i < victim->hold->share_count; i++) {
        const struct hold_share *share = &victim->hold->share[i];
        struct agent *agent = share->agent;

        if (agent->stamp != stamp) {
            agent->stamp = stamp;
            agent->may_free = agent->may_drop = 0;
        }
        agent->may_free += share_enabled(share);
        agent->may_drop += share->count;
        walk->most_free = MAX(walk->most_free, agent->free + agent->may_free);
        is_enough |= agent->free + agent->may_free >= need;
        if (!walk->may_spread || agent->may_drop < agent->used)
            continue;
        walk->idle_slots += agent->enabled;
        is_enough |= walk->idle_slots >= need;
    }
    return is_enough;
}

static det_status free_noted(struct pool *pool, struct walk *walk)
{
    struct pass *pass = &pool->pass;

    for (; walk->freed < pass->preempted.count; walk->freed++)
        if (!pass_free(pool, pass->preempted.at[walk->freed]))
            return DET_NOMEM;
    pass->stamp++;
    return DET_OK;
}

/* All victims were not enough: records the shortfall.  Not while something is held
 * back, because those slots may be free again in the next pass. */
static void record_shortfall(const struct sweep *sweep, const struct request *request,
                             const struct walk *walk)
{
    const struct pool *pool = sweep->pool;
    struct shortfall *shortfall = &request->queue->shortfall;
    uint64_t need = walk->shape->slots;
    uint64_t most = MAX(walk->most_free, fit_most_free(pool));

    *shortfall = (struct shortfall){.position = request->position};
    if (sweep->is_releasing || need <= most)
        return;
    shortfall->slots_until = pool->gained_slots + need - most;
    if (!walk->may_spread)
        shortfall->idle_until = UINT64_MAX;
    else if (need > walk->idle_slots)
        shortfall->idle_until = pool->gained_idle + need - walk->idle_slots;
}

static bool is_known_to_fail(const struct pool *pool, const struct request *request)
{
    const struct shortfall *shortfall = &request->queue->shortfall;

    return pool->gained_slots < shortfall->slots_until &&
           pool->gained_idle < shortfall->idle_until &&
           request->position >= shortfall->position;
}

/* Frees victims until the request fits, and appends them to pass.preempted. */
static det_status free_victims(struct sweep *sweep, const struct request *request,
                               bool *ret_fits, struct fit *ret_fit)
{
    struct pool *pool = sweep->pool;
    struct pass *pass = &pool->pass;
    const struct shape *shape = &request->queue->shape;
    struct tree_node *at = tree_last(&pool->victims[sweep->kind]);
    struct walk walk = {.shape = shape,
                        .may_spread = fit_may_spread(pool, shape),
                        .idle_slots = fit_idle_slots(pool),
                        .freed = pass->preempted.count};

    pass->stamp++;
    for (; at && is_behind(request_of(at), request); at = tree_prev(at)) {
        if (!vec_push(&pass->preempted, request_of(at)))
            return DET_NOMEM;
        if (!note_victim(&walk, request_of(at), pass->stamp))
            continue;
        if (free_noted(pool, &walk))
            return DET_NOMEM;
        if (fit_find(pool, shape, ret_fit)) {
            *ret_fits = true;
            return DET_OK;
        }
    }
    record_shortfall(sweep, request, &walk);
    return DET_OK;
}

/* Lets the request plan with slots that are being freed, and preempts if necessary. */
static det_status make_room(struct sweep *sweep, struct request *request)
{
    struct pool *pool = sweep->pool;
    struct pass *pass = &pool->pass;
    const struct shape *shape = &request->queue->shape;
    size_t log_count = pass->log.count;
    size_t first = pass->preempted.count;
    struct fit fit = {0};
    bool fits = false;
    det_status status = DET_OK;

    if (!sweep->has_freed_leavers && pool->leavers[sweep->kind].count) {
        status = free_leavers(sweep);
        fits = !status && fit_find(pool, shape, &fit);
    }
    if (!status && !fits)
        status = free_victims(sweep, request, &fits, &fit);
    if (!status && fits)
        status = spare_victims(pool, shape, fit, first);
    if (!status && !pass_reserve(pool))
        status = DET_NOMEM;
    if (status || !fits) {
        pass->preempted.count = first;
        pass_undo(pool, log_count);
        sweep->is_waiting = true;
        return status;
    }

    for (size_t i = first; i < pass->preempted.count; i++)
        pass_preempt(pool, pass->preempted.at[i]);
    sweep->has_freed_leavers = true;
    sweep->is_releasing = true;
    pass_hold_back(pool, request, fit);
    return DET_OK;
}

static det_status place_request(struct sweep *sweep, struct request *request)
{
    struct pool *pool = sweep->pool;
    struct fit fit;

    if (!pass_reserve(pool))
        return DET_NOMEM;
    if (fit_find(pool, &request->queue->shape, &fit)) {
        if (sweep->is_releasing)
            pass_hold_back(pool, request, fit);
        else
            pass_start(pool, request, fit, sweep->is_backfilling);
        return DET_OK;
    }
    if (pool->config.is_preemptive && !is_known_to_fail(pool, request))
        return make_room(sweep, request);
    sweep->is_waiting = true;
    return DET_OK;
}

static det_status sweep_level(struct sweep *sweep, uint32_t priority)
{
    const struct request *last = NULL;
    struct queue *queue;

    while ((queue = queue_after(sweep->pool, sweep->kind, priority, last))) {
        struct request *head = queue->head;
        det_status status;

        last = head;
        if (sweep->is_backfilling && !queue->shape.is_preemptible)
            continue;
        if (group_is_full(queue->shape.group, queue->shape.slots))
            continue;
        status = place_request(sweep, head);
        if (status)
            return status;
    }
    return DET_OK;
}

static det_status sweep_kind(struct sweep *sweep)
{
    struct pool *pool = sweep->pool;
    uint32_t level = queue_next_level(pool, sweep->kind, 0);

    for (; level; level = queue_next_level(pool, sweep->kind, level + 1)) {
        det_status status;

        sweep->is_waiting = false;
        status = sweep_level(sweep, level);
        if (status)
            return status;
        sweep->is_backfilling |= sweep->is_waiting;
        if (sweep->is_backfilling && !pool->config.is_preemptive)
            break;
    }
    pass_settle(pool);
    return DET_OK;
}

static det_status release_above_caps(struct pool *pool)
{
    struct group *group;

    for (size_t i = 0; (group = map_next(&pool->groups, &i));) {
        uint64_t stays = group->held - group->leaving;

        group->excess = stays > group->max_slots ? stays - group->max_slots : 0;
    }
    return group_release_excess(pool);
}

static det_status plan_by_priority(struct pool *pool)
{
    det_status status = release_above_caps(pool);

    if (!status)
        status = sweep_kind(&(struct sweep){.pool = pool, .kind = KIND_SLOTS});
    if (status)
        return status;
    return sweep_kind(&(struct sweep){.pool = pool, .kind = KIND_AUX});
}

const struct sched_policy sched_priority = {.name = "priority",
                                            .plan = plan_by_priority};
