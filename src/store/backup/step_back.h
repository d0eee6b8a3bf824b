/* SPDX-License-Identifier: Apache-2.0 */
/* step_back.h - trials of a restored database begin again from a checkpoint that exists.
 *
 * The latest checkpoint that a backup knows may have been removed since: the experiment
 * made newer ones, or ended.  Such a trial goes on from the newest older one whose files
 * are there, or from its beginning.  A storage that is not there at all says nothing: it
 * may be mounted later.  Only storages that are directories are looked at. */
#ifndef STORE_BACKUP_STEP_BACK_H
#define STORE_BACKUP_STEP_BACK_H

#include <stdint.h>

#include "base/err.h"

struct db;
struct io;

struct step_back_config {
    struct io *io;
    /* checkpoints that the database expects below `from` are below `to` now; NULL: none */
    const char *from;
    const char *to;
};

/* *ret_trials: those that step back. */
det_status step_back(const struct step_back_config *config, struct db *db,
                     uint64_t *ret_trials, struct err *err);

#endif
