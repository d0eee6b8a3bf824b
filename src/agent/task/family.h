/* SPDX-License-Identifier: Apache-2.0 */
/* family.h - a task's processes, all of them, whatever they do to hide.
 *
 * While the supervisor lives it is the subreaper: who loses his parent becomes its
 * child, so that a walk up the parents in /proc finds everybody.  When it is gone, what
 * is left is known by its session, and by the variable DET_RUN_DIR that it was born
 * with. */
#ifndef AGENT_TASK_FAMILY_H
#define AGENT_TASK_FAMILY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct place_pid;

/* Sends `number` to every living descendant of `root`, not to itself.  How many there
 * were; who forks meanwhile is met the next time. */
det_status family_signal(pid_t root, int number, size_t *ret_count, struct err *err);

/* The same for what a dead supervisor left behind: the processes born with
 * DET_RUN_DIR=`run_dir`, and those of the session in `pid`. */
det_status family_kill_rest(const struct place_pid *pid, const char *run_dir,
                            size_t *ret_count, struct err *err);

/* Ticks since boot at which a process began; 0: it is not there. */
int64_t family_start(pid_t pid);

#endif
