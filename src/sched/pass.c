/* SPDX-License-Identifier: Apache-2.0 */
/* pass.c - one pass of a policy: a simulation on the pool itself, with a log.
 *
 * A trial step of the policy (take these slots, free those) changes only the counts of
 * agents.  Each change is logged and can be undone.  The slot numbers of an allocation
 * are chosen at the very end, when all memory is allocated:
 *
 *   policy:  start* (hold back | free | preempt | undo)*  settle   ... once per kind
 *   finish:  get memory -> hand out slots -> fill the plan
 *              `-> out of memory: undo all
 */
#include "sched/pass.h"

#include <assert.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "sched/pool_impl.h"

/* Room for `want` elements in all; false when out of memory. */
#define RESERVE(v, want)                                                               \
    __extension__({                                                                    \
        void *room_at = room_for((v)->at, &(v)->cap, (want), sizeof(*(v)->at));        \
        if (room_at)                                                                   \
            (v)->at = room_at;                                                         \
        room_at != NULL;                                                               \
    })

static void *room_for(void *at, size_t *cap, size_t want, size_t size)
{
    size_t more = MAX(want, *cap * 2 + 8);
    void *grown;

    if (at && want <= *cap)
        return at;
    grown = mem_resize(at, more, size);
    if (grown)
        *cap = more;
    return grown;
}

bool pass_reserve(struct pool *pool)
{
    struct pass *pass = &pool->pass;
    size_t agents = pool->agents.count;

    return RESERVE(&pass->picks, pass->picks.count + agents) &&
           RESERVE(&pass->log, pass->log.count + agents) &&
           RESERVE(&pass->starts, pass->starts.count + 1) &&
           RESERVE(&pass->reserved, pass->reserved.count + 1);
}

static void log_change(struct pool *pool, struct change entry)
{
    struct pass *pass = &pool->pass;

    assert(pass->log.count < pass->log.cap);
    pass->log.at[pass->log.count++] = entry;
    index_change(pool, &entry);
}

static void take_slots(struct pool *pool, const struct request *request, struct fit fit)
{
    for (size_t i = 0; i < fit.count; i++) {
        const struct pick *pick = &pool->pass.picks.at[fit.first + i];
        int32_t count = (int32_t)pick->count;

        log_change(pool, (struct change){pick->agent, -count, count, !request->slots});
    }
}

/* Takes the request out of its queue; the next one becomes the head.  The queue stays,
 * even when it is empty now. */
static void pop_request(struct pool *pool, struct request *request)
{
    assert(!request->is_running);
    queue_remove(pool, request);
    request->queue->popped++;
    group_take(request->queue->shape.group, request);
}

static void return_request(struct pool *pool, struct request *request)
{
    assert(request->queue->popped > 0);
    request->queue->popped--;
    group_give_back(request->queue->shape.group, request);
    queue_add(pool, request->queue, request);
}

void pass_start(struct pool *pool, struct request *request, struct fit fit,
                bool is_backfilled)
{
    struct pass *pass = &pool->pass;

    assert(pass->log.count == pass->firm); /* starts come first */
    assert(pass->starts.count < pass->starts.cap);
    take_slots(pool, request, fit);
    pop_request(pool, request);
    pass->starts.at[pass->starts.count++] =
        (struct start){.request = request, .fit = fit, .is_backfilled = is_backfilled};
    pass->firm = pass->log.count;
}

void pass_hold_back(struct pool *pool, struct request *request, struct fit fit)
{
    struct pass *pass = &pool->pass;

    assert(pass->reserved.count < pass->reserved.cap);
    take_slots(pool, request, fit);
    pop_request(pool, request);
    pass->reserved.at[pass->reserved.count++] = request;
    pass->picks.count = fit.first;
}

