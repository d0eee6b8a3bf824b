/* SPDX-License-Identifier: Apache-2.0 */
/* io_memory.c - the file system in memory: open files and errors, on the disk of
 * io_disk.h, which holds the design.  One lock guards everything. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io_disk.h"
#include "base/io/io_impl.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

struct memory_io {
    struct io io;
    struct lock lock;
    struct disk disk;
    struct memory_file *files; /* all open files */
    uint64_t limit_bytes;
};

struct memory_file {
    struct io_file file;
    struct node *node; /* NULL after a crash */
    bool may_write;
    bool has_shared_lock;
    struct memory_file *prev;
    struct memory_file *next;
};

static struct memory_io *memory_of(struct io *io)
{
    return CONTAINER_OF(io, struct memory_io, io);
}

static struct memory_file *file_of(struct io_file *file)
{
    return CONTAINER_OF(file, struct memory_file, file);
}

/* HOLD takes the lock until the caller's block ends. */
static struct lock *hold_lock(struct memory_io *fs)
{
    lock_take(&fs->lock);
    return &fs->lock;
}

static void give_lock(struct lock **lock)
{
    lock_give(*lock);
}

#define HOLD(fs) CLEANUP(give_lock) UNUSED struct lock *held = hold_lock(fs)

/* ---- open files ---- */

/* In a simulation the process that held the file did not survive the crash; using the
 * file is an error and not a crash of the test. */
static det_status check_alive(const struct memory_file *file, struct err *err)
{
    if (!file->node)
        return err_set(err, DET_IO, "'%s' was lost when the power failed",
                       file->file.path);
    return DET_OK;
}

static det_status check_writable(const struct memory_file *file, const char *verb,
                                 struct err *err)
{
    det_status status = check_alive(file, err);

    if (!status && !file->may_write)
        return io_fail(err, EBADF, verb, file->file.path);
    return status;
}

/* In the order in which the kernel checks, since callers act on the codes. */
static struct node *find_or_make(struct disk *disk, const char *path, unsigned flags,
                                 int *ret_code)
{
    uint32_t mode = flags & IO_PRIVATE ? 0600 : 0644;
    struct word last;
    struct node *directory = disk_walk_to_parent(disk, path, &last, ret_code);
    struct node *node;

    if (!directory)
        return NULL;
    node = last.len ? disk_step(disk, directory, last, ret_code) : directory;
    if (!node && *ret_code == ENOENT && (flags & IO_CREATE)) {
        node = disk_make(disk, directory, last, IO_FILE, mode);
        *ret_code = node ? 0 : ENOMEM;
    } else if (node && (flags & IO_CREATE) && (flags & IO_EXCLUSIVE)) {
        *ret_code = EEXIST;
    } else if (node && !!(flags & IO_FOLDER) != (node->kind == IO_DIRECTORY)) {
        *ret_code = flags & IO_FOLDER ? ENOTDIR : EISDIR;
    }
    return *ret_code ? NULL : node;
}

static void file_link(struct memory_io *fs, struct memory_file *file)
{
    file->next = fs->files;
    if (fs->files)
        fs->files->prev = file;
    fs->files = file;
    file->node->open_count++;
}

static det_status memory_open(struct io *io, const char *path, unsigned flags,
                              struct io_file **ret_file, struct err *err)
{
    struct memory_io *fs = memory_of(io);
    struct memory_file *file = mem_new(struct memory_file);
    char *copy = mem_strdup(path);
    struct node *node = NULL;
    int code = file && copy ? 0 : ENOMEM;
    HOLD(fs);

    if (!code)
        node = find_or_make(&fs->disk, path, flags, &code);
    if (code) {
        mem_free(file);
        mem_free(copy);
        return io_fail(err, code, "open", path);
    }
    /* Shrinking needs no memory. */
    if (flags & IO_TRUNCATE)
        (void)node_resize(&fs->disk, node, 0);
    file->file = (struct io_file){io, copy};
    file->node = node;
    file->may_write = flags & IO_WRITE;
    file_link(fs, file);
    *ret_file = &file->file;
    return DET_OK;
}

static void unlock_held(struct memory_file *file)
{
    if (file->node->locked_by == file)
        file->node->locked_by = NULL;
    if (file->has_shared_lock)
        file->node->shared_locks--;
    file->has_shared_lock = false;
}

/* Also for files that a crash has killed: they still own memory. */
static void memory_close(struct io_file *base)
{
    struct memory_file *file = file_of(base);
    struct memory_io *fs = memory_of(base->io);
    HOLD(fs);

    if (file->prev)
        file->prev->next = file->next;
    else
        fs->files = file->next;
    if (file->next)
        file->next->prev = file->prev;
    if (file->node) {
        unlock_held(file);
        file->node->open_count--;
        /* The file may have lost its name while it was open. */
        disk_reap(&fs->disk, file->node);
    }
    mem_free(base->path);
    mem_free(file);
}

