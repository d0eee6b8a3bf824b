/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - the user that a task runs as, if it is not the supervisor's. */
#ifndef AGENT_TASK_PREPARE_IDENTITY_H
#define AGENT_TASK_PREPARE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct arena;
struct field_strs;
struct task_user;

struct identity {
    bool is_other; /* false: the supervisor's user; the rest is unused */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* all of them, `gid` among them */
    size_t group_count;
    const char *name; /* NULL: neither this machine nor the master has one */
    const char *home; /* NULL: this machine does not know the user */
    const char *shell;
};

/* Looks the user up; strings and groups are in `mem`.  DET_FORBIDDEN: we are neither
 * root nor that user; DET_INVALID: it has no group. */
det_status identity_find(const struct task_user *user, struct arena *mem,
                         struct identity *ret_who, struct err *err);

/* For another user: PATH, LANG, LC_*, TERM and TZ of the inherited variables, those that
 * `named` names (also "PREFIX*"), and that user's HOME, SHELL, USER and LOGNAME.  A user
 * that this machine does not know has its home in `work`.  Borrows the strings; the
 * array is in `mem`. */
det_status identity_environment(const struct identity *who,
                                const char *const *inherited,
                                const struct field_strs *named, const char *work,
                                struct arena *mem, const char *const **ret_environment,
                                struct err *err);

/* Gives DIR/work, DIR/run, DIR/tmp and DIR/reports, with everything in them, to the
 * user, and opens DIR.  We must never write there afterwards.  Does nothing for
 * !is_other. */
det_status identity_give(const struct identity *who, const char *dir, struct err *err);

/* The first directory on the way to `path` that is closed to the user, in `mem`;
 * NULL: none. */
const char *identity_barrier(const struct identity *who, const char *path,
                             struct arena *mem);

#endif
