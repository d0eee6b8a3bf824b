/* SPDX-License-Identifier: Apache-2.0 */
/* vfs_disk.c - the machine's files for SQLite, with fewer and larger writes.
 *
 * SQLite appends a transaction to its log page by page, each as a header of 24 bytes
 * and a body: for a batch of log lines that is dozens of small writes before one sync,
 * and they cost more than the sync.  This VFS buffers consecutive writes to the log and
 * writes them together, before the sync or before any other access to the file.
 * SQLite's own VFS does everything else: locks, shared memory, the database itself
 * (other connections read its pages without asking us).
 *
 * Why this is safe: with full sync, SQLite syncs the log before it tells other
 * connections of a commit, and no connection reads a frame it was not told of.  A crash
 * loses the buffer, but it could also lose the same bytes from a file without a
 * sync. */
#include "store/engine/vfs_disk.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"

enum { BUFFER_BYTES = 64 << 10 };
#define VFS_DISK_NAME "det-disk"

struct vfs_disk {
    sqlite3_vfs base;    /* first: SQLite hands this back; a copy of the system's */
    sqlite3_vfs *system; /* does the work */
    uint32_t users;
};

struct vfs_disk_file {
    sqlite3_file base; /* first, likewise */
    char *bytes;       /* BUFFER_BYTES, made at the first write */
    size_t len;
    sqlite3_int64 at;   /* their offset in the file */
    sqlite3_file *real; /* follows this struct in memory */
};

static struct vfs_disk_file *file_of(sqlite3_file *file)
{
    return CONTAINER_OF(file, struct vfs_disk_file, base);
}

static int flush_file(struct vfs_disk_file *file)
{
    size_t len = file->len;

    if (!len)
        return SQLITE_OK;
    file->len = 0;
    return file->real->pMethods->xWrite(file->real, file->bytes, (int)len, file->at);
}

static int disk_close(sqlite3_file *base)
{
    struct vfs_disk_file *file = file_of(base);
    int code = flush_file(file);
    int closed = file->real->pMethods->xClose(file->real);

    mem_free(file->bytes);
    file->bytes = NULL;
    return code ? code : closed;
}

static int disk_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 offset)
{
    struct vfs_disk_file *file = file_of(base);
    int code = flush_file(file);

    return code ? code : file->real->pMethods->xRead(file->real, bytes, len, offset);
}

static int disk_write(sqlite3_file *base, const void *bytes, int len,
                      sqlite3_int64 offset)
{
    struct vfs_disk_file *file = file_of(base);
    int code = SQLITE_OK;

    if (file->len && (offset != file->at + (sqlite3_int64)file->len ||
                      file->len + (size_t)len > BUFFER_BYTES))
        code = flush_file(file);
    if (code)
        return code;
    if (!file->bytes)
        file->bytes = mem_alloc(BUFFER_BYTES);
    if (!file->bytes || len > BUFFER_BYTES)
        return file->real->pMethods->xWrite(file->real, bytes, len, offset);
    if (!file->len)
        file->at = offset;
    memcpy(file->bytes + file->len, bytes, (size_t)len);
    file->len += (size_t)len;
    return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct vfs_disk_file *file = file_of(base);
    int code = flush_file(file);

    return code ? code : file->real->pMethods->xTruncate(file->real, size);
}

static int disk_sync(sqlite3_file *base, int flags)
{
    struct vfs_disk_file *file = file_of(base);
    int code = flush_file(file);

    return code ? code : file->real->pMethods->xSync(file->real, flags);
}

static int disk_size(sqlite3_file *base, sqlite3_int64 *ret_size)
{
    struct vfs_disk_file *file = file_of(base);
    int code = flush_file(file);

    return code ? code : file->real->pMethods->xFileSize(file->real, ret_size);
}

/* ---- handed on ------------------------------------------------------------------- */

static int disk_lock(sqlite3_file *base, int level)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xLock(real, level);
}

