/* SPDX-License-Identifier: Apache-2.0 */
/* effects.c - see effects.h.  First the rows, then the actions; each part ends with the
 * switch over all kinds of effects. */
#include "master/heart/effects.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/memory/arena.h"
#include "core/effect.h"
#include "master/background/collector.h"
#include "master/background/janitor.h"
#include "master/heart/counters.h"
#include "master/heart/rendezvous.h"
#include "master/master_impl.h"
#include "master/request/auth.h"
#include "master/request/waits.h"
#include "master/rm/agents.h"
#include "master/rm/run_user.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_continue.h"
#include "store/experiment/search.h"
#include "store/experiment/trial.h"
#include "store/experiment/unmanaged.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/store.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "store/task/job.h"

/* ---- rows ------------------------------------------------------------------------ */

static det_status write_log_line(struct db *db, const struct core_effect *effect,
                                 int64_t now_us, struct arena *mem, struct err *err)
{
    struct log_line line = {
        .time_us = now_us,
        .severity = LOG_SEVERITY_INFO,
        .stream = LOG_STREAM_STDOUT,
        .rank = -1,
        .text = effect->log.text,
        .len = (uint32_t)strlen(effect->log.text),
        .allocation = effect->log.allocation,
        .source = "master",
    };
    struct log_batch batch = {
        .task_id = effect->log.task_id, .line = &line, .count = 1};
    uint32_t stored;

    return store_log_add(db, &batch, mem, &stored, err);
}

static det_status write_experiment(struct db *db, const struct core_effect *effect,
                                   struct err *err)
{
    const struct experiment *row = &effect->experiment.row;
    const struct experiment_texts texts = {
        .name = effect->experiment.name,
        .description = effect->experiment.description,
        .labels = effect->experiment.labels,
        .files = effect->experiment.files,
        .files_len = effect->experiment.files_len,
        .is_unmanaged = effect->experiment.is_unmanaged,
        .external_id = effect->experiment.external_id,
    };

    if (effect->kind == EFFECT_ADD_EXPERIMENT)
        return store_experiment_add(db, row, &texts, err);
    assert(effect->kind == EFFECT_CONTINUE_EXPERIMENT);
    return store_experiment_continue(db, row, effect->experiment.was_end_us, &texts,
                                     err);
}

static det_status write_new_job(struct db *db, const struct core_effect *effect,
                                struct err *err)
{
    const struct job_texts texts = {
        .name = effect->job.name,
        .config = effect->job.config,
        .forked_from = effect->job.forked_from,
        .type = effect->job.type,
        .sources = effect->job.sources,
        .workspace_id = effect->job.workspace_id,
        .files = effect->job.files,
        .files_len = effect->job.files_len,
    };

    return store_job_add(db, &effect->job.row, &texts, err);
}

static det_status write_allocation(struct master *master, struct db *db,
                                   const struct allocation *row, struct err *err)
{
    det_status st = store_allocation_put(db, row, err);

    if (!st && row->state == ALLOCATION_TERMINATED)
        st = store_log_settle(db, row->task_id, row->name, err);
    return st || row->state != ALLOCATION_ASSIGNED
               ? st
               : run_user_note(master, db, row->id, err);
}

static det_status write_row(struct master *master, struct db *db,
                            const struct core_effect *effect, struct arena *mem,
                            struct err *err)
{
    switch (effect->kind) {
    case EFFECT_ADD_EXPERIMENT:
    case EFFECT_CONTINUE_EXPERIMENT:
        return write_experiment(db, effect, err);
    case EFFECT_PUT_EXPERIMENT:
        return store_experiment_put(db, &effect->experiment.row, err);
    case EFFECT_ADD_TRIAL:
        return store_trial_add(db, &effect->trial, err);
    case EFFECT_ADD_UNMANAGED_TRIAL:
        return store_unmanaged_add_trial(db, &effect->trial, err);
    case EFFECT_PUT_TRIAL:
        return store_trial_put(db, &effect->trial, err);
    case EFFECT_ADD_JOB:
        return write_new_job(db, effect, err);
    case EFFECT_PUT_JOB:
        return store_job_put(db, &effect->job.row, err);
    case EFFECT_PUT_ALLOCATION:
        return write_allocation(master, db, &effect->allocation, err);
    case EFFECT_PUT_SHARE:
        return store_share_put(db, &effect->share, err);
    case EFFECT_PUT_AGENT:
        return store_agent_put(db, &effect->agent, err);
    case EFFECT_DROP_AGENT:
        return store_agent_drop(db, effect->agent.id, err);
    case EFFECT_ADD_SEARCH_INPUT:
        return store_search_input_add(db, &effect->input, err);
    case EFFECT_PUT_SNAPSHOT:
        return store_search_snapshot_put(db, &effect->snapshot, err);
    case EFFECT_DROP_SEARCH:
        return store_search_drop(db, effect->experiment_id, err);
    case EFFECT_PUT_COUNTERS:
        return counters_write(db, &effect->counters, err);
    case EFFECT_TASK_LOG:
        return write_log_line(db, effect, master_now_us(master), mem, err);
    case EFFECT_START: /* actions have no row */
    case EFFECT_KILL:
    case EFFECT_KILL_STRAY:
    case EFFECT_PREEMPT:
    case EFFECT_OVER:
    case EFFECT_EXPERIMENT_OVER:
        return DET_OK;
    }
    assert(!"an effect of an unknown kind");
    return err_set(err, DET_FAILED, "the core decided something unknown (%d)",
                   (int)effect->kind);
}

