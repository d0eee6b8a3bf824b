/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.h - the Unix identity of a run, as JSON text (master/rm/run_user.h). */
#ifndef STORE_TASK_RUN_USER_H
#define STORE_TASK_RUN_USER_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* Whom an allocation acts as. */
struct run_origin {
    int64_t uid;
    int64_t gid;
    const char *user; /* NULL: not linked with a Unix identity */
    const char *group;
    int64_t workspace_id;
};
/* DET_NOT_FOUND. */
det_status store_run_origin(struct db *db, int64_t allocation_id, struct arena *mem,
                            struct run_origin *ret_origin, struct err *err);

/* Notes it, unless it was noted before. */
det_status store_run_user_note(struct db *db, int64_t allocation_id, const char *text,
                               struct err *err);
/* What was noted of an allocation, of the one that wrote a checkpoint, and of a run of a
 * trial; NULL: nothing, or there is none.  In `mem`. */
det_status store_run_user_of(struct db *db, int64_t allocation_id, struct arena *mem,
                             const char **ret_text, struct err *err);
det_status store_run_user_of_checkpoint(struct db *db, const char *uuid,
                                        struct arena *mem, const char **ret_text,
                                        struct err *err);
det_status store_run_user_of_trial(struct db *db, int64_t trial_id, int64_t run_id,
                                   struct arena *mem, const char **ret_text,
                                   struct err *err);

#endif
