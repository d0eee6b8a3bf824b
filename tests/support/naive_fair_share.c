/* SPDX-License-Identifier: Apache-2.0 */
/* naive_fair_share.c - fair share on the naive pool: the rules of fair_share.c, literally. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/naive_pool.h"

struct naive_share {
    const struct pool_group *group;
    int64_t position;
    int demand, held, offered, preoffer;
    int smallest; /* waiting request that fits now or an empty pool; 0: none */
    bool is_disabled;
};

static bool may_fit(const struct world *w, const struct pool_request *want)
{
    struct world empty = *w;
    struct place place;

    if (naive_find(&empty, want, &place))
        return true;
    for (int i = 0; i < REQUESTS; i++)
        if (empty.request[i].life == RUNS || empty.request[i].life == LEAVES)
            naive_vacate(&empty, &empty.request[i]);
    return naive_find(&empty, want, &place);
}

static struct naive_share share_of(const struct world *w,
                                   const struct pool_group *group)
{
    struct naive_share share = {.group = group, .position = INT64_MAX};

    for (int i = 0; i < REQUESTS; i++) {
        const struct twin_request *r = &w->request[i];
        int slots = (int)r->want.slots;

        if (r->life == NONE || r->want.group.id != group->id)
            continue;
        share.position = r->want.position; /* the same for all of a group */
        if (r->life != WAITS) {
            share.held += slots;
            share.demand += slots;
            share.preoffer += r->want.is_preemptible ? 0 : slots;
        } else if (slots && may_fit(w, &r->want)) {
            share.demand += slots;
            share.smallest =
                share.smallest && share.smallest < slots ? share.smallest : slots;
        }
    }
    if (group->is_capped && share.demand > (int)group->max_slots)
        share.demand = (int)group->max_slots;
    share.offered = share.preoffer;
    return share;
}

static int compare_shares(const void *a, const void *b)
{
    const struct naive_share *x = a, *y = b;

    if (x->demand != y->demand)
        return x->demand - y->demand;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->group->id < y->group->id ? -1 : 1;
}

static bool is_hungry(const struct naive_share *share)
{
    return !share->is_disabled && share->offered < share->demand;
}

static double hungry_weight(const struct naive_share *share)
{
    double sum = 0;

    for (int i = 0; i < GROUPS; i++)
        sum += is_hungry(&share[i]) ? share[i].group->weight : 0;
    return sum;
}

static int room_in(const struct naive_share *share)
{
    return share->offered > share->held ? share->offered - share->held : 0;
}

/* One round; false: nothing was offered. */
static bool give_round(struct naive_share *share, int *capacity)
{
    int start = *capacity;
    bool has_given = false;

    for (int i = 0; i < GROUPS; i++) {
        struct naive_share *s = &share[i];
        int offer;

        if (!is_hungry(s))
            continue;
        offer = (int)floor(start * s->group->weight / hungry_weight(share));
        offer = offer < 1 ? 1 : offer;
        offer = offer > *capacity ? *capacity : offer;
        offer = offer > s->demand - s->offered ? s->demand - s->offered : offer;
        has_given |= offer > 0;
        if (s->preoffer >= offer && s->preoffer > 0) {
            s->preoffer -= offer;
            continue;
        }
        s->preoffer = 0;
        s->offered += offer;
        *capacity -= offer;
    }
    return has_given;
}

static bool disable_newest(struct naive_share *share, int *capacity)
{
    struct naive_share *newest = NULL;

    for (int i = 0; i < GROUPS; i++) {
        struct naive_share *s = &share[i];

        if (!is_hungry(s) || !s->smallest || s->smallest <= room_in(s))
            continue;
        if (!newest || s->position > newest->position ||
            (s->position == newest->position && s->group->id > newest->group->id))
            newest = s;
    }
    if (!newest)
        return false;
    *capacity += room_in(newest);
    newest->offered -= room_in(newest);
    newest->is_disabled = true;
    return true;
}

static void divide(const struct world *w, struct naive_share *share)
{
    int capacity = 0;
    bool goes_on = true;

    for (int i = 0; i < AGENTS; i++)
        capacity += (int)(naive_free_slots(&w->agent[i]) + naive_used(&w->agent[i]));
    for (int i = 0; i < GROUPS; i++)
        capacity -= share[i].offered;
    while (goes_on && hungry_weight(share) > 0) {
        goes_on = give_round(share, &capacity);
        if (!capacity)
            goes_on = disable_newest(share, &capacity);
    }
}

/* Starts what waits, in order, if it fits `room` and the pool. */
static void start_waiting(struct world *w, int64_t group, bool has_slots, int room,
                          struct plan *plan)
{
    const struct world before = *w;
    const struct twin_request *at = NULL;

    while ((at = naive_neighbour((struct world *)(uintptr_t)&before, WAITS, has_slots,
                                 at, 1))) {
        struct twin_request *r = &w->request[at - before.request];
        struct place place;

        if ((has_slots && r->want.group.id != group) || (int)r->want.slots > room ||
            !naive_find(w, &r->want, &place))
            continue;
        naive_occupy(w, r, &place, &plan->start[plan->starts++]);
        r->life = RUNS;
        room -= (int)r->want.slots;
    }
}

struct plan naive_plan_fairly(struct world *w)
{
    struct plan plan = {0};
    struct naive_share share[GROUPS];
    bool goes[REQUESTS] = {0};

    for (int i = 0; i < GROUPS; i++)
        share[i] = share_of(w, &w->group[i]);
    qsort(share, GROUPS, sizeof(share[0]), compare_shares);
    divide(w, share);
    for (int i = 0; i < GROUPS; i++)
        naive_mark_excess(w, share[i].group->id, (uint32_t)share[i].offered, goes);
    for (int i = 0; i < GROUPS; i++)
        start_waiting(w, share[i].group->id, true, room_in(&share[i]), &plan);
    naive_preempt_marked(w, goes, &plan);
    start_waiting(w, 0, false, 0, &plan);
    return plan;
}
