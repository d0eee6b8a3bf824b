/* SPDX-License-Identifier: Apache-2.0 */
/* process_tree.h - all processes of a task, even if they leave its session.
 *
 * While the supervisor lives, it is the subreaper: it inherits every process whose
 * parent died, so a walk up the parents in /proc finds them all.  When the supervisor
 * is gone, the rest is recognised by its session and by the variable DET_RUN_DIR that
 * it started with. */
#ifndef AGENT_TASK_PROCESS_TREE_H
#define AGENT_TASK_PROCESS_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct task_dir_pid;

/* Sends signal `number` to every living descendant of `root`, but not to `root`, and
 * counts them.  A process that forks meanwhile is found by the next call. */
det_status process_tree_signal(pid_t root, int number, size_t *ret_count,
                               struct err *err);

/* How much memory all descendants of `root` have together.  Exact only above `most`:
 * pages that they share are counted once then. */
det_status process_tree_memory(pid_t root, int64_t most, int64_t *ret_bytes,
                               struct err *err);

/* Kills what a dead supervisor left: the processes started with
 * DET_RUN_DIR=`run_dir`, and those of the session in `pid`. */
det_status process_tree_kill_rest(const struct task_dir_pid *pid, const char *run_dir,
                                  size_t *ret_count, struct err *err);

/* Ticks since boot at which a process began; 0: it is not there. */
int64_t process_tree_start(pid_t pid);

#endif
