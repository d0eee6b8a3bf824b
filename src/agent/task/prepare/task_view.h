/* SPDX-License-Identifier: Apache-2.0 */
/* task_view.h - plans what a task sees of the machine; privileged.h carries it out.
 *
 * While the directories of the task are still ours, the plan makes the mount points in
 * them: those below DIR/run, and below DIR/tmp one for each directory of the machine's
 * /tmp that the task needs (a test or a small machine may have its data there). */
#ifndef AGENT_TASK_PREPARE_TASK_VIEW_H
#define AGENT_TASK_PREPARE_TASK_VIEW_H

#include "base/err.h"

struct arena;
struct identity;
struct io;
struct privileged_view;
struct task_spec;

struct task_view_config {
    struct io *io;
    const struct task_spec *spec;
    const struct identity *who;
    const char *dir;
    const char *program;
};

/* *ret_view, in `mem`: NULL if the task sees what we see.  *ret_note: a sentence for the
 * task's log about something that cannot be had here, or NULL.  DET_FORBIDDEN: a bind
 * mount is not below an allowed root; DET_UNSUPPORTED: bind mounts are impossible here;
 * DET_NOT_FOUND: a directory does not exist. */
det_status task_view_plan(const struct task_view_config *config, struct arena *mem,
                          struct privileged_view **ret_view, const char **ret_note,
                          struct err *err);

#endif
