/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - hands calls to a file system and lets faults strike on the way: both twins
 * fail alike.
 *
 * For base/fault.h a write is everything that changes bytes or names.  A struck
 * io_write_at() or io_append() leaves half of its bytes behind, the others nothing.  A
 * struck sync makes nothing durable.  A map is memory: it fails as an allocation does.
 * With FAULT_POWER, which only a memory file system knows, the operation succeeds and
 * then the power fails.  In the dark everything fails: code that is still running
 * changes nothing any more. */
#include "base/io/io.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/io/io_impl.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

enum { READ_LEAST = 4096, TEMPORARY_TRIES = 10000 };

det_status io_fail(struct err *err, int code, const char *verb, const char *path)
{
    return err_errno(err, code, "cannot %s '%s'", verb, path);
}

/* The effect of a fault on an operation. */
struct strike {
    bool is;       /* the caller is told that it fails */
    bool does_all; /* and yet it happens, */
    bool does_half;
    enum fault_how how;
};

static struct strike strike_at(enum fault_kind kind)
{
    struct strike strike = {.is = fault_is_dark(), .how = FAULT_FAILS};

    if (strike.is || !fault_strikes(kind))
        return strike;
    strike.is = true;
    strike.how = fault_state.how[kind];
    strike.does_all = strike.how == FAULT_POWER;
    strike.does_half = strike.how != FAULT_POWER && strike.how != FAULT_FAILS;
    return strike;
}

/* Ends a struck operation, after its effects: with an error, or in the dark. */
static det_status end_strike(struct io *io, struct strike strike, const char *verb,
                             const char *path, struct err *err)
{
    if (strike.how == FAULT_POWER && io_is_memory(io))
        io_crash(io);
    if (strike.how == FAULT_DEATH && io_is_memory(io))
        io_abandon(io);
    if (strike.how == FAULT_POWER || strike.how == FAULT_DEATH)
        fault_state.is_dark = true;
    return io_fail(err, strike.how == FAULT_FULL ? ENOSPC : EIO, verb, path);
}

/* A name is made or not made: a process that dies while it makes one has made it. */
static bool does_name(struct strike strike)
{
    return strike.does_all || strike.how == FAULT_DEATH;
}

static det_status fail_dark(struct err *err, const char *verb, const char *path)
{
    return io_fail(err, EIO, verb, path);
}

bool io_is_memory(const struct io *io)
{
    return io->ops == &io_memory_ops;
}

void io_free(struct io *io)
{
    if (io)
        io->ops->free(io);
}

det_status io_open(struct io *io, const char *path, unsigned flags,
                   struct io_file **ret_file, struct err *err)
{
    /* Opening an existing file changes nothing, so it does not count as a write. */
    bool is_write = flags & (IO_CREATE | IO_TRUNCATE);
    struct strike strike = is_write ? strike_at(FAULT_WRITE) : (struct strike){0};
    struct io_file *made;

    assert(flags & IO_CREATE || !(flags & (IO_EXCLUSIVE | IO_PRIVATE)));
    if (fault_is_dark() && !strike.is)
        return fail_dark(err, "open", path);
    if (!strike.is)
        return io->ops->open(io, path, flags, ret_file, err);
    if (does_name(strike) && !io->ops->open(io, path, flags, &made, NULL))
        io->ops->close(made);
    return end_strike(io, strike, "open", path, err);
}

det_status io_open_below(struct io *io, const char *root, const char *path,
                         const struct io_reader *reader, struct io_file **ret_file,
                         struct err *err)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;

    buf_printf(&whole, "%s/%s", root, path);
    if (whole.status)
        return err_default(err, whole.status);
    if (fault_is_dark())
        return fail_dark(err, "open", whole.data);
    if (io->ops->open_below)
        return io->ops->open_below(io, root, path, reader, ret_file, err);
    return io->ops->open(io, whole.data, IO_READ | IO_PLAIN, ret_file, err);
}

void io_close(struct io_file *file)
{
    if (file)
        file->io->ops->close(file);
}

void io_closep(struct io_file **file)
{
    io_close(*file);
    *file = NULL;
}

