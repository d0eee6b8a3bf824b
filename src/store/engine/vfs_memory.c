/* SPDX-License-Identifier: Apache-2.0 */
/* vfs_memory.c - SQLite on a file system of base/io/io.h: one in memory, or the machine's
 * if only this process uses the database (DB_ALONE in db.h).
 *
 * The files are those of `io`, so its faults, its limit and its power loss act on the
 * database as on a disk.  A node per database holds what SQLite shares between
 * connections besides files: the locks of the file and the index of its log ("shm").
 * Both are in the heap, since there is only one process.
 *
 *   vfs (one per io) --> node (one per database) <-- file (one per connection)
 *
 * vfs_memory_take() looks in SQLite's own list of VFSes, under SQLite's static lock,
 * for the VFS of an io.  After a crash of the io, open connections keep their old node;
 * a new connection gets a new one. */
#include "store/engine/vfs_memory.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/mem.h"

enum { PATH_BYTES = 1024, NAME_BYTES = 32 };

struct vfs_node {
    struct vfs_node *next;
    char *path;
    struct io_file *probe; /* dies with the others in a crash */
    uint32_t files;
    /* the file's lock */
    uint32_t sharers;
    const struct vfs_file *reserved_by;
    const struct vfs_file *pending_by; /* also holds EXCLUSIVE once alone */
    /* the log's index */
    uint32_t mappers;
    void **region;
    int regions;
    uint32_t shm_sharers[SQLITE_SHM_NLOCK];
    const struct vfs_file *shm_owner[SQLITE_SHM_NLOCK];
};

struct vfs_memory {
    sqlite3_vfs base; /* first: SQLite hands this back */
    struct io *io;
    uint32_t users;
    char name[NAME_BYTES];
    sqlite3_mutex *mutex; /* guards the nodes */
    struct vfs_node *node;
};

struct vfs_file {
    sqlite3_file base; /* first, likewise */
    struct vfs_memory *vfs;
    struct vfs_node *node; /* NULL: a log or a journal */
    struct io_file *file;
    char *path;
    int lock;
    bool needs_dir_sync; /* just made: its name is not durable yet */
    bool is_mapped;
    bool dies_on_close;
    uint16_t shm_shared; /* bit sets of what this connection holds */
    uint16_t shm_owned;
};

/* Does not tell injected faults from real ones. */
static int code_of(det_status status, int otherwise)
{
    switch (status) {
    case DET_OK:
        return SQLITE_OK;
    case DET_NOMEM:
        return SQLITE_IOERR_NOMEM;
    case DET_FULL:
        return SQLITE_FULL;
    default:
        return otherwise;
    }
}

static struct vfs_file *file_of(sqlite3_file *file)
{
    return CONTAINER_OF(file, struct vfs_file, base);
}

static struct vfs_memory *vfs_of(sqlite3_vfs *base)
{
    return CONTAINER_OF(base, struct vfs_memory, base);
}

/* ---- nodes ----------------------------------------------------------------------- */

static void node_drop_regions(struct vfs_node *node)
{
    for (int i = 0; i < node->regions; i++)
        mem_free(node->region[i]);
    mem_free(node->region);
    node->region = NULL;
    node->regions = 0;
}

static void node_free(struct vfs_node *node)
{
    if (!node)
        return;
    node_drop_regions(node);
    io_close(node->probe);
    mem_free(node->path);
    mem_free(node);
}

static void node_unlink(struct vfs_memory *vfs, struct vfs_node *node)
{
    struct vfs_node **at = &vfs->node;

    while (*at && *at != node)
        at = &(*at)->next;
    if (*at)
        *at = node->next;
}

static struct vfs_node *node_new(struct vfs_memory *vfs, const char *path)
{
    struct vfs_node *node = mem_new(struct vfs_node);

    if (!node)
        return NULL;
    node->path = mem_strdup(path);
    if (!node->path || io_open(vfs->io, path, IO_READ, &node->probe, NULL)) {
        node_free(node);
        return NULL;
    }
    node->next = vfs->node;
    vfs->node = node;
    return node;
}

