/* SPDX-License-Identifier: Apache-2.0 */
/* process_tree.h - all processes of a task, even if they leave its session.
 *
 * While the supervisor lives, it is the subreaper: it inherits every process whose
 * parent died, so a walk up the parents in /proc finds them all.
 *
 * When the supervisor is gone, its control group (privileged.h) or its process namespace knows
 * the rest.  Where there is neither, the rest is recognised by a *mark*: the limit RLIMIT_LOCKS,
 * which Linux has not used since 2.4 and shows for every process.  Children inherit it over fork
 * and exec, and neither a new session nor an empty environment nor closed descriptors change it.
 * It follows from the directory, so no file is needed to find the processes.  A process that
 * lowers the limit on purpose and leaves its session is not found.  An agent inside a marked task
 * sets no mark (limits are not raised): its tasks are known by their session and by the variable
 * DET_RUN_DIR, and the outer agent finds them by its own mark.
 *
 * Signals go to descriptors of processes, so never to one that got the number of another. */
#ifndef AGENT_TASK_PROCESS_TREE_H
#define AGENT_TASK_PROCESS_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct arena;
struct task_dir_pid;

/* Sends signal `number` to every living descendant of `root`, but not to `root`, and
 * counts them.  A process that forks meanwhile is found by the next call. */
det_status process_tree_signal(pid_t root, int number, size_t *ret_count,
                               struct err *err);

/* How much memory all descendants of `root` have together.  Exact only above `most`:
 * pages that they share are counted once then. */
det_status process_tree_memory(pid_t root, int64_t most, int64_t *ret_bytes,
                               struct err *err);

/* Marks the calling process, and all that it will start, as the task of this directory.
 * Returns the mark; 0: it has one already. */
int64_t process_tree_mark(const char *dir);
int64_t process_tree_mark_of(const char *dir); /* what that is */

/* Sends signal `number` to what a dead supervisor left of the task in directory `dir`, and to
 * the supervisor itself, should it be alive.  Counts the processes; kill until there are none. */
det_status process_tree_signal_rest(const struct task_dir_pid *pid, const char *dir,
                                    int number, size_t *ret_count, struct err *err);

/* The supervisor that works on the task directory `dir`, also if the directory is gone; 0:
 * there is none. */
det_status process_tree_supervisor(const char *dir, pid_t *ret_pid, struct err *err);
/* The names of all task directories below `root` that a supervisor works on, in `mem`, NULL at
 * the end.  The same one may be listed twice. */
det_status process_tree_supervised(const char *root, struct arena *mem,
                                   const char ***ret_names, struct err *err);

/* Ticks since boot at which a process began; 0: it is not there. */
int64_t process_tree_start(pid_t pid);

#endif
