/* SPDX-License-Identifier: Apache-2.0 */
/* db_sqlite.c - the embedded engine.
 *
 * Write-ahead log, full sync: a commit is one append and one sync.  The writer moves
 * the log into the file after it has answered its senders (db_checkpoint()), not inside
 * a commit; a failed sync is noticed there too.  Caches are small, because the kernel
 * caches the files.  Connections do without SQLite's own lock, because each belongs to
 * one thread at a time.
 *
 * SQLite numbers $1, $2, ... by first appearance, but ?1, ?2, ... by their number.  So
 * the dollar signs are replaced before a text is prepared. */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/mem.h"
#include "store/engine/db_impl.h"
#include "store/engine/vfs_disk.h"
#include "store/engine/vfs_memory.h"

enum { BUSY_MS = 2000 };

/* Deleted rows are not overwritten (one write per page); compaction returns free pages
 * in steps. */
static const char writer_pragmas[] = "PRAGMA journal_mode = WAL;"
                                     "PRAGMA synchronous = FULL;"
                                     "PRAGMA cache_size = -1024;"
                                     "PRAGMA temp_store = MEMORY;"
                                     "PRAGMA secure_delete = OFF;"
                                     "PRAGMA wal_autocheckpoint = 0;"
                                     "PRAGMA journal_size_limit = 33554432;";
static const char reader_pragmas[] = "PRAGMA query_only = ON;"
                                     "PRAGMA cache_size = -256;"
                                     "PRAGMA temp_store = MEMORY;"
                                     "PRAGMA wal_autocheckpoint = 0;";

static det_status constraint_failure(struct db *db, int code, struct err *err)
{
    det_status st = DET_FAILED;

    if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY ||
        code == SQLITE_CONSTRAINT_ROWID)
        st = DET_EXISTS;
    return err_set(err, st, "%s", sqlite3_errmsg(db->engine));
}

/* SQLite reports a full disk only for writes, but a new name and the index of the log
 * need space too. */
static bool is_full(const struct db *db, int code)
{
    int kind = code & 0xff;

    return (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR) && !db->has_failed_sync &&
           db->engine && sqlite3_system_errno(db->engine) == ENOSPC;
}

static det_status report_failure(struct db *db, int code, struct err *err)
{
    const char *text = db->engine ? sqlite3_errmsg(db->engine) : sqlite3_errstr(code);

    if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
        db->has_failed_sync = true;
    if (is_full(db, code))
        code = SQLITE_FULL;
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, DET_BUSY, "another process is using the database '%s'",
                       db->path);
    case SQLITE_NOMEM:
        return err_default(err, DET_NOMEM);
    case SQLITE_FULL:
        return err_set(err, DET_FULL, "no space left on the disk for the database '%s'",
                       db->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        /* Only the first line: the text may quote the schema. */
        return err_set(err, DET_CORRUPT,
                       "the database '%s' is damaged (%.*s): restore a backup, or move "
                       "it away to start with an empty one",
                       db->path, (int)MIN(strcspn(text, "\r\n"), (size_t)100), text);
    case SQLITE_CONSTRAINT:
        return constraint_failure(db, code, err);
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM)
            return err_default(err, DET_NOMEM);
        return err_set(err, DET_IO, "reading or writing the database '%s' failed: %s",
                       db->path, text);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return err_set(err, DET_IO, "cannot use the database '%s': %s", db->path, text);
    default:
        return err_set(err, DET_FAILED, "the database '%s': %s", db->path, text);
    }
}

static det_status last_failure(struct db *db, struct err *err)
{
    return report_failure(db, sqlite3_extended_errcode(db->engine), err);
}

static int note_commit(void *arg, sqlite3 *engine, const char *name, int pages)
{
    struct db *db = arg;

    (void)engine;
    (void)name;
    db->backlog_pages = (uint32_t)pages;
    return SQLITE_OK;
}

static void note_change(void *arg, int what, const char *name, const char *table,
                        sqlite3_int64 id)
{
    struct db *db = arg;

    (void)what;
    (void)name;
    db->told(db->told_arg, table, id);
}

static void sqlite_watch(struct db *db, db_changed_fn *told, void *arg)
{
    db->told = told;
    db->told_arg = arg;
    (void)sqlite3_update_hook(db->engine, told ? note_change : NULL, db);
}

static det_status sqlite_exec(struct db *db, const char *text, struct err *err)
{
    int code = sqlite3_exec(db->engine, text, NULL, NULL, NULL);

    return code ? report_failure(db, sqlite3_extended_errcode(db->engine), err)
                : DET_OK;
}

static det_status pragma_number(struct db *db, const char *text, int64_t *ret_number,
                                struct err *err)
{
    sqlite3_stmt *handle = NULL;
    int code = sqlite3_prepare_v2(db->engine, text, -1, &handle, NULL);