/* With the mutex held. */
static struct vfs_node *node_take(struct vfs_memory *vfs, const char *path)
{
    struct vfs_node *node = vfs->node;
    uint64_t size;

    while (node && strcmp(node->path, path) != 0)
        node = node->next;
    if (node && io_size(node->probe, &size, NULL)) {
        node_unlink(
            vfs, node); /* its files are gone; its holders keep it until they close */
        node = NULL;
    }
    if (!node)
        node = node_new(vfs, path);
    if (node)
        node->files++;
    return node;
}

static void node_give(struct vfs_memory *vfs, struct vfs_node *node)
{
    if (--node->files)
        return;
    node_unlink(vfs, node);
    node_free(node);
}

/* ---- files ----------------------------------------------------------------------- */

static int file_unlock(sqlite3_file *base, int level);
static int shm_unmap(sqlite3_file *base, int deletes);

static int file_close(sqlite3_file *base)
{
    struct vfs_file *file = file_of(base);

    if (file->node) {
        (void)shm_unmap(base, 0);
        (void)file_unlock(base, SQLITE_LOCK_NONE);
        sqlite3_mutex_enter(file->vfs->mutex);
        node_give(file->vfs, file->node);
        sqlite3_mutex_leave(file->vfs->mutex);
    }
    io_close(file->file);
    if (file->dies_on_close)
        (void)io_remove(file->vfs->io, file->path, NULL);
    mem_free(file->path);
    file->base.pMethods = NULL;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 offset)
{
    size_t got = 0;
    det_status st = io_read_at(file_of(base)->file, (uint64_t)offset, bytes,
                               (size_t)len, &got, NULL);

    if (st)
        return code_of(st, SQLITE_IOERR_READ);
    if (got == (size_t)len)
        return SQLITE_OK;
    memset((char *)bytes + got, 0, (size_t)len - got);
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *bytes, int len,
                      sqlite3_int64 offset)
{
    det_status st =
        io_write_at(file_of(base)->file, (uint64_t)offset, bytes, (size_t)len, NULL);

    return code_of(st, SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    return code_of(io_truncate(file_of(base)->file, (uint64_t)size, NULL),
                   SQLITE_IOERR_TRUNCATE);
}

static det_status sync_dir_of(struct io *io, const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_BYTES];
    size_t len = slash ? (size_t)(slash - path) : 0;

    if (!len)
        return io_sync_dir(io, slash ? "/" : ".", NULL);
    if (len >= sizeof(dir))
        return DET_IO;
    memcpy(dir, path, len);
    dir[len] = '\0';
    return io_sync_dir(io, dir, NULL);
}

static int file_sync(sqlite3_file *base, int flags)
{
    struct vfs_file *file = file_of(base);
    det_status st = io_sync(file->file, NULL);

    (void)flags;
    if (!st && file->needs_dir_sync)
        st = sync_dir_of(file->vfs->io, file->path);
    if (!st)
        file->needs_dir_sync = false;
    /* Also on a full disk: its content is unknown after a failed sync. */
    return st == DET_FULL ? SQLITE_IOERR_FSYNC : code_of(st, SQLITE_IOERR_FSYNC);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret_size)
{
    uint64_t size = 0;
    det_status st = io_size(file_of(base)->file, &size, NULL);

    *ret_size = (sqlite3_int64)size;
    return code_of(st, SQLITE_IOERR_FSTAT);
}

static int file_lock_shared(struct vfs_node *node, struct vfs_file *file)
{
    if (node->pending_by && node->pending_by != file)
        return SQLITE_BUSY;
    node->sharers++;
    file->lock = SQLITE_LOCK_SHARED;
    return SQLITE_OK;
}

