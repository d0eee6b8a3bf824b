/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - asks the pools for plans and carries them out: makes shares, assigns ports. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory/buf.h"
#include "core/core_impl.h"

/* ---- ports ----------------------------------------------------------------------- */

/* DTRAIN_SSH_PORT, INTER_TRAIN_PROCESS_COMM_PORT_1 and _2, C10D_PORT begin here. */
static const int64_t port_base[4] = {12350, 12360, 12365, 29400};

static bool word_is_full(const struct core *core, size_t word)
{
    return core->port_full[word / 64] >> (word % 64) & 1;
}

void port_mark(struct core *core, int64_t port)
{
    size_t word = (size_t)port / 64;

    core->port_used[word] |= UINT64_C(1) << (port % 64);
    if (core->port_used[word] == UINT64_MAX)
        core->port_full[word / 64] |= UINT64_C(1) << (word % 64);
    core->ports_used++;
}

void port_reserve(struct core *core, int64_t port)
{
    if (port > 0 && port < PORT_WORDS * 64)
        core->port_reserved[port / 64] |= UINT64_C(1) << (port % 64);
}

/* The smallest free port from `base` on; 0: none.  Skips full words, and 64 full words
 * at once. */
static int64_t port_find(const struct core *core, int64_t base)
{
    for (size_t word = (size_t)base / 64; word < PORT_WORDS;) {
        uint64_t used = core->port_used[word] | core->port_reserved[word];

        if (word == (size_t)base / 64)
            used |= (UINT64_C(1) << (base % 64)) - 1;
        if (used != UINT64_MAX)
            return (int64_t)word * 64 + __builtin_ctzll(~used);
        word++;
        while (word < PORT_WORDS && word % 64 == 0 &&
               core->port_full[word / 64] == UINT64_MAX)
            word += 64;
        while (word < PORT_WORDS && word % 64 && word_is_full(core, word))
            word++;
    }
    return 0;
}

void ports_take(struct core *core, int64_t ports[4])
{
    for (size_t i = 0; i < 4; i++) {
        ports[i] = port_find(core, port_base[i]);
        if (ports[i])
            port_mark(core, ports[i]);
    }
}

void ports_free(struct core *core, const int64_t ports[4])
{
    for (size_t i = 0; i < 4; i++) {
        size_t word = (size_t)ports[i] / 64;

        if (!ports[i])
            continue;
        core->port_used[word] &= ~(UINT64_C(1) << (ports[i] % 64));
        core->port_full[word / 64] &= ~(UINT64_C(1) << (word % 64));
        core->ports_used--;
    }
}

/* ---- shares ---------------------------------------------------------------------- */

/* Deterministic, so a restored core makes the same ids; the entropy of the cluster makes
 * them unique. */
static void container_id(const struct core *core, int64_t allocation, int64_t rank,
                         char text[UUID_TEXT])
{
    uint64_t half[2];
    unsigned char bytes[16];

    half[0] = hash_number(core->config.entropy ^ hash_number((uint64_t)allocation));
    half[1] = hash_number(half[0] + (uint64_t)rank);
    half[0] = hash_number(half[1] ^ core->config.entropy);
    memcpy(bytes, half, sizeof(bytes));
    uuid_format(bytes, text);
}

static const char *agent_name(const struct core *core, const struct share *row,
                              int64_t agent)
{
    const struct live_agent *it = map_get(&core->agents, agent);

    return row ? row->agent : it->name;
}

/* One block: shares, their slot numbers, their texts. */
static struct live_share *shares_block(const struct core *core, const struct share *row,
                                       const struct pool_share *share, uint32_t count,
                                       char **ret_text)
{
    size_t slots = 0;
    size_t text = 0;
    char *block;

    for (uint32_t i = 0; i < count; i++) {
        slots += share[i].slot_count;
        text += UUID_TEXT + 3 + 11 * (size_t)share[i].slot_count;
        text += strlen(agent_name(core, row ? &row[i] : NULL, share[i].agent)) + 1;
    }
    block =
        mem_alloc(count * sizeof(struct live_share) + slots * sizeof(uint32_t) + text);
    if (!block)
        return NULL;
    *ret_text = block + count * sizeof(struct live_share) + slots * sizeof(uint32_t);
    return (struct live_share *)(void *)block;
}

