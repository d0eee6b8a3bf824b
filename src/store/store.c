/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the writer's group commit and the pool of readers.
 *
 *   store_write() --queue--> write_group(): BEGIN, jobs, COMMIT, done() for each job;
 *                            then, while no job waits, the log moves into the file
 *
 * The queue is a list under a lock.  The lane is posted only if no post is pending: a
 * busy writer need not be woken, because after a group it finds the jobs that came
 * meanwhile.
 *
 * A job runs inside a savepoint.  Some failures (no space, no memory, a broken disk)
 * end the whole transaction; then every job of the group fails with that status, since
 * the rows of the earlier jobs are gone too.
 *
 * Invariants:
 *   1. done() is called exactly once per job; if the status is DET_OK, the rows are
 *      durable by then;
 *   2. jobs run and are answered in the order in which they came;
 *   3. after a failed sync nothing is written any more: what the disk holds is unknown,
 *      so the process ends and the next start reads it. */
#include "store/store.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/histogram.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"
#include "store/engine/upgrade_copy.h"
#include "store/roster/roster.h"

enum {
    CHECKPOINT_PAGES = 1000,
    ROOM_BYTES = 1 << 20,
    /* the bytes of a database that SQLite locks (its file format, section 1.3) */
    SQLITE_LOCK_AT = 0x40000000,
    SQLITE_LOCK_BYTES = 512
};

struct store {
    struct io *io;
    char *path;
    void (*on_fatal)(void *arg, const char *sentence);
    void *arg;
    void (*on_note)(bool is_warning, const char *sentence);

    struct lane *lane;
    struct work task;
    struct db *writer;    /* only the lane touches it */
    struct io_stat file;  /* of the database, when it was opened */
    struct io_stat log;   /* of its log at the first commit; the lane's */
    struct roster roster; /* has locks of its own */
    const struct clock *clock;
    struct histogram commit_us;
    struct histogram group_jobs;
    _Atomic uint64_t failed_groups;

    struct lock lock; /* guards what follows */
    bool has_lock;
    bool is_posted;
    bool is_dead;     /* a sync failed */
    uint32_t waiting; /* jobs in the list */
    struct write_job *first;
    struct write_job *last;
    struct db **idle; /* readers not in use */
    uint32_t idle_count;
    uint32_t idle_max;

    struct io_file *alone; /* the database, locked against other programs; see
                                open_alone(); NULL: it is opened as usual */
    _Atomic bool is_full;  /* see store_is_full() */
};

/* ---- writing --------------------------------------------------------------------- */

static struct write_job *take_queue(struct store *store, bool *ret_is_dead)
{
    struct write_job *first;

    lock_take(&store->lock);
    first = store->first;
    store->first = store->last = NULL;
    store->waiting = 0;
    *ret_is_dead = store->is_dead;
    lock_give(&store->lock);
    return first;
}

/* Returns the status of the group.  If it is not DET_OK, the whole transaction has
 * ended. A failure of the job alone is in job->status. */
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
    if (is_alone) /* its rollback rolled back everything */
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

/* Whether the same file is at the path still; notes which one it is the first time.  A
 * failure to look (no memory, no permission) says nothing. */
static bool is_same_file(struct io *io, const char *path, struct io_stat *known)
{
    struct io_stat found;
    det_status st = io_stat(io, path, &found, NULL);

    if (st)
        return st != DET_NOT_FOUND;
    if (known->kind == IO_NONE)
        *known = found;
    return found.device == known->device && found.inode == known->inode;
}

/* SQLite holds the files open: it would go on writing into a database that was deleted,
 * or moved away with its folder, and nobody could read it after us. */
static bool is_in_place(struct store *store, bool with_log, struct err *err)
{
    CLEANUP(buf_done) struct buf log = BUF_INIT;
    const char *gone = NULL;

    if (io_is_memory(store->io))
        return true;
    buf_printf(&log, "%s-wal", store->path);
    if (!is_same_file(store->io, store->path, &store->file))
        gone = store->path;
    else if (with_log && !log.status && !is_same_file(store->io, log.data, &store->log))
        gone = log.data;
    if (gone)
        (void)err_set(err, DET_IO,
                      "'%s' was removed or replaced while the master used it; the "
                      "master ends, because it could not keep what it acknowledges",
                      gone);
    return !gone;
}

static void die_of_disk(struct store *store, const char *sentence)
{
    lock_take(&store->lock);
    store->is_dead = true;
    lock_give(&store->lock);
    if (store->on_fatal)
        store->on_fatal(store->arg, sentence);
}

