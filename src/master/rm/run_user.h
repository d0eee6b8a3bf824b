/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.h - the Unix identity of tasks.
 *
 * A user that is linked with a Unix identity outranks the configuration
 * (security.default_task), and the workspace outranks both, part by part.  Checkpoints are
 * read and removed with the same identity as they were written, so that nobody reaches
 * through the master or an agent what the task itself could not reach. */
#ifndef MASTER_RM_RUN_USER_H
#define MASTER_RM_RUN_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct experiment_view;
struct json_writer;
struct master;
struct user;

struct run_user {
    int64_t uid; /* 0 and not chosen: the agent's own */
    int64_t gid;
    const char *user; /* NULL: not known, as is the group */
    const char *group;
    bool is_chosen; /* by a link or a workspace; otherwise by the configuration */
};

/* `starter`: whom the run acts as.  The strings are in `mem` or borrowed from the master's
 * configuration and from `starter`. */
det_status run_user_find(const struct master *master, struct db *db,
                         const struct user *starter, int64_t workspace_id,
                         struct arena *mem, struct run_user *ret_user, struct err *err);

/* Of the next, or last, run of an experiment. */
det_status run_user_of_experiment(const struct master *master, struct db *db,
                                  const struct experiment_view *view, struct arena *mem,
                                  struct run_user *ret_user, struct err *err);

/* Writes it as "user", or nothing if it is the agent's own. */
void run_user_write(struct json_writer *w, const struct run_user *user);

#endif
