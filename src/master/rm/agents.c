/* SPDX-License-Identifier: Apache-2.0 */
#include "master/rm/agents.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/thread/lock.h"
#include "master/heart/heart.h"
#include "master/master_impl.h"
#include "master/request/waits.h"
#include "master/watch/meters.h"
#include "store/store.h"
#include "store/task/agent.h"

enum {
    SILENT_AFTER_US = 10 * 1000000,
    CHECK_EVERY_US = 2 * 1000000,
    BEAT_LEAST_US = 500 * 1000,
    BEAT_MOST_US = 10 * 1000000,
    BEATS_PER_WAIT = 3, /* calls of a supervisor before its agent is lost */
};

struct link {
    char *name;
    char *instance; /* which of several that claim the name; "": not given */
    VEC(struct agent_command) commands; /* not yet acknowledged, ascending */
    int64_t last_seq;
    bool has_joined; /* and was not lost since */
    int polls;
    int64_t heard_us;        /* monotonic */
    int64_t task_heard_us;   /* likewise; of the last EVENT_AGENT_TASKS_HEARD */
    bool is_silent;          /* as reported to the heart */
    int64_t disk_free_bytes; /* as it said last; 0: never */
    bool has_clock;          /* it said what time it has */
    int64_t clock_ahead_us;
};

struct agents {
    struct lock lock; /* guards everything below */
    struct map links; /* name -> struct link, owned */
    struct master *master;
    struct work check;
};

static void link_free(struct link *link)
{
    vec_done(&link->commands);
    mem_free(link->name);
    mem_free(link->instance);
    mem_free(link);
}

/* With the lock held.  NULL: out of memory. */
static struct link *find_or_make_link(struct agents *agents, const char *name)
{
    struct link *link = smap_get(&agents->links, name);

    if (link)
        return link;
    link = mem_new(struct link);
    if (!link)
        return NULL;
    link->name = mem_strdup(name);
    link->instance = mem_strdup("");
    link->heard_us = master_mono_us(agents->master);
    if (!link->name || !link->instance || !smap_put(&agents->links, link->name, link)) {
        link_free(link);
        return NULL;
    }
    return link;
}

static void wake_agent(struct agents *agents, const char *name)
{
    char key[300];

    snprintf(key, sizeof(key), "agent %s", name);
    waits_wake(agents->master->waits, key);
}

/* If memory is short, the command is not lost: the heart derives it again. */
static bool send_command(struct agents *agents, const char *name,
                         struct agent_command command)
{
    struct link *link;
    bool is_kept;

    lock_take(&agents->lock);
    link = find_or_make_link(agents, name);
    if (link)
        command.seq = ++link->last_seq;
    is_kept = link && vec_push(&link->commands, command);
    lock_give(&agents->lock);
    if (!is_kept)
        log_error("out of memory: a command for agent %s is delayed", name);
    wake_agent(agents, name);
    return is_kept;
}

bool agents_send(struct agents *agents, enum agent_command_kind kind,
                 const struct share *share)
{
    return send_command(agents, share->agent,
                        (struct agent_command){.kind = kind,
                                               .allocation_id = share->allocation_id,
                                               .rank = share->rank});
}

bool agents_send_stray(struct agents *agents, const char *agent, const char *task)
{
    struct agent_command command = {.kind = AGENT_KILL};

    snprintf(command.task, sizeof(command.task), "%s", task);
    return send_command(agents, agent, command);
}

void agents_send_clean(struct agents *agents, const char *agent)
{
    bool is_told = false;
    struct link *link;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, agent);
    for (size_t i = 0; link && i < link->commands.count; i++)
        is_told |= link->commands.at[i].kind == AGENT_CLEAN;
    lock_give(&agents->lock);
    if (!is_told)
        send_command(agents, agent, (struct agent_command){.kind = AGENT_CLEAN});
}

bool agents_is_there(struct agents *agents, const char *name)
{
    struct link *link;
    bool is_there;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    is_there =
        link && (link->polls ||
                 (!link->is_silent &&
                  master_mono_us(agents->master) - link->heard_us < SILENT_AFTER_US));
    lock_give(&agents->lock);
    return is_there;
}

/* False: no memory; the next check tries again. */
static bool submit_event(struct agents *agents, const struct link *link,
                         enum core_event_kind kind)
{
    struct heart_item *item = mem_alloc(sizeof(*item) + strlen(link->name) + 1);

