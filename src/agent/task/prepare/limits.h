/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how much of the machine a task may use (task_limits in the agent's
 * configuration).  The kernel enforces them for each process, except the number of
 * processes, which it counts for all processes of the user on the machine (in a user
 * namespace: of the task).  The supervisor watches the disk space of the whole task. */
#ifndef AGENT_TASK_PREPARE_LIMITS_H
#define AGENT_TASK_PREPARE_LIMITS_H

#include <stdint.h>

#include "model/field.h"

struct task_limits {
    int64_t processes;  /* and threads; 0: no limit, as for the others */
    int64_t memory;     /* bytes of private memory of a process */
    int64_t open_files; /* of a process */
    int64_t disk;       /* bytes in the task directory, and of a file elsewhere */
};
extern const struct field task_limits_fields[];

/* Between fork and exec; `limits` may be NULL.  NULL, or the name of the limit that could
 * not be set, with errno. */
const char *limits_apply(const struct task_limits *limits);

/* The bytes that files below `dir` occupy.  Stops counting above `most`. */
int64_t limits_disk_used(const char *dir, int64_t most);

#endif