det_status effects_write(struct master *master, struct db *db,
                         const struct core_out *out, struct arena *mem, struct err *err)
{
    for (uint32_t i = 0; i < out->count; i++) {
        det_status st = write_row(master, db, &out->effect[i], mem, err);

        if (st)
            return st;
    }
    return DET_OK;
}

/* ---- actions --------------------------------------------------------------------- */

/* The processes of an allocation that is over never meet again. */
static void drop_rendezvous(struct master *master, const char *allocation)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    /* with the space, since "...1" is also the beginning of "...12" */
    const char *prefix = arena_printf(&mem, "%s ", allocation);

    if (prefix)
        rendezvous_drop(master->rendezvous, prefix);
}

/* Wakes the long polls of an allocation.  Its name comes from the store; if that
 * fails, pollers check again at their timeout. */
static void wake_allocation(struct master *master, int64_t id, bool is_over)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    struct db *db;
    const char *name, *key;

    if (store_reader_take(master->store, &db, NULL))
        return;
    if (!store_allocation_name(db, id, &mem, &name, NULL)) {
        key = waits_key_allocation(&mem, name);
        if (key)
            waits_wake(master->waits, key);
        if (is_over)
            drop_rendezvous(master, name);
    }
    store_reader_give(master->store, db);
}

static void end_allocation(struct master *master, int64_t id)
{
    auth_drop_cache(master->auth); /* its tokens open fewer calls from now on */
    collector_wake_soon(
        master->collector); /* it may have left unfinished checkpoints */
    wake_allocation(master, id, true);
}

static void end_experiment(struct master *master, int64_t id)
{
    log_info("experiment %" PRId64 " is over", id);
    if (master->janitor)
        janitor_wake(master->janitor);
    collector_wake(master->collector);
}

/* A task's log or state changed: its followers read on. */
static void wake_task(struct master *master, const char *task_id)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    const char *key = waits_key_task(&mem, task_id);

    if (key)
        waits_wake(master->waits, key);
}

/* False: memory was short. */
static bool carry_out(struct master *master, const struct core_effect *effect)
{
    switch (effect->kind) {
    case EFFECT_START:
        return agents_send(master->agents, AGENT_START, &effect->share);
    case EFFECT_KILL:
        return agents_send(master->agents, AGENT_KILL, &effect->share);
    case EFFECT_KILL_STRAY:
        return agents_send_stray(master->agents, effect->stray.agent,
                                 effect->stray.task);
    case EFFECT_DROP_AGENT:
        agents_lost(master->agents, effect->agent.name);
        return true;
    case EFFECT_PREEMPT:
        wake_allocation(master, effect->allocation_id, false);
        return true;
    case EFFECT_OVER:
        end_allocation(master, effect->allocation_id);
        return true;
    case EFFECT_EXPERIMENT_OVER:
        end_experiment(master, effect->experiment_id);
        return true;
    case EFFECT_PUT_TRIAL:
        wake_task(master, effect->trial.task_id);
        return true;
    case EFFECT_PUT_JOB:
        wake_task(master, effect->job.row.task_id);
        return true;
    case EFFECT_TASK_LOG:
        wake_task(master, effect->log.task_id);
        return true;
    case EFFECT_ADD_EXPERIMENT: /* these are rows, and nobody waits for them */
    case EFFECT_CONTINUE_EXPERIMENT:
    case EFFECT_PUT_EXPERIMENT:
    case EFFECT_ADD_TRIAL:
    case EFFECT_ADD_UNMANAGED_TRIAL:
    case EFFECT_ADD_JOB:
    case EFFECT_PUT_ALLOCATION:
    case EFFECT_PUT_SHARE:
    case EFFECT_PUT_AGENT:
    case EFFECT_ADD_SEARCH_INPUT:
    case EFFECT_PUT_SNAPSHOT:
    case EFFECT_DROP_SEARCH:
    case EFFECT_PUT_COUNTERS:
        return true;
    }
    assert(!"an effect of an unknown kind");
    return true;
}

bool effects_carry_out(struct master *master, const struct core_out *out)
{
    bool is_done = true;

    for (uint32_t i = 0; i < out->count; i++)
        if (!carry_out(master, &out->effect[i]))
            is_done = false;
    return is_done;
}
