/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the pool itself: agents join and leave, requests wait, run and leave. */
#include "sched/pool.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory/mem.h"
#include "sched/policy.h"
#include "sched/pool_check.h"
#include "sched/pool_impl.h"

static const struct sched_policy *const policies[] = {&sched_priority,
                                                      &sched_fair_share};

static_assert(sizeof(struct request) == 64, "a request is one cache line");

/* Too slow for anything but debug builds: O(everything) after every change. */
static void assert_invariants(const struct pool *pool)
{
    (void)pool;
    assert(!DET_DEBUG || pool_check(pool, NULL) == DET_OK);
}

static const struct sched_policy *policy_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(policies); i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}

int request_compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct request *one = request_of(a);
    const struct request *two = request_of(b);

    /* tree_add() reads one of these next. */
    __builtin_prefetch(b->left);
    __builtin_prefetch(b->right);
    if (one->priority != two->priority)
        return one->priority < two->priority ? -1 : 1;
    if (one->position != two->position)
        return one->position < two->position ? -1 : 1;
    return (one->id > two->id) - (one->id < two->id);
}

det_status pool_new(const struct pool_config *config, struct pool **ret_pool,
                    struct err *err)
{
    const struct sched_policy *policy = policy_find(config->policy);
    struct pool *pool;

    if (!policy)
        return err_set(err, DET_INVALID, "no scheduling policy '%s'", config->policy);
    pool = mem_new(struct pool);
    if (!pool)
        return err_default(err, DET_NOMEM);
    pool->config = *config;
    pool->config.policy = policy->name;
    pool->policy = policy;
    for (int kind = 0; kind < KINDS; kind++) {
        pool->victims[kind] = (struct tree)TREE_INIT(request_compare);
        pool->leavers[kind] = (struct tree)TREE_INIT(request_compare);
    }
    *ret_pool = pool;
    return DET_OK;
}

/* Requests come from slabs; each starts on a cache line. */
enum {
    LINE = 64,
    SLAB = 64,
    STRIDE = (sizeof(struct request) + LINE - 1) / LINE * LINE
};

static void request_give_back(struct pool *pool, struct request *request)
{
    request->node.parent = pool->spare ? &pool->spare->node : NULL;
    pool->spare = request;
}

static struct request *request_new(struct pool *pool)
{
    struct request *request;

    if (!pool->spare) {
        char *slab = mem_alloc(SLAB * STRIDE + LINE);
        char *at = slab + (LINE - (uintptr_t)slab % LINE) % LINE;

        if (!slab || !vec_push(&pool->slabs, (void *)slab)) {
            mem_free(slab);
            return NULL;
        }
        for (int i = SLAB; i-- > 0;)
            request_give_back(pool,
                              (struct request *)(void *)(at + (size_t)i * STRIDE));
    }
    request = pool->spare;
    pool->spare = request_of(request->node.parent);
    *request = (struct request){0};
    return request;
}

static void queues_free(struct map *queues)
{
    struct queue *queue;

    for (size_t i = 0; (queue = map_next(queues, &i));) {
        while (queue) {
            struct queue *next = queue->same_hash;

            mem_free(queue);
            queue = next;
        }
    }
    map_done(queues);
}

void pool_free(struct pool *pool)
{
    struct request *request;
    struct group *group;

    if (!pool)
        return;
    for (size_t i = 0; (request = map_next(&pool->requests, &i));)
        if (request->is_running)
            mem_free(request->hold);
    map_done(&pool->requests);
    for (size_t i = 0; i < pool->slabs.count; i++)
        mem_free(pool->slabs.at[i]);
    vec_done(&pool->slabs);
    queues_free(&pool->queues);
    for (size_t i = 0; (group = map_next(&pool->groups, &i));)
        mem_free(group);
    map_done(&pool->groups);
    for (size_t i = 0; i < pool->agents.count; i++)
        mem_free(pool->agents.at[i]);
    vec_done(&pool->agents);
    index_done(&pool->index);
    pass_done(&pool->pass);
    mem_free(pool);
}