uint32_t share_enabled(const struct hold_share *share)
{
    const uint64_t *off = agent_off(share->agent);
    uint32_t count = share->count;

    if (share->agent->enabled == share->agent->slots)
        return count;
    for (uint32_t i = 0; i < share->count; i++)
        count -= bit_is_set(off, share->slots[i]);
    return count;
}

/* `sign` 1: it gives its slots back; -1: it holds them after all. */
static bool change_hold(struct pool *pool, const struct request *request, int32_t sign)
{
    const struct hold *hold = request->hold;

    if (!RESERVE(&pool->pass.log, pool->pass.log.count + hold->share_count))
        return false;
    for (uint32_t i = 0; i < hold->share_count; i++) {
        const struct hold_share *share = &hold->share[i];

        log_change(pool, (struct change){.agent = share->agent,
                                         .free = sign * (int32_t)share_enabled(share),
                                         .used = -sign * (int32_t)share->count,
                                         .aux = -sign * !request->slots});
    }
    return true;
}

bool pass_free(struct pool *pool, const struct request *request)
{
    return change_hold(pool, request, 1);
}

bool pass_unfree(struct pool *pool, const struct request *request)
{
    return change_hold(pool, request, -1);
}

void pass_undo(struct pool *pool, size_t log_count)
{
    struct pass *pass = &pool->pass;

    assert(log_count <= pass->log.count);
    while (pass->log.count > log_count) {
        const struct change *last = &pass->log.at[--pass->log.count];

        index_change(
            pool, &(struct change){last->agent, -last->free, -last->used, -last->aux});
    }
}

/* The policy has put the request into pass.preempted already. */
void pass_preempt(struct pool *pool, struct request *request)
{
    enum kind kind = request_kind(request);

    assert(request->is_running && request->is_preemptible && !request->is_leaving);
    tree_remove(&pool->victims[kind], &request->node);
    request->is_leaving = true;
    tree_add(&pool->leavers[kind], &request->node);
    if (request->hold->group)
        request->hold->group->leaving += request->slots;
    pool_gains(pool, request);
}

static void pass_unpreempt(struct pool *pool, struct request *request)
{
    enum kind kind = request_kind(request);

    tree_remove(&pool->leavers[kind], &request->node);
    request->is_leaving = false;
    if (request->hold->group)
        request->hold->group->leaving -= request->slots;
    tree_add(&pool->victims[kind], &request->node);
}

void pass_settle(struct pool *pool)
{
    struct pass *pass = &pool->pass;

    pass_undo(pool, pass->firm);
    while (pass->reserved.count)
        return_request(pool, vec_pop(&pass->reserved));
}

static void clear_pass(struct pass *pass)
{
    assert(!pass->reserved.count);
    pass->picks.count = 0;
    pass->log.count = 0;
    pass->starts.count = 0;
    pass->preempted.count = 0;
    pass->firm = 0;
}

static void cancel_pass(struct pool *pool)
{
    struct pass *pass = &pool->pass;

    pool_gains_anything(pool);
    pass_settle(pool);
    pass_undo(pool, 0);
    for (size_t i = 0; i < pass->starts.count; i++) {
        struct request *request = pass->starts.at[i].request;

        mem_free(pass->starts.at[i].hold);
        return_request(pool, request);
    }
    for (size_t i = 0; i < pass->preempted.count; i++)
        pass_unpreempt(pool, pass->preempted.at[i]);
    clear_pass(pass);
}

/* The memory of the plan: the next unused step, share and slot. */
struct plan_room {
    struct pool_step *step;
    struct pool_share *share;
    uint32_t *slot;
};

static bool get_plan_memory(struct pool *pool, struct arena *mem,
                            struct plan_room *ret_room)
{
    struct pass *pass = &pool->pass;
    size_t shares = 0;
    size_t slots = 0;

