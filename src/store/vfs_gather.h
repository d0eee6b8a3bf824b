/* SPDX-License-Identifier: Apache-2.0 */
/* vfs_gather.h - the machine's files for SQLite, with fewer and larger writes. */
#ifndef STORE_VFS_GATHER_H
#define STORE_VFS_GATHER_H

#include "base/err.h"

struct gather;

/* One for the whole process; *ret_name is what SQLite knows it by.  Give it back after
 * the connection is closed. */
det_status gather_take(struct gather **ret_gather, const char **ret_name,
                       struct err *err);
void gather_give(struct gather *gather);

#endif
