/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.h - the Unix identity of a run.
 *
 * A user that is linked with a Unix identity outranks the configuration
 * (security.default_task), and the workspace outranks both, part by part.  A run holds the
 * token of whoever started it, so it has that user's identity too.  The identity is noted
 * when the run is assigned: from then on it stays, however links and configuration change,
 * because its files belong to it.
 *
 * It is kept as the text of the object "user" of a specification; "": the agent's own. */
#ifndef MASTER_RM_RUN_USER_H
#define MASTER_RM_RUN_USER_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct json_writer;
struct master;

/* On the writer, in the transaction that assigns the run. */
det_status run_user_note(struct master *master, struct db *db, int64_t allocation_id,
                         struct err *err);

/* Of an allocation; of a run that began before identities were noted: as it would be now. */
det_status run_user_find(struct master *master, struct db *db, int64_t allocation_id,
                         struct arena *mem, const char **ret_text, struct err *err);
/* Of the run that wrote a checkpoint, and of a run of a trial.  If nothing was noted, that of
 * the configuration. */
det_status run_user_of_checkpoint(struct master *master, struct db *db,
                                  const char *uuid, struct arena *mem,
                                  const char **ret_text, struct err *err);
det_status run_user_of_trial(struct master *master, struct db *db, int64_t trial_id,
                             int64_t run_id, struct arena *mem, const char **ret_text,
                             struct err *err);

/* Writes it as "user", or nothing if it is the agent's own. */
void run_user_write(struct json_writer *w, const char *text);

/* uid 0: the agent's own. */
struct run_user_number {
    int64_t uid;
    int64_t gid;
};
det_status run_user_number(const char *text, struct arena *mem,
                           struct run_user_number *ret_number, struct err *err);

#endif