    for (size_t i = 0; i < pass->starts.count; i++) {
        struct start *start = &pass->starts.at[i];
        struct request *request = start->request;

        start->hold = hold_new((uint32_t)start->fit.count, request->slots);
        if (!start->hold)
            return false;
        shares += start->fit.count;
        slots += request->slots;
    }
    ret_room->step =
        arena_array(mem, struct pool_step, pass->starts.count + pass->preempted.count);
    ret_room->share = arena_array(mem, struct pool_share, shares);
    ret_room->slot = arena_array(mem, uint32_t, slots);
    return ret_room->step && ret_room->share && ret_room->slot;
}

/* Marks the lowest free slots of the agent as held; it has enough of them. */
static void hand_out_slots(struct agent *agent, uint32_t count, uint32_t *ret_slots)
{
    uint64_t *held = agent_held(agent);
    const uint64_t *off = agent_off(agent);

    for (uint32_t word = 0; count; word++) {
        uint64_t free = ~(held[word] | off[word]);

        assert(word < agent->words);
        for (; free && count; free &= free - 1, count--) {
            uint32_t bit = (uint32_t)__builtin_ctzll(free);

            *ret_slots++ = word * 64 + bit;
            held[word] |= UINT64_C(1) << bit;
        }
    }
}

static void fill_hold(const struct pass *pass, const struct start *start)
{
    struct hold *hold = start->hold;
    uint32_t *slot = hold->share[0].slots;

    for (uint32_t i = 0; i < hold->share_count; i++) {
        const struct pick *pick = &pass->picks.at[start->fit.first + i];

        hold->share[i] = (struct hold_share){pick->agent, pick->count, slot};
        hand_out_slots(pick->agent, pick->count, slot);
        slot += pick->count;
    }
}

static void write_start_step(const struct start *start, struct plan_room *room)
{
    const struct hold *hold = start->hold;

    *room->step++ = (struct pool_step){.action = POOL_START,
                                       .allocation = start->request->id,
                                       .is_backfilled = start->is_backfilled,
                                       .share = room->share,
                                       .share_count = hold->share_count};
    for (uint32_t i = 0; i < hold->share_count; i++) {
        const struct hold_share *share = &hold->share[i];

        *room->share++ =
            (struct pool_share){share->agent->id, share->count, room->slot};
        for (uint32_t j = 0; j < share->count; j++)
            *room->slot++ = share->slots[j];
    }
}

static void carry_out_plan(struct pool *pool, struct plan_room *room)
{
    struct pass *pass = &pool->pass;

    for (size_t i = 0; i < pass->starts.count; i++) {
        const struct start *start = &pass->starts.at[i];
        struct queue *queue = start->request->queue;

        fill_hold(pass, start);
        start->hold->group = queue->shape.group;
        write_start_step(start, room);
        queue->popped--;
        queue_drop_if_empty(pool, queue);
        pool->waiting--;
        request_runs(pool, start->request, start->hold);
    }
    for (size_t i = 0; i < pass->preempted.count; i++)
        *room->step++ = (struct pool_step){.action = POOL_PREEMPT,
                                           .allocation = pass->preempted.at[i]->id};
}

det_status pass_finish(struct pool *pool, det_status status, struct arena *mem,
                       struct pool_plan *ret_plan, struct err *err)
{
    struct pass *pass = &pool->pass;
    size_t count = pass->starts.count + pass->preempted.count;
    struct plan_room room = {0};

    if (!status && count && !get_plan_memory(pool, mem, &room))
        status = DET_NOMEM;
    if (status) {
        cancel_pass(pool);
        return err_default(err, status);
    }

    *ret_plan = (struct pool_plan){room.step, (uint32_t)count};
    carry_out_plan(pool, &room);
    clear_pass(pass);
    return DET_OK;
}

void pass_done(struct pass *pass)
{
    vec_done(&pass->picks);
    vec_done(&pass->log);
    vec_done(&pass->starts);
    vec_done(&pass->reserved);
    vec_done(&pass->preempted);
    vec_done(&pass->groups);
}
