/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starting processes, with nothing of ours left in them.
 *
 * Between fork and exec only what a process with threads may call there.  Every signal
 * is unblocked and back at its default, every descriptor but the three is closed, and a
 * failure comes back through a pipe that a successful exec closes. */
#ifndef AGENT_TASK_CHILD_H
#define AGENT_TASK_CHILD_H

#include <sys/types.h>

#include "base/err.h"

struct arena;
struct identity;

/* The entrypoint: in its own session and process group, standard input empty, output
 * into two pipes; it dies when its parent's main thread does. */
struct child_config {
    const char *const *argv;
    const char *const *environment; /* "NAME=value", ends with NULL */
    const char *directory;
    const char *run;            /* what it sees at MOUNTS_RUN, where that can be */
    const struct identity *who; /* borrowed; NULL or !is_other: as we are */
};

struct child {
    pid_t pid;
    int output[2]; /* read ends of stdout and stderr; they never block */
};

/* Returns once exec has succeeded, or failed: DET_NOT_FOUND or DET_FORBIDDEN, or what
 * else, with a sentence that names the program, or the directory or user that it could
 * not get to. */
det_status child_start(const struct child_config *config, struct arena *mem,
                       struct child *ret_child, struct err *err);

/* The file that `program` means along PATH of `environment` (NULL: of nobody), or the
 * program itself when it has a slash.  DET_NOT_FOUND, DET_FORBIDDEN. */
det_status child_find(const char *program, const char *const *environment,
                      struct arena *mem, const char **ret_path, struct err *err);

/* Starts `argv` (a path first) as nobody's child, in a session of its own, with a pipe
 * as its standard output, and waits until it has closed that: it is then on its own.
 * What it wrote there, a sentence, is why it could not be: DET_FAILED. */
det_status child_detach(const char *const *argv, int timeout_ms, struct err *err);

#endif