    if (!item)
        return false;
    memcpy(item + 1, link->name, strlen(link->name) + 1);
    item->event.kind = kind;
    item->event.agent.name = (const char *)(item + 1);
    heart_submit(agents->master->heart, item);
    return true;
}

/* With the lock held. */
static void note_heard(struct agents *agents, struct link *link)
{
    link->heard_us = master_mono_us(agents->master);
    if (link->is_silent)
        link->is_silent = !submit_event(agents, link, EVENT_AGENT_HEARD);
}

/* With the lock held.  The heart applies events in order, so the last one counts. */
static void note_silent(struct agents *agents, struct link *link)
{
    if (!link->is_silent)
        link->is_silent = submit_event(agents, link, EVENT_AGENT_SILENT);
}

/* With the lock held. */
static bool is_instance(const struct link *link, const char *instance)
{
    return strcmp(link->instance, instance ? instance : "") == 0;
}

static det_status set_instance(struct link *link, const char *instance, struct err *err)
{
    char *copy;

    if (is_instance(link, instance))
        return DET_OK;
    copy = mem_strdup(instance ? instance : "");
    if (!copy)
        return err_default(err, DET_NOMEM);
    mem_free(link->instance);
    link->instance = copy;
    return DET_OK;
}

det_status agents_joined(struct agents *agents, const char *name, const char *instance,
                         struct err *err)
{
    struct link *link;
    det_status st = DET_NOMEM;

    lock_take(&agents->lock);
    link = find_or_make_link(agents, name);
    if (link)
        st = set_instance(link, instance, err);
    /* An earlier poll may have ended after the heart let the agent join. */
    if (!st) {
        link->has_joined = true;
        note_heard(agents, link);
    }
    lock_give(&agents->lock);
    return st ? err_default(err, st) : DET_OK;
}

void agents_lost(struct agents *agents, const char *name)
{
    struct link *link;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (link) {
        link->has_joined = false;
        link->is_silent = false; /* the heart no longer knows the agent */
        vec_clear(&link->commands);
    }
    lock_give(&agents->lock);
    meters_add(agents->master->meters, METER_AGENTS_LOST, 1);
    log_warn("agent %s was lost; its tasks are started elsewhere", name);
}

bool agents_are_there(struct agents *agents)
{
    struct link *link;
    bool are_there = false;

    lock_take(&agents->lock);
    for (size_t i = 0; (link = map_next(&agents->links, &i));)
        are_there |= link->polls > 0;
    lock_give(&agents->lock);
    return are_there;
}

det_status agents_poll_began(struct agents *agents, const char *name,
                             const char *instance, struct err *err)
{
    struct link *link;
    det_status st = DET_OK;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (!link || !link->has_joined) {
        st = err_set(err, DET_NOT_FOUND, "agent '%s' is not known (any more)", name);
    } else if (!is_instance(link, instance)) {
        st = err_set(err, DET_EXISTS, "another agent has joined as '%s'", name);
    } else {
        link->polls++;
        note_heard(agents, link);
    }
    lock_give(&agents->lock);
    return st;
}

void agents_poll_ended(struct agents *agents, const char *name, bool is_gone)
{
    struct link *link;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (link) {
        assert(link->polls > 0);
        link->polls--;
        link->heard_us = master_mono_us(agents->master);
        /* The agent was probably killed: its connection was closed. */
        if (is_gone && !link->polls)
            note_silent(agents, link);
    }
    lock_give(&agents->lock);
}

void agents_look(struct agents *agents, const char *name, struct agent_sign *ret_sign)
{
    struct link *link;

    *ret_sign = (struct agent_sign){-1, -1, -1};
    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (link)
        ret_sign->quiet_us =
            link->polls ? 0 : master_mono_us(agents->master) - link->heard_us;
    if (link && link->disk_free_bytes)
        ret_sign->disk_free_bytes = link->disk_free_bytes;
    if (link && link->has_clock)
        ret_sign->clock_ahead_us = link->clock_ahead_us;
    lock_give(&agents->lock);
}

/* In whole milliseconds: the call was on its way for longer, and -1 means unknown. */
static int64_t ahead_of(int64_t clock_us, int64_t now_us)
{
    return (clock_us - now_us) / 1000 * 1000;
}

void agents_note_machine(struct agents *agents, const char *name, int64_t free_bytes,
                         int64_t clock_us)
{
    int64_t now_us = master_now_us(agents->master);
    struct link *link;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (link && free_bytes > 0)
        link->disk_free_bytes = free_bytes;
    if (link && clock_us > 0) {
        link->has_clock = true;
        link->clock_ahead_us = ahead_of(clock_us, now_us);
    }
    lock_give(&agents->lock);
}

