/* SPDX-License-Identifier: Apache-2.0 */
/* doorway.h - the supervisor's side of env/enter.h: how a task is led through it, and
 * what it left behind.
 *
 * What lies in run/ belongs to the task, which may be another user's: it is read as
 * plain files of a bounded size, and believed only as far as it concerns the task. */
#ifndef AGENT_TASK_DOORWAY_H
#define AGENT_TASK_DOORWAY_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct identity;
struct io;
struct json;
struct task_exit;
struct task_spec;

struct doorway {
    const struct task_spec *spec;
    const char *dir;     /* the task's */
    const char *program; /* this one */
    const char *code;    /* a sum of the task's files; NULL: none */
    const struct identity *who;
};

/* Makes the folder for environments, where the spec names one; another user has one of
 * its own. */
det_status doorway_prepare(struct io *io, const struct doorway *doorway,
                           struct err *err);

/* `argv` behind `det task enter`; `argv` itself when the machine keeps no environments.
 * In `mem`. */
det_status doorway_argv(const struct doorway *doorway, const char **argv,
                        struct arena *mem, const char ***ret_argv, struct err *err);

/* A task that never became its entrypoint ended for the reason that stands there. */
void doorway_explain(struct io *io, const char *dir, struct arena *mem,
                     struct task_exit *exit);

/* Whether somebody is still asking what the run runs on. */
bool doorway_is_asking(struct io *io, const char *dir, struct arena *mem);

/* What the run ran on.  `is_last`: nothing more will come, so that a part is better
 * than nothing.  DET_NOT_FOUND: there is none (yet). */
det_status doorway_record(struct io *io, const char *dir, bool is_last,
                          struct arena *mem, struct json **ret_record, struct err *err);

#endif