det_status io_read_at(struct io_file *file, uint64_t offset, void *bytes, size_t len,
                      size_t *ret_len, struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "read", file->path);
    return file->io->ops->read_at(file, offset, bytes, len, ret_len, err);
}

det_status io_write_at(struct io_file *file, uint64_t offset, const void *bytes,
                       size_t len, struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return file->io->ops->write_at(file, offset, bytes, len, err);
    /* The part that a torn write leaves; it does not matter whether this succeeds. */
    if (strike.does_all || strike.does_half)
        (void)file->io->ops->write_at(file, offset, bytes,
                                      strike.does_all ? len : len / 2, NULL);
    return end_strike(file->io, strike, "write", file->path, err);
}

det_status io_append(struct io_file *file, const void *bytes, size_t len,
                     struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return file->io->ops->append(file, bytes, len, err);
    if (strike.does_all || strike.does_half)
        (void)file->io->ops->append(file, bytes, strike.does_all ? len : len / 2, NULL);
    return end_strike(file->io, strike, "write", file->path, err);
}

det_status io_sync(struct io_file *file, struct err *err)
{
    struct strike strike = strike_at(FAULT_SYNC);

    if (!strike.is)
        return file->io->ops->sync(file, err);
    if (strike.does_all)
        (void)file->io->ops->sync(file, NULL);
    return end_strike(file->io, strike, "sync", file->path, err);
}

det_status io_sync_all(struct io_file *folder, struct err *err)
{
    struct strike strike = strike_at(FAULT_SYNC);

    if (!strike.is)
        return folder->io->ops->sync_all(folder, err);
    if (strike.does_all)
        (void)folder->io->ops->sync_all(folder, NULL);
    return end_strike(folder->io, strike, "sync", folder->path, err);
}

det_status io_truncate(struct io_file *file, uint64_t size_bytes, struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return file->io->ops->truncate(file, size_bytes, err);
    if (does_name(strike))
        (void)file->io->ops->truncate(file, size_bytes, NULL);
    return end_strike(file->io, strike, "truncate", file->path, err);
}

det_status io_size(struct io_file *file, uint64_t *ret_size_bytes, struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "look at", file->path);
    return file->io->ops->size(file, ret_size_bytes, err);
}

det_status io_stat_of(struct io_file *file, struct io_stat *ret_stat, struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "look at", file->path);
    return file->io->ops->stat_of(file, ret_stat, err);
}

det_status io_lock(struct io_file *file, struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "lock", file->path);
    return file->io->ops->lock(file, false, err);
}

det_status io_lock_shared(struct io_file *file, struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "lock", file->path);
    return file->io->ops->lock(file, true, err);
}

det_status io_reserve(struct io_file *file, uint64_t size_bytes, struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return file->io->ops->reserve(file, size_bytes, err);
    if (does_name(strike))
        (void)file->io->ops->reserve(file, size_bytes, NULL);
    return end_strike(file->io, strike, "reserve space for", file->path, err);
}

static det_status map_file(struct io_file *file, size_t len, bool is_writable,
                           struct io_map *ret_map, struct err *err)
{
    uint64_t size;
    det_status status;

    if (fault_strikes(FAULT_MEMORY))
        return io_fail(err, ENOMEM, "map", file->path);
    status = io_size(file, &size, err);
    if (status)
        return status;
    if (!len || len > size)
        return err_set(err, DET_INVALID,
                       "cannot map %zu bytes of '%s', which has %" PRIu64, len,
                       file->path, size);
    return file->io->ops->map(file, len, is_writable, ret_map, err);
}

det_status io_map(struct io_file *file, size_t len, struct io_map *ret_map,
                  struct err *err)
{
    bool is_writable = true;

    return map_file(file, len, is_writable, ret_map, err);
}

det_status io_map_read(struct io_file *file, size_t len, struct io_map *ret_map,
                       struct err *err)
{
    bool is_writable = false;

    return map_file(file, len, is_writable, ret_map, err);
}

void io_unmap(struct io_map *map)
{
    if (map->data)
        map->io->ops->unmap(map);
    *map = (struct io_map){0};
}

