/* SPDX-License-Identifier: Apache-2.0 */
/* janitor.c - see janitor.h.
 *
 *   asleep --woken, or after a while--> delete experiments --> compact metrics
 *      ^                                                              |
 *      +---- nothing left <---- expire (now and then) <---- compact logs
 *
 * Each step is one write job, repeated while it finds something; its done() posts the
 * next step to the janitor's own lane, where files are removed too: that may take long,
 * and nobody else waits for it. */
#include "master/janitor.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/config.h"
#include "data/json.h"
#include "master/master_impl.h"
#include "store/data.h"
#include "store/store.h"
#include "store/views.h"

enum {
    IDLE_US = 10 * 1000000,  /* between two looks when nobody wakes us */
    RETRY_US = 60 * 1000000, /* after a failure */
    FILES_AT_ONCE = 500,     /* checkpoints looked up at a time */
    EXPIRE_EVERY_US = 600 * 1000000,
};

enum step { STEP_DELETE, STEP_METRICS, STEP_LOGS, STEP_EXPIRE, STEPS };

struct janitor {
    struct master *master;
    struct task task;
    struct write_job job;
    enum step step;
    bool has_result;       /* `job` is a step that was done */
    bool did;              /* ... and that found something */
    int64_t without_files; /* the experiment whose files are gone already */
    int64_t deleting;      /* the experiment whose rows are being removed */
    int64_t expire_next_us;
    struct lock lock; /* guards the two below */
    bool is_busy;
    bool is_woken;
};

/* ---- deleting: files first, then rows -------------------------------------------- */

/* One page of checkpoint directories; *ret_more: there are others behind it. */
static det_status delete_page(struct janitor *janitor, struct db *db,
                              const char *directory, struct checkpoint_query *query,
                              bool *ret_more, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct checkpoint *rows;
    uint32_t count = 0;
    int64_t total;
    det_status st = store_checkpoint_list(db, query, &mem, &rows, &count, &total, err);

    for (uint32_t i = 0; !st && i < count; i++) {
        const char *path = arena_printf(&mem, "%s/%s", directory, rows[i].uuid);

        if (!path)
            return err_default(err, DET_NOMEM);
        if (!uuid_is_valid(rows[i].uuid))
            continue; /* not a name that we gave */
        st = io_remove_tree(janitor->master->io, path, err);
    }
    query->offset += count;
    *ret_more = !st && count == (uint32_t)query->limit;
    return st;
}

static det_status delete_files(struct janitor *janitor, struct db *db, int64_t id,
                               struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct checkpoint_query query = {.experiment_id = id, .limit = FILES_AT_ONCE};
    struct experiment_config config;
    struct experiment_view view;
    bool has_more = true;
    det_status st = store_experiment_get(db, id, &mem, &view, err);

    if (!st)
        st = experiment_config_open(view.row.config, strlen(view.row.config), &mem,
                                    &config, err);
    if (!st && !config.storage_directory)
        st = err_set(err, DET_UNSUPPORTED,
                     "its checkpoints do not lie in a directory, and are not removed");
    while (!st && has_more)
        st = delete_page(janitor, db, config.storage_directory, &query, &has_more, err);
    return st;
}

/* The next experiment to delete, its files gone; 0: none. */
static det_status next_to_delete(struct janitor *janitor, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct store *store = janitor->master->store;
    struct field_i64s ids = {0};
    struct db *db;
    det_status st = store_reader_take(store, &db, err);

    janitor->deleting = 0;
    if (st)
        return st;
    st = store_experiments_deleting(db, &mem, &ids, err);
    if (!st && ids.count) {
        janitor->deleting = ids.at[0];
        if (janitor->without_files != ids.at[0])
            st = delete_files(janitor, db, ids.at[0], err);
        if (!st)
            janitor->without_files = ids.at[0];
    }
    store_reader_give(store, db);
    return st;
}

static det_status run_delete_failed(struct write_job *job, struct db *db,
                                    struct err *err)
{
    struct janitor *janitor = job->arg;

    return store_experiment_delete_failed(db, janitor->deleting, err);
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
    bool is_done = true;
    int64_t removed = 0;
    det_status st = DET_OK;

    janitor->did = false;
    switch (janitor->step) {
    case STEP_DELETE:
        st = store_experiment_delete_step(db, janitor->deleting, &is_done, err);
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

        if (st == DET_NOMEM || st == DET_BUSY || (st && !janitor->deleting)) {
            log_warn("housekeeping stopped for a minute: %s", err.text);
            sleep_for(janitor, RETRY_US);
            return;
        }
        if (st) {
            log_warn("experiment %" PRId64 " could not be deleted: %s",
                     janitor->deleting, err.text);
            submit(janitor, run_delete_failed);
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
