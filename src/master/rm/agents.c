/* SPDX-License-Identifier: Apache-2.0 */
#include "master/rm/agents.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "master/heart.h"
#include "master/master_impl.h"
#include "master/wait.h"
#include "store/store.h"
#include "store/views.h"

enum { SILENT_AFTER_US = 10 * 1000000, LOOK_EVERY_US = 2 * 1000000 };

struct link {
    char *name;
    VEC(struct agent_command) commands; /* not yet acknowledged, ascending */
    int64_t last_seq;
    int polls;
    int64_t heard_us; /* monotonic */
    bool is_silent;   /* as the heart was told */
};

struct agents {
    struct lock lock; /* guards everything below */
    struct map links; /* name -> struct link, owned */
    struct master *master;
    struct task look;
};

static int64_t mono_us(const struct agents *agents)
{
    return clock_mono_us(exec_clock(agents->master->exec));
}

static void link_free(struct link *link)
{
    vec_done(&link->commands);
    mem_free(link->name);
    mem_free(link);
}

/* With the lock held.  NULL: out of memory. */
static struct link *link_of(struct agents *agents, const char *name)
{
    struct link *link = smap_get(&agents->links, name);

    if (link)
        return link;
    link = mem_new(struct link);
    if (!link)
        return NULL;
    link->name = mem_strdup(name);
    link->heard_us = mono_us(agents);
    if (!link->name || !smap_put(&agents->links, link->name, link)) {
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

/* A command that cannot be kept for want of memory is not lost: the heart derives it
 * again. */
static bool send(struct agents *agents, const char *name, struct agent_command command)
{
    struct link *link;
    bool is_kept;

    lock_take(&agents->lock);
    link = link_of(agents, name);
    if (link)
        command.seq = ++link->last_seq;
    is_kept = link && vec_push(&link->commands, command);
    lock_give(&agents->lock);
    if (!is_kept)
        log_error("out of memory: a command for agent %s has to wait", name);
    wake_agent(agents, name);
    return is_kept;
}

bool agents_send(struct agents *agents, enum agent_command_kind kind,
                 const struct share *share)
{
    return send(agents, share->agent,
                (struct agent_command){.kind = kind,
                                       .allocation_id = share->allocation_id,
                                       .rank = share->rank});
}

bool agents_send_stray(struct agents *agents, const char *agent, const char *task)
{
    struct agent_command command = {.kind = AGENT_KILL};

    snprintf(command.task, sizeof(command.task), "%s", task);
    return send(agents, agent, command);
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
        send(agents, agent, (struct agent_command){.kind = AGENT_CLEAN});
}

bool agents_is_there(struct agents *agents, const char *name)
{
    struct link *link;
    bool is_there;

    lock_take(&agents->lock);
    link = smap_get(&agents->links, name);
    is_there =
        link && (link->polls || (!link->is_silent &&
                                 mono_us(agents) - link->heard_us < SILENT_AFTER_US));
    lock_give(&agents->lock);
    return is_there;
}

static void report(struct agents *agents, const struct link *link,
                   enum core_event_kind kind)
{
    struct heart_item *item = mem_alloc(sizeof(*item) + strlen(link->name) + 1);

    if (!item)
        return; /* noticed again at the next look */
    memcpy(item + 1, link->name, strlen(link->name) + 1);
    item->event.kind = kind;
    item->event.agent.name = (const char *)(item + 1);
    heart_submit(agents->master->heart, item);
}

/* With the lock held. */
static void heard(struct agents *agents, struct link *link)
{
    link->heard_us = mono_us(agents);
    if (!link->is_silent)
        return;
    link->is_silent = false;
    report(agents, link, EVENT_AGENT_HEARD);
}

void agents_joined(struct agents *agents, const char *name)
{
    struct link *link;

    lock_take(&agents->lock);
    link = link_of(agents, name);
    if (link) {
        link->heard_us = mono_us(agents);
        link->is_silent = false;
    }
    lock_give(&agents->lock);
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

void agents_polling(struct agents *agents, const char *name, int by)
{
    struct link *link;

    lock_take(&agents->lock);
    link = link_of(agents, name);
    if (link) {
        link->polls += by;
        heard(agents, link);
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
    link = link_of(agents, name);
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

static void look(struct task *task)
{
    struct agents *agents = CONTAINER_OF(task, struct agents, look);
    int64_t now_us = mono_us(agents);
    struct link *link;

    lock_take(&agents->lock);
    for (size_t i = 0; (link = map_next(&agents->links, &i));) {
        if (link->is_silent || link->polls || now_us - link->heard_us < SILENT_AFTER_US)
            continue;
        link->is_silent = true;
        report(agents, link, EVENT_AGENT_SILENT);
    }
    lock_give(&agents->lock);
    lane_post_at(agents->master->workers, &agents->look, now_us + LOOK_EVERY_US);
}

static det_status load_known(struct agents *agents, struct err *err)
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
    for (uint32_t i = 0; !st && i < count; i++)
        if (!link_of(agents, rows[i].name))
            st = err_default(err, DET_NOMEM);
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
    agents->look = (struct task)TASK_INIT(look);
    st = lock_init(&agents->lock, err);
    if (st) {
        mem_free(agents);
        return st;
    }
    st = load_known(agents, err);
    if (st) {
        agents_free(agents);
        return st;
    }
    *ret_agents = agents;
    return DET_OK;
}

void agents_watch(struct agents *agents)
{
    lane_post_at(agents->master->workers, &agents->look,
                 mono_us(agents) + LOOK_EVERY_US);
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
