/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - the interface of all checkpoint storages.
 *
 * A checkpoint is always written into a directory of this machine, a draft, and always
 * read from a directory.  The rest depends on the kind of storage.  If the storage is a
 * directory (types shared_fs and directory), the draft lies in it and is renamed; a
 * storage behind a network would upload the draft in publish() and download in find().  To add a kind, fill a struct storage_ops and name it in storage_open().
 *
 *   ROOT/<uuid>                               a checkpoint
 *   ROOT/.det-<trial>-<run>-<uuid>            a draft
 *
 * <trial> is the id of the cluster and the number of the trial, because several
 * clusters may share a storage.  Drafts of earlier runs of the trial are leftovers. */
#ifndef LIBDET_CHECKPOINT_STORAGE_H
#define LIBDET_CHECKPOINT_STORAGE_H

#include <stdbool.h>

#include "base/err.h"
#include "det/trial.h"

struct arena;
struct io;
struct json;
struct storage_ops;

struct storage {
    const struct storage_ops *ops;
    const det_context *context;
    const char *root; /* for messages, and for the kind itself */
};

struct storage_ops {
    /* Called before the first draft: makes the storage usable, and removes drafts of
     * earlier runs of this trial. */
    det_status (*prepare)(const struct storage *storage, struct arena *mem,
                          struct err *err);
    /* Makes a directory for a checkpoint, or for one rank's part of one. */
    det_status (*draft)(const struct storage *storage, const char *uuid,
                        struct arena *mem, const char **ret_path, struct err *err);
    /* Moves a file of a part into the draft of all ranks.  The directories must exist.
     */
    det_status (*join)(const struct storage *storage, const char *part,
                       const char *draft, const char *path, struct err *err);
    /* Turns a draft whose files are synced into the checkpoint of that name, durably.
     * May be called again after a failure; `is_named` says on entry and on return
     * whether only the last step is missing. */
    det_status (*publish)(const struct storage *storage, const char *draft,
                          const char *uuid, bool *is_named, struct err *err);
    /* Removes a draft or a part. */
    void (*discard)(const struct storage *storage, const char *draft);
    /* Finds the directory of a checkpoint.  Makes no directories: that would hide that
     * a storage is not mounted.  DET_NOT_FOUND. */
    det_status (*find)(const struct storage *storage, const char *uuid,
                       struct arena *mem, const char **ret_path, struct err *err);
    /* Removes a checkpoint; no reader finds half of it.  DET_NOT_FOUND. */
    det_status (*remove)(const struct storage *storage, const char *uuid,
                         struct err *err);
};

/* Opens the storage of the experiment; strings lie in `mem`.  DET_UNSUPPORTED: its kind
 * is not implemented. */
det_status storage_open(const det_context *context, struct arena *mem,
                        struct storage *ret_storage, struct err *err);

/* The directory of the storage, whether or not it exists; for other uses than
 * checkpoints. */
det_status storage_place(const det_context *context, struct arena *mem,
                         const char **ret_root, struct err *err);

/* The same for a configuration's `checkpoint_storage`, without a context. */
det_status storage_root(const struct json *storage, struct arena *mem,
                        const char **ret_root, struct err *err);

/* Copies a file; shares the bytes if the file system can. */
det_status storage_copy(struct io *io, const char *from, const char *to,
                        struct err *err);

#endif
