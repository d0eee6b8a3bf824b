/* SPDX-License-Identifier: Apache-2.0 */
/* priority.c - the priority policy.
 *
 * Requests with slots first, then those without, each kind by itself: level by level,
 * within a level by (position, id).  For each request in turn:
 *
 *   fits now            it starts (or is held back, see below)
 *   does not fit        it waits; so do those of its shape behind it in the level
 *     no preemption       less important levels start nothing
 *     preemption          it takes slots that are being given back already; if these
 *                         are not enough, it makes others leave: the least important
 *                         first, the newest first, never one more important than it,
 *                         of its own level only those with a later position
 *
 * Once somebody counts on slots that are not free yet, nothing behind it starts in this
 * pass; requests behind it that would fit are held back, so that the plan for what is
 * being freed stays true.  Starts that were decided before, for more important
 * requests, stand.
 *
 * While something of a more important level has no place in sight, only preemptible
 * requests take part (backfilling): they can be made to leave as soon as they are in
 * the way.
 *
 * An allocation that was about to be preempted but whose slots turn out not to be
 * needed is spared. */
#include "sched/inside.h"
#include "sched/policy.h"

/* What one pass over one kind has come to. */
struct sweep {
    struct pool *pool;
    enum kind kind;
    bool is_backfilling;    /* so has something of a more important level */
    bool is_releasing;      /* somebody counts on slots that are not free yet */
    bool has_freed_leavers; /* in the simulation, leavers are gone */
    bool is_waiting;        /* something of this level has no place in sight */
};

static bool is_behind(const struct request *candidate, const struct request *request)
{
    if (candidate->priority != request->priority)
        return candidate->priority > request->priority;
    return candidate->position > request->position;
}

/* Whether the place still holds if `victim` stays. */
static bool is_needed(const struct request *victim, const struct shape *shape,
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

/* Lets those of the victims chosen since `first` stay who are not in the way, the most
 * important ones first. */
static det_status spare(struct pool *pool, const struct shape *shape, struct fit fit,
                        size_t first)
{
    struct pass *pass = &pool->pass;
    bool is_ok = true;

    mark_picked(pool, fit, true);
    for (size_t i = pass->preempted.count; is_ok && i-- > first;) {
        if (is_needed(pass->preempted.at[i], shape, fit.count == 1))
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

/* A walk over victims.  Most of them change nothing by themselves, so what they would
 * free is only noted at their agents; they are freed, and the fit is looked for, when
 * one of these agents has become large enough or enough of them have become idle. */
struct walk {
    const struct shape *shape;
    bool may_spread;
    uint32_t most_free;  /* of an agent where somebody was noted */
    uint64_t idle_slots; /* with those noted */
    size_t freed;        /* pass.preempted up to here are freed */
};

/* Notes what `victim` would free; true: the request might fit now. */
static bool note(struct walk *walk, const struct request *victim, uint64_t stamp)
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

/* All victims were not enough: remembers by how much.  Not once something is held back,
 * for what is held back may be there again in the next pass. */
static void remember(const struct sweep *sweep, const struct request *request,
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

/* Frees victims until the request fits.  Those chosen are in pass.preempted. */
static det_status free_victims(struct sweep *sweep, const struct request *request,
                               bool *ret_fits, struct fit *ret_fit)
{
    struct pool *pool = sweep->pool;
    struct pass *pass = &pool->pass;
    const struct shape *shape = &request->queue->shape;
    struct tree_node *at = tree_last(&pool->victims[sweep->kind]);
    struct walk walk = {.shape = shape,
                        .may_spread = shape->slots > 1 && !shape->is_single_node,
                        .idle_slots = fit_idle_slots(pool),
                        .freed = pass->preempted.count};

    pass->stamp++;
    for (; at && is_behind(request_of(at), request); at = tree_prev(at)) {
        if (!vec_push(&pass->preempted, request_of(at)))
            return DET_NOMEM;
        if (!note(&walk, request_of(at), pass->stamp))
            continue;
        if (free_noted(pool, &walk))
            return DET_NOMEM;
        if (fit_find(pool, shape, ret_fit)) {
            *ret_fits = true;
            return DET_OK;
        }
    }
    remember(sweep, request, &walk);
    return DET_OK;
}

/* The request counts on slots that are being freed, or are to be. */
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
        status = spare(pool, shape, fit, first);
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

static det_status place(struct sweep *sweep, struct request *request)
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
        status = place(sweep, head);
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

static det_status plan(struct pool *pool)
{
    det_status status = sweep_kind(&(struct sweep){.pool = pool, .kind = KIND_SLOTS});

    if (status)
        return status;
    return sweep_kind(&(struct sweep){.pool = pool, .kind = KIND_AUX});
}

const struct sched_policy sched_priority = {.name = "priority", .plan = plan};