    if (!code && sqlite3_step(handle) == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(handle, 0);
    code = sqlite3_finalize(handle);
    return code ? last_failure(db, err) : DET_OK;
}

/* Setting it writes the first page, even if it is set already; and on a full disk nothing
 * can be written. */
static det_status set_vacuum(struct db *db, struct err *err)
{
    int64_t mode = 0;
    det_status st = pragma_number(db, "PRAGMA auto_vacuum", &mode, err);

    return st || mode ? st : sqlite_exec(db, "PRAGMA auto_vacuum = INCREMENTAL", err);
}

static det_status sqlite_open(struct db *db, struct io *io, struct err *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const char *vfs = NULL;
    det_status st;
    int code;

    /* Memory statistics lock at every allocation.  If SQLite is already initialised,
     * the call fails, which is harmless. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    st = io_is_memory(io) || db->is_alone
             ? vfs_memory_take(io, &db->vfs_memory, &vfs, err)
             : vfs_disk_take(&db->vfs_disk, &vfs, err);
    if (st)
        return st;
    if (!db->is_read_only)
        flags |= SQLITE_OPEN_CREATE;
    code = sqlite3_open_v2(db->path, (sqlite3 **)&db->engine, flags, vfs);
    if (code)
        return report_failure(db, code, err);
    sqlite3_busy_timeout(db->engine, BUSY_MS);
    st = db->is_read_only ? DET_OK : set_vacuum(db, err);
    if (!st)
        st = sqlite_exec(db, db->is_read_only ? reader_pragmas : writer_pragmas, err);
    /* After the pragmas: setting wal_autocheckpoint removes the hook. */
    sqlite3_wal_hook(db->engine, note_commit, db);
    return st;
}

static void sqlite_close(struct db *db)
{
    /* The last connection moves the log into the file, except after a failed sync. */
    if (db->engine && db->has_failed_sync)
        sqlite3_db_config(db->engine, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (db->engine)
        sqlite3_close(db->engine);
    if (db->vfs_memory)
        vfs_memory_give(db->vfs_memory);
    if (db->vfs_disk)
        vfs_disk_give(db->vfs_disk);
}

static det_status sqlite_prepare(struct db *db, const char *text, bool is_kept,
                                 void **ret_handle, struct err *err)
{
    size_t len = strlen(text);
    char *copy = mem_strndup(text, len);
    sqlite3_stmt *handle = NULL;
    int code;

    if (!copy)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i + 1 < len; i++) {
        if (copy[i] == '$' && copy[i + 1] >= '0' && copy[i + 1] <= '9')
            copy[i] = '?';
    }
    code = sqlite3_prepare_v3(db->engine, copy, (int)len + 1,
                              is_kept ? SQLITE_PREPARE_PERSISTENT : 0, &handle, NULL);
    mem_free(copy);
    if (code)
        return last_failure(db, err);
    *ret_handle = handle;
    return DET_OK;
}

static void sqlite_finalize(void *handle)
{
    sqlite3_finalize(handle);
}

static void sqlite_reset(void *handle)
{
    sqlite3_reset(handle);
    sqlite3_clear_bindings(handle);
}

static bool sqlite_bind_i64(void *handle, int at, int64_t value)
{
    return sqlite3_bind_int64(handle, at, value) == SQLITE_OK;
}

static bool sqlite_bind_f64(void *handle, int at, double value)
{
    return sqlite3_bind_double(handle, at, value) == SQLITE_OK;
}

static bool sqlite_bind_text(void *handle, int at, const char *text)
{
    return sqlite3_bind_text(handle, at, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

static bool sqlite_bind_blob(void *handle, int at, const void *bytes, size_t len)
{
    /* A NULL pointer would bind null instead of an empty blob. */
    return sqlite3_bind_blob64(handle, at, len ? bytes : "", len, SQLITE_STATIC) ==
           SQLITE_OK;
}

static bool sqlite_bind_null(void *handle, int at)
{
    return sqlite3_bind_null(handle, at) == SQLITE_OK;
}

static enum db_step sqlite_step(void *handle)
{
    switch (sqlite3_step(handle)) {
    case SQLITE_ROW:
        return DB_STEP_ROW;
    case SQLITE_DONE:
        return DB_STEP_DONE;
    default:
        return DB_STEP_FAILED;
    }
}

static int64_t sqlite_col_i64(void *handle, int at)
{
    return sqlite3_column_int64(handle, at);
}

static double sqlite_col_f64(void *handle, int at)
{
    return sqlite3_column_double(handle, at);
}

static bool sqlite_col_is_null(void *handle, int at)
{
    return sqlite3_column_type(handle, at) == SQLITE_NULL;
}

static const char *sqlite_col_text(void *handle, int at, size_t *ret_len)
{
    const char *text = (const char *)sqlite3_column_text(handle, at);

    *ret_len = (size_t)sqlite3_column_bytes(handle, at);
    return text;
}

static const void *sqlite_col_blob(void *handle, int at, size_t *ret_len)
{
    const void *bytes = sqlite3_column_blob(handle, at);

    *ret_len = (size_t)sqlite3_column_bytes(handle, at);
    return bytes;
}

static int64_t sqlite_changes(struct db *db)
{
    return sqlite3_changes64(db->engine);
}

static bool sqlite_is_in_transaction(struct db *db)
{
    return !sqlite3_get_autocommit(db->engine);
}

static det_status sqlite_checkpoint(struct db *db, bool is_whole, struct err *err)
{
    int mode = is_whole ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    int code = sqlite3_wal_checkpoint_v2(db->engine, NULL, mode, NULL, NULL);

    if (code)
        return report_failure(db, code, err);
    db->backlog_pages = 0;
    return DET_OK;
}

/* A step moves at most 512 pages from the end of the file into holes. */
static det_status sqlite_shrink(struct db *db, bool everything, bool *ret_did,
                                struct err *err)
{
    enum { FEW_PAGES = 256 };
    int64_t unused = 0;
    int64_t pages = 0;
    det_status st = pragma_number(db, "PRAGMA freelist_count", &unused, err);

    if (!st)
        st = pragma_number(db, "PRAGMA page_count", &pages, err);
    *ret_did = !st && (everything ? unused > 0 : unused > MAX(FEW_PAGES, pages / 4));
    if (!*ret_did)
        return st;
    return sqlite_exec(db, "PRAGMA incremental_vacuum(512)", err);
}

/* Through the connection's own handles: to close another one would give up its locks. */
static sqlite3_file *open_file(struct db *db, enum db_file which)
{
    sqlite3_file *file = NULL;
    int op =
        which == DB_FILE_LOG ? SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER;

    if (sqlite3_file_control(db->engine, "main", op, &file) || !file || !file->pMethods)
        return NULL;
    return file;
}

static det_status sqlite_file_size(struct db *db, enum db_file which,
                                   uint64_t *ret_size, struct err *err)
{
    sqlite3_file *file = open_file(db, which);
    sqlite3_int64 size = 0;
    int code = file ? file->pMethods->xFileSize(file, &size) : SQLITE_OK;

    if (code)
        return report_failure(db, code, err);
    *ret_size = (uint64_t)size;
    return DET_OK;
}

static det_status sqlite_file_read(struct db *db, enum db_file which, uint64_t offset,
                                   void *bytes, size_t len, struct err *err)
{
    sqlite3_file *file = open_file(db, which);
    int code;

    if (!file)
        return err_set(err, DET_IO, "the log of the database '%s' is not open",
                       db->path);
    code = file->pMethods->xRead(file, bytes, (int)len, (sqlite3_int64)offset);
    return code && code != SQLITE_IOERR_SHORT_READ ? report_failure(db, code, err)
                                                   : DET_OK;
}

static det_status sqlite_check(struct db *db, struct err *err)
{
    sqlite3_stmt *handle = NULL;
    const char *found = NULL;
    det_status st = DET_OK;
    int code =
        sqlite3_prepare_v2(db->engine, "PRAGMA quick_check(1)", -1, &handle, NULL);

    if (!code && sqlite3_step(handle) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(handle, 0);
    if (found && strcmp(found, "ok"))
        st = err_set(err, DET_CORRUPT, "the database '%s' is damaged: %.*s", db->path,
                     (int)MIN(strcspn(found, "\r\n"), (size_t)100), found);
    code = sqlite3_finalize(handle);
    return !st && code ? last_failure(db, err) : st;
}

const struct db_driver db_sqlite = {
    .begin_write = "BEGIN IMMEDIATE",
    .open = sqlite_open,
    .close = sqlite_close,
    .exec = sqlite_exec,
    .prepare = sqlite_prepare,
    .finalize = sqlite_finalize,
    .reset = sqlite_reset,
    .bind_i64 = sqlite_bind_i64,
    .bind_f64 = sqlite_bind_f64,
    .bind_text = sqlite_bind_text,
    .bind_blob = sqlite_bind_blob,
    .bind_null = sqlite_bind_null,
    .step = sqlite_step,
    .failure = last_failure,
    .col_i64 = sqlite_col_i64,
    .col_f64 = sqlite_col_f64,
    .col_is_null = sqlite_col_is_null,
    .col_text = sqlite_col_text,
    .col_blob = sqlite_col_blob,
    .changes = sqlite_changes,
    .is_in_transaction = sqlite_is_in_transaction,
    .checkpoint = sqlite_checkpoint,
    .shrink = sqlite_shrink,
    .file_size = sqlite_file_size,
    .file_read = sqlite_file_read,
    .check = sqlite_check,
    .watch = sqlite_watch,
};
