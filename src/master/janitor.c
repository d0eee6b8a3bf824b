/* SPDX-License-Identifier: Apache-2.0 */
/* janitor.c - see janitor.h.
 *
 *   asleep --woken, or after a while--> delete experiments --> compact metrics
 *      ^                                                              |
 *      +---- nothing left <---- expire (now and then) <---- compact logs
 *
 * Each step is one write job, repeated while it finds something; its done() posts the
 * next step to the janitor's own lane.  An experiment's rows go once agents have
 * removed the files of its checkpoints; one that waits for an agent holds nobody else
 * up. */
#include "master/janitor.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/config.h"
#include "data/json.h"
#include "master/changes.h"
#include "master/collector.h"
#include "master/master_impl.h"
#include "store/collect.h"
#include "store/data.h"
#include "store/store.h"
#include "store/views.h"

enum {
    IDLE_US = 10 * 1000000,  /* between two looks when nobody wakes us */
    RETRY_US = 60 * 1000000, /* after a failure */
    TRIES_MOST = 3,          /* to remove files, before a deletion counts as failed */
    EXPIRE_EVERY_US = 600 * 1000000,
};

enum step { STEP_DELETE, STEP_METRICS, STEP_LOGS, STEP_EXPIRE, STEPS };

/* For an experiment that is deleted, in this order. */
enum deed {
    DEED_NONE,
    DEED_FILES, /* its checkpoints are handed to the collector, some at a time */
    DEED_ROWS,  /* their files are gone: now its rows, some at a time */
    DEED_GIVE_UP,
};

struct janitor {
    struct master *master;
    struct task task;
    struct write_job job;
    enum step step;
    bool has_result;  /* `job` is a step that was done */
    bool did;         /* ... and that found something */
    int64_t deleting; /* the experiment that something is done for */
    enum deed deed;   /* ... and what */
    bool is_deleted;  /* ... and that was the last of it */
    int64_t expire_next_us;
    struct lock lock; /* guards the two below */
    bool is_busy;
    bool is_woken;
};

/* ---- deleting: files first, then rows -------------------------------------------- */

/* What is to be done for an experiment now; DEED_NONE: agents are at work, or away. */
static det_status deed_for(struct janitor *janitor, struct db *db, int64_t id,
                           struct arena *mem, struct err *err)
{
    struct removal_state state = {0};
    det_status st = store_removal_state(db, id, mem, &state, err);

    janitor->deed = DEED_NONE;
    if (st)
        return st;
    if (state.unmarked) {
        janitor->deed = DEED_FILES;
    } else if (!state.left) {
        janitor->deed = DEED_ROWS;
    } else if (state.tries >= TRIES_MOST) {
        log_warn("experiment %" PRId64 " could not be deleted: %s", id,
                 state.error ? state.error : "its checkpoints cannot be removed");
        janitor->deed = DEED_GIVE_UP;
    }
    return DET_OK;
}

/* The first experiment for which something can be done; 0: none. */
static det_status next_to_delete(struct janitor *janitor, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct store *store = janitor->master->store;
    struct field_i64s ids = {0};
    struct db *db;
    det_status st = store_reader_take(store, &db, err);

    janitor->deleting = 0;
    janitor->deed = DEED_NONE;
    if (st)
        return st;
    st = store_experiments_deleting(db, &mem, &ids, err);
    for (size_t i = 0; i < ids.count && !st && janitor->deed == DEED_NONE; i++) {
        st = deed_for(janitor, db, ids.at[i], &mem, err);
        if (janitor->deed != DEED_NONE)
            janitor->deleting = ids.at[i];
    }
    store_reader_give(store, db);
    return st;
}

/* Whatever cannot be told where it lies stays, and so does the experiment. */
static det_status delete_files(struct janitor *janitor, struct db *db, struct err *err)
{
    struct collect_place place = collector_place(janitor->master);
    bool did;
    det_status st =
        store_experiment_remove_step(db, janitor->deleting, &place, &did, err);

    if (st != DET_UNSUPPORTED)
        return st;
    log_warn("experiment %" PRId64 " could not be deleted: %s", janitor->deleting,
             err->text);
    return store_experiment_delete_failed(db, janitor->deleting, err);
}

static det_status delete_some(struct janitor *janitor, struct db *db, struct err *err)
{
    switch (janitor->deed) {
    case DEED_FILES:
        return delete_files(janitor, db, err);
    case DEED_ROWS:
        return store_experiment_delete_step(db, janitor->deleting, &janitor->is_deleted,
                                            err);
    default:
        return store_experiment_delete_failed(db, janitor->deleting, err);
    }
}

/* ---- steps ----------------------------------------------------------------------- */

static int64_t retention_days(const struct janitor *janitor)
{
    const struct json *days =
        json_path(janitor->master->config, "retention_policy.log_retention_days");

    return json_i64(days, -1);
}

