/* SPDX-License-Identifier: Apache-2.0 */
/* fair_share.c - the fair-share policy: jobs get slots by their weights.
 *
 * The policy offers all slots of the pool to the groups in rounds, and then compares the
 * offers with what each group holds:
 *
 *   holds more than offered   its oldest preemptible requests are preempted
 *   holds less than offered   its waiting requests start, in order, where they fit
 *
 * A group's *demand* is what it holds plus its waiting requests, up to its cap.  A
 * waiting request that fits neither now nor an empty pool counts for nothing.  Slots of requests
 * that cannot be preempted are offered to their group from the start.
 *
 * Groups are served by (demand, position, id): who wants little is satisfied first.  In a
 * round, each group that wants more is offered its part by weight of what was there at the
 * beginning of the round, at least one slot.  If nothing is left and the offer of a group
 * leaves less room than its smallest waiting request needs, that room is of no use: the
 * newest such group gives it back and leaves the rounds.
 *
 * Requests without slots start wherever there is a place.
 *
 * A leaver still holds its slots, so it counts for its group until it has ended: nobody
 * is offered them twice. */
#include <assert.h>
#include <math.h>

#include "sched/policy.h"
#include "sched/pool_impl.h"

struct offering {
    struct group **group; /* in the order in which they are served */
    size_t count;
    uint64_t capacity; /* slots that are not offered yet */
};

/* ---- who wants how much ---------------------------------------------------------- */

/* Largest first, idle agents of several sizes may not add up, and do so once the largest
 * is busy: a request may fit now that would not fit an empty pool. */
static bool can_start(struct pool *pool, const struct shape *shape)
{
    struct fit fit;

    if (fit_is_possible(pool, shape))
        return true;
    if (!fit_find(pool, shape, &fit))
        return false;
    pool->pass.picks.count = fit.first;
    return true;
}

/* Gives every group its queues with slots, and its demand without its cap. */
static det_status collect_demands(struct pool *pool)
{
    struct group *group;
    struct queue *queue;

    if (!pass_reserve(pool))
        return DET_NOMEM;

    for (size_t i = 0; (group = map_next(&pool->groups, &i));) {
        group->demand = group->held;
        group->offered = group->preoffer = group->fixed;
        group->is_disabled = false;
        group->excess = 0;
        group->queues = NULL;
    }
    for (size_t i = 0; (queue = map_next(&pool->queues, &i));)
        for (; queue; queue = queue->same_hash) {
            group = queue->shape.group;
            if (!queue->shape.slots || !can_start(pool, &queue->shape))
                continue;
            group->demand += (uint64_t)queue->shape.slots * queue->requests.count;
            queue->next_of_group = group->queues;
            group->queues = queue;
        }
    return DET_OK;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *one = *(struct group *const *)a;
    const struct group *two = *(struct group *const *)b;

    if (one->demand != two->demand)
        return one->demand < two->demand ? -1 : 1;
    if (one->position != two->position)
        return one->position < two->position ? -1 : 1;
    return (one->id > two->id) - (one->id < two->id);
}

static det_status order_groups(struct pool *pool, struct offering *ret_offering)
{
    struct pass *pass = &pool->pass;
    struct group *group;

    vec_clear(&pass->groups);
    if (collect_demands(pool))
        return DET_NOMEM;
    for (size_t i = 0; (group = map_next(&pool->groups, &i));) {
        group->demand = MIN(group->demand, group->max_slots);
        if ((group->demand || group->held) && !vec_push(&pass->groups, group))
            return DET_NOMEM;
    }
    if (pass->groups.count)
        qsort(pass->groups.at, pass->groups.count, sizeof(*pass->groups.at),
              compare_groups);
    *ret_offering = (struct offering){pass->groups.at, pass->groups.count, 0};
    return DET_OK;
}

/* ---- the rounds ------------------------------------------------------------------ */

static bool wants_more(const struct group *group)
{
    return !group->is_disabled && group->offered < group->demand;
}

static double weight_of_wanting(const struct offering *offering)
{
    double sum = 0;

    for (size_t i = 0; i < offering->count; i++)
        if (wants_more(offering->group[i]))
            sum += offering->group[i]->weight;
    return sum;
}

/* A group that holds slots for good gets no more until its offers have made up for them.
 * The last of these offers is not reduced, as in the reference. */
static uint64_t offer_of(struct group *group, uint64_t share, uint64_t capacity)
{
    uint64_t offer = MIN(MIN(share, capacity), group->demand - group->offered);

    if (group->preoffer && group->preoffer >= offer) {
        group->preoffer -= offer;
        return 0;
    }
    group->preoffer = 0;
    return offer;
}

/* Returns whether anything was offered. */
static bool offer_round(struct offering *offering)
{
    double start = (double)offering->capacity;
    double weights = weight_of_wanting(offering);
    bool has_offered = false;

    for (size_t i = 0; i < offering->count; i++) {
        struct group *group = offering->group[i];
        double share = floor(start * group->weight / weights);
        uint64_t before = group->preoffer;
        uint64_t offer;

        if (!wants_more(group))
            continue;
        share = MAX(MIN(share, start), 1.0); /* a weight may be any number */
        offer = offer_of(group, (uint64_t)share, offering->capacity);
        group->offered += offer;
        offering->capacity -= offer;
        has_offered |= offer || group->preoffer != before;
        if (!wants_more(group))
            weights = weight_of_wanting(offering);
    }
    return has_offered;
}