static det_status memory_read_at(struct io_file *base, uint64_t offset, void *bytes,
                                 size_t len, size_t *ret_len, struct err *err)
{
    struct memory_file *file = file_of(base);
    HOLD(memory_of(base->io));
    const struct bytes *from;
    det_status status = check_alive(file, err);

    if (status)
        return status;
    from = &file->node->bytes[NOW];
    *ret_len = offset < from->len ? MIN(len, from->len - (size_t)offset) : 0;
    if (*ret_len)
        memcpy(bytes, from->data + offset, *ret_len);
    return DET_OK;
}

/* How much all files together may still grow.  Counted anew each time, and only where
 * a limit is set: simpler than a sum that renames, removals and crashes keep up to
 * date. */
static uint64_t growth_left(const struct memory_io *fs)
{
    uint64_t used = fs->limit_bytes ? disk_used_bytes(&fs->disk) : 0;

    if (!fs->limit_bytes)
        return UINT64_MAX / 2;
    return used < fs->limit_bytes ? fs->limit_bytes - used : 0;
}

/* Writes as much as fits, as a disk does. */
static det_status write_held(struct memory_file *file, uint64_t offset,
                             const void *bytes, size_t len, struct err *err)
{
    struct memory_io *fs = memory_of(file->file.io);
    struct node *node = file->node;
    uint64_t most = node->bytes[NOW].len + growth_left(fs);
    uint64_t end;
    size_t fits = len;

    if (__builtin_add_overflow(offset, len, &end) || end > SIZE_MAX / 2)
        return io_fail(err, EFBIG, "write", file->file.path);
    /* Overwriting always fits: `most` is at least the length. */
    if (end > most)
        fits = offset < most ? (size_t)(most - offset) : 0;
    if (node->map_count && offset + fits > node->bytes[NOW].cap)
        return io_fail(err, EBUSY, "write", file->file.path);
    if (fits && offset + fits > node->bytes[NOW].len &&
        !node_resize(&fs->disk, node, (size_t)offset + fits))
        return err_default(err, DET_NOMEM);
    if (fits)
        node_overwrite(&fs->disk, node, (size_t)offset, bytes, fits);
    return fits < len ? io_fail(err, ENOSPC, "write", file->file.path) : DET_OK;
}

/* Whole under the lock: a reader sees all of a write or nothing.  A disk promises less,
 * but a torn read could not be repeated from a seed. */
static det_status memory_write_at(struct io_file *base, uint64_t offset,
                                  const void *bytes, size_t len, struct err *err)
{
    HOLD(memory_of(base->io));
    det_status status = check_writable(file_of(base), "write", err);

    return status ? status : write_held(file_of(base), offset, bytes, len, err);
}

static det_status memory_append(struct io_file *base, const void *bytes, size_t len,
                                struct err *err)
{
    struct memory_file *file = file_of(base);
    HOLD(memory_of(base->io));
    det_status status = check_writable(file, "write", err);

    if (status)
        return status;
    return write_held(file, file->node->bytes[NOW].len, bytes, len, err);
}

static det_status memory_sync(struct io_file *base, struct err *err)
{
    struct memory_file *file = file_of(base);
    HOLD(memory_of(base->io));
    det_status status = check_alive(file, err);

    if (!status && !node_sync(file->node))
        status = err_default(err, DET_NOMEM);
    return status;
}

/* Not the folder alone: everything on the disk, as syncfs() does. */
static det_status memory_sync_all(struct io_file *base, struct err *err)
{
    struct memory_io *fs = memory_of(base->io);
    HOLD(fs);
    det_status status = check_alive(file_of(base), err);

    if (!status && !disk_sync_all(&fs->disk))
        status = err_default(err, DET_NOMEM);
    return status;
}

/* Growing counts against the limit although a real disk would leave a hole: simulations
 * should meet a full disk early. */
static det_status memory_truncate(struct io_file *base, uint64_t size_bytes,
                                  struct err *err)
{
    struct memory_io *fs = memory_of(base->io);
    struct memory_file *file = file_of(base);
    HOLD(fs);
    det_status status = check_writable(file, "truncate", err);
    size_t len;

