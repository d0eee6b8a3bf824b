/* SPDX-License-Identifier: Apache-2.0 */
/* vfs_disk.h - the machine's files for SQLite, with fewer and larger writes. */
#ifndef STORE_ENGINE_VFS_DISK_H
#define STORE_ENGINE_VFS_DISK_H

#include "base/err.h"

struct vfs_disk;

/* There is one per process.  *ret_name is its name in SQLite.  Give it back after the
 * connection is closed. */
det_status vfs_disk_take(struct vfs_disk **ret_vfs, const char **ret_name,
                         struct err *err);
void vfs_disk_give(struct vfs_disk *gather);

#endif
