/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - what the platform remembers: one writer, many readers.
 *
 *   senders --jobs--> writer lane: BEGIN, a savepoint a job, COMMIT --> done(job) each
 *   readers --------> connections of their own, beside it
 *
 * The writer takes everything that is queued and commits it as a group; a sender is
 * answered when its rows are durable.  A job that fails is undone alone.  When the
 * commit itself fails, every job of the group fails with that status; a failed sync is
 * fatal
 * (`on_fatal`): what the disk holds is then unknown, and the process starts again from
 * it. A full disk is DET_FULL for every job, not fatal: work goes on when space
 * returns.
 *
 * Threading: store_write() from any thread; readers are taken and given back. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/task.h"
#include "model/records.h"
#include "store/db.h"

struct arena;
struct buf;
struct io;
struct json;
struct store;

struct store_config {
    struct io *io;
    struct exec *exec;
    const char *directory; /* holds det.db */
    uint32_t readers;      /* connections, opened when needed */
    void (*on_fatal)(void *arg, const char *sentence);
    void *arg;
};

/* Makes or migrates the database.  DET_CORRUPT names the file and the way out;
 * DET_BUSY when another process has it. */
det_status store_open(const struct store_config *config, struct store **ret_store,
                      struct err *err);
/* The writer lane has stopped: finishes compaction's current step, checkpoints the WAL.
 */
void store_close(struct store *store);

/* Whether a disk failed it: nothing is written any more. */
bool store_is_dead(struct store *store);

/* ---- writing --------------------------------------------------------------------- */

struct write_job;
typedef det_status write_fn(struct write_job *job, struct db *db, struct err *err);
typedef void written_fn(struct write_job *job);

/* Embedded in what the sender keeps until done() was called. */
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

/* Up to `readers` connections are kept open; when more are needed at once, more are
 * opened and closed again, so that nobody waits. */
det_status store_reader_take(struct store *store, struct db **ret_db, struct err *err);
void store_reader_give(struct store *store, struct db *db);

/* ---- the heart's rows (inside a job) -------------------------------------------- */

struct experiment_texts {
    const char *name;
    const char *description;
    const char *labels; /* JSON list */
    const void *files;
    uint64_t files_len;
    bool is_unmanaged;       /* the heart does not know it */
    const char *external_id; /* NULL: none */
};
det_status store_experiment_add(struct db *db, const struct experiment *row,
                                const struct experiment_texts *texts, struct err *err);
/* Of one that had ended at `was_end_us`, with its configurations; texts that are NULL
 * stay, files are not looked at.  DET_STATE: it is not so any more. */
det_status store_experiment_continue(struct db *db, const struct experiment *row,
                                     int64_t was_end_us,
                                     const struct experiment_texts *texts,
                                     struct err *err);
/* Not its configurations: those change only by store_experiment_patch() and when it is
 * continued. */
det_status store_experiment_put(struct db *db, const struct experiment *row,
                                struct err *err);
det_status store_trial_add(struct db *db, const struct trial *row, struct err *err);
det_status store_trial_put(struct db *db, const struct trial *row, struct err *err);
det_status store_allocation_put(struct db *db, const struct allocation *row,
                                struct err *err);
det_status store_share_put(struct db *db, const struct share *row, struct err *err);
det_status store_agent_put(struct db *db, const struct agent *row, struct err *err);
det_status store_agent_drop(struct db *db, int64_t id, struct err *err);
det_status store_search_input_add(struct db *db, const struct search_input *row,
                                  struct err *err);
/* Drops the inputs the snapshot contains. */
det_status store_search_snapshot_put(struct db *db, const struct search_snapshot *row,
                                     struct err *err);
det_status store_search_drop(struct db *db, int64_t experiment_id, struct err *err);

/* Numbers by name: the heart's counters, the cluster's settings. */
det_status store_number_put(struct db *db, const char *name, int64_t value,
                            struct err *err);
det_status store_number_get(struct db *db, const char *name, int64_t fallback,
                            int64_t *ret_value, struct err *err);
det_status store_text_put(struct db *db, const char *name, const char *value,
                          struct err *err);
det_status store_text_get(struct db *db, const char *name, struct arena *mem,
                          const char **ret_value, struct err *err); /* NULL: none */

/* What is alive, for core_restore(): arrays in `mem`, in the order it wants. */
struct store_alive {
    struct experiment *experiment;
    uint32_t experiments;
    struct trial *trial;
    uint32_t trials;
    struct job *job;
    uint32_t jobs;
    struct allocation *allocation;
    uint32_t allocations;
    struct share *share;
    uint32_t shares;
    struct agent *agent;
    uint32_t agents;
    struct search_snapshot *snapshot;
    uint32_t snapshots;
    struct search_input *input;
    uint32_t inputs;
};
det_status store_load_alive(struct db *db, struct arena *mem,
                            struct store_alive *ret_alive, struct err *err);

/* ---- the journal: reports that are also events ----------------------------------- */

struct journal_entry {
    int64_t seq;
    uint32_t kind;    /* the heart's event kind */
    const char *data; /* JSON, the master's encoding */
};
det_status store_journal_add(struct db *db, uint32_t kind, const char *data,
                             int64_t *ret_seq, struct err *err);
/* Entries behind `after`, in order, at most `limit`. */
det_status store_journal_read(struct db *db, int64_t after, uint32_t limit,
                              struct arena *mem, struct journal_entry **ret_entries,
                              uint32_t *ret_count, struct err *err);
det_status store_journal_drop(struct db *db, int64_t upto, struct err *err);

/* A sender's high-water mark (agent events, exit reports): true when `seq` is new, and
 * then it is the mark. */
det_status store_mark_advance(struct db *db, const char *sender, int64_t seq,
                              bool *ret_is_new, struct err *err);

/* ---- reports that come in batches ------------------------------------------------ */

/* Whose ring it is: a share of an allocation. */
struct report_sender {
    int64_t allocation_id;
    int64_t source; /* its rank */
};
/* The number of its last report that is stored; 0: none.  DET_STATE: nothing more is
 * taken, for the allocation is over, its share's exit was reported, or its trial has a
 * later run. */
det_status store_report_mark(struct db *db, const struct report_sender *sender,
                             int64_t *ret_number, struct err *err);
det_status store_report_mark_set(struct db *db, const struct report_sender *sender,
                                 int64_t number, struct err *err);

#endif
