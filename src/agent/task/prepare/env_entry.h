/* SPDX-License-Identifier: Apache-2.0 */
/* env_entry.h - the supervisor's side of env/enter.h: it puts `det task enter` before
 * the entrypoint and reads what that program leaves.
 *
 * The files in run/ belong to the task, which may run as another user: they are read as
 * plain files of bounded size, and believed only in what concerns the task itself. */
#ifndef AGENT_TASK_PREPARE_ENV_ENTRY_H
#define AGENT_TASK_PREPARE_ENV_ENTRY_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct identity;
struct io;
struct json;
struct task_exit;
struct task_spec;

struct env_entry {
    const struct task_spec *spec;
    const char *dir;     /* the task's */
    const char *program; /* this one */
    const char *code;    /* a checksum of the task's files; NULL: none */
    const struct identity *who;
};

/* Makes the folder for environments, if the spec names one; each other user has its
 * own. */
det_status env_entry_prepare(struct io *io, const struct env_entry *entry,
                             struct err *err);

/* `argv` after `det task enter`; `argv` itself if the machine keeps no environments.
 * In `mem`. */
det_status env_entry_argv(const struct env_entry *entry, const char **argv,
                          struct arena *mem, const char ***ret_argv, struct err *err);

/* If the task never became its entrypoint, sets the reason that `det task enter`
 * left. */
void env_entry_explain(struct io *io, const char *dir, struct arena *mem,
                       struct task_exit *exit);

/* Whether the interpreter is still being asked for the run's record. */
bool env_entry_is_asking(struct io *io, const char *dir, struct arena *mem);

/* Reads the record of what the run ran on.  `is_last`: nothing more will come, so an
 * incomplete one is taken.  DET_NOT_FOUND: there is none (yet). */
det_status env_entry_record(struct io *io, const char *dir, bool is_last,
                            struct arena *mem, struct json **ret_record,
                            struct err *err);

#endif