static det_status run_step(struct write_job *job, struct db *db, struct err *err)
{
    struct janitor *janitor = job->arg;
    int64_t removed = 0;
    det_status st = DET_OK;

    janitor->did = janitor->is_deleted = false;
    switch (janitor->step) {
    case STEP_DELETE:
        st = delete_some(janitor, db, err);
        janitor->did = true; /* this one goes on, or the next follows */
        break;
    case STEP_METRICS:
        st = store_metric_compact(db, false, &janitor->did, err);
        break;
    case STEP_LOGS:
        st = store_log_compact(db, &janitor->did, err);
        break;
    case STEP_EXPIRE:
    default:
        st = store_log_expire(db, master_now_us(janitor->master),
                              retention_days(janitor), &removed, err);
        if (!st)
            st = store_sessions_expire(db, master_now_us(janitor->master), err);
        janitor->did = !st && removed > 0; /* it removes a bounded number at a time */
        break;
    }
    return st;
}

static void step_done(struct write_job *job)
{
    struct janitor *janitor = job->arg;

    lane_post(janitor->master->chores, &janitor->task);
}

static void submit(struct janitor *janitor, write_fn *run)
{
    janitor->job = (struct write_job){.run = run, .done = step_done, .arg = janitor};
    janitor->has_result = true;
    store_write(janitor->master->store, &janitor->job);
}

static void sleep_for(struct janitor *janitor, int64_t us)
{
    janitor->step = STEP_DELETE;
    janitor->has_result = false;
    lock_take(&janitor->lock);
    janitor->is_busy = false;
    if (janitor->is_woken) {
        janitor->is_woken = false;
        janitor->is_busy = true;
        lane_post(janitor->master->chores, &janitor->task);
    } else {
        lane_post_at(janitor->master->chores, &janitor->task,
                     master_mono_us(janitor->master) + us);
    }
    lock_give(&janitor->lock);
}

/* Submits the job of the current step, or moves on to the first that has one. */
static void begin_step(struct janitor *janitor)
{
    struct err err = {0};

    if (janitor->step == STEP_DELETE) {
        det_status st = next_to_delete(janitor, &err);

        if (st) {
            log_warn("housekeeping stopped for a minute: %s", err.text);
            sleep_for(janitor, RETRY_US);
            return;
        }
        if (janitor->deleting) {
            submit(janitor, run_step);
            return;
        }
        janitor->step++;
    }
    if (janitor->step == STEP_EXPIRE &&
        master_mono_us(janitor->master) < janitor->expire_next_us)
        janitor->step++;
    if (janitor->step == STEPS) {
        sleep_for(janitor, IDLE_US);
        return;
    }
    submit(janitor, run_step);
}

static void deletion_went_on(struct janitor *janitor)
{
    struct master *master = janitor->master;

    if (janitor->deed == DEED_FILES)
        collector_wake(master->collector);
    changes_note(master->changes,
                 janitor->is_deleted ? CHANGE_DELETED : CHANGE_EXPERIMENT,
                 janitor->deleting, 0);
}

static void go_on(struct task *task)
{
    struct janitor *janitor = CONTAINER_OF(task, struct janitor, task);

    lock_take(&janitor->lock);
    janitor->is_busy = true;
    lock_give(&janitor->lock);

    if (janitor->has_result && janitor->job.status) {
        log_warn("housekeeping stopped for a minute: %s", janitor->job.err.text);
        sleep_for(janitor, RETRY_US);
        return;
    }
    if (janitor->has_result && janitor->step == STEP_DELETE)
        deletion_went_on(janitor);
    if (janitor->has_result && !janitor->did) {
        if (janitor->step == STEP_EXPIRE)
            janitor->expire_next_us = master_mono_us(janitor->master) + EXPIRE_EVERY_US;
        janitor->step++;
    }
    begin_step(janitor);
}

void janitor_wake(struct janitor *janitor)
{
    lock_take(&janitor->lock);
    if (janitor->is_busy)
        janitor->is_woken = true;
    else if (lane_cancel(janitor->master->chores, &janitor->task))
        lane_post(janitor->master->chores, &janitor->task);
    lock_give(&janitor->lock);
}

det_status janitor_new(struct master *master, struct janitor **ret_janitor,
                       struct err *err)
{
    struct janitor *janitor = mem_new(struct janitor);
    det_status st;

    if (!janitor)
        return err_default(err, DET_NOMEM);
    janitor->master = master;
    janitor->task = (struct task)TASK_INIT(go_on);
    st = lock_init(&janitor->lock, err);
    if (st) {
        mem_free(janitor);
        return st;
    }
    lane_post_at(master->chores, &janitor->task,
                 master_mono_us(janitor->master) + 1000000);
    *ret_janitor = janitor;
    return DET_OK;
}

void janitor_free(struct janitor *janitor)
{
    if (!janitor)
        return;
    lock_done(&janitor->lock);
    mem_free(janitor);
}
