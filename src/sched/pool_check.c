/* SPDX-License-Identifier: Apache-2.0 */
/* pool_check.c - recounts everything the pool keeps for speed. */
#include "sched/pool_check.h"
#include "sched/pool_impl.h"

#include <inttypes.h>

static det_status broken(struct err *err, const char *what, int64_t id)
{
    return err_set(err, DET_CORRUPT, "%s (%" PRId64 ")", what, id);
}

/* Slots and places of one agent, added up over all running requests. */
struct tally {
    uint32_t slots;
    uint32_t aux;
};

static struct tally tally_agent(const struct pool *pool, const struct agent *agent)
{
    struct tally tally = {0};
    const struct request *request;

    for (size_t i = 0; (request = map_next(&pool->requests, &i));) {
        for (uint32_t j = 0; request->is_running && j < request->hold->share_count;
             j++) {
            const struct hold_share *share = &request->hold->share[j];

            if (share->agent != agent)
                continue;
            tally.slots += share->count;
            tally.aux += share->count == 0;
        }
    }
    return tally;
}

/* Each held slot has a bit, and there are as many bits as held slots, so no slot is held
 * twice. */
static det_status check_slots(struct agent *agent, struct tally tally, struct err *err)
{
    uint32_t held = 0;
    uint32_t enabled = 0;
    uint32_t free = 0;

    for (uint32_t i = 0; i < agent->slots; i++) {
        bool is_held = bit_is_set(agent_held(agent), i);
        bool is_enabled = !bit_is_set(agent_off(agent), i);

        held += is_held;
        enabled += is_enabled;
        free += is_enabled && !is_held;
    }
    if (held != tally.slots)
        return broken(err, "a slot of this agent is not held by exactly one",
                      agent->id);
    if (held != agent->used || enabled != agent->enabled || free != agent->free)
        return broken(err, "the slot counts of this agent are wrong", agent->id);
    if (tally.aux != agent->aux_used)
        return broken(err, "the zero-slot count of this agent is wrong", agent->id);
    return DET_OK;
}

static det_status check_index(const struct pool *pool, const struct agent *agent,
                              struct err *err)
{
    const struct index *index = &pool->index;

    if (pool->agents.at[agent->rank] != agent)
        return broken(err, "the rank of this agent is wrong", agent->id);
    if (agent->rank && pool->agents.at[agent->rank - 1]->id >= agent->id)
        return broken(err, "agents are not ordered at this one", agent->id);
    if (index->size[agent->size_at].slots != agent->enabled ||
        index_class_of(index, agent) != agent->class)
        return broken(err, "this agent is in a wrong class", agent->id);
    for (uint32_t class = 0; class < index->class_count; class ++)
        if (bit_is_set(index->bits + (size_t) class * index->words, agent->rank) !=
            (class == agent->class))
            return broken(err, "the bits of this agent are wrong", agent->id);
    if (index->aux_score[agent->rank] != index_aux_score_of(pool, agent))
        return broken(err, "the zero-slot score of this agent is wrong", agent->id);
    return DET_OK;
}

static det_status check_agents(const struct pool *pool, struct err *err)
{
    uint32_t slots = 0;
    uint32_t open = 0;
    uint32_t indexed = 0;

    for (size_t i = 0; i < pool->agents.count; i++) {
        struct agent *agent = pool->agents.at[i];
        det_status status = check_slots(agent, tally_agent(pool, agent), err);

        if (!status)
            status = check_index(pool, agent, err);
        if (status)
            return status;
        slots += agent->slots;
        open += pool->index.aux_score[i] > 0;
    }
    for (uint32_t i = 0; pool->agents.count && i < pool->index.class_count; i++)
        indexed += pool->index.count[i];
    if (slots != pool->slots || open != pool->index.aux_open ||
        indexed != pool->agents.count)
        return broken(err, "the totals over agents are wrong", (int64_t)slots);
    return DET_OK;
}

/* An allocation holds all it asked for, each slot marked as held, or nothing. */
static det_status check_hold(const struct request *request, struct err *err)
{
    const struct hold *hold = request->hold;
    uint32_t slots = 0;

    for (uint32_t i = 0; i < hold->share_count; i++) {
        const struct hold_share *share = &hold->share[i];

        slots += share->count;
        for (uint32_t j = 0; j < share->count; j++)
            if (!bit_is_set(agent_held(share->agent), share->slots[j]))
                return broken(err, "a held slot is not marked", request->id);
    }
    if (slots != request->slots || (!slots && hold->share_count != 1))
        return broken(err, "it does not hold what it asked for", request->id);
    return DET_OK;
}

static bool tree_has(const struct tree *tree, const struct tree_node *node)
{
    while (node->parent)
        node = node->parent;
    return tree->root == node;
}

static det_status check_request(const struct pool *pool, const struct request *request,
                                struct err *err)
{
    enum kind kind = request_kind(request);
    const struct queue *queue = request->is_running ? NULL : request->queue;