void agents_left(struct agents *agents, const char *name, const char *instance)
{
    struct link *link;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (link && is_instance(link, instance)) {
        log_info("agent %s signs off", name);
        note_silent(agents, link);
    }
    lock_give(&agents->lock);
}

/* ---- supervisors ----------------------------------------------------------------- */

int64_t agents_beat_us(const struct agents *agents)
{
    const struct core_config *config = &agents->master->core_config;
    int64_t wait_us = (int64_t)BEAT_MOST_US * BEATS_PER_WAIT;

    for (uint32_t i = 0; i < config->pool_count; i++)
        wait_us = MIN(wait_us, config->pool[i].agent_reconnect_wait_us);
    return MAX(wait_us / BEATS_PER_WAIT, (int64_t)BEAT_LEAST_US);
}

/* At most one event per half a beat, however many tasks there are: each event writes a
 * row. */
void agents_task_heard(struct agents *agents, const char *name)
{
    struct link *link;
    int64_t now_us = master_mono_us(agents->master);

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    if (link && link->is_silent &&
        now_us - link->task_heard_us >= agents_beat_us(agents) / 2) {
        if (submit_event(agents, link, EVENT_AGENT_TASKS_HEARD))
            link->task_heard_us = now_us;
    }
    lock_give(&agents->lock);
}

det_status agents_commands(struct agents *agents, const char *name, int64_t after,
                           struct arena *mem, struct agent_command **ret_commands,
                           uint32_t *ret_count, struct err *err)
{
    struct agent_command *commands = NULL;
    struct link *link;
    size_t count = 0;

    lock_take(&agents->lock);
    link = find_or_make_link(agents, name);
    while (link && link->commands.count && link->commands.at[0].seq <= after)
        vec_remove(&link->commands, 0);
    if (link && link->commands.count) {
        count = link->commands.count;
        commands = arena_array(mem, struct agent_command, count);
        if (commands)
            memcpy(commands, link->commands.at, count * sizeof(*commands));
    }
    lock_give(&agents->lock);
    if (!link || (count && !commands))
        return err_default(err, DET_NOMEM);
    *ret_commands = commands;
    *ret_count = (uint32_t)count;
    return DET_OK;
}

static void check_silence(struct work *work)
{
    struct agents *agents = CONTAINER_OF(work, struct agents, check);
    int64_t now_us = master_mono_us(agents->master);
    struct link *link;

    lock_take(&agents->lock);
    for (size_t i = 0; (link = map_next(&agents->links, &i));) {
        if (!link->polls && now_us - link->heard_us >= SILENT_AFTER_US)
            note_silent(agents, link);
    }
    lock_give(&agents->lock);
    lane_post_at(agents->master->life, &agents->check, now_us + CHECK_EVERY_US);
}

static det_status load_stored_agents(struct agents *agents, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct store *store = agents->master->store;
    struct agent *rows;
    struct db *db;
    uint32_t count = 0;
    det_status st = store_reader_take(store, &db, err);

    if (st)
        return st;
    st = store_agent_list(db, &mem, &rows, &count, err);
    store_reader_give(store, db);
    for (uint32_t i = 0; !st && i < count; i++) {
        struct link *link = find_or_make_link(agents, rows[i].name);

        if (!link)
            st = err_default(err, DET_NOMEM);
        else
            link->is_silent = !rows[i].is_connected;
    }
    return st;
}

det_status agents_new(struct master *master, struct agents **ret_agents,
                      struct err *err)
{
    struct agents *agents = mem_new(struct agents);
    det_status st;

    if (!agents)
        return err_default(err, DET_NOMEM);
    agents->master = master;
    agents->check = (struct work)WORK_INIT(check_silence);
    st = lock_init(&agents->lock, err);
    if (st) {
        mem_free(agents);
        return st;
    }
    st = load_stored_agents(agents, err);
    if (st) {
        agents_free(agents);
        return st;
    }
    *ret_agents = agents;
    return DET_OK;
}

void agents_watch(struct agents *agents)
{
    lane_post_at(agents->master->life, &agents->check,
                 master_mono_us(agents->master) + CHECK_EVERY_US);
}

void agents_free(struct agents *agents)
{
    struct link *link;

    if (!agents)
        return;
    for (size_t i = 0; (link = map_next(&agents->links, &i));)
        link_free(link);
    map_done(&agents->links);
    lock_done(&agents->lock);
    mem_free(agents);
}