int io_fd(const struct io_file *file)
{
    return file->io->ops->fd(file);
}

det_status io_stat(struct io *io, const char *path, struct io_stat *ret_stat,
                   struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "look at", path);
    return io->ops->stat(io, path, ret_stat, err);
}

det_status io_space(struct io *io, const char *path, struct io_space *ret_space,
                    struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "look at", path);
    return io->ops->space(io, path, ret_space, err);
}

det_status io_mkdir(struct io *io, const char *path, bool is_private, struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return io->ops->mkdir(io, path, is_private, err);
    if (does_name(strike))
        (void)io->ops->mkdir(io, path, is_private, NULL);
    return end_strike(io, strike, "make", path, err);
}

det_status io_rename(struct io *io, const char *from, const char *to, struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return io->ops->rename(io, from, to, err);
    if (does_name(strike))
        (void)io->ops->rename(io, from, to, NULL);
    return end_strike(io, strike, "rename", from, err);
}

det_status io_remove(struct io *io, const char *path, struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return io->ops->remove(io, path, err);
    if (does_name(strike))
        (void)io->ops->remove(io, path, NULL);
    return end_strike(io, strike, "remove", path, err);
}

/* Counts as one write and not as one per file: a sweep over its faults ends soon.  A
 * struck one removes nothing. */
static det_status remove_tree(struct io *io, const char *path, bool opens_closed,
                              struct err *err)
{
    struct strike strike = strike_at(FAULT_WRITE);

    if (!strike.is)
        return io->ops->remove_tree(io, path, opens_closed, err);
    if (does_name(strike))
        (void)io->ops->remove_tree(io, path, opens_closed, NULL);
    return end_strike(io, strike, "remove", path, err);
}

det_status io_remove_tree(struct io *io, const char *path, struct err *err)
{
    return remove_tree(io, path, false, err);
}

det_status io_remove_closed_tree(struct io *io, const char *path, struct err *err)
{
    return remove_tree(io, path, true, err);
}

det_status io_sync_dir(struct io *io, const char *path, struct err *err)
{
    struct strike strike = strike_at(FAULT_SYNC);

    if (!strike.is)
        return io->ops->sync_dir(io, path, err);
    if (strike.does_all)
        (void)io->ops->sync_dir(io, path, NULL);
    return end_strike(io, strike, "sync", path, err);
}

det_status io_sync_parent(struct io *io, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_freep) char *parent = NULL;

    if (!slash || slash == path)
        return io_sync_dir(io, slash ? "/" : ".", err);
    parent = mem_strndup(path, (size_t)(slash - path));
    return parent ? io_sync_dir(io, parent, err) : err_default(err, DET_NOMEM);
}

char *io_resolve(struct io *io, const char *path)
{
    char whole[PATH_MAX];

    return mem_strdup(!io_is_memory(io) && realpath(path, whole) ? whole : path);
}

det_status io_list(struct io *io, const char *path, struct arena *mem,
                   const char ***ret_names, struct err *err)
{
    if (fault_is_dark())
        return fail_dark(err, "list", path);
    return io->ops->list(io, path, mem, ret_names, err);
}

/* The buffer is full: correct only if the file ends here. */
static det_status check_end(struct io_file *file, uint64_t offset, struct buf *bytes,
                            struct err *err)
{
    char more;
    size_t got;
    det_status status = io_read_at(file, offset, &more, 1, &got, err);

    if (status || got == 0)
        return status;
    bytes->status = DET_TOO_LARGE;
    return err_set(err, DET_TOO_LARGE, "'%s' is larger than %zu bytes", file->path,
                   bytes->limit);
}

/* Reads until the end and not for the file's size: files of the kernel have no size,
 * and a file may grow meanwhile. */
static det_status read_rest(struct io_file *file, uint64_t size_hint, struct buf *bytes,
                            struct err *err)
{
    uint64_t offset = 0;

