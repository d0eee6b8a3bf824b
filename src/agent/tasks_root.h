/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_root.h - the directory of all tasks: who may pass through it, and whether its disk has
 * room. */
#ifndef AGENT_TASKS_ROOT_H
#define AGENT_TASKS_ROOT_H

#include "base/err.h"

struct io;

/* A task of another user must pass through the agent's directory and that of its tasks
 * (identity.c).  If this fails, the task says why. */
void tasks_root_open_way(const char *root);

/* DET_FULL: the disk has no room for a task's first files. */
det_status tasks_root_check_room(struct io *io, const char *root, struct err *err);

#endif
