/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the database of the master: one writer, many readers.
 *
 *   senders --jobs--> writer lane: BEGIN, one savepoint per job, COMMIT --> done(job)
 *   readers --------> their own connections, beside the writer
 *
 * The writer takes all queued jobs and commits them as one group.  A sender is answered
 * when its rows are durable.  If a job fails, only that job is rolled back.  If the
 * commit fails, every job of the group fails with that status.  A failed sync is fatal
 * (`on_fatal`): the content of the disk is unknown, so the process must restart and
 * read it.  A full disk is not fatal: every job fails with DET_FULL until there is
 * space again.
 *
 * Threading: any thread may call store_write(), take a reader and give it back. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct executor;
struct histogram;
struct io;
struct roster;
struct store;

struct store_config {
    struct io *io;
    struct executor *exec;
    const char *directory; /* holds det.db */
    uint32_t readers;      /* connections that stay open; opened when needed */
    void (*on_fatal)(void *arg, const char *sentence);
    void *arg;
    /* Whoever runs the program is to know it: an upgrade of the database. */
    void (*on_note)(bool is_warning, const char *sentence);
};

/* Creates or migrates the database.  DET_CORRUPT: the sentence names the file and says
 * what to do.  DET_BUSY: another process uses the database. */
det_status store_open(const struct store_config *config, struct store **ret_store,
                      struct err *err);
/* Call it after the writer lane has stopped.  Finishes the current compaction step and
 * checkpoints the WAL. */
void store_close(struct store *store);

/* Call it now and then.  Ends the process (on_fatal) if the database was removed or
 * replaced: every commit looks too; this is for a master that has nothing to write.  Finds
 * out whether a full disk has room again. */
void store_look_at_disk(struct store *store);
/* Whether the disk was full at the last write and has no room yet: everything can be read,
 * and nothing changed. */
bool store_is_full(const struct store *store);
/* True after a disk failure: the store writes nothing any more. */
bool store_is_dead(struct store *store);

/* How the writer is doing.  The histograms live as long as the store. */
struct store_state {
    uint32_t waiting;                   /* jobs in its queue */
    uint64_t failed_groups;             /* whose commit failed */
    const struct histogram *commit_us;  /* of a group (histogram_latency_us) */
    const struct histogram *group_jobs; /* jobs of a group (histogram_count) */
    int64_t database_bytes;             /* of the file; -1: unknown */
    int64_t wal_bytes;                  /* likewise, of its log; 0: there is none */
};
void store_look(struct store *store, struct store_state *ret_state);

/* ---- writing --------------------------------------------------------------------- */

struct write_job;
typedef det_status write_fn(struct write_job *job, struct db *db, struct err *err);
typedef void written_fn(struct write_job *job);

/* The sender embeds it in an object that it keeps until done() was called. */
struct write_job {
    write_fn *run;    /* on the writer lane, inside the transaction */
    written_fn *done; /* on the writer lane, after the commit; must be short */
    struct write_job *next;
    det_status status;
    struct err err;
    void *arg;
};

void store_write(struct store *store, struct write_job *job);

/* ---- reading --------------------------------------------------------------------- */

/* The store keeps up to `readers` connections open.  If more are needed at once, it
 * opens more and closes them afterwards, so no reader waits. */
det_status store_reader_take(struct store *store, struct db **ret_db, struct err *err);
/* A connection that is open and idle; NULL: there is none.  Never opens one, so a
 * thread that must not wait for the disk may call it. */
struct db *store_reader_take_idle(struct store *store);
void store_reader_give(struct store *store, struct db *db);

/* The table of experiments in memory (roster/roster.h). */
struct roster *store_roster(struct store *store);

#endif