/* The index of the agent, or of the place where it would be inserted. */
static size_t agent_place(const struct pool *pool, int64_t id)
{
    size_t low = 0;
    size_t high = pool->agents.count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (pool->agents.at[mid]->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct agent *pool_agent(const struct pool *pool, int64_t id)
{
    size_t at = agent_place(pool, id);

    if (at == pool->agents.count || pool->agents.at[at]->id != id)
        return NULL;
    return pool->agents.at[at];
}

void pool_gains(struct pool *pool, const struct request *request)
{
    for (uint32_t i = 0; i < request->hold->share_count; i++) {
        pool->gained_slots += request->hold->share[i].count;
        pool->gained_idle += request->hold->share[i].agent->enabled;
    }
}

void pool_gains_anything(struct pool *pool)
{
    pool->gained_slots += POOL_REQUEST_SLOTS_MOST;
    pool->gained_idle += POOL_REQUEST_SLOTS_MOST;
}

static det_status no_agent(struct err *err, int64_t id)
{
    return err_set(err, DET_NOT_FOUND, "no agent %" PRId64 " in this pool", id);
}

static struct agent *agent_new(int64_t id, uint32_t slots)
{
    uint32_t words = slots / 64 + (slots % 64 != 0);
    struct agent *agent =
        mem_alloc(sizeof(*agent) + 2 * (size_t)words * sizeof(agent->bits[0]));

    if (!agent)
        return NULL;
    agent->id = id;
    agent->slots = agent->enabled = agent->free = slots;
    agent->words = words;
    /* Bits beyond the last slot are never free. */
    if (slots % 64)
        agent_off(agent)[words - 1] = ~UINT64_C(0) << (slots % 64);
    return agent;
}

det_status pool_add_agent(struct pool *pool, int64_t id, uint32_t slots,
                          struct err *err)
{
    size_t at = agent_place(pool, id);
    struct agent *agent;

    if (pool_agent(pool, id))
        return err_set(err, DET_EXISTS, "agent %" PRId64 " is there already", id);
    if (slots > POOL_AGENT_SLOTS_MOST)
        return err_set(err, DET_INVALID, "agent %" PRId64 " has %u slots, more than %u",
                       id, slots, (unsigned)POOL_AGENT_SLOTS_MOST);
    agent = agent_new(id, slots);
    if (!agent)
        return err_default(err, DET_NOMEM);
    if (!vec_push(&pool->agents, agent)) {
        mem_free(agent);
        return err_default(err, DET_NOMEM);
    }
    memmove(&pool->agents.at[at + 1], &pool->agents.at[at],
            (pool->agents.count - 1 - at) * sizeof(pool->agents.at[0]));
    pool->agents.at[at] = agent;
    if (!index_reserve(pool)) {
        vec_remove(&pool->agents, at);
        mem_free(agent);
        index_fill(pool);
        return err_default(err, DET_NOMEM);
    }
    index_fill(pool);
    pool_gains_anything(pool);
    pool->slots += slots;
    assert_invariants(pool);
    return DET_OK;
}

det_status pool_remove_agent(struct pool *pool, int64_t id, struct err *err)
{
    struct agent *agent = pool_agent(pool, id);

    if (!agent)
        return no_agent(err, id);
    if (agent->used || agent->aux_used)
        return err_set(err, DET_STATE, "agent %" PRId64 " is in use", id);
    pool->slots -= agent->slots;
    vec_remove(&pool->agents, agent->rank);
    mem_free(agent);
    index_fill(pool);
    assert_invariants(pool);
    return DET_OK;
}

static void slot_toggle(struct agent *agent, uint32_t slot)
{
    uint32_t by = bit_is_set(agent_off(agent), slot) ? 1 : UINT32_MAX;

    bit_flip(agent_off(agent), slot);
    agent->enabled += by;
    if (!bit_is_set(agent_held(agent), slot))
        agent->free += by;
}

det_status pool_enable_slot(struct pool *pool, int64_t id, uint32_t slot,
                            bool is_enabled, struct err *err)
{
    struct agent *agent = pool_agent(pool, id);
    det_status status = DET_OK;

    if (!agent)
        return no_agent(err, id);
    if (slot >= agent->slots)
        return err_set(err, DET_NOT_FOUND, "agent %" PRId64 " has no slot %" PRIu32, id,
                       slot);
    if (bit_is_set(agent_off(agent), slot) != is_enabled)
        return DET_OK;
    slot_toggle(agent, slot);
    if (!index_reserve(pool)) {
        slot_toggle(agent, slot);
        status = err_default(err, DET_NOMEM);
    }
    index_fill(pool);
    pool_gains_anything(pool);
    assert_invariants(pool);
    return status;
}

det_status pool_enable_aux(struct pool *pool, int64_t id, bool is_enabled,
                           struct err *err)
{
    struct agent *agent = pool_agent(pool, id);

    if (!agent)
        return no_agent(err, id);
    agent->is_aux_off = !is_enabled;
    index_fill(pool);
    assert_invariants(pool);
    return DET_OK;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t two = *(const int64_t *)b;

    return (one > two) - (one < two);
}

/* The shape borrows `blocked`, which the caller owns. */
static struct shape shape_of(const struct pool_request *request, int64_t *blocked)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < request->blocked_count; i++)
        blocked[i] = request->blocked[i];
    if (request->blocked_count)
        qsort(blocked, request->blocked_count, sizeof(*blocked), compare_ids);
    for (uint32_t i = 0; i < request->blocked_count; i++)
        if (!count || blocked[i] != blocked[count - 1])
            blocked[count++] = blocked[i];
    return (struct shape){.slots = request->slots,
                          .is_single_node = request->is_single_node,
                          .prefers_single_node = request->prefers_single_node,
                          .is_preemptible = request->is_preemptible,
                          .blocked_count = count,
                          .blocked = blocked,
                          .avoided = request->avoided};
}

