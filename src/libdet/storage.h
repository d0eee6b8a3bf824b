/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - where checkpoints lie, and what their directories are called.
 *
 *   ROOT/<uuid>                               a checkpoint
 *   ROOT/.det-<trial>-<run>-<uuid>            one that is being written
 *
 * <trial> is the id of the cluster and the number of the trial in it: a storage may
 * serve several clusters.  What an earlier run of a trial left unfinished belongs to
 * nobody any more. */
#ifndef LIBDET_STORAGE_H
#define LIBDET_STORAGE_H

#include "base/err.h"
#include "det/trial.h"

struct arena;

/* The directory of the experiment's checkpoint storage, whether it is there or not. */
det_status storage_place(const det_context *context, struct arena *mem,
                         const char **ret_root, struct err *err);
/* The same, made when it is not there. */
det_status storage_root(const det_context *context, struct arena *mem,
                        const char **ret_root, struct err *err);
/* The name of a checkpoint under way; NULL when memory is out. */
const char *storage_draft(const det_context *context, const char *uuid,
                          struct arena *mem);
/* Removes what earlier runs of this trial have left unfinished. */
det_status storage_clean(const det_context *context, const char *root,
                         struct arena *mem, struct err *err);

/* Copies a file; bytes are shared where the file system can. */
struct io;
det_status storage_copy(struct io *io, const char *from, const char *to,
                        struct err *err);

#endif