/* Runs the jobs in one transaction and sets their statuses. */
static void commit_group(struct store *store, struct write_job *first)
{
    struct db *db = store->writer;
    struct err err = {0};
    int64_t begin_us = clock_mono_us(store->clock);
    int64_t jobs = 0;
    det_status st = db_begin(db, &err);

    for (struct write_job *job = first; job && !st; job = job->next, jobs++)
        st = run_job(store, job, &err);
    if (!st)
        st = db_commit(db, &err);
    if (!st && !is_in_place(store, true, &err)) {
        st = DET_IO;
        die_of_disk(store, err.text);
    }
    if (st) {
        db_rollback(db);
        fail_all(first, st, &err);
        store->failed_groups++;
    }
    if (st == DET_FULL)
        store->is_full = true;
    histogram_add(&store->group_jobs, &histogram_count, jobs);
    histogram_add(&store->commit_us, &histogram_latency_us,
                  clock_mono_us(store->clock) - begin_us);
    /* Also after a failed commit: then the roster reads some rows needlessly. */
    roster_committed(&store->roster);
}

/* A moment with some room does not count: others take it at once. */
static bool has_room(struct store *store)
{
    struct io_space space;

    return io_space(store->io, store->path, &space, NULL) ||
           space.free_bytes >= ROOM_BYTES;
}

bool store_is_full(const struct store *store)
{
    return store->is_full;
}

void store_look_at_disk(struct store *store)
{
    struct err err = {0};

    if (store->is_full && has_room(store))
        store->is_full = false;

    if (!is_in_place(store, false, &err))
        die_of_disk(store, err.text);
}

bool store_is_dead(struct store *store)
{
    bool is_dead;

    lock_take(&store->lock);
    is_dead = store->is_dead;
    lock_give(&store->lock);
    return is_dead;
}

static void answer_senders(struct write_job *first)
{
    struct write_job *next;

    for (struct write_job *job = first; job; job = next) {
        next = job->next; /* done() may free the job */
        job->done(job);
    }
}

static void tidy_database(struct store *store)
{
    struct err err = {0};

    if (!store->writer->has_failed_sync &&
        store->writer->backlog_pages >= CHECKPOINT_PAGES)
        (void)db_checkpoint(store->writer, false, &err);
    if (store->writer->has_failed_sync)
        die_of_disk(store,
                    *err.text ? err.text : "the disk refused to keep what was written");
}

static void write_group(struct work *task)
{
    struct store *store = CONTAINER_OF(task, struct store, task);
    struct err dead = {0};
    bool is_dead;
    bool more;
    struct write_job *first = take_queue(store, &is_dead);

    if (is_dead) {
        (void)err_set(&dead, DET_IO, "the store stopped when the disk failed");
        fail_all(first, DET_IO, &dead);
        answer_senders(first);
    } else if (first) {
        commit_group(store, first);
        answer_senders(first);
        tidy_database(store);
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

    assert(job->run && job->done);
    job->next = NULL;
    job->status = DET_OK;
    job->err.text[0] = '\0';
    lock_take(&store->lock);
    if (store->last)
        store->last->next = job;
    else
        store->first = job;
    store->last = job;
    store->waiting++;
    posts = !store->is_posted;
    store->is_posted = true;
    lock_give(&store->lock);
    if (posts)
        lane_post(store->lane, &store->task);
}

static int64_t file_bytes(const struct store *store, const char *end, int64_t missing)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(8192);
    const char *path = arena_printf(&mem, "%s%s", store->path, end);
    struct io_stat stat;

    return path && !io_stat(store->io, path, &stat, NULL) ? (int64_t)stat.size_bytes
                                                          : missing;
}

void store_look(struct store *store, struct store_state *ret_state)
{
    *ret_state =
        (struct store_state){.failed_groups = atomic_load(&store->failed_groups),
                             .commit_us = &store->commit_us,
                             .group_jobs = &store->group_jobs,
                             .database_bytes = file_bytes(store, "", -1),
                             .wal_bytes = file_bytes(store, "-wal", 0)};
    lock_take(&store->lock);
    ret_state->waiting = store->waiting;
    lock_give(&store->lock);
}

/* ---- reading --------------------------------------------------------------------- */

struct db *store_reader_take_idle(struct store *store)
{
    struct db *db = NULL;

    lock_take(&store->lock);
    if (store->idle_count)
        db = store->idle[--store->idle_count];
    lock_give(&store->lock);
    return db;
}

det_status store_reader_take(struct store *store, struct db **ret_db, struct err *err)
{
    struct db *db = store_reader_take_idle(store);

    if (!db)
        return db_open_as(store->io, store->path,
                          DB_READER | (store->alone ? DB_ALONE : 0), ret_db, err);
    *ret_db = db;
    return DET_OK;
}

