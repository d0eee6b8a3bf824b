/* SPDX-License-Identifier: Apache-2.0 */
/* folder_lock.h - one process works in a folder.
 *
 * The lock is on the folder itself: it cannot be removed apart from what it protects.  A
 * file in it is locked too: programs of older versions look only at that, and some file
 * systems (NFS) lock no folders. */
#ifndef BASE_IO_FOLDER_LOCK_H
#define BASE_IO_FOLDER_LOCK_H

#include <stdbool.h>

#include "base/err.h"

struct io;
struct io_file;

struct folder_lock {
    struct io_file *folder; /* NULL: the lock is not held */
    struct io_file *file;
};

/* `name`: the file in it, which is made if it is missing.  DET_BUSY: another process
 * holds it. */
det_status folder_lock_take(struct io *io, const char *path, const char *name,
                            struct folder_lock *ret_lock, struct err *err);
void folder_lock_give(struct folder_lock *lock);
/* Whether somebody holds it.  A folder that is missing is held by nobody. */
det_status folder_lock_look(struct io *io, const char *path, const char *name,
                            bool *ret_is_held, struct err *err);
/* Whether the folder that is locked is the one at `path` still.  False: it was removed,
 * or replaced by another. */
bool folder_lock_is_in_place(const struct folder_lock *lock, const char *path);

#endif
