/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - the agents, which offer slots.
 *
 *   joined --> heard (is_connected) <--> silent (silent_us) --> lost and removed
 *                                         ^    |   (after agent_reconnect_wait)
 *                                         +----+ a supervisor of its tasks is heard
 *
 * A slot takes tasks while its agent is heard and enabled and the slot is not disabled.
 * For zero-slot tasks the agent must be heard and enabled.
 *
 * Tasks on a silent agent go on; tasks on a lost agent end as transient failures.  Tasks
 * have supervisors that talk to the master.  As long as one of them is heard, the
 * machine is up, so the agent is not lost.
 *
 * An agent that joins lists its tasks:
 *
 *   - A task that the core assigned to it and that it does not list is lost, unless no
 *     state of it was ever reported: then the order to start it did not arrive and is
 *     given again.
 *   - A task that it lists and that is not live is killed.
 *
 * An agent that comes back with other slots, or for another pool, is another agent: the
 * old one is lost, but disabled slots stay disabled.  The same holds for an agent of the
 * same name from another directory (its *instance*).  But while the first is heard, the
 * core refuses the other one, and also a copy of the first one's directory on another
 * machine: the two would take each other's tasks away for ever. */
#include <inttypes.h>
#include <string.h>

#include "core/core_impl.h"

/* ---- making ---------------------------------------------------------------------- */

static bool set_text(char **text, const char *to)
{
    char *copy = mem_strdup(to ? to : "");

    if (!copy)
        return false;
    mem_free(*text);
    *text = copy;
    return true;
}

/* Copies the texts that may differ each time it joins. */
static bool set_description(struct live_agent *agent, const struct agent *row)
{
    bool is_done = set_text(&agent->devices, row->devices) &&
                   set_text(&agent->addresses, row->addresses) &&
                   set_text(&agent->boot_id, row->boot_id) &&
                   set_text(&agent->version, row->version) &&
                   set_text(&agent->instance, row->instance);

    agent->row.devices = agent->devices;
    agent->row.addresses = agent->addresses;
    agent->row.boot_id = agent->boot_id;
    agent->row.version = agent->version;
    agent->row.instance = agent->instance;
    return is_done;
}

static bool init_agent(struct live_agent *agent, const struct agent *row)
{
    size_t slots = (size_t)row->slots;

    agent->live.kind = LIVE_AGENT;
    agent->row = *row;
    agent->row.disabled_slots = NULL;
    agent->shares = (struct tree)TREE_INIT(share_compare);
    agent->timer.kind = LIVE_AGENT;
    agent->timer.id = row->id;
    agent->is_slot_off = mem_array(2 * slots + 1, sizeof(bool));
    if (!agent->is_slot_off || !set_text(&agent->name, row->name) ||
        !set_description(agent, row))
        return false;
    agent->is_slot_open = agent->is_slot_off + slots;
    memset(agent->is_slot_open, true, slots);
    agent->is_open = true;
    agent->row.name = agent->name;
    return true;
}

struct live_agent *agent_add(struct core *core, const struct agent *row,
                             struct pool_entry *pool)
{
    struct live_agent *it = mem_new(struct live_agent);
    struct err err = {0};

    if (!it || !init_agent(it, row) || !map_put(&core->agents, row->id, it)) {
        if (it)
            live_free(&it->live);
        core_fail_memory(core);
        return NULL;
    }
    it->pool = pool;
    it->row.resource_pool = pool->name;
    pool->is_dirty = true;
    if (!smap_put(&core->agent_names, it->name, it))
        core_fail_memory(core);
    core_fail(core, pool_add_agent(pool->pool, row->id, (uint32_t)row->slots, &err),
              &err);
    return core->status ? NULL : it;
}

void agent_sync_slots(struct core *core, struct live_agent *agent)
{
    bool is_open = agent->row.is_enabled && agent->row.is_connected;
    struct err err = {0};

    if (is_open != agent->is_open) {
        agent->is_open = is_open;
        agent->pool->is_dirty = true;
        core_fail(core,
                  pool_enable_aux(agent->pool->pool, agent->row.id, is_open, &err),
                  &err);
    }
    for (int64_t i = 0; i < agent->row.slots && !core->status; i++) {
        bool is_slot_open = is_open && !agent->is_slot_off[i];

        if (is_slot_open == agent->is_slot_open[i])
            continue;
        agent->is_slot_open[i] = is_slot_open;
        agent->pool->is_dirty = true;
        core_fail(core,
                  pool_enable_slot(agent->pool->pool, agent->row.id, (uint32_t)i,
                                   is_slot_open, &err),
                  &err);
    }
}

