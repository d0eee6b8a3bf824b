/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_remover.h - deletes checkpoints for the master.
 *
 * The master names uuids and their storage directory.  A checkpoint is first renamed to
 * STORAGE/.det-trash-UUID, so no reader finds a part of it, and then removed; the rest
 * of an earlier attempt goes with it, and a checkpoint that does not exist counts as
 * removed.  Nothing outside STORAGE is touched: the name is a uuid, symlinks are never
 * followed, and a symlink in a checkpoint's place is left alone and reported.
 *
 * A user chose STORAGE, and tasks write there.  So the master also names the allowed
 * root above it and the user of the tasks: STORAGE is opened below the root without
 * following symlinks, and everything is done with that user's rights (privileged.h).
 * The agent's own checkpoint_storage_roots, where configured, must allow it as well.
 *
 * Sweeping: a killed run may leave STORAGE/.det-CLUSTER-TRIAL-RUN-UUID, a draft (libdet
 * renames a checkpoint when it is complete).  The master names runs that are over;
 * their drafts and those of earlier runs of the same trial are removed. */
#ifndef AGENT_CHECKPOINT_REMOVER_H
#define AGENT_CHECKPOINT_REMOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct field_strs;
struct io;
struct json;
struct master_link;

/* DET_OK also if it does not exist.  DET_NOT_FOUND: the storage directory does not
 * exist.  DET_INVALID: the name is not a uuid, the path is not absolute, or there is
 * a symlink. */
det_status remover_remove(struct io *io, const char *directory, const char *uuid,
                          struct arena *mem, struct err *err);
/* A run that is over; stands also for earlier runs of its trial. */
struct remover_run {
    int64_t trial;
    int64_t run;
};
/* DET_OK also if the directory does not exist. */
struct remover_sweep {
    const char *directory;
    const char *cluster; /* its id */
    const struct remover_run *runs;
    size_t count;
    const char *name; /* of the directory, in the log; NULL: the same */
};
det_status remover_sweep(struct io *io, const struct remover_sweep *sweep,
                         struct arena *mem, struct err *err);

struct checkpoint_remover {
    struct io *io;
    struct master_link *link;
    const char *path;
    const struct field_strs *roots; /* NULL or empty: the master alone decides */
    bool (*may_continue)(void *arg);
    void *arg;
};
/* Removes one checkpoint as the master asks: {"uuid", "directory", "root", "below",
 * "user"}, or {"uuid", "refused"}.  DET_FORBIDDEN: the directory is not below an allowed
 * root, or the user may not; else as remover_remove(). */
det_status remover_obey(const struct checkpoint_remover *remover,
                        const struct json *item, struct err *err);
/* Asks the master once for work, does it and reports.  Stops early, and reports what
 * it has done, when `may_continue` says no.  `path` is the path of the calls.
 * *ret_more: there may be more to do. */
det_status remover_round(const struct checkpoint_remover *remover, bool *ret_more,
                         struct err *err);

#endif
