/* SPDX-License-Identifier: Apache-2.0 */
/* vfs_memory.h - SQLite on a memory file system of base/io/io.h. */
#ifndef STORE_ENGINE_VFS_MEMORY_H
#define STORE_ENGINE_VFS_MEMORY_H

#include "base/err.h"

struct io;
struct vfs_memory;

/* All connections to one `io` share its VFS; the first call makes it.  *ret_name is its
 * name in SQLite.  Give it back after the connection is closed. */
det_status vfs_memory_take(struct io *io, struct vfs_memory **ret_vfs,
                           const char **ret_name, struct err *err);
void vfs_memory_give(struct vfs_memory *vfs);

#endif