void agent_set_timer(struct core *core, struct live_agent *agent)
{
    timer_set(core, &agent->timer,
              agent->row.silent_us
                  ? agent->row.silent_us + agent->pool->agent_reconnect_wait_us
                  : 0);
}

/* ---- losing ---------------------------------------------------------------------- */

void agent_is_lost(struct core *core, struct live_agent *agent)
{
    struct core_effect *effect;
    struct tree_node *first;
    struct err err = {0};

    timer_set(core, &agent->timer, 0);
    /* Each share leaves with its allocation, or alone if the allocation has others. */
    while ((first = tree_first(&agent->shares))) {
        struct live_share *share = CONTAINER_OF(first, struct live_share, node);

        share_exited(core, share, EXIT_TRANSIENT, 0, "its agent was lost");
        if (share->allocation->row.state != ALLOCATION_TERMINATED)
            share_detach(core, share);
    }
    core_fail(core, pool_remove_agent(agent->pool->pool, agent->row.id, &err), &err);
    agent->pool->is_dirty = true;
    map_remove(&core->agents, agent->row.id);
    smap_remove(&core->agent_names, agent->name);
    effect = core_emit(core, EFFECT_DROP_AGENT);
    if (effect)
        effect->agent = agent->row;
    core_bury(core, &agent->live);
}

/* ---- joining --------------------------------------------------------------------- */

/* The live share of "<allocation name>/<rank>" on that agent, or NULL. */
static struct live_share *find_task(struct core *core, const struct live_agent *agent,
                                    const char *task)
{
    const char *slash = strrchr(task, '/');
    char *name =
        slash ? arena_strndup(&core->scratch, task, (size_t)(slash - task)) : NULL;
    struct live_allocation *allocation;
    char *end;
    long rank;

    if (!slash)
        return NULL;
    if (!name) {
        core_fail_memory(core);
        return NULL;
    }
    rank = strtol(slash + 1, &end, 10);
    allocation = smap_get(&core->allocation_names, name);
    if (*end || end == slash + 1 || !allocation || !allocation->share || rank < 0 ||
        rank >= allocation->row.shares || allocation->share[rank].agent != agent ||
        allocation->share[rank].row.has_exited)
        return NULL;
    return &allocation->share[rank];
}

static void kill_stray(struct core *core, const struct live_agent *agent,
                       const char *task)
{
    struct core_effect *effect = core_emit(core, EFFECT_KILL_STRAY);

    if (!effect)
        return;
    effect->stray.agent = agent->name;
    effect->stray.task = arena_strdup(core->out->mem, task);
    if (!effect->stray.task)
        core_fail_memory(core);
}

/* The agent that joined did not list this share. */
static void handle_missing_share(struct core *core, struct live_share *share)
{
    if (share->row.has_exited)
        return;
    if (share->allocation->row.state == ALLOCATION_ASSIGNED)
        core_emit_share(core, EFFECT_START, share);
    else
        share_exited(core, share, EXIT_TRANSIENT, 0, "its agent came back without it");
}

static void compare_tasks(struct core *core, struct live_agent *agent,
                          const struct core_event *event)
{
    struct map known = {0};
    struct live_share *share;
    struct tree_node *next;

    for (uint32_t i = 0; i < event->agent_joined.task_count; i++) {
        share = find_task(core, agent, event->agent_joined.tasks[i]);
        if (!share)
            kill_stray(core, agent, event->agent_joined.tasks[i]);
        else if (!map_put(&known, share->row.allocation_id, share))
            core_fail_memory(core);
        else if (share->allocation->row.is_killed)
            core_emit_share(core, EFFECT_KILL, share);
    }
    /* An allocation has at most one share per agent, so its end removes one node. */
    for (struct tree_node *at = tree_first(&agent->shares); at && !core->status;
         at = next) {
        next = tree_next(at);
        share = CONTAINER_OF(at, struct live_share, node);
        if (map_get(&known, share->row.allocation_id) != share)
            handle_missing_share(core, share);
    }
    map_done(&known);
}