    if (queue &&
        (queue->priority != request->priority || queue->shape.slots != request->slots ||
         queue->shape.is_preemptible != request->is_preemptible ||
         !tree_has(&queue->requests, &request->node)))
        return broken(err, "it waits in a wrong queue", request->id);
    if (queue)
        return DET_OK;
    if (request->is_leaving && !tree_has(&pool->leavers[kind], &request->node))
        return broken(err, "it leaves, but is not among the leavers", request->id);
    if (request->is_preemptible && !request->is_leaving &&
        !tree_has(&pool->victims[kind], &request->node))
        return broken(err, "it is not among the preemptible", request->id);
    return check_hold(request, err);
}

/* Order, and the number of nodes. */
static det_status check_tree(const struct tree *tree, struct err *err)
{
    struct tree_node *at = tree_first(tree);
    size_t count = 0;

    for (; at; at = tree_next(at)) {
        struct tree_node *next = tree_next(at);

        count++;
        if (next && tree->compare(at, next) >= 0)
            return broken(err, "an order is wrong", (int64_t)count);
    }
    if (count != tree->count)
        return broken(err, "the count of an order is wrong", (int64_t)count);
    return DET_OK;
}

static det_status check_queue(const struct pool *pool, const struct queue *queue,
                              struct err *err)
{
    enum kind kind = queue->shape.slots ? KIND_SLOTS : KIND_AUX;
    det_status status = check_tree(&queue->requests, err);

    if (status)
        return status;
    if (!queue->head || queue->popped)
        return broken(err, "an empty queue is kept", queue->hash);
    if (request_of(tree_first(&queue->requests)) != queue->head)
        return broken(err, "the head of a queue is not its first", queue->hash);
    if (!tree_has(&pool->level[kind][queue->priority].heads, &queue->node))
        return broken(err, "a queue is not in its level", queue->hash);
    return DET_OK;
}

static det_status check_levels(const struct pool *pool, struct err *err)
{
    uint32_t waiting[KINDS][LEVELS] = {0};
    size_t queues = 0;
    const struct queue *queue;

    for (size_t i = 0; (queue = map_next(&pool->queues, &i));) {
        for (; queue; queue = queue->same_hash, queues++) {
            det_status status = check_queue(pool, queue, err);

            if (status)
                return status;
            waiting[!queue->shape.slots][queue->priority] +=
                (uint32_t)queue->requests.count;
        }
    }
    for (uint32_t i = 0; i < KINDS * LEVELS; i++) {
        const struct level *level = &pool->level[i / LEVELS][i % LEVELS];
        det_status status = check_tree(&level->heads, err);

        if (status)
            return status;
        queues -= level->heads.count;
        if (level->waiting != waiting[i / LEVELS][i % LEVELS] ||
            bit_is_set(pool->has_level[i / LEVELS], i % LEVELS) != (level->waiting > 0))
            return broken(err, "the count of a level is wrong", i % LEVELS);
    }
    return queues ? broken(err, "queues got lost", (int64_t)queues) : DET_OK;
}

/* What the members of a group add up to. */
static struct group sum_group(const struct pool *pool, const struct group *group)
{
    struct group sum = {0};
    const struct request *request;

    for (size_t i = 0; (request = map_next(&pool->requests, &i));) {
        bool is_member = group == (request->is_running ? request->hold->group
                                                       : request->queue->shape.group);

        sum.members += is_member;
        if (!is_member || !request->is_running)
            continue;
        sum.held += request->slots;
        sum.fixed += request->is_preemptible ? 0 : request->slots;
        sum.leaving += request->is_leaving ? request->slots : 0;
    }
    return sum;
}

static det_status check_groups(const struct pool *pool, struct err *err)
{
    const struct group *group;

    for (size_t i = 0; (group = map_next(&pool->groups, &i));) {
        struct group sum = sum_group(pool, group);

        if (!sum.members || sum.members != group->members || sum.held != group->held ||
            sum.fixed != group->fixed || sum.leaving != group->leaving)
            return broken(err, "the counts of this group are wrong", group->id);
    }
    return DET_OK;
}

static det_status check_totals(const struct pool *pool, struct err *err)
{
    struct pool_stats sum = {0};
    const struct request *request;

    for (size_t i = 0; (request = map_next(&pool->requests, &i));) {
        det_status status = check_request(pool, request, err);

        if (status)
            return status;
        sum.waiting += !request->is_running;
        sum.running += request->is_running;
        sum.slots_used += request->is_running ? request->slots : 0;
        sum.aux_running += request->is_running && !request->slots;
    }
    if (sum.waiting != pool->waiting || sum.running != pool->running ||
        sum.slots_used != pool->slots_used || sum.aux_running != pool->aux_running)
        return broken(err, "the totals over allocations are wrong", sum.running);
    return DET_OK;
}

det_status pool_check(const struct pool *pool, struct err *err)
{
    det_status status = check_agents(pool, err);

    for (int kind = 0; !status && kind < KINDS; kind++) {
        status = check_tree(&pool->victims[kind], err);
        if (!status)
            status = check_tree(&pool->leavers[kind], err);
    }
    if (!status)
        status = check_levels(pool, err);
    if (!status)
        status = check_groups(pool, err);
    if (!status)
        status = check_totals(pool, err);
    if (!status && pool->pass.log.count + pool->pass.starts.count +
                       pool->pass.reserved.count + pool->pass.preempted.count)
        status = broken(err, "a pass left something behind", 0);
    return status;
}
