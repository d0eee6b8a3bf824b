/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - copies a data directory into a vault, also while its master runs.
 *
 *   snapshot held:  det.db ---- as it lies on disk ---->  chunks
 *                   det.db-wal -- at the end of the copy --> chunks
 *   then:           the other files, vault_flush(), inventory
 *
 * The database is copied byte by byte, not through queries.  A read transaction is held
 * meanwhile.  It keeps the master from moving pages newer than itself into the file, and
 * from beginning the log anew; the master goes on committing into the log.  So the file is
 * a mixture of old and new pages, and the log, which is copied last, has every page that
 * may be wrong in it.  SQLite puts both together when the copy is opened, exactly as after
 * a crash.  The backup therefore holds every commit up to its end.
 *
 * The price: the log grows while the copy runs, and is moved into the file afterwards.  If
 * it has grown by more than the space that is left on its disk, the backup gives up.
 *
 * What is in a backup: the database, the agent token, the master's own certificate, and
 * whatever other plain files lie in the data directory and in its tls folder.  Checkpoints
 * only if asked for.  What is not: secret.key, because a restored master must not accept
 * the tokens of before; logs and locks of this machine; the directory of the local agent.
 *
 * A file of a checkpoint that cannot be read (a task may close it, or nest folders deeper
 * than a path is long) costs only itself, and is reported.
 *
 * It may run as any user who can read the data directory, and when no master runs. */
#ifndef STORE_BACKUP_BACKUP_H
#define STORE_BACKUP_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/backup/inventory.h"

struct arena;
struct clock;
struct io;
struct vault;

struct backup_config {
    struct io *io;
    const struct clock *clock;
    const char *data_dir;
    const char *vault; /* the directory */
    const char *version;
    bool with_checkpoints;
    int64_t keep;  /* removes all but so many; 0: none */
    uint64_t rate; /* bytes a second that are read at most; 0: no limit */
};

struct backup_outcome {
    char id[INVENTORY_ID];
    uint64_t size_bytes;
    uint64_t new_bytes;
    uint64_t files;
    uint64_t removed;          /* older backups */
    uint64_t freed_bytes;      /* by removing them */
    bool has_left_checkpoints; /* there are some, and they are not in it */
    uint64_t unreadable;       /* files and folders of checkpoints that are not in it */
    const char *first_unreadable;
    const char *damaged_pack; /* of earlier backups; NULL: none */
};

/* Texts of the outcome are in `mem`.  DET_NOT_FOUND: there is no database.  DET_FULL: no
 * space in the vault (earlier backups stay), or too little beside the log. */
det_status backup_make(const struct backup_config *config, struct arena *mem,
                       struct backup_outcome *ret_outcome, struct err *err);

/* Reads every chunk of every backup and compares its sum.  *ret_bad: the backups that
 * cannot be restored; the first of them in *ret_why. */
det_status backup_verify(struct vault *vault, struct io *io, uint64_t *ret_good,
                         uint64_t *ret_bad, struct err *ret_why, struct err *err);

#endif
