/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io/folder_lock.h"

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"

/* `flags`: of the file. */
static det_status open_both(struct io *io, const char *path, const char *name,
                            unsigned flags, struct folder_lock *lock, struct err *err)
{
    CLEANUP(buf_done) struct buf file = BUF_INIT;
    det_status st = io_open(io, path, IO_READ | IO_FOLDER, &lock->folder, err);

    buf_printf(&file, "%s/%s", path, name);
    if (!st && file.status)
        st = err_default(err, file.status);
    return st ? st : io_open(io, file.data, flags, &lock->file, err);
}

/* The file first: a program of an older version holds only that. */
static det_status lock_both(const struct folder_lock *lock, struct err *err)
{
    det_status st = lock->file ? io_lock(lock->file, err) : DET_OK;

    if (st)
        return st;
    /* Any other failure: this file system locks no folders. */
    return io_lock(lock->folder, err) == DET_BUSY ? DET_BUSY : DET_OK;
}

det_status folder_lock_take(struct io *io, const char *path, const char *name,
                            struct folder_lock *ret_lock, struct err *err)
{
    struct folder_lock lock = {0};
    det_status st =
        open_both(io, path, name, IO_WRITE | IO_CREATE | IO_PRIVATE, &lock, err);

    if (st == DET_FULL && lock.folder) /* no room for a new file: the folder suffices */
        st = DET_OK;
    if (!st)
        st = lock_both(&lock, err);
    if (st)
        folder_lock_give(&lock);
    else
        *ret_lock = lock;
    return st;
}

void folder_lock_give(struct folder_lock *lock)
{
    io_closep(&lock->folder);
    io_closep(&lock->file);
}

det_status folder_lock_look(struct io *io, const char *path, const char *name,
                            bool *ret_is_held, struct err *err)
{
    struct folder_lock lock = {0};
    det_status st = open_both(io, path, name, IO_READ, &lock, err);

    *ret_is_held = false;
    if (!st || (st == DET_NOT_FOUND && lock.folder))
        st = lock_both(&lock, err);
    folder_lock_give(&lock);
    *ret_is_held = st == DET_BUSY;
    return st == DET_BUSY || st == DET_NOT_FOUND ? DET_OK : st;
}

bool folder_lock_is_in_place(const struct folder_lock *lock, const char *path)
{
    struct io_stat held, found;
    struct io_file *there = NULL;
    /* Opened, because the path may be a link to the folder. */
    det_status st = io_open(io_system(), path, IO_READ | IO_FOLDER, &there, NULL);

    if (st) /* any other failure, such as too many open files, says nothing */
        return st != DET_NOT_FOUND;
    st = io_stat_of(lock->folder, &held, NULL);
    if (!st)
        st = io_stat_of(there, &found, NULL);
    io_close(there);
    return st || (held.device == found.device && held.inode == found.inode);
}