static struct queue *queue_for(struct pool *pool, const struct pool_request *request,
                               struct group *group)
{
    int64_t few[8];
    bool is_many = request->blocked_count > ARRAY_LEN(few);
    int64_t *blocked =
        is_many ? mem_array(request->blocked_count, sizeof(*blocked)) : few;
    struct queue *queue = NULL;
    struct shape shape;

    if (blocked) {
        shape = shape_of(request, blocked);
        shape.group = group;
        queue = queue_get(pool, request->priority, &shape);
    }
    if (is_many)
        mem_free(blocked);
    return queue;
}

static det_status check_priority(uint32_t priority, struct err *err)
{
    if (priority < 1 || priority > PRIORITY_MOST)
        return err_set(err, DET_INVALID, "priority %" PRIu32 " is not within 1 and %d",
                       priority, PRIORITY_MOST);
    return DET_OK;
}

/* Checks the request and enters it into the map; it neither waits nor runs yet. */
static det_status request_enter(struct pool *pool, const struct pool_request *request,
                                struct request **ret_entry, struct err *err)
{
    det_status status = check_priority(request->priority, err);
    struct request *entry;

    if (status)
        return status;
    if (request->slots > POOL_REQUEST_SLOTS_MOST)
        return err_set(err, DET_INVALID, "%" PRIu32 " slots are more than %u",
                       request->slots, (unsigned)POOL_REQUEST_SLOTS_MOST);
    if (map_get(&pool->requests, request->allocation))
        return err_set(err, DET_EXISTS, "allocation %" PRId64 " is there already",
                       request->allocation);
    entry = request_new(pool);
    if (!entry)
        return err_default(err, DET_NOMEM);
    if (!map_put(&pool->requests, request->allocation, entry)) {
        request_give_back(pool, entry);
        return err_default(err, DET_NOMEM);
    }
    entry->id = request->allocation;
    entry->slots = request->slots;
    entry->priority = (uint8_t)request->priority;
    entry->position = request->position;
    entry->is_preemptible = request->is_preemptible;
    *ret_entry = entry;
    return DET_OK;
}

static void request_drop(struct pool *pool, struct request *request)
{
    map_remove(&pool->requests, request->id);
    if (request->is_running)
        mem_free(request->hold);
    request_give_back(pool, request);
}

det_status pool_add(struct pool *pool, const struct pool_request *request,
                    struct err *err)
{
    struct request *entry;
    struct group *group = NULL;
    struct queue *queue = NULL;
    det_status status = request_enter(pool, request, &entry, err);

    if (status)
        return status;
    if (group_get(pool, request, &group))
        queue = queue_for(pool, request, group);
    if (!queue) {
        group_drop_if_empty(pool, group);
        request_drop(pool, entry);
        return err_default(err, DET_NOMEM);
    }
    group_add_member(group);
    queue_add(pool, queue, entry);
    pool->waiting++;
    assert_invariants(pool);
    return DET_OK;
}

struct hold *hold_new(uint32_t shares, uint32_t slots)
{
    size_t head = sizeof(struct hold) + shares * sizeof(struct hold_share);
    struct hold *hold = mem_alloc(head + slots * sizeof(uint32_t));

    if (!hold)
        return NULL;
    hold->share_count = shares;
    hold->share[0].slots = (uint32_t *)(void *)((char *)hold + head);
    return hold;
}

/* The tree a running request is in; NULL: none. */
static struct tree *running_tree(struct pool *pool, const struct request *request)
{
    enum kind kind = request_kind(request);

    if (request->is_leaving)
        return &pool->leavers[kind];
    return request->is_preemptible ? &pool->victims[kind] : NULL;
}

void request_runs(struct pool *pool, struct request *request, struct hold *hold)
{
    struct tree *tree = running_tree(pool, request);

    assert(!request->is_running);
    request->hold = hold;
    request->is_running = true;
    if (tree)
        tree_add(tree, &request->node);
    pool->running++;
    pool->slots_used += request->slots;
    pool->aux_running += request->slots == 0;
}

