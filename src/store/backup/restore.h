/* SPDX-License-Identifier: Apache-2.0 */
/* restore.h - a backup becomes a data directory.
 *
 *   TARGET.restoring:  files from chunks (sums compared), synced
 *                      database: log moved in, checked, migrated, timeline_begin()
 *   then, with --replace:  TARGET -> TARGET.before-ID
 *   then:                  TARGET.restoring -> TARGET
 *
 * Nothing is put in place before everything is verified and durable.  The caller makes sure
 * that nobody uses TARGET, also if it did not exist: it makes and locks it.  If the backup
 * has no checkpoints, those of a replaced directory move over to the new one: the database
 * names them.
 *
 * A restore that is killed leaves TARGET.restoring, and at the worst moment no TARGET.  A
 * master does not begin anew there (restore_was_interrupted()), and the next restore finds
 * the checkpoints in the newest TARGET.before-ID. */
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
    const char *lock_name; /* a file in it that does not count; NULL: none */
    const char *backup_id; /* NULL: the newest, or that of `at_us` */
    int64_t at_us;         /* the newest that is not younger; 0: any */
    int64_t now_us;
    bool replaces;
};

/* Whether the restored directory was not put in place: there is no database in `target`, but
 * what a restore has left. */
bool restore_was_interrupted(struct io *io, const char *target);
/* Whether it may be restored to the target.  DET_EXISTS: the target exists and is not
 * empty. */
det_status restore_check(const struct restore_config *config,
                         const struct inventory *inventory, struct arena *mem,
                         struct err *err);
/* Which backup it is.  DET_NOT_FOUND: none. */
det_status restore_find(const struct restore_config *config, struct arena *mem,
                        struct inventory *ret_inventory, struct err *err);
struct restore_outcome {
    const char *replaced; /* where the old directory is now; NULL: there was none */
    const char *checkpoints_from; /* where they were; NULL: none were moved */
    uint64_t stepped_back;        /* trials whose latest checkpoint is not there */
};

/* Texts of the outcome are in `mem`.  DET_EXISTS: the target exists and is not empty.  DET_CORRUPT: the backup is damaged;
 * nothing has changed. */
det_status restore_run(const struct restore_config *config,
                       const struct inventory *inventory, struct arena *mem,
                       struct restore_outcome *ret_outcome, struct err *err);

#endif
