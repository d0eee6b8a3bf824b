/* SPDX-License-Identifier: Apache-2.0 */
/* db_impl.h - the table of functions that a database engine provides; for db*.c and the
 * writer.
 *
 * db.c has the part that all engines share (prepared statements, sticky queries,
 * records, fault injection) and calls the engine through this table.  To add an engine:
 * fill the table in db_<engine>.c, choose it in db_open(), run tests/unit/store on it.
 * All engines share the text of the migrations: an engine with other words for INTEGER
 * (64 bits), BLOB or WITHOUT ROWID translates them in exec. */
#ifndef STORE_ENGINE_DB_IMPL_H
#define STORE_ENGINE_DB_IMPL_H

#include "base/memory/map.h"
#include "store/engine/db.h"

struct vfs_disk;
struct vfs_memory;

typedef void db_changed_fn(void *arg, const char *table, int64_t id);

enum db_step { DB_STEP_ROW, DB_STEP_DONE, DB_STEP_FAILED };

/* Functions that return det_status write one sentence that names the file. */
struct db_driver {
    const char *begin_write; /* the statement that takes the write lock immediately */
    det_status (*open)(struct db *db, struct io *io, struct err *err);
    void (*close)(struct db *db);
    det_status (*exec)(struct db *db, const char *text, struct err *err);
    det_status (*prepare)(struct db *db, const char *text, bool is_kept,
                          void **ret_handle, struct err *err);
    void (*finalize)(void *handle);
    void (*reset)(void *handle); /* also forgets the bound values */
    /* `at` counts from 1, as $1 does; texts and blobs borrow until reset */
    bool (*bind_i64)(void *handle, int at, int64_t value);
    bool (*bind_f64)(void *handle, int at, double value);
    bool (*bind_text)(void *handle, int at, const char *text);
    bool (*bind_blob)(void *handle, int at, const void *bytes, size_t len);
    bool (*bind_null)(void *handle, int at);
    enum db_step (*step)(void *handle);
    /* the status and sentence of the last failure on this connection */
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
    det_status (*file_size)(struct db *db, enum db_file which, uint64_t *ret_size,
                            struct err *err);
    det_status (*file_read)(struct db *db, enum db_file which, uint64_t offset,
                            void *bytes, size_t len, struct err *err);
    det_status (*check)(struct db *db, struct err *err);
    /* Calls `told` for every row that a statement adds, changes or removes.  Tables
     * whose key is not a number are not watched. */
    void (*watch)(struct db *db, db_changed_fn *told, void *arg);
};

/* Something that caches rows of this connection.  undone() is called after a
 * rollback. */
struct db_cache {
    void (*undone)(struct db_cache *cache);
    void (*free)(struct db_cache *cache);
};

struct db_statement {
    const struct sql *sql; /* its key in db.statements; NULL: not kept */
    void *handle;
    bool is_busy;
};

enum { DB_BEGIN, DB_COMMIT, DB_ROLLBACK, DB_SAVE, DB_RELEASE, DB_UNDO, DB_WORDS };

struct db {
    const struct db_driver *driver;
    void *engine;                  /* the driver's own */
    struct vfs_memory *vfs_memory; /* its files: one of these two */
    struct vfs_disk *vfs_disk;
    char *path;
    bool is_read_only;
    bool is_alone;              /* see DB_ALONE */
    bool has_failed_sync;       /* what the disk holds is unknown */
    bool is_spoiled;            /* a rollback failed: no commit */
    uint32_t backlog_pages;     /* committed, but still in the log */
    struct sql words[DB_WORDS]; /* BEGIN and so on, in the engine's dialect */
    struct map statements;      /* const struct sql * -> struct db_statement * */
    struct db_cache *cache;     /* owned; NULL: none yet */
    db_changed_fn *told;        /* see watch; NULL: not watched */
    void *told_arg;
};

extern const struct db_driver db_sqlite;

/* Moves committed pages from the log into the file.  `is_whole`: all of them, and then
 * shrinks the log. */
det_status db_checkpoint(struct db *db, bool is_whole, struct err *err);
/* One step of returning free pages to the file system.  Without `everything` only if
 * there are many.  *ret_did: some were returned. */
det_status db_shrink(struct db *db, bool everything, bool *ret_did, struct err *err);
/* `told` runs inside the transaction, which may still be rolled back. */
void db_watch(struct db *db, db_changed_fn *told, void *arg);
/* False after a failure that ended the whole transaction. */
bool db_is_in_transaction(struct db *db);

#endif
