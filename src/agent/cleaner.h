/* SPDX-License-Identifier: Apache-2.0 */
/* cleaner.h - checkpoints that go, as the agent removes them.
 *
 * The master names uuids and the directory they lie in.  A checkpoint is first renamed
 * to STORAGE/.det-trash-UUID, so that nobody finds half of it, and then removed; what
 * an earlier try left there goes as well, and what is not there at all is fine. Nothing
 * outside STORAGE is touched: the name is a uuid, links are never followed, and a link
 * in a checkpoint's place is left alone and reported.
 *
 * Sweeping: a run that was killed may leave STORAGE/.det-CLUSTER-TRIAL-RUN-UUID, a
 * checkpoint it had not finished (libdet gives it its name once it is whole).  The
 * master names runs that are over; what they and earlier runs of their trials left
 * goes. */
#ifndef AGENT_CLEANER_H
#define AGENT_CLEANER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;
struct talk;

/* Fine when it is not there.  DET_NOT_FOUND: the storage directory is not. DET_INVALID:
 * a name that is no uuid, a path that is not absolute, a link. */
det_status cleaner_remove(struct io *io, const char *directory, const char *uuid,
                          struct arena *mem, struct err *err);
/* A run that is over, and those of its trial before it. */
struct cleaner_run {
    int64_t trial;
    int64_t run;
};
/* Fine when the directory is not there. */
struct cleaner_sweep {
    const char *directory;
    const char *cluster; /* its id */
    const struct cleaner_run *runs;
    size_t count;
};
det_status cleaner_sweep(struct io *io, const struct cleaner_sweep *sweep,
                         struct arena *mem, struct err *err);

/* Asks the master once, does what it says and reports; stops early, reporting what was
 * done, when `may_go_on` says no.  `path` is that of the calls.  *ret_more: there may
 * be more to do. */
struct cleaner {
    struct io *io;
    struct talk *talk;
    const char *path;
    bool (*may_go_on)(void *arg);
    void *arg;
};
det_status cleaner_round(const struct cleaner *cleaner, bool *ret_more,
                         struct err *err);

#endif