void store_reader_give(struct store *store, struct db *db)
{
    if (!db)
        return;
    assert(db->is_read_only && db != store->writer);
    db_snapshot_end(db);
    lock_take(&store->lock);
    /* A reader that could not end its snapshot would show old rows for ever. */
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

/* A new directory must survive a power loss, so its parent is synced. */
static det_status make_directory(const struct store_config *config, struct err *err)
{
    struct io_stat stat;
    det_status st;

    if (!io_stat(config->io, config->directory, &stat, NULL))
        return DET_OK;
    st = io_mkdir(config->io, config->directory, true, err);
    return st ? st : io_sync_parent(config->io, config->directory, err);
}

/* SQLite would make a new database readable by all users.  The files beside it inherit
 * the mode of this one. */
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

/* SQLite keeps its other files beside the file that a link leads to. */
static det_status follow_link(struct store *store, struct err *err)
{
    char *path = io_resolve(store->io, store->path);

    if (!path)
        return err_default(err, DET_NOMEM);
    mem_free(store->path);
    store->path = path;
    return DET_OK;
}

/* On a full disk SQLite cannot make the file in which processes share the index of the
 * log.  We are the only process that uses the database, so the index may be in memory:
 * everything can be read, and written again as soon as there is room. */
static det_status open_alone(struct store *store, struct err *err)
{
    struct io_stat found;
    det_status st = io_stat(store->io, store->path, &found, err);

    if (!st && !found.size_bytes)
        return err_set(err, DET_FULL, "no space left on the disk for the database '%s'",
                       store->path);
    if (!st)
        st = io_open(store->io, store->path, IO_WRITE, &store->alone, err);
    if (!st)
        st = io_lock_bytes(store->alone, SQLITE_LOCK_AT, SQLITE_LOCK_BYTES, err);
    if (!st)
        st = db_open_as(store->io, store->path, DB_ALONE, &store->writer, err);
    store->is_full = true;
    return st;
}

/* The log may hold commits that an earlier process wrote and could not sync: it was killed
 * before, or the disk refused.  We read them from the kernel's cache, so a repeated report
 * would be found there and acknowledged without a sync of ours.  A second sync of the log
 * is no help, since the kernel forgets what it failed to write; so its pages are written
 * anew, into the database.  On a full disk that waits until there is room. */
static det_status keep_what_is_read(struct store *store, struct err *err)
{
    det_status st = db_checkpoint(store->writer, false, err);

    if (st == DET_FULL)
        store->is_full = true;
    return st == DET_FULL ? DET_OK : st;
}

static det_status copy_before_upgrade(struct store *store, const char *directory,
                                      struct err *err)
{
    struct upgrade_copy copy = {.sentence = BUF_INIT};
    det_status st = upgrade_copy_keep(store->io, directory, store->writer, &copy, err);

    if (copy.sentence.len && !copy.sentence.status && store->on_note)
        store->on_note(!copy.is_kept, copy.sentence.data);
    buf_done(&copy.sentence);
    return st;
}

static det_status open_writer(struct store *store, const char *directory,
                              struct err *err)
{
    int64_t version;
    det_status st = db_open(store->io, store->path, false, &store->writer, err);

    if (st == DET_FULL && !io_is_memory(store->io))
        st = open_alone(store, err);
    if (!st)
        st = keep_what_is_read(store, err);
    if (st)
        return st;
    st = copy_before_upgrade(store, directory, err);
    if (!st)
        st = db_migrate(store->writer, migration_count, err);
    if (st == DET_FULL && !db_version(store->writer, &version, NULL) && version > 0)
        return err_prefix(err, "the database is of an older version and cannot be "
                               "upgraded; make room on the disk");
    return st;
}

static det_status open_parts(struct store *store, const struct store_config *config,
                             struct err *err)
{
    det_status st = make_directory(config, err);

    if (!st)
        st = make_file(store, err);
    if (!st)
        st = follow_link(store, err);
    if (!st)
        st = open_writer(store, config->directory, err);
    if (!st)
        st = io_sync_dir(config->io, config->directory, err);
    if (!st)
        st = io_stat(config->io, store->path, &store->file, err);
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
    store->clock = executor_clock(config->exec);
    store->on_fatal = config->on_fatal;
    store->arg = config->arg;
    store->on_note = config->on_note;
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
    io_close(store->alone);
    roster_done(&store->roster);
    if (store->has_lock)
        lock_done(&store->lock);
    mem_free(store->idle);
    mem_free(store->path);
    mem_free(store);
}
