/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - makes a restored database the beginning of a time of its own.
 *
 *   ---- backup ----- lost: sessions, runs, numbers, checkpoints ---- restore
 *           \
 *            +------------------------------------------------------- what goes on
 *
 * Between the backup and the restore the old master did things that the new one does not
 * know.  Whoever remembers them must not be believed, and no name that was given then may
 * be given to something else:
 *
 *   - Sessions and access tokens: all end.  One may have been revoked in the lost time, and
 *     the backup cannot tell which.  A new secret.key (the backup has none) also ends the
 *     tokens of runs.
 *   - Runs: the agents of the backup are strangers now, so each counts as lost when it
 *     comes back, or after the time it has for that.  Its runs end as lost, cost no
 *     restart, and begin again from the latest checkpoint that is there (step_back.h).  To
 *     go on would leave a gap: what they reported in the lost time is gone, and they do
 *     not have it any more.  The runs also get other names, so nothing that an agent still
 *     has to say about them is taken for theirs; what it still runs is unknown, and the
 *     core has it killed.
 *   - Numbers of records that people see (experiments, users, ...) go on at the next
 *     multiple of 10,000 that is at least 5,000 away; those of trials, runs and rows at
 *     one of 1,000,000.
 *   - Numbers of attempts go on at a multiple of 1,000: an attempt's name is the name of
 *     its directory on an agent, and an agent does not start what it has already.
 *
 * Ids of checkpoints are random, so files that were written in the lost time are never
 * taken for others.  They stay in the storage, unknown. */
#ifndef STORE_BACKUP_TIMELINE_H
#define STORE_BACKUP_TIMELINE_H

#include <stdint.h>

#include "base/err.h"

struct db;

/* In the caller's transaction. */
det_status timeline_begin(struct db *db, const char *backup_id, int64_t now_us,
                          struct err *err);

#endif
