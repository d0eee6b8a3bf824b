/* SPDX-License-Identifier: Apache-2.0 */
/* entrypoint.h - from what a configuration says to what is executed. */
#ifndef AGENT_TASK_ENTRYPOINT_H
#define AGENT_TASK_ENTRYPOINT_H

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

/* The scripts that come first, sourced, so that what they export reaches the
 * entrypoint, and a failure of theirs is the task's.  NULL: that one is not there. */
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
