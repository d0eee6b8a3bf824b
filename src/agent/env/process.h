/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - runs a program to its end and reads its output line by line.
 *
 * For processes without threads: the one that prepares a task's environment.  The
 * program dies with its parent, has no input, and writes both streams into one pipe. */
#ifndef AGENT_ENV_PROCESS_H
#define AGENT_ENV_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A line without its end, which may be a '\r'. */
typedef void process_line_fn(void *arg, const char *line);

/* The program is still at work. */
typedef void process_wait_fn(void *arg);

struct process {
    const char *const *argv;    /* ends with NULL; looked for along PATH */
    const char *const *changes; /* "NAME=value" sets, "NAME" removes; NULL: none */
    const char *directory;      /* NULL: this one */
    process_line_fn *on_line;   /* NULL: output is ignored */
    process_wait_fn *on_wait;   /* called about every `wait_ms`; NULL: never */
    int wait_ms;
    void *arg;
};

/* Returns how it ended, as wait(2) does.  DET_NOT_FOUND, DET_FORBIDDEN: it cannot be
 * executed. */
det_status process_run(const struct process *process, int *ret_status, struct err *err);

/* Whether it ended with exit code 0. */
bool process_was_fine(int status);

#endif