static int file_lock_more(struct vfs_node *node, struct vfs_file *file, int level)
{
    if (level == SQLITE_LOCK_RESERVED) {
        if (node->reserved_by && node->reserved_by != file)
            return SQLITE_BUSY;
        node->reserved_by = file;
        file->lock = level;
        return SQLITE_OK;
    }
    if (node->pending_by && node->pending_by != file)
        return SQLITE_BUSY;
    node->pending_by = file;
    file->lock = SQLITE_LOCK_PENDING;
    if (node->sharers > 1)
        return SQLITE_BUSY;
    file->lock = SQLITE_LOCK_EXCLUSIVE;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
    struct vfs_file *file = file_of(base);
    int code = SQLITE_OK;

    if (!file->node || file->lock >= level)
        return SQLITE_OK;
    sqlite3_mutex_enter(file->vfs->mutex);
    if (file->lock == SQLITE_LOCK_NONE)
        code = file_lock_shared(file->node, file);
    if (!code && level > SQLITE_LOCK_SHARED)
        code = file_lock_more(file->node, file, level);
    sqlite3_mutex_leave(file->vfs->mutex);
    return code;
}

static int file_unlock(sqlite3_file *base, int level)
{
    struct vfs_file *file = file_of(base);
    struct vfs_node *node = file->node;

    if (!node || file->lock <= level)
        return SQLITE_OK;
    sqlite3_mutex_enter(file->vfs->mutex);
    if (node->reserved_by == file)
        node->reserved_by = NULL;
    if (node->pending_by == file)
        node->pending_by = NULL;
    if (level == SQLITE_LOCK_NONE)
        node->sharers--;
    file->lock = level;
    sqlite3_mutex_leave(file->vfs->mutex);
    return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *ret_is_reserved)
{
    struct vfs_file *file = file_of(base);

    *ret_is_reserved = 0;
    if (!file->node)
        return SQLITE_OK;
    sqlite3_mutex_enter(file->vfs->mutex);
    *ret_is_reserved = file->node->reserved_by || file->node->pending_by;
    sqlite3_mutex_leave(file->vfs->mutex);
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *arg)
{
    (void)base;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int file_characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- the log's index ------------------------------------------------------------- */

static int shm_grow(struct vfs_node *node, int region, int size)
{
    while (node->regions <= region) {
        void **more =
            mem_resize(node->region, (size_t)node->regions + 1, sizeof(*node->region));

        if (!more)
            return SQLITE_IOERR_NOMEM;
        node->region = more;
        more[node->regions] = mem_alloc((size_t)size);
        if (!more[node->regions])
            return SQLITE_IOERR_NOMEM;
        node->regions++;
    }
    return SQLITE_OK;
}

static int shm_map(sqlite3_file *base, int region, int size, int extends,
                   void volatile **ret_bytes)
{
    struct vfs_file *file = file_of(base);
    struct vfs_node *node = file->node;
    int code = SQLITE_OK;

    *ret_bytes = NULL;
    sqlite3_mutex_enter(file->vfs->mutex);
    if (!file->is_mapped) {
        file->is_mapped = true;
        node->mappers++;
    }
    if (node->regions <= region && extends)
        code = shm_grow(node, region, size);
    if (!code && node->regions > region)
        *ret_bytes = node->region[region];
    sqlite3_mutex_leave(file->vfs->mutex);
    return code;
}

static void shm_release(struct vfs_file *file, int i)
{
    uint16_t bit = (uint16_t)(1u << i);

    if (file->shm_owned & bit)
        file->node->shm_owner[i] = NULL;
    if (file->shm_shared & bit)
        file->node->shm_sharers[i]--;
    file->shm_owned &= (uint16_t)~bit;
    file->shm_shared &= (uint16_t)~bit;
}

static bool shm_may(const struct vfs_file *file, int i, bool is_shared)
{
    const struct vfs_node *node = file->node;
    uint32_t mine = file->shm_shared >> i & 1;

    if (node->shm_owner[i] && node->shm_owner[i] != file)
        return false;
    return is_shared || node->shm_sharers[i] == mine;
}

static void shm_hold(struct vfs_file *file, int i, bool is_shared)
{
    uint16_t bit = (uint16_t)(1u << i);

    if (!is_shared) {
        file->node->shm_owner[i] = file;
        file->shm_owned |= bit;
    } else if (!(file->shm_shared & bit)) {
        file->node->shm_sharers[i]++;
        file->shm_shared |= bit;
    }
}

static int shm_lock(sqlite3_file *base, int from, int count, int flags)
{
    struct vfs_file *file = file_of(base);
    bool is_shared = flags & SQLITE_SHM_SHARED;
    int code = SQLITE_OK;

    sqlite3_mutex_enter(file->vfs->mutex);
    if (flags & SQLITE_SHM_UNLOCK) {
        for (int i = from; i < from + count; i++)
            shm_release(file, i);
    } else {
        for (int i = from; i < from + count; i++) {
            if (!shm_may(file, i, is_shared))
                code = SQLITE_BUSY;
        }
        for (int i = from; i < from + count && !code; i++)
            shm_hold(file, i, is_shared);
    }
    sqlite3_mutex_leave(file->vfs->mutex);
    return code;
}

/* As in SQLite's own VFS: taking the lock shows all earlier writes. */
static void shm_barrier(sqlite3_file *base)
{
    struct vfs_file *file = file_of(base);

    sqlite3_mutex_enter(file->vfs->mutex);
    sqlite3_mutex_leave(file->vfs->mutex);
}

static int shm_unmap(sqlite3_file *base, int deletes)
{
    struct vfs_file *file = file_of(base);

    (void)deletes; /* the index is always rebuilt when it is not mapped */
    if (!file->is_mapped)
        return SQLITE_OK;
    sqlite3_mutex_enter(file->vfs->mutex);
    for (int i = 0; i < SQLITE_SHM_NLOCK; i++)
        shm_release(file, i);
    file->is_mapped = false;
    if (!--file->node->mappers)
        node_drop_regions(file->node);
    sqlite3_mutex_leave(file->vfs->mutex);
    return SQLITE_OK;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* ---- the file system ------------------------------------------------------------- */

static int open_file(struct vfs_memory *vfs, struct vfs_file *file, const char *path,
                     int flags)
{
    unsigned io_flags = flags & SQLITE_OPEN_READWRITE ? IO_WRITE : IO_READ;
    struct io_stat stat;
    det_status st;

    file->path = mem_strdup(path);
    if (!file->path)
        return SQLITE_NOMEM;
    if (flags & SQLITE_OPEN_CREATE) {
        io_flags |= IO_CREATE | IO_PRIVATE;
        file->needs_dir_sync = io_stat(vfs->io, path, &stat, NULL) == DET_NOT_FOUND;
    }
    st = io_open(vfs->io, path, io_flags, &file->file, NULL);
    if (st)
        return st == DET_NOMEM ? SQLITE_NOMEM : code_of(st, SQLITE_CANTOPEN);
    file->dies_on_close = flags & SQLITE_OPEN_DELETEONCLOSE;
    if (flags & SQLITE_OPEN_MAIN_DB) {
        sqlite3_mutex_enter(vfs->mutex);
        file->node = node_take(vfs, path);
        sqlite3_mutex_leave(vfs->mutex);
        if (!file->node)
            return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

static int vfs_open(sqlite3_vfs *base, const char *path, sqlite3_file *opened,
                    int flags, int *ret_flags)
{
    struct vfs_file *file = file_of(opened);
    int code;

    memset(file, 0, sizeof(*file));
    if (!path)
        return SQLITE_CANTOPEN; /* temporary files are kept in memory */
    file->vfs = vfs_of(base);
    code = open_file(file->vfs, file, path, flags);
    if (code) {
        io_close(file->file);
        mem_free(file->path);
        return code;
    }
    if (ret_flags)
        *ret_flags = flags;
    file->base.pMethods = &file_methods;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *base, const char *path, int syncs)
{
    struct io *io = vfs_of(base)->io;
    det_status st = io_remove(io, path, NULL);

    if (st == DET_NOT_FOUND)
        return SQLITE_IOERR_DELETE_NOENT;
    if (!st && syncs)
        st = sync_dir_of(io, path);
    return code_of(st, SQLITE_IOERR_DELETE);
}

static int vfs_access(sqlite3_vfs *base, const char *path, int flags, int *ret_may)
{
    struct io_stat stat;
    det_status st = io_stat(vfs_of(base)->io, path, &stat, NULL);

    *ret_may = !st && (flags != SQLITE_ACCESS_EXISTS || stat.size_bytes > 0);
    if (st == DET_NOMEM)
        return SQLITE_IOERR_NOMEM;
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *base, const char *path, int size, char *ret_path)
{
    size_t len = strlen(path);

    (void)base;
    if (len >= (size_t)size)
        return SQLITE_CANTOPEN;
    memcpy(ret_path, path, len + 1);
    return SQLITE_OK;
}

/* The machine's own VFS does everything that is not about files. */
static int vfs_randomness(sqlite3_vfs *base, int len, char *bytes)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);

    (void)base;
    return system->xRandomness(system, len, bytes);
}

static int vfs_sleep(sqlite3_vfs *base, int us)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);

    (void)base;
    return system->xSleep(system, us);
}

