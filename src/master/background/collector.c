/* SPDX-License-Identifier: Apache-2.0 */
#include "master/background/collector.h"

#include <string.h>

#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "master/changes/changes.h"
#include "master/master_impl.h"
#include "master/rm/agents.h"
#include "store/checkpoint/collect.h"
#include "store/checkpoint/removal.h"
#include "store/store.h"
#include "store/task/agent.h"

enum {
    CHECK_US = 10 * 1000000, /* between two checks when nobody wakes us */
    RETRY_US = 60 * 1000000, /* after a failure */
    SOON_US = 1000000,
    MEM_LIMIT = 64 << 20,
};

struct collector {
    struct master *master;
    struct work task;
    struct write_job job;
    struct collect_place place; /* of the current job */
    bool has_result;
    int64_t experiment_id; /* that the job changed; 0: none */
    struct lock lock;      /* guards what is below */
    bool is_busy;
    bool is_woken;  /* while it was busy: check again soon */
    int64_t due_us; /* of the next check, unless it is busy */
};

struct collect_place collector_place(const struct master *master)
{
    return (struct collect_place){.local_directory = master->checkpoint_directory,
                                  .now_us = master_now_us(master)};
}

bool collector_may(const struct master *master, const char *agent,
                   const char *resource_pool, const struct removal_group *group)
{
    if (!strcmp(group->agent, agent))
        return true;
    /* If the writer is unknown, any agent of the pool may try. */
    if (!group->is_shared && *group->agent)
        return false;
    if (*group->agent && agents_is_there(master->agents, group->agent))
        return false;
    return !strcmp(group->resource_pool, resource_pool ? resource_pool : "");
}

/* ---- CLEAN commands --------------------------------------------------------------------- */

struct removal_batch {
    struct removal_group *groups;
    uint32_t group_count;
    struct sweep *sweeps;
    uint32_t sweep_count;
    struct agent *agents;
    uint32_t agent_count;
};

static det_status load_work(struct collector *collector, struct db *db,
                            struct arena *mem, struct removal_batch *ret_work,
                            struct err *err)
{
    int64_t now_us = master_now_us(collector->master);
    det_status st = store_removal_groups(db, now_us, mem, &ret_work->groups,
                                         &ret_work->group_count, err);

    if (!st)
        st = store_sweeps_of(db, NULL, now_us, mem, &ret_work->sweeps,
                             &ret_work->sweep_count, err);
    if (!st && (ret_work->group_count || ret_work->sweep_count))
        st = store_agent_list(db, mem, &ret_work->agents, &ret_work->agent_count, err);
    return st;
}

static bool has_work(const struct master *master, const struct agent *agent,
                     const struct removal_batch *work)
{
    for (uint32_t i = 0; i < work->group_count; i++)
        if (collector_may(master, agent->name, agent->resource_pool, &work->groups[i]))
            return true;
    for (uint32_t i = 0; i < work->sweep_count; i++)
        if (!strcmp(work->sweeps[i].agent, agent->name))
            return true;
    return false;
}

/* *ret_is_due: a decision must come first. */
static det_status check_work(struct collector *collector, bool *ret_is_due,
                             struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEM_LIMIT);
    struct master *master = collector->master;
    struct removal_batch work = {0};
    struct db *db;
    det_status st = store_reader_take(master->store, &db, err);

    if (st)
        return st;
    st = store_collect_is_due(db, ret_is_due, err);
    if (!st && !*ret_is_due)
        st = load_work(collector, db, &mem, &work, err);
    store_reader_give(master->store, db);
    for (uint32_t i = 0; !st && i < work.agent_count; i++)
        if (agents_is_there(master->agents, work.agents[i].name) &&
            has_work(master, &work.agents[i], &work))
            agents_send_clean(master->agents, work.agents[i].name);
    return st;
}

/* ---- deciding -------------------------------------------------------------------- */

static det_status write_decision(struct write_job *job, struct db *db, struct err *err)
{
    struct collector *collector = job->arg;

    return store_collect_step(db, &collector->place, &collector->experiment_id, err);
}

static void decision_written(struct write_job *job)
{
    struct collector *collector = job->arg;

    if (!job->status && collector->experiment_id)
        changes_note(collector->master->changes, CHANGE_EXPERIMENT,
                     collector->experiment_id, 0);
    lane_post(collector->master->chores, &collector->task);
}

static void submit_decision(struct collector *collector)
{
    collector->place = collector_place(collector->master);
    collector->job = (struct write_job){
        .run = write_decision, .done = decision_written, .arg = collector};
    collector->has_result = true;
    store_write(collector->master->store, &collector->job);
}

/* With the lock held. */
static void schedule_check(struct collector *collector, int64_t due_us)
{
    collector->due_us = due_us;
    lane_post_at(collector->master->chores, &collector->task, due_us);
}

static void sleep_for(struct collector *collector, int64_t us)
{
    collector->has_result = false;
    lock_take(&collector->lock);
    collector->is_busy = false;
    schedule_check(collector, master_mono_us(collector->master) +
                                  (collector->is_woken ? SOON_US : us));
    collector->is_woken = false;
    lock_give(&collector->lock);
}

static void continue_collecting(struct work *work)
{
    struct collector *collector = CONTAINER_OF(work, struct collector, task);
    struct err err = {0};
    bool is_due = false;
    det_status st = DET_OK;

    lock_take(&collector->lock);
    collector->is_busy = true;
    lock_give(&collector->lock);
    if (collector->has_result) {
        st = collector->job.status;
        err = collector->job.err;
    }
    if (!st)
        st = check_work(collector, &is_due, &err);
    if (st) {
        log_warn("the removal of checkpoints pauses for a minute: %s", err.text);
        sleep_for(collector, RETRY_US);
        return;
    }
    if (is_due)
        submit_decision(collector);
    else
        sleep_for(collector, CHECK_US);
}

static void wake_within(struct collector *collector, int64_t us)
{
    int64_t due_us;

    if (!collector)
        return;
    due_us = master_mono_us(collector->master) + us;
    lock_take(&collector->lock);
    if (collector->is_busy)
        collector->is_woken = true;
    else if (due_us < collector->due_us &&
             lane_cancel(collector->master->chores, &collector->task))
        schedule_check(collector, due_us);
    lock_give(&collector->lock);
}

void collector_wake(struct collector *collector)
{
    wake_within(collector, 0);
}

void collector_wake_soon(struct collector *collector)
{
    wake_within(collector, SOON_US);
}

det_status collector_new(struct master *master, struct collector **ret_collector,
                         struct err *err)
{
    struct collector *collector = mem_new(struct collector);
    det_status st;

    if (!collector)
        return err_default(err, DET_NOMEM);
    collector->master = master;
    collector->task = (struct work)WORK_INIT(continue_collecting);
    st = lock_init(&collector->lock, err);
    if (st) {
        mem_free(collector);
        return st;
    }
    schedule_check(collector, master_mono_us(collector->master) + SOON_US);
    *ret_collector = collector;
    return DET_OK;
}

void collector_free(struct collector *collector)
{
    if (!collector)
        return;
    lock_done(&collector->lock);
    mem_free(collector);
}