static int disk_unlock(sqlite3_file *base, int level)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xUnlock(real, level);
}

static int disk_check_reserved(sqlite3_file *base, int *ret_is_reserved)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xCheckReservedLock(real, ret_is_reserved);
}

static int disk_control(sqlite3_file *base, int op, void *arg)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xFileControl(real, op, arg);
}

static int disk_sector_size(sqlite3_file *base)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xSectorSize(real);
}

static int disk_characteristics(sqlite3_file *base)
{
    sqlite3_file *real = file_of(base)->real;

    return real->pMethods->xDeviceCharacteristics(real);
}

/* Only for logs.  Connections share no memory through a log, so those methods are
 * missing. */
static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = disk_close,
    .xRead = disk_read,
    .xWrite = disk_write,
    .xTruncate = disk_truncate,
    .xSync = disk_sync,
    .xFileSize = disk_size,
    .xLock = disk_lock,
    .xUnlock = disk_unlock,
    .xCheckReservedLock = disk_check_reserved,
    .xFileControl = disk_control,
    .xSectorSize = disk_sector_size,
    .xDeviceCharacteristics = disk_characteristics,
};

static int disk_open(sqlite3_vfs *base, const char *path, sqlite3_file *opened,
                     int flags, int *ret_flags)
{
    struct vfs_disk *vfs = CONTAINER_OF(base, struct vfs_disk, base);
    struct vfs_disk_file *file = file_of(opened);
    int code;

    if (!(flags &
          SQLITE_OPEN_WAL)) /* not a log: the system's own file, in place of ours */
        return vfs->system->xOpen(vfs->system, path, opened, flags, ret_flags);
    *file = (struct vfs_disk_file){.real = (sqlite3_file *)(void *)(file + 1)};
    code = vfs->system->xOpen(vfs->system, path, file->real, flags, ret_flags);
    /* SQLite closes a file exactly if it has methods. */
    file->base.pMethods = file->real->pMethods ? &log_methods : NULL;
    return code;
}

/* ---- the one for the process ----------------------------------------------------- */

static struct vfs_disk *disk_make(void)
{
    struct vfs_disk *vfs = mem_new(struct vfs_disk);

    if (!vfs)
        return NULL;
    /* The system's functions read their data pointer from the struct they are given,
     * so a copy works. */
    vfs->system = sqlite3_vfs_find(NULL);
    vfs->base = *vfs->system;
    vfs->base.pNext = NULL;
    vfs->base.zName = VFS_DISK_NAME;
    vfs->base.szOsFile += (int)sizeof(struct vfs_disk_file);
    vfs->base.xOpen = disk_open;
    if (!sqlite3_vfs_register(&vfs->base, 0))
        return vfs;
    mem_free(vfs);
    return NULL;
}

static sqlite3_mutex *registry_mutex(void)
{
    return sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
}

det_status vfs_disk_take(struct vfs_disk **ret_vfs, const char **ret_name,
                         struct err *err)
{
    sqlite3_vfs *known;
    struct vfs_disk *vfs;

    if (sqlite3_initialize())
        return err_default(err, DET_NOMEM);
    sqlite3_mutex_enter(registry_mutex());
    known = sqlite3_vfs_find(VFS_DISK_NAME);
    vfs = known ? CONTAINER_OF(known, struct vfs_disk, base) : disk_make();
    if (vfs)
        vfs->users++;
    sqlite3_mutex_leave(registry_mutex());
    if (!vfs)
        return err_default(err, DET_NOMEM);
    *ret_vfs = vfs;
    *ret_name = VFS_DISK_NAME;
    return DET_OK;
}

void vfs_disk_give(struct vfs_disk *vfs)
{
    sqlite3_mutex_enter(registry_mutex());
    assert(vfs->users);
    if (!--vfs->users) {
        sqlite3_vfs_unregister(&vfs->base);
        mem_free(vfs);
    }
    sqlite3_mutex_leave(registry_mutex());
}