/* What it is offered beyond what it holds. */
static uint64_t room_of(const struct group *group)
{
    return group->offered > group->held ? group->offered - group->held : 0;
}

static uint32_t smallest_waiting(const struct group *group)
{
    uint32_t least = UINT32_MAX;

    for (const struct queue *queue = group->queues; queue; queue = queue->next_of_group)
        least = MIN(least, queue->shape.slots);
    return least;
}

static bool is_newer(const struct group *a, const struct group *b)
{
    return a->position != b->position ? a->position > b->position : a->id > b->id;
}

static bool is_useless(const struct group *group)
{
    return wants_more(group) && group->queues &&
           smallest_waiting(group) > room_of(group);
}

/* Disables the newest group that has room of no use to it, and all newer ones that have
 * no room at all: one after the other they would give nothing back.  False: no group has
 * such room. */
static bool take_back_useless(struct offering *offering)
{
    struct group *newest = NULL;

    for (size_t i = 0; i < offering->count; i++) {
        struct group *group = offering->group[i];

        if (room_of(group) && is_useless(group) && (!newest || is_newer(group, newest)))
            newest = group;
    }
    if (!newest)
        return false;
    for (size_t i = 0; i < offering->count; i++) {
        struct group *group = offering->group[i];

        if (!room_of(group) && is_useless(group) && is_newer(group, newest))
            group->is_disabled = true;
    }
    offering->capacity += room_of(newest);
    newest->offered -= room_of(newest);
    newest->is_disabled = true;
    return true;
}

/* Slots that are held or can be given out. */
static uint64_t count_capacity(const struct pool *pool)
{
    uint64_t capacity = 0;

    for (size_t i = 0; i < pool->agents.count; i++)
        capacity += pool->agents.at[i]->free + pool->agents.at[i]->used;
    return capacity;
}

static void offer_all(const struct pool *pool, struct offering *offering)
{
    bool goes_on = true;

    offering->capacity = count_capacity(pool);
    for (size_t i = 0; i < offering->count; i++) {
        assert(offering->capacity >= offering->group[i]->fixed);
        offering->capacity -= offering->group[i]->fixed;
    }
    while (goes_on && weight_of_wanting(offering) > 0) {
        goes_on = offer_round(offering);
        if (!offering->capacity)
            goes_on = take_back_useless(offering);
    }
}

/* ---- what follows ---------------------------------------------------------------- */

/* The queue of the group whose head comes first after `after`. */
static struct queue *next_queue(const struct group *group, const struct request *after)
{
    struct queue *first = NULL;

    for (struct queue *at = group->queues; at; at = at->next_of_group)
        if (at->head &&
            (!after || request_compare(&at->head->node, &after->node) > 0) &&
            (!first || request_compare(&at->head->node, &first->head->node) < 0))
            first = at;
    return first;
}

/* Starts the waiting requests of the group, in order, that fit its room and the pool. */
static det_status start_requests(struct pool *pool, const struct group *group)
{
    const struct request *last = NULL;
    struct queue *queue;

    while (room_of(group) && (queue = next_queue(group, last))) {
        struct fit fit;

        last = queue->head;
        if (!pass_reserve(pool))
            return DET_NOMEM;
        if (queue->shape.slots <= room_of(group) && fit_find(pool, &queue->shape, &fit))
            pass_start(pool, queue->head, fit, false);
    }
    return DET_OK;
}

static det_status share_slots(struct pool *pool)
{
    struct offering offering = {0};
    det_status status = order_groups(pool, &offering);

    if (status)
        return status;
    offer_all(pool, &offering);
    for (size_t i = 0; !status && i < offering.count; i++) {
        struct group *group = offering.group[i];
        uint64_t stays = group->held - group->leaving;

        group->excess = stays > group->offered ? stays - group->offered : 0;
        status = start_requests(pool, group);
    }
    return status ? status : group_release_excess(pool);
}

static det_status start_auxiliary(struct pool *pool)
{
    uint32_t level = queue_next_level(pool, KIND_AUX, 0);

    for (; level; level = queue_next_level(pool, KIND_AUX, level + 1)) {
        const struct request *last = NULL;
        struct queue *queue;

        while ((queue = queue_after(pool, KIND_AUX, level, last))) {
            struct fit fit;

            last = queue->head;
            if (!pass_reserve(pool))
                return DET_NOMEM;
            if (fit_find(pool, &queue->shape, &fit))
                pass_start(pool, queue->head, fit, false);
        }
    }
    return DET_OK;
}

static det_status plan_fairly(struct pool *pool)
{
    det_status status = share_slots(pool);

    return status ? status : start_auxiliary(pool);
}

const struct sched_policy sched_fair_share = {
    .name = "fair_share", .has_groups = true, .plan = plan_fairly};
