/* SPDX-License-Identifier: Apache-2.0 */
/* vfs.h - SQLite on a memory file system of base/io.h. */
#ifndef STORE_VFS_H
#define STORE_VFS_H

#include "base/err.h"

struct io;
struct vfs;

/* The VFS of that file system, made when there is none yet; all connections to one `io`
 * share it.  *ret_name is what SQLite knows it by.  Give it back after the connection
 * is closed. */
det_status vfs_take(struct io *io, struct vfs **ret_vfs, const char **ret_name,
                    struct err *err);
void vfs_give(struct vfs *vfs);

#endif