static int vfs_time(sqlite3_vfs *base, double *ret_days)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);

    (void)base;
    return system->xCurrentTime(system, ret_days);
}

static int vfs_last_error(sqlite3_vfs *base, int size, char *text)
{
    (void)base;
    (void)size;
    (void)text;
    return 0;
}

static struct vfs_memory *vfs_make(struct io *io, const char *name)
{
    struct vfs_memory *vfs = mem_new(struct vfs_memory);

    if (!vfs)
        return NULL;
    vfs->io = io;
    memcpy(vfs->name, name, NAME_BYTES);
    vfs->mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
    vfs->base = (sqlite3_vfs){.iVersion = 1,
                              .szOsFile = sizeof(struct vfs_file),
                              .mxPathname = PATH_BYTES,
                              .zName = vfs->name,
                              .xOpen = vfs_open,
                              .xDelete = vfs_delete,
                              .xAccess = vfs_access,
                              .xFullPathname = vfs_full_path,
                              .xRandomness = vfs_randomness,
                              .xSleep = vfs_sleep,
                              .xCurrentTime = vfs_time,
                              .xGetLastError = vfs_last_error};
    if (!vfs->mutex || sqlite3_vfs_register(&vfs->base, 0)) {
        sqlite3_mutex_free(vfs->mutex);
        mem_free(vfs);
        return NULL;
    }
    return vfs;
}

