/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the writer's group commit and the pool of readers.
 *
 *   store_write() --queue--> write_group(): BEGIN, jobs, COMMIT, done() each, and then,
 *                            nobody waiting for it, the log is moved into the file
 *
 * The queue is a list under a lock; the lane is posted only when it has no post
 * pending, so that a busy writer is woken by nobody: it finds at its end what came
 * meanwhile.
 *
 * A job runs inside a savepoint.  Some failures (no space, no memory, a broken disk)
 * end the whole transaction by themselves; then every job of the group fails with that
 * status, since what the earlier ones wrote is gone too.
 *
 * Invariants: 1. done() is called exactly once a job, never before its rows are durable
 * when its status is DET_OK; 2. jobs run and are answered in the order they came in;
 * 3. after a failed sync nothing is written any more. */
#include "store/store.h"

#include <string.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/mem.h"
#include "store/db_impl.h"
#include "store/migrate.h"
#include "store/roster_impl.h"
#include "store/store_impl.h"

enum { CHECKPOINT_PAGES = 1000 };

struct store {
    struct io *io;
    char *path;
    void (*on_fatal)(void *arg, const char *sentence);
    void *arg;

    struct lane *lane;
    struct task task;
    struct db *writer;    /* only the lane touches it */
    struct roster roster; /* has locks of its own */

    struct lock lock; /* guards what follows */
    bool has_lock;
    bool is_posted;
    bool is_dead; /* a sync failed */
    struct write_job *first;
    struct write_job *last;
    struct db **idle; /* readers that nobody has */
    uint32_t idle_count;
    uint32_t idle_max;
};

/* ---- writing --------------------------------------------------------------------- */

static struct write_job *take_queue(struct store *store, bool *ret_is_dead)
{
    struct write_job *first;

    lock_take(&store->lock);
    first = store->first;
    store->first = store->last = NULL;
    *ret_is_dead = store->is_dead;
    lock_give(&store->lock);
    return first;
}

/* The status of the group: anything but DET_OK ended its transaction, for a reason that
 * is everybody's; a job's own refusal is not. */
static det_status run_job(struct store *store, struct write_job *job, struct err *err)
{
    struct db *db = store->writer;
    bool is_alone = false;

    job->status = db_save(db, &job->err);
    if (!job->status) {
        job->status = job->run(job, db, &job->err);
        if (!job->status)
            job->status = db_release(db, &job->err);
        is_alone = db_is_in_transaction(db);
        if (job->status)
            db_undo(db);
    }
    if (!job->status || db_is_in_transaction(db))
        return DET_OK;
    if (is_alone) /* taking it back took everything back */
        return err_default(err, DET_NOMEM);
    return err_set(err, job->status, "%s", job->err.text);
}

static void fail_all(struct write_job *first, det_status status, const struct err *err)
{
    for (struct write_job *job = first; job; job = job->next) {
        if (job->status)
            continue;
        job->status = status;
        (void)err_set(&job->err, status, "%s", err->text);
    }
}

/* Runs the jobs in one transaction; their statuses say how it went. */
static void commit_group(struct store *store, struct write_job *first)
{
    struct db *db = store->writer;
    struct err err = {0};
    det_status st = db_begin(db, &err);

    for (struct write_job *job = first; job && !st; job = job->next)
        st = run_job(store, job, &err);
    if (!st)
        st = db_commit(db, &err);
    if (st) {
        db_rollback(db);
        fail_all(first, st, &err);
    }
    roster_committed(&store->roster); /* or not: then it looks for nothing */
}

static void die(struct store *store, const char *sentence)
{
    lock_take(&store->lock);
    store->is_dead = true;
    lock_give(&store->lock);
    if (store->on_fatal)
        store->on_fatal(store->arg, sentence);
}

bool store_is_dead(struct store *store)
{
    bool is_dead;

    lock_take(&store->lock);
    is_dead = store->is_dead;
    lock_give(&store->lock);
    return is_dead;
}

static void answer(struct write_job *first)
{
    struct write_job *next;

    for (struct write_job *job = first; job; job = next) {
        next = job->next; /* done() may free the job */
        job->done(job);
    }
}

static void tidy(struct store *store)
{
    struct err err = {0};

    if (!store->writer->has_failed_sync &&
        store->writer->backlog_pages >= CHECKPOINT_PAGES)
        (void)db_checkpoint(store->writer, false, &err);
    if (store->writer->has_failed_sync)
        die(store, *err.text ? err.text : "the disk refused to keep what was written");
}

static void write_group(struct task *task)
{
    struct store *store = CONTAINER_OF(task, struct store, task);
    struct err dead = {0};
    bool is_dead;
    bool more;
    struct write_job *first = take_queue(store, &is_dead);

    if (is_dead) {
        (void)err_set(&dead, DET_IO, "the store stopped when the disk failed");
        fail_all(first, DET_IO, &dead);
        answer(first);
    } else if (first) {
        commit_group(store, first);
        answer(first);
        tidy(store);
    }
    lock_take(&store->lock);
    more = store->first != NULL;
    store->is_posted = more;
    lock_give(&store->lock);
    if (more)
        lane_post(store->lane, task);
}