static det_status check_joined(const struct core *core, const struct core_event *event,
                               struct pool_entry **ret_pool, struct err *err)
{
    const char *name = event->agent_joined.resource_pool;

    if (!event->agent_joined.name || !*event->agent_joined.name)
        return err_set(err, DET_INVALID, "an agent needs a name");
    if (event->agent_joined.slots < 0 || event->agent_joined.slots > SLOTS_MOST)
        return err_set(err, DET_INVALID, "an agent cannot have %" PRId64 " slots",
                       event->agent_joined.slots);
    if (!name || !*name)
        name = core->config.default_compute_pool;
    *ret_pool = core_find_pool(core, name);
    if (!*ret_pool)
        return err_set(err, DET_INVALID, "resource pool %s does not exist", name);
    return DET_OK;
}

/* An agent whose instance is unknown (a row of an earlier version) may be any. */
static bool is_other_instance(const struct live_agent *agent, const struct agent *row)
{
    return *agent->instance && strcmp(agent->instance, row->instance) != 0;
}

/* While an agent is heard, only the same instance on the same boot of its machine may
 * join under its name.  After a reboot the old one is no longer heard. */
static det_status check_alone(const struct live_agent *agent, const struct agent *row,
                              struct err *err)
{
    if (!agent->row.is_connected ||
        (!is_other_instance(agent, row) && !strcmp(agent->boot_id, row->boot_id)))
        return DET_OK;
    return err_set(err, DET_EXISTS,
                   "another agent is connected as '%s'; give this one a name of its "
                   "own with --id",
                   agent->name);
}

static struct live_agent *add_joined(struct core *core, const struct agent *row,
                                     struct pool_entry *pool)
{
    struct live_agent *agent = agent_add(core, row, pool);

    if (!agent)
        return NULL;
    core->counters.next_agent++;
    core->has_counted = true;
    return agent;
}

/* A user who disabled an agent or its slots meant the machine of that name, so a new
 * agent of that name stays disabled. */
