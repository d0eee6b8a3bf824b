/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - where checkpoints lie: the one interface behind which all kinds of
 * storage are.
 *
 * A checkpoint is always written into a directory of this machine, a draft, and always
 * read from one.  What lies between is the kind's business: a directory that is seen by
 * all who need it (types shared_fs and directory) makes the draft there and gives it
 * its name; a storage behind a network would send the draft off in publish(), and
 * find() would fetch.  To add a kind, fill a struct storage_ops and name it in
 * storage_open().
 *
 *   ROOT/<uuid>                               a checkpoint
 *   ROOT/.det-<trial>-<run>-<uuid>            one that is being written
 *
 * <trial> is the id of the cluster and the number of the trial in it: a storage may
 * serve several clusters.  What an earlier run of a trial left unfinished belongs to
 * nobody any more. */
#ifndef LIBDET_STORAGE_H
#define LIBDET_STORAGE_H

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
    const char *root; /* for sentences, and for the kind itself */
};

struct storage_ops {
    /* Before the first draft: makes it usable, and removes what earlier runs of this
     * trial have left unfinished. */
    det_status (*prepare)(const struct storage *storage, struct arena *mem,
                          struct err *err);
    /* A new directory for a checkpoint, or for one rank's part of one. */
    det_status (*draft)(const struct storage *storage, const char *uuid,
                        struct arena *mem, const char **ret_path, struct err *err);
    /* Moves a file of a part into the draft of all; the directories are there. */
    det_status (*join)(const struct storage *storage, const char *part,
                       const char *draft, const char *path, struct err *err);
    /* Makes a draft, whose files are synced, the checkpoint of that name, for good.
     * After a failure it may be called again; `is_named` says, and is told, whether
     * only the last step is missing. */
    det_status (*publish)(const struct storage *storage, const char *draft,
                          const char *uuid, bool *is_named, struct err *err);
    /* Throws a draft or a part away. */
    void (*discard)(const struct storage *storage, const char *draft);
    /* The directory that holds a checkpoint.  Makes nothing: an empty directory in the
     * place of a storage that is not mounted would hide that.  DET_NOT_FOUND. */
    det_status (*find)(const struct storage *storage, const char *uuid,
                       struct arena *mem, const char **ret_path, struct err *err);
    /* Removes a checkpoint so that nobody finds half of it.  DET_NOT_FOUND. */
    det_status (*remove)(const struct storage *storage, const char *uuid,
                         struct err *err);
};

/* The storage of the experiment; strings lie in `mem`.  DET_UNSUPPORTED: of a kind that
 * is not built. */
det_status storage_open(const det_context *context, struct arena *mem,
                        struct storage *ret_storage, struct err *err);

/* The directory that it is, whether it is there or not; for others than checkpoints. */
det_status storage_place(const det_context *context, struct arena *mem,
                         const char **ret_root, struct err *err);

/* The same from a configuration's `checkpoint_storage`, outside of any context. */
det_status storage_root(const struct json *storage, struct arena *mem,
                        const char **ret_root, struct err *err);

/* Copies a file; bytes are shared where the file system can. */
det_status storage_copy(struct io *io, const char *from, const char *to,
                        struct err *err);

#endif