static det_status check_share(const struct pool *pool, const struct pool_share *share,
                              struct err *err)
{
    struct agent *agent = pool_agent(pool, share->agent);

    if (!agent)
        return no_agent(err, share->agent);
    for (uint32_t i = 0; i < share->slot_count; i++) {
        uint32_t slot = share->slots[i];

        if (slot >= agent->slots || (i && slot <= share->slots[i - 1]))
            return err_set(err, DET_INVALID,
                           "slot %" PRIu32 " of agent %" PRId64
                           " does not exist or is listed twice",
                           slot, share->agent);
        if (bit_is_set(agent_held(agent), slot))
            return err_set(err, DET_STATE,
                           "slot %" PRIu32 " of agent %" PRId64 " is held already",
                           slot, share->agent);
    }
    return DET_OK;
}

static det_status check_shares(const struct pool *pool,
                               const struct pool_request *request,
                               const struct pool_share *share, uint32_t share_count,
                               struct err *err)
{
    uint64_t slots = 0;
    bool is_good = share_count == 1 || (share_count && request->slots);

    for (uint32_t i = 0; i < share_count; i++) {
        det_status status = check_share(pool, &share[i], err);

        if (status)
            return status;
        slots += share[i].slot_count;
        is_good &= !share[i].slot_count == !request->slots;
        for (uint32_t j = 0; j < i; j++)
            is_good &= share[j].agent != share[i].agent;
    }
    if (!is_good || slots != request->slots)
        return err_set(err, DET_INVALID,
                       "the shares of allocation %" PRId64 " are not the %" PRIu32
                       " slots it wants",
                       request->allocation, request->slots);
    return DET_OK;
}

static void share_take(struct pool *pool, const struct pool_share *share,
                       struct hold_share *own, uint32_t *slots)
{
    struct agent *agent = pool_agent(pool, share->agent);
    struct change change = {agent, 0, (int32_t)share->slot_count, !share->slot_count};

    for (uint32_t i = 0; i < share->slot_count; i++) {
        slots[i] = share->slots[i];
        bit_flip(agent_held(agent), slots[i]);
        assert(bit_is_set(agent_held(agent), slots[i]));
        change.free -= !bit_is_set(agent_off(agent), slots[i]);
    }
    index_change(pool, &change);
    *own = (struct hold_share){agent, share->slot_count, slots};
}

det_status pool_add_running(struct pool *pool, const struct pool_request *request,
                            const struct pool_share *share, uint32_t share_count,
                            struct err *err)
{
    det_status status = check_shares(pool, request, share, share_count, err);
    struct request *entry;
    struct group *group;
    struct hold *hold;
    uint32_t *slots;

    if (status)
        return status;
    status = request_enter(pool, request, &entry, err);
    if (status)
        return status;
    hold = hold_new(share_count, request->slots);
    if (!hold || !group_get(pool, request, &group)) {
        mem_free(hold);
        request_drop(pool, entry);
        return err_default(err, DET_NOMEM);
    }
    hold->group = group;
    group_add_member(group);
    group_take(group, entry);
    slots = hold->share[0].slots;
    for (uint32_t i = 0; i < share_count; i++) {
        share_take(pool, &share[i], &hold->share[i], slots);
        slots += share[i].slot_count;
    }
    request_runs(pool, entry, hold);
    assert_invariants(pool);
    return DET_OK;
}

static void share_give_back(struct pool *pool, const struct hold_share *share)
{
    struct agent *agent = share->agent;
    struct change change = {agent, 0, -(int32_t)share->count, -!share->count};

    for (uint32_t i = 0; i < share->count; i++) {
        assert(bit_is_set(agent_held(agent), share->slots[i]));
        bit_flip(agent_held(agent), share->slots[i]);
        change.free += !bit_is_set(agent_off(agent), share->slots[i]);
    }
    index_change(pool, &change);
}

static void running_end(struct pool *pool, struct request *request)
{
    struct tree *tree = running_tree(pool, request);

    if (tree)
        tree_remove(tree, &request->node);
    if (!request->is_leaving)
        pool_gains(pool, request); /* a leaver was counted when it began to leave */
    for (uint32_t i = 0; i < request->hold->share_count; i++)
        share_give_back(pool, &request->hold->share[i]);
    group_give_back(request->hold->group, request);
    if (request->hold->group && request->is_leaving)
        request->hold->group->leaving -= request->slots;
    group_remove_member(pool, request->hold->group);
    pool->running--;
    pool->slots_used -= request->slots;
    pool->aux_running -= request->slots == 0;
}

