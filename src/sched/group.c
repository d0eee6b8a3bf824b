/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - the requests of one job, counted together.
 *
 * A request finds its group through its queue while it waits, and through its hold while
 * it runs: a request itself has no room for a pointer (pool_impl.h).  So the requests of
 * a group have queues of their own. */
#include "sched/pool_impl.h"

#include <assert.h>

#include "base/memory/mem.h"
#include "sched/policy.h"

/* Jobs of one request; the heart's ids are small. */
static int64_t group_id(const struct pool_request *request)
{
    return request->group.id ? request->group.id : INT64_MIN + request->allocation;
}

bool group_get(struct pool *pool, const struct pool_request *request,
               struct group **ret_group)
{
    const struct pool_group *wanted = &request->group;
    int64_t id = group_id(request);
    struct group *group = map_get(&pool->groups, id);

    *ret_group = NULL;
    if (!pool->policy->has_groups && !wanted->is_capped)
        return true;
    if (!group) {
        group = mem_new(struct group);
        if (!group)
            return false;
        group->id = id;
        group->position = request->position;
        if (!map_put(&pool->groups, id, group)) {
            mem_free(group);
            return false;
        }
    }
    group->weight = wanted->weight > 0 ? wanted->weight : 1;
    group->max_slots = wanted->is_capped ? wanted->max_slots : UINT64_MAX;
    *ret_group = group;
    return true;
}

void group_drop_if_empty(struct pool *pool, struct group *group)
{
    if (!group || group->members)
        return;
    assert(!group->held && !group->fixed && !group->leaving);
    map_remove(&pool->groups, group->id);
    mem_free(group);
}

void group_add_member(struct group *group)
{
    if (group)
        group->members++;
}

void group_remove_member(struct pool *pool, struct group *group)
{
    if (!group)
        return;
    assert(group->members);
    group->members--;
    group_drop_if_empty(pool, group);
}

void group_take(struct group *group, const struct request *request)
{
    if (!group)
        return;
    group->held += request->slots;
    group->fixed += request->is_preemptible ? 0 : request->slots;
}

void group_give_back(struct group *group, const struct request *request)
{
    if (!group)
        return;
    assert(group->held >= request->slots);
    group->held -= request->slots;
    group->fixed -= request->is_preemptible ? 0 : request->slots;
}

bool group_is_full(const struct group *group, uint32_t slots)
{
    return group && slots && group->held + slots > group->max_slots;
}

det_status group_release_excess(struct pool *pool)
{
    struct tree_node *next;
    struct group *group;
    bool has_excess = false;

    for (size_t i = 0; !has_excess && (group = map_next(&pool->groups, &i));)
        has_excess = group->excess > 0;
    if (!has_excess)
        return DET_OK;
    for (struct tree_node *at = tree_first(&pool->victims[KIND_SLOTS]); at; at = next) {
        struct request *victim = request_of(at);

        next = tree_next(at);
        group = victim->hold->group;
        if (!group || !group->excess)
            continue;
        if (!vec_push(&pool->pass.preempted, victim))
            return DET_NOMEM;
        pass_preempt(pool, victim);
        group->excess -= MIN(group->excess, victim->slots);
    }
    return DET_OK;
}
