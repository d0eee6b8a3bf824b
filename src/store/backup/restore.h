/* SPDX-License-Identifier: Apache-2.0 */
/* restore.h - a backup becomes a data directory.
 *
 *   TARGET.restoring:  files from chunks (sums compared), synced
 *                      database: log moved in, checked, migrated, timeline_begin()
 *   then, with --replace:  TARGET -> TARGET.before-ID
 *   then:                  TARGET.restoring -> TARGET
 *
 * Nothing is put in place before everything is verified and durable.  The caller makes sure
 * that nobody uses TARGET.  If the backup has no checkpoints, those of a replaced directory
 * move over to the new one: the database names them. */
#ifndef STORE_BACKUP_RESTORE_H
#define STORE_BACKUP_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;
struct inventory;

struct restore_config {
    struct io *io;
    const char *vault;
    const char *target;
    const char *backup_id; /* NULL: the newest, or that of `at_us` */
    int64_t at_us;         /* the newest that is not younger; 0: any */
    int64_t now_us;
    bool replaces;
};

/* Which backup it is.  DET_NOT_FOUND: none. */
det_status restore_find(const struct restore_config *config, struct arena *mem,
                        struct inventory *ret_inventory, struct err *err);
struct restore_outcome {
    const char *replaced;  /* where the old directory is now; NULL: there was none */
    uint64_t stepped_back; /* trials whose latest checkpoint is not there */
};

/* Texts of the outcome are in `mem`.  DET_EXISTS: the target exists and is not empty.  DET_CORRUPT: the backup is damaged;
 * nothing has changed. */
det_status restore_run(const struct restore_config *config,
                       const struct inventory *inventory, struct arena *mem,
                       struct restore_outcome *ret_outcome, struct err *err);

#endif