void pool_remove(struct pool *pool, int64_t allocation)
{
    struct request *request = map_get(&pool->requests, allocation);

    if (!request)
        return;
    if (request->is_running) {
        running_end(pool, request);
    } else {
        struct group *group = request->queue->shape.group;

        queue_remove(pool, request);
        queue_drop_if_empty(pool, request->queue);
        group_remove_member(pool, group);
        pool->waiting--;
    }
    request_drop(pool, request);
    assert_invariants(pool);
}

det_status pool_set_priority(struct pool *pool, int64_t allocation, uint32_t priority,
                             struct err *err)
{
    struct request *request = map_get(&pool->requests, allocation);
    det_status status = check_priority(priority, err);

    if (status)
        return status;
    if (!request)
        return err_set(err, DET_NOT_FOUND, "no allocation %" PRId64 " in this pool",
                       allocation);
    if (request->is_running) {
        struct tree *tree = running_tree(pool, request);

        if (tree)
            tree_remove(tree, &request->node);
        request->priority = (uint8_t)priority;
        if (tree)
            tree_add(tree, &request->node);
        pool_gains(pool, request);
    } else if (request->priority != priority) {
        struct queue *old = request->queue;
        struct queue *queue = queue_get(pool, priority, &old->shape);

        if (!queue)
            return err_default(err, DET_NOMEM);
        queue_remove(pool, request);
        queue_drop_if_empty(pool, old);
        request->priority = (uint8_t)priority;
        queue_add(pool, queue, request);
    }
    assert_invariants(pool);
    return DET_OK;
}

static void move_running(struct request *request, struct group *group)
{
    struct hold *hold = request->hold;
    uint64_t leaving = request->is_leaving ? request->slots : 0;

    group_give_back(hold->group, request);
    group_take(group, request);
    if (hold->group)
        hold->group->leaving -= leaving;
    if (group)
        group->leaving += leaving;
    hold->group = group;
}

static bool move_waiting(struct pool *pool, struct request *request,
                         struct group *group)
{
    struct queue *old = request->queue;
    struct shape shape = old->shape;
    struct queue *queue;

    shape.group = group;
    queue = queue_get(pool, request->priority, &shape);
    if (!queue)
        return false;
    queue_remove(pool, request);
    queue_drop_if_empty(pool, old);
    queue_add(pool, queue, request);
    return true;
}

det_status pool_set_group(struct pool *pool, int64_t allocation,
                          const struct pool_group *group, struct err *err)
{
    struct request *request = map_get(&pool->requests, allocation);
    struct pool_request wanted = {.allocation = allocation, .group = *group};
    struct group *old;
    struct group *new;

    if (!request)
        return err_set(err, DET_NOT_FOUND, "no allocation %" PRId64 " in this pool",
                       allocation);
    wanted.position = request->position;
    old = request->is_running ? request->hold->group : request->queue->shape.group;
    if (!group_get(pool, &wanted, &new))
        return err_default(err, DET_NOMEM);
    if (new == old)
        return DET_OK;
    if (!request->is_running && !move_waiting(pool, request, new)) {
        group_drop_if_empty(pool, new);
        return err_default(err, DET_NOMEM);
    }
    if (request->is_running)
        move_running(request, new);
    group_add_member(new);
    group_remove_member(pool, old);
    assert_invariants(pool);
    return DET_OK;
}

void pool_mark_leaving(struct pool *pool, int64_t allocation)
{
    struct request *request = map_get(&pool->requests, allocation);
    struct tree *tree;

    if (!request || !request->is_running || request->is_leaving)
        return;
    tree = running_tree(pool, request);
    if (tree)
        tree_remove(tree, &request->node);
    request->is_leaving = true;
    if (request->hold->group)
        request->hold->group->leaving += request->slots;
    pool_gains(pool, request);
    tree_add(running_tree(pool, request), &request->node);
    assert_invariants(pool);
}

det_status pool_schedule(struct pool *pool, struct arena *mem,
                         struct pool_plan *ret_plan, struct err *err)
{
    det_status status = pass_finish(pool, pool->policy->plan(pool), mem, ret_plan, err);

    assert_invariants(pool);
    return status;
}

void pool_get_stats(const struct pool *pool, struct pool_stats *ret_stats)
{
    *ret_stats = (struct pool_stats){.agents = (uint32_t)pool->agents.count,
                                     .slots = pool->slots,
                                     .slots_used = pool->slots_used,
                                     .aux_running = pool->aux_running,
                                     .waiting = pool->waiting,
                                     .running = pool->running};
}
