/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how much of the machine a task may use (task_limits in the agent's
 * configuration).  In a control group (privileged.h) the kernel limits memory and processes
 * of the whole task.  Without one it limits the memory of each process, and counts all
 * processes of the user on the machine (in a user namespace: of the task).  Open files are
 * always those of a process.  The supervisor watches the disk space of the whole task. */
#ifndef AGENT_TASK_PREPARE_LIMITS_H
#define AGENT_TASK_PREPARE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

struct task_limits {
    int64_t processes;  /* and threads; 0: no limit, as for the others */
    int64_t memory;     /* bytes: of the task, or private ones of a process */
    int64_t open_files; /* of a process */
    int64_t disk;       /* bytes in the task directory, and of a file elsewhere */
};
extern const struct field task_limits_fields[];

/* Between fork and exec; `limits` may be NULL.  `has_group`: a control group counts the
 * processes.  NULL, or the name of the limit that could not be set, with errno. */
const char *limits_apply(const struct task_limits *limits, bool has_group);

/* How many processes of a control group (-1: none) the kernel has killed because they used
 * too much memory. */
int64_t limits_killed(int group);

/* The bytes that files below `dir` occupy.  Stops counting above `most`. */
int64_t limits_disk_used(const char *dir, int64_t most);

#endif
