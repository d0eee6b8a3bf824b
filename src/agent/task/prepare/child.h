/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starts processes that inherit nothing of ours.
 *
 * Between fork and exec it makes only calls that are safe in a process with threads.
 * Every signal is unblocked and has its default action, every descriptor but the first
 * three is closed, and a failure is reported through a pipe that a successful exec
 * closes. */
#ifndef AGENT_TASK_PREPARE_CHILD_H
#define AGENT_TASK_PREPARE_CHILD_H

#include <sys/types.h>

#include "base/err.h"

struct arena;
struct identity;
struct privileged_group;
struct privileged_view;
struct task_limits;

/* Describes the entrypoint: its own session and process group, empty standard input,
 * output into two pipes; it dies when its parent's main thread does. */
struct child_config {
    const char *const *argv;
    const char *const *environment; /* "NAME=value", ends with NULL */
    const char *directory;
    const struct identity *who;           /* NULL or !is_other: as we are */
    const struct privileged_view *view;   /* what it sees; NULL: as we do */
    const struct task_limits *limits;     /* NULL: ours */
    const struct privileged_group *group; /* NULL or fd -1: ours */
};

/* An isolated task has a process of ours before it, the first of its process namespace:
 * it adopts orphans, and ends when no process is left.  Then `pid` is that process, and
 * the program's own status comes through `exit_fd` as an int of wait(2). */
struct child {
    pid_t pid;
    int output[2]; /* read ends of stdout and stderr; they never block */
    int exit_fd;   /* -1: `pid` is the program */
};

/* Returns when exec has succeeded or failed.  DET_NOT_FOUND, DET_FORBIDDEN: the program is
 * missing or may not be executed, here as on any other machine.  Another status: the machine
 * could not do it, with a message that names the directory or user that failed. */
det_status child_start(const struct child_config *config, struct arena *mem,
                       struct child *ret_child, struct err *err);

/* Finds the file of `program` along PATH of `environment` (NULL: none); a program
 * with a slash is the file itself.  DET_NOT_FOUND, DET_FORBIDDEN. */
det_status child_find(const char *program, const char *const *environment,
                      struct arena *mem, const char **ret_path, struct err *err);

/* DET_FAILED for a failure whose status would speak of the program, but of which it is not
 * guilty; else `status`. */
det_status child_blame_machine(det_status status, struct err *err);

/* The exit code that shells use for a program that could not be started. */
int child_exit_code(det_status status);

/* Starts `argv` (a path first) detached, in its own session, with a pipe as standard
 * output, and waits until the program closes it, the sign that it is on its own.  A
 * program that cannot start writes a letter and a sentence there: the status and the
 * error of this call. */
det_status child_detach(const char *const *argv, int timeout_ms, struct err *err);
char child_status_letter(det_status status);

#endif
