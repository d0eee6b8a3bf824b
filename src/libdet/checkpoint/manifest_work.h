/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_work.h - syncs and checksums the files of a checkpoint. */
#ifndef LIBDET_CHECKPOINT_MANIFEST_WORK_H
#define LIBDET_CHECKPOINT_MANIFEST_WORK_H

#include "base/err.h"

struct io;
struct manifest;

enum manifest_work { MANIFEST_SYNC = 1, MANIFEST_SUM = 2 };
/* Syncs every file, or computes missing checksums, or both at once; uses several
 * threads if there is much to do. */
det_status manifest_work(struct io *io, const char *root, struct manifest *manifest,
                         unsigned work, struct err *err);

#endif
