/* SPDX-License-Identifier: Apache-2.0 */
/* janitor.c - see janitor.h.
 *
 *   asleep --woken, or IDLE_US passed--> delete experiments --> delete projects and
 *      ^                                                              |     workspaces
 *      |                                                              v
 *      +-- no work left <-- expire (every ten minutes) <-- compact logs and metrics
 *
 * Each step is one write job, repeated while it finds work; its done() posts the next step
 * to the janitor's lane.  The rows of a deleted experiment go after agents have removed the
 * files of its checkpoints.  An experiment that waits for an agent does not delay others. */
#include "master/background/janitor.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "master/background/collector.h"
#include "master/changes/changes.h"
#include "master/master_impl.h"
#include "store/checkpoint/collect.h"
#include "store/checkpoint/removal.h"
#include "store/experiment/experiment_delete.h"
#include "store/log/log_compact.h"
#include "store/media/media.h"
#include "store/metric/metric_compact.h"
#include "store/people/audit.h"
#include "store/people/session.h"
#include "store/space/space_delete.h"
#include "store/store.h"

enum {
    IDLE_US = 10 * 1000000,  /* between two rounds when nobody wakes us */
    RETRY_US = 60 * 1000000, /* after a failure */
    TRIES_MOST = 3,          /* removals of files before a deletion has failed */
    EXPIRE_EVERY_US = 600 * 1000000,
};

enum step { STEP_DELETE, STEP_SPACES, STEP_METRICS, STEP_LOGS, STEP_EXPIRE, STEPS };

/* The stages of deleting an experiment, in this order. */
enum deletion {
    DELETION_WAITS, /* agents are at work, or away */
    DELETION_FILES, /* checkpoints are handed to the collector, some at a time */
    DELETION_ROWS,  /* the files are gone; now its rows, some at a time */
    DELETION_FAILED,
};

struct janitor {
    struct master *master;
    struct work task;
    struct write_job job;
    enum step step;
    bool has_result;        /* `job` is a finished step */
    bool did_work;          /* ... that found work */
    int64_t deleting;       /* the experiment of this step; 0: none */
    enum deletion deletion; /* ... and its stage */
    bool is_deleted;        /* ... and its last row is gone */
    int64_t expire_next_us;
    struct lock lock; /* guards the two below */
    bool is_busy;
    bool is_woken;
};

/* ---- deleting: files first, then rows -------------------------------------------- */

/* Sets janitor->deletion for this experiment. */
static det_status find_stage(struct janitor *janitor, struct db *db, int64_t id,
                             struct arena *mem, struct err *err)
{
    struct removal_state state = {0};
    det_status st = store_removal_state(db, id, mem, &state, err);

    janitor->deletion = DELETION_WAITS;
    if (st)
        return st;
    if (state.unmarked) {
        janitor->deletion = DELETION_FILES;
    } else if (!state.left) {
        janitor->deletion = DELETION_ROWS;
    } else if (state.tries >= TRIES_MOST) {
        log_warn("experiment %" PRId64 " could not be deleted: %s", id,
                 state.error ? state.error : "its checkpoints cannot be removed");
        janitor->deletion = DELETION_FAILED;
    }
    return DET_OK;
}

/* Finds the first experiment whose deletion can continue. */
static det_status find_deletion(struct janitor *janitor, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct store *store = janitor->master->store;
    struct field_i64s ids = {0};
    struct db *db;
    det_status st = store_reader_take(store, &db, err);

    janitor->deleting = 0;
    janitor->deletion = DELETION_WAITS;
    if (st)
        return st;
    st = store_experiments_deleting(db, &mem, &ids, err);
    for (size_t i = 0; i < ids.count && !st && janitor->deletion == DELETION_WAITS;
         i++) {
        st = find_stage(janitor, db, ids.at[i], &mem, err);
        if (janitor->deletion != DELETION_WAITS)
            janitor->deleting = ids.at[i];
    }
    store_reader_give(store, db);
    return st;
}

/* A checkpoint whose storage is unknown stays, and so does its experiment. */
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
    switch (janitor->deletion) {
    case DELETION_FILES:
        return delete_files(janitor, db, err);
    case DELETION_ROWS:
        return store_experiment_delete_step(db, janitor->deleting, &janitor->is_deleted,
                                            err);
    case DELETION_FAILED:
        return store_experiment_delete_failed(db, janitor->deleting, err);
    case DELETION_WAITS:
        break;
    }
    assert(!"a deletion that waits has no step");
    return DET_OK;
}