static void inherit_disabled(struct core *core, struct live_agent *agent,
                             const struct live_agent *old)
{
    agent->row.is_enabled = old->row.is_enabled;
    agent->row.is_draining = old->row.is_draining;
    for (int64_t i = 0; i < MIN(agent->row.slots, old->row.slots); i++)
        agent->is_slot_off[i] = old->is_slot_off[i];
    agent_sync_slots(core, agent);
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

det_status agent_joined(struct core *core, const struct core_event *event,
                        struct err *err)
{
    struct pool_entry *pool = NULL;
    struct live_agent *agent;
    struct live_agent *old = NULL;
    det_status st = check_joined(core, event, &pool, err);
    struct agent row = {
        .id = core->counters.next_agent,
        .name = event->agent_joined.name,
        .devices = event->agent_joined.devices,
        .addresses = event->agent_joined.addresses,
        .slots = event->agent_joined.slots,
        .is_enabled = true,
        .is_connected = true,
        .boot_id = text_or_empty(event->agent_joined.boot_id),
        .version = event->agent_joined.version,
        .instance = text_or_empty(event->agent_joined.instance),
        .joined_us = core->now_us,
    };

    if (st)
        return st;
    agent = smap_get(&core->agent_names, row.name);
    if (agent)
        st = check_alone(agent, &row, err);
    if (st)
        return st;
    if (agent && (agent->pool != pool || agent->row.slots != row.slots ||
                  is_other_instance(agent, &row))) {
        agent_is_lost(core, agent);
        old = agent; /* its memory stays valid until the next event */
        agent = NULL;
    }
    if (!agent)
        agent = add_joined(core, &row, pool);
    else if (!set_description(agent, &row))
        core_fail_memory(core);
    if (!agent || core->status)
        return DET_OK;

    if (old)
        inherit_disabled(core, agent, old);
    agent->row.is_connected = true;
    agent->row.silent_us = 0;
    agent->row.joined_us = core->now_us;
    agent_set_timer(core, agent);
    core_touch(core, &agent->live);
    agent_sync_slots(core, agent);
    compare_tasks(core, agent, event);
    agent->pool->is_dirty = true;
    core->out->id = agent->row.id;
    return DET_OK;
}

/* ---- heard, silent; enabled, disabled -------------------------------------------- */

static det_status find_named(const struct core *core, const char *name,
                             struct live_agent **ret_agent, struct err *err)
{
    *ret_agent = name ? smap_get(&core->agent_names, name) : NULL;
    if (!*ret_agent)
        return err_set(err, DET_NOT_FOUND, "no agent %s", name ? name : "");
    return DET_OK;
}

det_status agent_heard(struct core *core, const struct core_event *event,
                       struct err *err)
{
    bool is_heard = event->kind == EVENT_AGENT_HEARD;
    struct live_agent *agent;
    det_status st = find_named(core, event->agent.name, &agent, err);

    if (st)
        return st;
    if (agent->row.is_connected == is_heard)
        return DET_OK;
    agent->row.is_connected = is_heard;
    agent->row.silent_us = is_heard ? 0 : MAX(core->now_us, 1);
    agent_set_timer(core, agent);
    core_touch(core, &agent->live);
    agent_sync_slots(core, agent);
    return DET_OK;
}

static void set_silence(struct core *core, struct live_agent *agent, int64_t at_us)
{
    agent->row.silent_us = MAX(at_us, 1);
    agent_set_timer(core, agent);
    core_touch(core, &agent->live);
}

void agent_renew_silence(struct core *core, struct live_agent *agent)
{
    if (!agent->row.is_connected)
        set_silence(core, agent, core->now_us);
}

void agent_move_silence(struct core *core, struct live_agent *agent, int64_t by_us)
{
    if (!agent->row.is_connected)
        set_silence(core, agent, agent->row.silent_us + by_us);
}

det_status agent_tasks_heard(struct core *core, const struct core_event *event,
                             struct err *err)
{
    struct live_agent *agent;
    det_status st = find_named(core, event->agent.name, &agent, err);

    if (!st)
        agent_renew_silence(core, agent);
    return st;
}

static bool share_has_slot(const struct live_share *share, uint32_t slot)
{
    for (uint32_t i = 0; i < share->slot_count; i++)
        if (share->slots[i] == slot)
            return true;
    return false;
}

/* Kills the tasks of the agent that hold `slot` (-1: all). */
static void kill_tasks_on(struct core *core, struct live_agent *agent, int64_t slot,
                          const char *reason)
{
    struct tree_node *next;

    for (struct tree_node *at = tree_first(&agent->shares); at; at = next) {
        struct live_share *share = CONTAINER_OF(at, struct live_share, node);

        next = tree_next(at);
        if (slot < 0 || share_has_slot(share, (uint32_t)slot))
            allocation_kill(core, share->allocation, reason);
    }
}

det_status agent_enabled(struct core *core, const struct core_event *event,
                         struct err *err)
{
    bool is_enabled = event->agent_enable.is_enabled;
    struct live_agent *agent;
    det_status st = find_named(core, event->agent_enable.name, &agent, err);

    if (st)
        return st;
    agent->row.is_enabled = is_enabled;
    agent->row.is_draining = !is_enabled && event->agent_enable.drains;
    core_touch(core, &agent->live);
    agent_sync_slots(core, agent);
    if (!is_enabled && !event->agent_enable.drains)
        kill_tasks_on(core, agent, -1, "agent disabled");
    return DET_OK;
}

det_status agent_slot_enabled(struct core *core, const struct core_event *event,
                              struct err *err)
{
    uint32_t slot = event->slot_enable.slot;
    bool is_enabled = event->slot_enable.is_enabled;
    struct live_agent *agent;
    det_status st = find_named(core, event->slot_enable.name, &agent, err);

    if (st)
        return st;
    if (slot >= agent->row.slots)
        return err_set(err, DET_NOT_FOUND, "agent %s has no slot %" PRIu32, agent->name,
                       slot);
    agent->is_slot_off[slot] = !is_enabled;
    core_touch(core, &agent->live);
    agent_sync_slots(core, agent);
    if (!is_enabled && !event->slot_enable.drains)
        kill_tasks_on(core, agent, slot, "slot disabled");
    return DET_OK;
}