/* Writes "[0,1]" at *at and moves *at behind it. */
static const char *put_slots(char **at, const uint32_t *slot, uint32_t count)
{
    char *text = *at;
    char *end = text;

    *end++ = '[';
    for (uint32_t i = 0; i < count; i++)
        end += snprintf(end, 12, "%s%" PRIu32, i ? "," : "", slot[i]);
    *end++ = ']';
    *end++ = '\0';
    *at = end;
    return text;
}

static const char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

/* Fills one share; its texts go to *text, which moves behind them. */
static void share_fill(struct core *core, struct live_share *it,
                       const struct share *row, const struct pool_share *from,
                       char **text)
{
    struct live_agent *agent = map_get(&core->agents, from->agent);
    char id[UUID_TEXT];

    container_id(core, it->row.allocation_id, it->row.rank, id);
    if (row)
        it->row = *row;
    it->row.agent_id = from->agent;
    it->row.agent = put_text(text, agent_name(core, row, from->agent));
    it->row.container_id = put_text(text, row ? row->container_id : id);
    it->row.slots = put_slots(text, from->slots, from->slot_count);
    it->slot_count = from->slot_count;
    it->agent = agent;
    if (agent)
        tree_add(&agent->shares, &it->node);
}

bool allocation_set_shares(struct core *core, struct live_allocation *allocation,
                           const struct share *row, const struct pool_share *share,
                           uint32_t count)
{
    char *text;
    struct live_share *block = shares_block(core, row, share, count, &text);
    uint32_t *slots = (uint32_t *)(void *)(block + count);

    if (!block)
        return false;
    allocation->share = block;
    allocation->row.shares = count;
    allocation->shares_left = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct live_share *it = &block[i];

        it->live.kind = LIVE_SHARE;
        it->allocation = allocation;
        it->row.allocation_id = allocation->row.id;
        it->row.rank = i;
        it->slots = memcpy(slots, share[i].slots, share[i].slot_count * sizeof(*slots));
        slots += share[i].slot_count;
        share_fill(core, it, row ? &row[i] : NULL, &share[i], &text);
        allocation->shares_left += !it->row.has_exited;
    }
    return true;
}

/* ---- plans ----------------------------------------------------------------------- */

static void assign_shares(struct core *core, struct live_allocation *allocation,
                          const struct pool_step *step)
{
    struct allocation *row = &allocation->row;

    if (!allocation_set_shares(core, allocation, NULL, step->share,
                               step->share_count)) {
        core_fail_memory(core);
        return;
    }
    assert(row->state == ALLOCATION_PENDING);
    row->state = ALLOCATION_ASSIGNED;
    row->start_us = core->now_us;
    ports_take(core, row->ports);
    core_touch(core, &allocation->live);
    core_log(core, allocation->task, allocation, "%s was assigned to an agent",
             task_title(core, allocation->task));
    for (int64_t i = 0; i < row->shares; i++) {
        core_touch(core, &allocation->share[i].live);
        core_emit_share(core, EFFECT_START, &allocation->share[i]);
    }
}

static void carry_out_step(struct core *core, const struct pool_step *step)
{
    struct live_allocation *allocation = map_get(&core->allocations, step->allocation);

    if (NEVER(!allocation)) {
        core_fail(core, DET_CORRUPT, NULL);
        return;
    }
    if (step->action == POOL_START)
        assign_shares(core, allocation, step);
    else
        allocation_preempt(core, allocation, "preempted by the scheduler");
}

static void plan_pool(struct core *core, struct pool_entry *entry)
{
    struct pool_plan todo = {0};
    struct err err = {0};
    det_status st = pool_schedule(entry->pool, &core->scratch, &todo, &err);

    core_fail(core, st, &err);
    for (uint32_t i = 0; i < todo.count && !core->status; i++)
        carry_out_step(core, &todo.step[i]);
}

bool plan_dirty_pools(struct core *core)
{
    bool has_planned = false;

    for (uint32_t i = 0; i < core->config.pool_count && !core->status; i++) {
        if (!core->pool[i].is_dirty)
            continue;
        core->pool[i].is_dirty = false;
        plan_pool(core, &core->pool[i]);
        has_planned = true;
    }
    return has_planned;
}