    for (;;) {
        size_t want = READ_LEAST;
        size_t got;
        det_status status;
        char *room;

        if (size_hint > offset && size_hint - offset < SIZE_MAX / 2)
            want = (size_t)(size_hint - offset);
        if (bytes->limit)
            want = MIN(want, bytes->limit - MIN(bytes->len, bytes->limit));
        if (want == 0)
            return check_end(file, offset, bytes, err);
        room = buf_room(bytes, want);
        if (!room)
            return err_set(err, bytes->status, "cannot read '%s': %s", file->path,
                           det_status_text(bytes->status));
        status = io_read_at(file, offset, room, want, &got, err);
        if (status)
            return status;
        buf_took(bytes, got);
        offset += got;
        if (got < want)
            return DET_OK;
    }
}

static det_status read_opened(struct io *io, const char *path, unsigned flags,
                              struct buf *ret_bytes, struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    size_t len_before = ret_bytes->len;
    uint64_t size = 0;
    det_status status = io_open(io, path, flags, &file, err);

    if (status)
        return status;
    status = io_size(file, &size, err);
    if (status)
        return status;
    /* One byte more than the size: the first read then also sees the end.  A file of the
     * kernel has size 0, and some give their content to the first read only. */
    status = read_rest(file, size ? size + 1 : 0, ret_bytes, err);
    if (status)
        buf_cut(ret_bytes, len_before);
    return status;
}

det_status io_read_file(struct io *io, const char *path, struct buf *ret_bytes,
                        struct err *err)
{
    return read_opened(io, path, IO_READ, ret_bytes, err);
}

det_status io_read_kept(struct io *io, const char *path, struct buf *ret_bytes,
                        struct err *err)
{
    struct io_stat found = {0};
    det_status st = io_stat(io, path, &found, err);

    if (!st && found.kind == IO_OTHER)
        return err_set(err, DET_INVALID, "'%s' is not a plain file", path);
    return st ? st : io_read_file(io, path, ret_bytes, err);
}

det_status io_read_plain(struct io *io, const char *path, struct buf *ret_bytes,
                         struct err *err)
{
    return read_opened(io, path, IO_READ | IO_PLAIN, ret_bytes, err);
}

/* The directory of `path`, owned: a new name is durable only when its directory is
 * synced. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

/* Opens a new file beside `path` and puts its name in `name`.  Counts up instead of
 * drawing a random name: simulations must repeat. */
static det_status open_temporary(struct io *io, const char *path, unsigned flags,
                                 struct buf *name, struct io_file **ret_file,
                                 struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    det_status status = DET_EXISTS;

    for (int i = 0; status == DET_EXISTS && i < TEMPORARY_TRIES; i++) {
        buf_clear(name);
        buf_add(name, path, (size_t)(last - path));
        buf_printf(name, ".%s.tmp%d", last, i);
        if (name->status)
            return err_default(err, name->status);
        status = io_open(io, name->data, flags, ret_file, err);
    }
    return status;
}

static det_status write_synced(struct io_file *file, const void *bytes, size_t len,
                               struct err *err)
{
    det_status status = io_write_at(file, 0, bytes, len, err);

    return status ? status : io_sync(file, err);
}

det_status io_replace(struct io *io, const char *path, const void *bytes, size_t len,
                      bool is_private, struct err *err)
{
    unsigned flags =
        IO_WRITE | IO_CREATE | IO_EXCLUSIVE | (is_private ? IO_PRIVATE : 0);
    CLEANUP(buf_done) struct buf temporary = BUF_INIT;
    CLEANUP(mem_freep) char *directory = parent_of(path);
    struct io_file *file;
    det_status status;

    if (!directory)
        return err_default(err, DET_NOMEM);
    status = open_temporary(io, path, flags, &temporary, &file, err);
    if (status)
        return status;

    /* Bytes before name: after a crash the new name must not lead to empty bytes. */
    status = write_synced(file, bytes, len, err);
    io_close(file);
    if (!status)
        status = io_rename(io, temporary.data, path, err);
    if (status) {
        /* Report the first failure. */
        (void)io_remove(io, temporary.data, NULL);
        return status;
    }
    /* When this fails the new bytes are in place but may not survive a crash. */
    return io_sync_dir(io, directory, err);
}
