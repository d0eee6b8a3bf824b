/* SPDX-License-Identifier: Apache-2.0 */
/* db_impl.h - what a database engine is made of; for db*.c and the writer.
 *
 * db.c holds what all engines share: kept statements, sticky queries, records, faults;
 * it calls through this table.  To add an engine: fill the table in db_<engine>.c,
 * choose it in db_open(), run tests/unit/store on it.  Migrations are one text too: an
 * engine that has other words for INTEGER (64 bits), BLOB or WITHOUT ROWID translates
 * them in exec. */
#ifndef STORE_DB_IMPL_H
#define STORE_DB_IMPL_H

#include "base/map.h"
#include "store/db.h"

struct gather;
struct vfs;

typedef void db_changed_fn(void *arg, const char *table, int64_t id);

enum db_step { DB_STEP_ROW, DB_STEP_DONE, DB_STEP_FAILED };

/* Functions that return det_status write one sentence, with the file's name in it. */
struct db_driver {
    const char *begin_write; /* the words that take the write lock at once */
    det_status (*open)(struct db *db, struct io *io, struct err *err);
    void (*close)(struct db *db);
    det_status (*exec)(struct db *db, const char *text, struct err *err);
    det_status (*prepare)(struct db *db, const char *text, bool is_kept,
                          void **ret_handle, struct err *err);
    void (*finalize)(void *handle);
    void (*reset)(void *handle); /* also forgets what was bound */
    /* `at` counts from 1, as $1 does; texts and blobs borrow until reset */
    bool (*bind_i64)(void *handle, int at, int64_t value);
    bool (*bind_f64)(void *handle, int at, double value);
    bool (*bind_text)(void *handle, int at, const char *text);
    bool (*bind_blob)(void *handle, int at, const void *bytes, size_t len);
    bool (*bind_null)(void *handle, int at);
    enum db_step (*step)(void *handle);
    /* the sentence for what failed last on this connection */
    det_status (*failure)(struct db *db, struct err *err);
    /* `at` counts from 0 */
    int64_t (*col_i64)(void *handle, int at);
    double (*col_f64)(void *handle, int at);
    bool (*col_is_null)(void *handle, int at);
    const char *(*col_text)(void *handle, int at, size_t *ret_len);
    const void *(*col_blob)(void *handle, int at, size_t *ret_len);
    int64_t (*changes)(struct db *db);
    bool (*is_in_transaction)(struct db *db);
    det_status (*checkpoint)(struct db *db, bool is_whole, struct err *err);
    det_status (*shrink)(struct db *db, bool everything, bool *ret_did,
                         struct err *err);
    /* `told` is called for every row that a statement adds, changes or takes away, but
     * for tables whose key is not a number */
    void (*watch)(struct db *db, db_changed_fn *told, void *arg);
};

/* Something that remembers rows of this connection; told when rows were taken back. */
struct db_cache {
    void (*undone)(struct db_cache *cache);
    void (*free)(struct db_cache *cache);
};

struct db_statement {
    const struct sql *sql; /* its key among the kept ones; NULL: not kept */
    void *handle;
    bool is_busy;
};

enum { DB_BEGIN, DB_COMMIT, DB_ROLLBACK, DB_SAVE, DB_RELEASE, DB_UNDO, DB_WORDS };

struct db {
    const struct db_driver *driver;
    void *engine;    /* the driver's own */
    struct vfs *vfs; /* its files: one of these two */
    struct gather *gather;
    char *path;
    bool is_read_only;
    bool has_failed_sync;       /* what the disk holds is unknown */
    bool is_spoiled;            /* something could not be taken back: no commit */
    uint32_t backlog_pages;     /* committed, not yet where they belong */
    struct sql words[DB_WORDS]; /* BEGIN and so on, in the engine's words */
    struct map statements;      /* const struct sql * -> struct db_statement * */
    struct db_cache *cache;     /* owned; NULL: none yet */
    db_changed_fn *told;        /* of changed rows; NULL: nobody */
    void *told_arg;
};

extern const struct db_driver db_sqlite;

/* Moves what was committed to its place; `is_whole`: all of it, and shrinks the log. */
det_status db_checkpoint(struct db *db, bool is_whole, struct err *err);
/* One step of giving free pages back to the file system: when they are many, or any
 * with `everything`. */
det_status db_shrink(struct db *db, bool everything, bool *ret_did, struct err *err);
/* Within a transaction, which may yet be taken back. */
void db_watch(struct db *db, db_changed_fn *told, void *arg);
/* False after a failure that ended the whole transaction. */
bool db_is_in_transaction(struct db *db);

#endif
