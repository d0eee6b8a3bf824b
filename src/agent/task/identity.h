/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - who a task runs as, when that is not whom its supervisor runs as. */
#ifndef AGENT_TASK_IDENTITY_H
#define AGENT_TASK_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct arena;
struct task_user;

struct identity {
    bool is_other; /* false: as the supervisor does, and the rest says nothing */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* all of them, `gid` among them */
    size_t group_count;
    const char *name; /* NULL: neither this machine nor the master has one */
    const char *home; /* NULL: this machine does not know the user */
};

/* Looks the user up; strings and groups lie in `mem`.  DET_FORBIDDEN: we are not root
 * and somebody else than that user; DET_INVALID: it has no group. */
det_status identity_find(const struct task_user *user, struct arena *mem,
                         struct identity *ret_who, struct err *err);

/* The variables that are to be inherited, with that user's HOME, USER and LOGNAME and
 * without what leads to the supervisor's own files.  Whom this machine does not know
 * has its home in `work`.  Borrows what stays; the array lies in `mem`. */
det_status identity_environment(const struct identity *who,
                                const char *const *inherited, const char *work,
                                struct arena *mem, const char *const **ret_environment,
                                struct err *err);

/* DIR/work, DIR/run and DIR/reports, with all that is in them, become the user's, and
 * DIR is opened.
 * Nothing of ours may be written there afterwards.  Nothing to do for !is_other. */
det_status identity_give(const struct identity *who, const char *dir, struct err *err);

/* Others may pass through the directory, not list it. */
det_status identity_open(const char *dir, struct err *err);

/* Between fork and exec: false, with errno, when it is not allowed. */
bool identity_become(const struct identity *who);

/* The first directory on the way to `path` that is closed to the user, in `mem`; NULL:
 * none is to be seen. */
const char *identity_barrier(const struct identity *who, const char *path,
                             struct arena *mem);

#endif
