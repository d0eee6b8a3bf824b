/* SPDX-License-Identifier: Apache-2.0 */
/* isolation.h - how far this agent separates its tasks, from its configuration and from
 * what the machine can do.
 *
 *   task_isolation   auto     tasks of another user than the agent's, and all tasks of a
 *                             master that serves more than its own machine
 *                    always   every task; the agent does not start where it cannot
 *                    never    no task
 *
 * A task of the agent's own user, on the machine of that user's master, is not isolated
 * by itself: it works on that user's files, also those in /tmp.  If the machine cannot
 * isolate (no root and no user namespaces), tasks run without it, and the agent says so
 * once at its start.  So it does if the limits of memory and processes cannot be those
 * of a whole task. */
#ifndef AGENT_ISOLATION_H
#define AGENT_ISOLATION_H

#include <stdbool.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct io;
struct json;

struct isolation {
    bool is_possible;
    bool is_always;
    bool is_never;
    const struct json *bind_mount_roots;
    const struct json *pass_environment;
    const struct json *limits;
    const char *control_group; /* in which tasks get theirs; NULL: none */
    bool has_group_limits;     /* theirs have the limits, too */
    struct field_strs storage_roots;
    struct field_strs hidden; /* what a task with the agent's user must not see */
    bool has_told_root;       /* that tasks run as root */
};

/* Where keys are: the agent's data directory, and the file with the agents' token (NULL:
 * none). */
struct isolation_keys {
    struct io *io;
    const char *data_dir;
    const char *token_file;
};

/* Reads the agent's configuration (NULL: defaults), which must live as long; tries
 * what the machine can do, and logs what it cannot.  DET_UNSUPPORTED: it is to isolate
 * always, but cannot. */
det_status isolation_find(const struct json *config, const struct isolation_keys *keys,
                          struct arena *mem, struct isolation *ret_isolation,
                          struct err *err);

/* Adds to the spec of a START command what the supervisor needs to know.  Logs once if users
 * of other machines get root's rights here. */
det_status isolation_complete(struct isolation *isolation, struct json *spec,
                              struct arena *mem, struct err *err);

#endif
