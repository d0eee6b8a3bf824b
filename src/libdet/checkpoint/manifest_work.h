/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_work.h - syncs and checksums the files of a checkpoint. */
#ifndef LIBDET_CHECKPOINT_MANIFEST_WORK_H
#define LIBDET_CHECKPOINT_MANIFEST_WORK_H

#include "base/err.h"

struct io;
struct io_file;
struct manifest;

enum manifest_work { MANIFEST_SYNC = 1, MANIFEST_SUM = 2 };
/* Syncs every file, or computes missing checksums, or both at once; uses several
 * threads if there is much to do.  `disk` (see io_sync_all(); may be NULL): syncs many
 * files at once. */
det_status manifest_work(struct io *io, struct io_file *disk, const char *root,
                         struct manifest *manifest, unsigned work, struct err *err);
/* Makes everything durable at once, if that is cheaper for so many files or directories.
 * DET_UNSUPPORTED: sync each. */
det_status manifest_sync_all(struct io_file *disk, size_t count, struct err *err);

#endif