void store_write(struct store *store, struct write_job *job)
{
    bool posts;

    job->next = NULL;
    job->status = DET_OK;
    job->err.text[0] = '\0';
    lock_take(&store->lock);
    if (store->last)
        store->last->next = job;
    else
        store->first = job;
    store->last = job;
    posts = !store->is_posted;
    store->is_posted = true;
    lock_give(&store->lock);
    if (posts)
        lane_post(store->lane, &store->task);
}

/* ---- reading --------------------------------------------------------------------- */

det_status store_reader_take(struct store *store, struct db **ret_db, struct err *err)
{
    struct db *db = NULL;

    lock_take(&store->lock);
    if (store->idle_count)
        db = store->idle[--store->idle_count];
    lock_give(&store->lock);
    if (!db)
        return db_open(store->io, store->path, true, ret_db, err);
    *ret_db = db;
    return DET_OK;
}

void store_reader_give(struct store *store, struct db *db)
{
    if (!db)
        return;
    db_snapshot_end(db);
    lock_take(&store->lock);
    /* One that could not leave its snapshot would go on showing it. */
    if (store->idle_count < store->idle_max && !db_is_in_transaction(db)) {
        store->idle[store->idle_count++] = db;
        db = NULL;
    }
    lock_give(&store->lock);
    db_close(db);
}

struct roster *store_roster(struct store *store)
{
    return &store->roster;
}

/* ---- opening --------------------------------------------------------------------- */

/* A directory that is made now must still be there after the power went. */
static det_status make_directory(const struct store_config *config, struct err *err)
{
    CLEANUP(mem_freep) char *parent = mem_strdup(config->directory);
    char *slash = parent ? strrchr(parent, '/') : NULL;
    struct io_stat stat;
    det_status st;

    if (!parent)
        return err_default(err, DET_NOMEM);
    if (!io_stat(config->io, config->directory, &stat, NULL))
        return DET_OK;
    st = io_mkdir(config->io, config->directory, true, err);
    if (st)
        return st;
    if (slash && slash != parent)
        *slash = '\0';
    else
        (void)snprintf(parent, strlen(parent) + 1, "%s", slash ? "/" : ".");
    return io_sync_dir(config->io, parent, err);
}

/* SQLite would let everybody read a new database; the files beside it get its mode. */
static det_status make_file(const struct store *store, struct err *err)
{
    struct io_file *file;
    det_status st;

    if (io_is_memory(store->io))
        return DET_OK;
    st = io_open(store->io, store->path, IO_WRITE | IO_CREATE | IO_PRIVATE, &file, err);
    if (!st)
        io_close(file);
    return st;
}

static det_status open_parts(struct store *store, const struct store_config *config,
                             struct err *err)
{
    det_status st = make_directory(config, err);

    if (!st)
        st = make_file(store, err);
    if (!st)
        st = db_open(config->io, store->path, false, &store->writer, err);
    if (!st)
        st = db_migrate(store->writer, migration_count, err);
    if (!st)
        st = io_sync_dir(config->io, config->directory, err);
    if (!st)
        st = roster_init(&store->roster, err);
    if (!st) {
        db_watch(store->writer, roster_note, &store->roster);
        st = lock_init(&store->lock, err);
    }
    store->has_lock = !st;
    if (!st)
        st = lane_new(config->exec, "writer", 1, &store->lane, err);
    return st;
}

det_status store_open(const struct store_config *config, struct store **ret_store,
                      struct err *err)
{
    struct store *store = mem_new(struct store);
    size_t size = strlen(config->directory) + sizeof("/det.db");
    det_status st;

    if (!store)
        return err_default(err, DET_NOMEM);
    store->io = config->io;
    store->on_fatal = config->on_fatal;
    store->arg = config->arg;
    store->task.run = write_group;
    store->idle_max = config->readers ? config->readers : 1;
    store->idle = mem_array(store->idle_max, sizeof(struct db *));
    store->path = mem_alloc(size);
    if (!store->path || !store->idle) {
        store_close(store);
        return err_default(err, DET_NOMEM);
    }
    (void)snprintf(store->path, size, "%s/det.db", config->directory);
    st = open_parts(store, config, err);
    if (st) {
        store_close(store);
        return st;
    }

    *ret_store = store;
    return DET_OK;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (uint32_t i = 0; i < store->idle_count; i++)
        db_close(store->idle[i]);
    if (store->writer && !store->writer->has_failed_sync)
        (void)db_checkpoint(store->writer, true, NULL);
    db_close(store->writer);
    roster_done(&store->roster);
    if (store->has_lock)
        lock_done(&store->lock);
    mem_free(store->idle);
    mem_free(store->path);
    mem_free(store);
}