static sqlite3_mutex *registry_mutex(void)
{
    return sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
}

det_status vfs_memory_take(struct io *io, struct vfs_memory **ret_vfs,
                           const char **ret_name, struct err *err)
{
    char name[NAME_BYTES] = {0};
    sqlite3_vfs *known;
    struct vfs_memory *vfs;

    if (sqlite3_initialize())
        return err_default(err, DET_NOMEM);
    (void)snprintf(name, sizeof(name), "io-%p", (void *)io);
    sqlite3_mutex_enter(registry_mutex());
    known = sqlite3_vfs_find(name);
    vfs = known ? vfs_of(known) : vfs_make(io, name);
    if (vfs)
        vfs->users++;
    sqlite3_mutex_leave(registry_mutex());
    if (!vfs)
        return err_default(err, DET_NOMEM);
    *ret_vfs = vfs;
    *ret_name = vfs->name;
    return DET_OK;
}

void vfs_memory_give(struct vfs_memory *vfs)
{
    sqlite3_mutex_enter(registry_mutex());
    assert(vfs->users);
    if (!--vfs->users) {
        sqlite3_vfs_unregister(&vfs->base);
        sqlite3_mutex_free(vfs->mutex);
        mem_free(vfs);
    }
    sqlite3_mutex_leave(registry_mutex());
}
