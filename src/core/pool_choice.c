/* SPDX-License-Identifier: Apache-2.0 */
/* pool_choice.c - the pool in which a task waits, and whether it could ever run there. */
#include <inttypes.h>

#include "core/core_impl.h"
#include "sched/pool_fit.h"

static det_status find_pool(const struct core *core, const char *name, bool has_slots,
                            struct pool_entry **ret_pool, struct err *err)
{
    struct pool_entry *pool;

    if ((!name || !*name) && core->config.needs_pool_name)
        return err_set(err, DET_INVALID,
                       "this cluster has no default resource pool "
                       "(no_default_resource_pools): name one with "
                       "resources.resource_pool; 'det agent list' shows them");
    if (!name || !*name)
        name = has_slots ? core->config.default_compute_pool
                         : core->config.default_aux_pool;
    pool = core_find_pool(core, name);
    if (!pool)
        return err_set(err, DET_INVALID,
                       "resource pool %s does not exist or is not available to this "
                       "workspace",
                       name);
    *ret_pool = pool;
    return DET_OK;
}

/* After a start of the master, agents have the time to come back before anything is
 * refused for want of them: a pool without agents, or with one that was not heard yet, may
 * soon have more slots. */
static bool is_waiting_for_agents(const struct core *core,
                                  const struct pool_entry *pool)
{
    const struct live_agent *agent;
    bool has_agents = false;

    if (!core->started_us ||
        core->now_us >= core->started_us + pool->agent_reconnect_wait_us)
        return false;
    for (size_t i = 0; (agent = map_next(&core->agents, &i));) {
        if (agent->pool == pool && !agent->row.is_connected)
            return true;
        has_agents |= agent->pool == pool;
    }
    return !has_agents;
}

/* Whether tasks of that shape could run in the pool as it is now, or may be soon. */
static det_status check_fit(const struct core *core, const struct pool_entry *pool,
                            uint32_t slots, bool is_single_node, bool *ret_exceeds,
                            struct err *err)
{
    struct pool_stats stats;

    pool_get_stats(pool->pool, &stats);
    *ret_exceeds = slots > stats.slots;
    if (!slots || is_waiting_for_agents(core, pool))
        return DET_OK;
    if (is_single_node && !pool_could_fit(pool->pool, slots, is_single_node))
        return err_set(
            err, DET_INVALID,
            "request unfulfillable, please try requesting less slots: no agent "
            "of the pool '%s' has %" PRIu32 ", and all slots must be on one agent, "
            "because of resources.is_single_node or the entrypoint's launcher",
            pool->name, slots);
    if (*ret_exceeds && core->config.refuses_unfittable)
        return err_set(err, DET_INVALID,
                       "slots requested exceeds cluster capacity: %" PRIu32
                       " are wanted, the pool '%s' has %" PRIu32 "%s",
                       slots, pool->name, stats.slots,
                       stats.agents ? "" : " because no agent has joined it");
    return DET_OK;
}

/* Values the pool would refuse.  The sender checked the configuration, but the core does
 * not rely on that. */
static det_status check_wish(const struct pool_wish *wish, struct err *err)
{
    if (wish->priority < 0 || wish->priority > PRIORITY_MOST)
        return err_set(err, DET_INVALID, "priority %" PRId64 " is not between 1 and 99",
                       wish->priority);
    if (wish->slots < 0 || wish->slots > POOL_REQUEST_SLOTS_MOST)
        return err_set(err, DET_INVALID, "a task cannot have %" PRId64 " slots",
                       wish->slots);
    return DET_OK;
}

det_status pool_choice_find(const struct core *core, const struct pool_wish *wish,
                            struct pool_entry **ret_pool, struct err *err)
{
    bool exceeds = false;
    det_status st = check_wish(wish, err);

    if (!st)
        st = find_pool(core, wish->pool, wish->slots > 0, ret_pool, err);
    if (!st)
        st = check_fit(core, *ret_pool, (uint32_t)wish->slots, wish->is_single_node,
                       &exceeds, err);
    if (!st)
        core->out->exceeds_slots = exceeds;
    return st;
}

const struct core_pool *core_config_pool(const struct core_config *config,
                                         const char *name)
{
    for (uint32_t i = 0; i < config->pool_count; i++)
        if (!strcmp(config->pool[i].name, name))
            return &config->pool[i];
    return NULL;
}

det_status pool_choice_check_change(const struct core *core,
                                    const struct core_event *event, uint32_t slots,
                                    bool is_single_node, struct pool_entry **ret_pool,
                                    struct err *err)
{
    const char *name = event->resources.resource_pool;
    int64_t priority = event->resources.priority;
    bool exceeds;
    det_status st;

    if (priority < 0 || priority > PRIORITY_MOST)
        return err_set(err, DET_INVALID, "priority %" PRId64 " is not between 1 and 99",
                       priority);
    if (event->resources.weight < 0 ||
        event->resources.weight != event->resources.weight)
        return err_set(err, DET_INVALID, "a weight must be greater than 0");
    if (event->resources.max_slots < -2)
        return err_set(err, DET_INVALID, "a cap on slots cannot be negative");
    if (!name)
        return DET_OK;
    st = find_pool(core, name, slots > 0, ret_pool, err);
    if (!st)
        st = check_fit(core, *ret_pool, slots, is_single_node, &exceeds, err);
    return st;
}