    if (status)
        return status;
    len = file->node->bytes[NOW].len;
    if (size_bytes > SIZE_MAX / 2)
        return io_fail(err, EFBIG, "truncate", base->path);
    if (size_bytes > len && size_bytes - len > growth_left(fs))
        return io_fail(err, ENOSPC, "truncate", base->path);
    if (file->node->map_count && size_bytes > file->node->bytes[NOW].cap)
        return io_fail(err, EBUSY, "truncate", base->path);
    if (!node_resize(&fs->disk, file->node, (size_t)size_bytes))
        return err_default(err, DET_NOMEM);
    return DET_OK;
}

static det_status memory_size(struct io_file *base, uint64_t *ret_size_bytes,
                              struct err *err)
{
    HOLD(memory_of(base->io));
    det_status status = check_alive(file_of(base), err);

    if (!status)
        *ret_size_bytes = file_of(base)->node->bytes[NOW].len;
    return status;
}

/* Per open file and not per process, as flock() does: in a simulation master and agent
 * are one process and must still exclude each other. */
static det_status memory_lock(struct io_file *base, bool is_shared, struct err *err)
{
    struct memory_file *file = file_of(base);
    HOLD(memory_of(base->io));
    det_status status = check_alive(file, err);
    struct node *node = file->node;

    if (status)
        return status;
    if ((node->locked_by && node->locked_by != file) ||
        (!is_shared && node->shared_locks > file->has_shared_lock))
        return err_set(err, DET_BUSY, "'%s' is locked by somebody else", base->path);
    unlock_held(file);
    if (is_shared)
        node->shared_locks++;
    else
        node->locked_by = file;
    file->has_shared_lock = is_shared;
    return DET_OK;
}

/* ---- maps ---- */

/* As in the machine's file system: never shorter than before. */
static det_status memory_reserve(struct io_file *base, uint64_t size_bytes,
                                 struct err *err)
{
    uint64_t size;
    det_status status = memory_size(base, &size, err);

    return status || size >= size_bytes ? status
                                        : memory_truncate(base, size_bytes, err);
}

/* The file's own bytes, which stay at their address until the last map is gone. */
static det_status memory_map(struct io_file *base, size_t len, bool is_writable,
                             struct io_map *ret_map, struct err *err)
{
    struct memory_file *file = file_of(base);
    HOLD(memory_of(base->io));
    det_status status =
        is_writable ? check_writable(file, "map", err) : check_alive(file, err);

    if (status)
        return status;
    file->node->map_count++;
    *ret_map = (struct io_map){file->node->bytes[NOW].data, len, base->io, file->node};
    return DET_OK;
}

static void memory_unmap(struct io_map *map)
{
    struct memory_io *fs = memory_of(map->io);
    struct node *node = map->impl;
    HOLD(fs);

    /* A later sync must still copy writes through the map. */
    node_touched(node);
    node->map_count--;
    disk_reap(&fs->disk, node);
}

static int memory_fd(const struct io_file *base UNUSED)
{
    return -1;
}

/* ---- names ---- */

static struct io_stat stat_from(const struct node *node)
{
    return (struct io_stat){
        .kind = node->kind,
        .mode = node->mode,
        .size_bytes = node->bytes[NOW].len,
        .modified_us = node->modified,
        /* Checks of ownership pass as for one's own files. */
        .uid = geteuid(),
        .gid = getegid(),
        .inode = (uintptr_t)node,
    };
}

static det_status memory_stat(struct io *io, const char *path, struct io_stat *ret_stat,
                              struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = 0;
    const struct node *node = disk_walk(&fs->disk, path, &code);

    if (!node)
        return io_fail(err, code, "look at", path);
    *ret_stat = stat_from(node);
    return DET_OK;
}

static det_status memory_stat_of(struct io_file *base, struct io_stat *ret_stat,
                                 struct err *err)
{
    HOLD(memory_of(base->io));
    det_status status = check_alive(file_of(base), err);

    if (!status)
        *ret_stat = stat_from(file_of(base)->node);
    return status;
}

static det_status memory_space(struct io *io, const char *path,
                               struct io_space *ret_space, struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = 0;

    if (!disk_walk(&fs->disk, path, &code))
        return io_fail(err, code, "look at", path);
    if (!fs->limit_bytes)
        return err_set(err, DET_UNSUPPORTED, "the disk of '%s' has no end", path);
    *ret_space = (struct io_space){fs->limit_bytes, growth_left(fs)};
    return DET_OK;
}

static det_status memory_mkdir(struct io *io, const char *path, bool is_private,
                               struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = disk_make_directories(&fs->disk, path, is_private ? 0700 : 0755);

    return code ? io_fail(err, code, "make", path) : DET_OK;
}

static det_status memory_rename(struct io *io, const char *from, const char *to,
                                struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = disk_rename(&fs->disk, from, to);

    if (code)
        return err_errno(err, code, "cannot rename '%s' to '%s'", from, to);
    return DET_OK;
}

