/* SPDX-License-Identifier: Apache-2.0 */
/* entrypoint.h - turns the entrypoint of a configuration into a command. */
#ifndef AGENT_TASK_PREPARE_ENTRYPOINT_H
#define AGENT_TASK_PREPARE_ENTRYPOINT_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct json;

/*   a list            that command, as it is
 *   "module:Class"    PYTHON -m determined.exec.harness module:Class
 *   null or absent    PYTHON -m determined.exec.harness
 *   any other string  sh -c STRING
 *
 * The argument vector lies in `mem` and ends with NULL.  DET_INVALID for anything else.
 */
det_status entrypoint_argv(const struct json *entrypoint, const char *python,
                           struct arena *mem, const char ***ret_argv, struct err *err);

/* Scripts that run before the entrypoint.  They are sourced, so the entrypoint gets
 * what they export, and their failure is the task's.  NULL: there is none. */
struct entrypoint_hooks {
    const char *defaults; /* of the cluster: a path */
    const char *own;      /* of the model definition: "./startup-hook.sh" */
    bool has_bash;        /* else by sh */
};
/* `argv` itself when there are no hooks. */
det_status entrypoint_behind_hooks(const char **argv,
                                   const struct entrypoint_hooks *hooks,
                                   struct arena *mem, const char ***ret_argv,
                                   struct err *err);

#endif
