/* SPDX-License-Identifier: Apache-2.0 */
/* vfs_gather.c - the machine's files for SQLite, with fewer and larger writes.
 *
 * SQLite appends a transaction to its log page by page, each as a header of 24 bytes
 * and a body: for a batch of log lines that is dozens of small writes before one sync,
 * and they cost more than the sync.  Here the writes to the log that follow one another
 * are gathered in memory and go out together, before the sync or before anything else
 * that looks at the file.  All else is handed to SQLite's own VFS: locks, shared
 * memory, the database itself (other connections read its pages without asking us).
 *
 * Why this is safe: with full sync SQLite syncs the log before it tells other
 * connections of a commit, and nobody reads a frame he was not told of.  What a crash
 * takes from the memory it would also have taken from a file that was not synced. */
#include "store/vfs_gather.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

enum { GATHER_BYTES = 64 << 10 };
#define GATHER_NAME "gather"

struct gather {
    sqlite3_vfs base;    /* first: SQLite hands this back; a copy of the system's ... */
    sqlite3_vfs *system; /* ... which does the work */
    uint32_t users;
};

struct gather_file {
    sqlite3_file base; /* first, likewise */
    char *bytes;       /* GATHER_BYTES, made at the first write */
    size_t len;
    sqlite3_int64 at;   /* where in the file they belong */
    sqlite3_file *real; /* stands behind this struct */
};

static struct gather_file *file_of(sqlite3_file *file)
{
    return CONTAINER_OF(file, struct gather_file, base);
}

static int flush(struct gather_file *file)
{
    size_t len = file->len;

    if (!len)
        return SQLITE_OK;
    file->len = 0;
    return file->real->pMethods->xWrite(file->real, file->bytes, (int)len, file->at);
}

static int gather_close(sqlite3_file *base)
{
    struct gather_file *file = file_of(base);
    int code = flush(file);
    int closed = file->real->pMethods->xClose(file->real);

    mem_free(file->bytes);
    file->bytes = NULL;
    return code ? code : closed;
}

static int gather_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 offset)
{
    struct gather_file *file = file_of(base);
    int code = flush(file);

    return code ? code : file->real->pMethods->xRead(file->real, bytes, len, offset);
}

static int gather_write(sqlite3_file *base, const void *bytes, int len,
                        sqlite3_int64 offset)
{
    struct gather_file *file = file_of(base);
    int code = SQLITE_OK;

    if (file->len && (offset != file->at + (sqlite3_int64)file->len ||
                      file->len + (size_t)len > GATHER_BYTES))
        code = flush(file);
    if (code)
        return code;
    if (!file->bytes)
        file->bytes = mem_alloc(GATHER_BYTES);
    if (!file->bytes || len > GATHER_BYTES)
        return file->real->pMethods->xWrite(file->real, bytes, len, offset);
    if (!file->len)
        file->at = offset;
    memcpy(file->bytes + file->len, bytes, (size_t)len);
    file->len += (size_t)len;
    return SQLITE_OK;
}

static int gather_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct gather_file *file = file_of(base);
    int code = flush(file);

    return code ? code : file->real->pMethods->xTruncate(file->real, size);
}

static int gather_sync(sqlite3_file *base, int flags)
{
    struct gather_file *file = file_of(base);
    int code = flush(file);

    return code ? code : file->real->pMethods->xSync(file->real, flags);
}

static int gather_size(sqlite3_file *base, sqlite3_int64 *ret_size)
{
    struct gather_file *file = file_of(base);
    int code = flush(file);

    return code ? code : file->real->pMethods->xFileSize(file->real, ret_size);
}

/* ---- handed on ------------------------------------------------------------------- */

static int gather_lock(sqlite3_file *base, int level)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xLock(real, level);
}

static int gather_unlock(sqlite3_file *base, int level)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xUnlock(real, level);
}

static int gather_check_reserved(sqlite3_file *base, int *ret_is_reserved)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xCheckReservedLock(real, ret_is_reserved);
}

static int gather_control(sqlite3_file *base, int op, void *arg)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xFileControl(real, op, arg);
}

static int gather_sector_size(sqlite3_file *base)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xSectorSize(real);
}

static int gather_characteristics(sqlite3_file *base)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xDeviceCharacteristics(real);
}

/* Only logs are gathered: nobody shares memory through them. */
static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = gather_close,
    .xRead = gather_read,
    .xWrite = gather_write,
    .xTruncate = gather_truncate,
    .xSync = gather_sync,
    .xFileSize = gather_size,
    .xLock = gather_lock,
    .xUnlock = gather_unlock,
    .xCheckReservedLock = gather_check_reserved,
    .xFileControl = gather_control,
    .xSectorSize = gather_sector_size,
    .xDeviceCharacteristics = gather_characteristics,
};

static int gather_open(sqlite3_vfs *base, const char *path, sqlite3_file *opened,
                       int flags, int *ret_flags)
{
    struct gather *gather = CONTAINER_OF(base, struct gather, base);
    struct gather_file *file = file_of(opened);
    int code;

    if (!(flags & SQLITE_OPEN_WAL)) /* the system's own file, in the place of ours */
        return gather->system->xOpen(gather->system, path, opened, flags, ret_flags);
    *file = (struct gather_file){.real = (sqlite3_file *)(void *)(file + 1)};
    code = gather->system->xOpen(gather->system, path, file->real, flags, ret_flags);
    /* Without methods SQLite does not close it; with them it must. */
    file->base.pMethods = file->real->pMethods ? &log_methods : NULL;
    return code;
}

/* ---- the one for the process ----------------------------------------------------- */

static struct gather *gather_make(void)
{
    struct gather *gather = mem_new(struct gather);

    if (!gather)
        return NULL;
    /* The system's functions find what they need in the struct they are given, which is
     * the copy: its data pointer is theirs. */
    gather->system = sqlite3_vfs_find(NULL);
    gather->base = *gather->system;
    gather->base.pNext = NULL;
    gather->base.zName = GATHER_NAME;
    gather->base.szOsFile += (int)sizeof(struct gather_file);
    gather->base.xOpen = gather_open;
    if (!sqlite3_vfs_register(&gather->base, 0))
        return gather;
    mem_free(gather);
    return NULL;
}

static sqlite3_mutex *registry(void)
{
    return sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
}

det_status gather_take(struct gather **ret_gather, const char **ret_name,
                       struct err *err)
{
    sqlite3_vfs *known;
    struct gather *gather;

    if (sqlite3_initialize())
        return err_default(err, DET_NOMEM);
    sqlite3_mutex_enter(registry());
    known = sqlite3_vfs_find(GATHER_NAME);
    gather = known ? CONTAINER_OF(known, struct gather, base) : gather_make();
    if (gather)
        gather->users++;
    sqlite3_mutex_leave(registry());
    if (!gather)
        return err_default(err, DET_NOMEM);
    *ret_gather = gather;
    *ret_name = GATHER_NAME;
    return DET_OK;
}

void gather_give(struct gather *gather)
{
    sqlite3_mutex_enter(registry());
    if (!--gather->users) {
        sqlite3_vfs_unregister(&gather->base);
        mem_free(gather);
    }
    sqlite3_mutex_leave(registry());
}