/* The root stays, as in the kernel. */
static det_status memory_remove(struct io *io, const char *path, struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = 0;
    struct node *node = disk_walk(&fs->disk, path, &code);

    if (node == fs->disk.root)
        code = EBUSY;
    else if (node && node->names[NOW].count)
        code = ENOTEMPTY;
    if (code)
        return io_fail(err, code, "remove", path);
    disk_remove(&fs->disk, node);
    return DET_OK;
}

static det_status memory_remove_tree(struct io *io, const char *path,
                                     bool opens_closed UNUSED, struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = 0;
    struct node *node = disk_walk(&fs->disk, path, &code);

    if (node == fs->disk.root)
        code = EBUSY;
    if (code)
        return code == ENOENT ? DET_OK : io_fail(err, code, "remove", path);
    disk_remove_tree(&fs->disk, node);
    return DET_OK;
}

static struct node *find_directory(struct memory_io *fs, const char *path,
                                   int *ret_code)
{
    struct node *node = disk_walk(&fs->disk, path, ret_code);

    if (node && node->kind != IO_DIRECTORY) {
        *ret_code = ENOTDIR;
        return NULL;
    }
    return node;
}

/* Only names in this directory: not the bytes behind them, and nothing deeper.
 * Programs that forget either lose data here as they would on a real disk. */
static det_status memory_sync_dir(struct io *io, const char *path, struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = 0;
    struct node *directory = find_directory(fs, path, &code);

    if (!directory)
        return io_fail(err, code, "sync", path);
    disk_sync(&fs->disk, directory);
    return DET_OK;
}

static det_status memory_list(struct io *io, const char *path, struct arena *mem,
                              const char ***ret_names, struct err *err)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);
    int code = 0;
    const struct node *directory = find_directory(fs, path, &code);
    const struct place *place;
    const char **names;
    size_t count = 0;

    if (!directory)
        return io_fail(err, code, "list", path);
    names = arena_array(mem, const char *, directory->names[NOW].count + 1);
    if (!names)
        return err_default(err, DET_NOMEM);
    for (place = node_first_name(directory); place; place = node_next_name(place)) {
        names[count] = arena_strdup(mem, place->name);
        if (!names[count++])
            return err_default(err, DET_NOMEM);
    }
    *ret_names = names;
    return DET_OK;
}

/* ---- file system ---- */

void io_memory_limit(struct io *io, uint64_t size_bytes)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);

    fs->limit_bytes = size_bytes;
}

void io_crash(struct io *io)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);

    /* Before the nodes that they point to are freed. */
    for (struct memory_file *file = fs->files; file; file = file->next)
        file->node = NULL;
    disk_crash(&fs->disk);
}

void io_abandon(struct io *io)
{
    struct memory_io *fs = memory_of(io);
    HOLD(fs);

    for (struct memory_file *file = fs->files; file; file = file->next) {
        struct node *node = file->node;

        if (!node)
            continue;
        unlock_held(file);
        file->node = NULL;
        node->open_count--;
        disk_reap(&fs->disk, node);
    }
}

static void memory_free(struct io *io)
{
    struct memory_io *fs = memory_of(io);

    disk_done(&fs->disk);
    lock_done(&fs->lock);
    mem_free(fs);
}

const struct io_ops io_memory_ops = {
    .open = memory_open,
    .close = memory_close,
    .read_at = memory_read_at,
    .write_at = memory_write_at,
    .append = memory_append,
    .sync = memory_sync,
    .sync_all = memory_sync_all,
    .truncate = memory_truncate,
    .size = memory_size,
    .lock = memory_lock,
    .reserve = memory_reserve,
    .map = memory_map,
    .unmap = memory_unmap,
    .fd = memory_fd,
    .stat_of = memory_stat_of,
    .stat = memory_stat,
    .space = memory_space,
    .mkdir = memory_mkdir,
    .rename = memory_rename,
    .remove = memory_remove,
    .remove_tree = memory_remove_tree,
    .sync_dir = memory_sync_dir,
    .list = memory_list,
    .free = memory_free,
};

det_status io_memory_new(struct io **ret_io, struct err *err)
{
    struct memory_io *fs = mem_new(struct memory_io);

    if (!fs)
        return err_default(err, DET_NOMEM);
    fs->io.ops = &io_memory_ops;
    /* memory_free() accepts parts that were not made: they are still zero. */
    if (disk_init(&fs->disk) || lock_init(&fs->lock, NULL)) {
        memory_free(&fs->io);
        return err_default(err, DET_NOMEM);
    }
    *ret_io = &fs->io;
    return DET_OK;
}