/* ---- steps ----------------------------------------------------------------------- */

static int64_t retention_days(const struct janitor *janitor)
{
    const struct json *days =
        json_path(janitor->master->config, "retention_policy.log_retention_days");

    return json_i64(days, -1);
}

static det_status expire_audit(struct janitor *janitor, struct db *db, int64_t *removed,
                               struct err *err)
{
    int64_t days = json_i64(
        json_path(janitor->master->config, "retention_policy.audit_retention_days"),
        365);
    int64_t rows = 0;
    det_status st = DET_OK;

    if (days >= 0)
        st = store_audit_expire(
            db, master_now_us(janitor->master) - days * 86400 * 1000000, &rows, err);
    *removed += rows;
    return st;
}

static det_status expire_media(struct janitor *janitor, struct db *db, int64_t *removed,
                               struct err *err)
{
    int64_t days = json_i64(
        json_path(janitor->master->config, "retention_policy.media_retention_days"),
        -1);
    int64_t rows = 0;
    det_status st = DET_OK;

    if (days >= 0)
        st = store_media_expire(
            db, master_now_us(janitor->master) - days * 86400 * 1000000, &rows, err);
    *removed += rows;
    return st;
}

static det_status run_step(struct write_job *job, struct db *db, struct err *err)
{
    struct janitor *janitor = job->arg;
    int64_t removed = 0;
    det_status st = DET_OK;

    janitor->did_work = janitor->is_deleted = false;
    switch (janitor->step) {
    case STEP_DELETE:
        st = delete_some(janitor, db, err);
        janitor->did_work = true; /* this deletion continues, or the next one follows */
        break;
    case STEP_SPACES:
        st = store_space_delete_step(db, &janitor->did_work, err);
        break;
    case STEP_METRICS:
        st = store_metric_compact(db, false, &janitor->did_work, err);
        break;
    case STEP_LOGS:
        st = store_log_compact(db, &janitor->did_work, err);
        break;
    case STEP_EXPIRE:
        st = store_log_expire(db, master_now_us(janitor->master),
                              retention_days(janitor), &removed, err);
        if (!st)
            st = store_sessions_expire(db, master_now_us(janitor->master), err);
        if (!st)
            st = expire_audit(janitor, db, &removed, err);
        if (!st)
            st = expire_media(janitor, db, &removed, err);
        janitor->did_work =
            !st && removed > 0; /* it removes a bounded number at a time */
        break;
    case STEPS:
        assert(!"not a step");
        break;
    }
    return st;
}

static void step_done(struct write_job *job)
{
    struct janitor *janitor = job->arg;

    lane_post(janitor->master->chores, &janitor->task);
}

static void submit_step(struct janitor *janitor, write_fn *run)
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

/* Submits the current step, or the next one that is due. */
static void begin_step(struct janitor *janitor)
{
    struct err err = {0};

    if (janitor->step == STEP_DELETE) {
        det_status st = find_deletion(janitor, &err);

        if (st) {
            log_warn("housekeeping pauses for a minute: %s", err.text);
            sleep_for(janitor, RETRY_US);
            return;
        }
        if (janitor->deleting) {
            submit_step(janitor, run_step);
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
    submit_step(janitor, run_step);
}

static void note_deletion(struct janitor *janitor)
{
    struct master *master = janitor->master;

    if (janitor->deletion == DELETION_FILES)
        collector_wake(master->collector);
    changes_note(master->changes,
                 janitor->is_deleted ? CHANGE_DELETED : CHANGE_EXPERIMENT,
                 janitor->deleting, 0);
}

static void continue_steps(struct work *work)
{
    struct janitor *janitor = CONTAINER_OF(work, struct janitor, task);

    lock_take(&janitor->lock);
    janitor->is_busy = true;
    lock_give(&janitor->lock);

    if (janitor->has_result && janitor->job.status) {
        log_warn("housekeeping pauses for a minute: %s", janitor->job.err.text);
        sleep_for(janitor, RETRY_US);
        return;
    }
    if (janitor->has_result && janitor->step == STEP_DELETE)
        note_deletion(janitor);
    if (janitor->has_result && !janitor->did_work) {
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
    janitor->task = (struct work)WORK_INIT(continue_steps);
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
