/* SPDX-License-Identifier: Apache-2.0 */
/* enter.h - the first program of every task: it makes the task's environment, writes
 * down what that is, and becomes the entrypoint.
 *
 * It runs as the task's own process, as the task's user, with the task's variables and
 * output: whatever a build executes has the task's rights and no others, what it says
 * is in the task's log, and whoever ends the task ends it too.
 *
 * The record (machine.h, the interpreter and its packages) lies in `record` once it is
 * whole.  An interpreter that has to be asked is asked beside the entrypoint, by a
 * process that is nobody's child: no task waits for that, and none finds a child it
 * did not make.  Until it has answered there is RECORD.part, which lacks the packages.
 */
#ifndef AGENT_ENV_ENTER_H
#define AGENT_ENV_ENTER_H

#include "model/field.h"

#define ENTER_PART ".part"

struct enter_options {
    const char *envs;          /* where environments are; is there */
    const char *record;        /* what is written */
    const char *failure;       /* written when it cannot become the entrypoint */
    const char *python;        /* an interpreter; NULL: python3 */
    const char *requirements;  /* a file in the current folder; NULL: none */
    struct field_strs require; /* or lines of one */
    const char *package;       /* the folder that holds `determined`; NULL: none */
    const char *code;          /* a sum of the task's files; NULL: there are none */
    struct field_strs gpus;    /* by name */
};

/* Returns only when it failed: the exit code. `argv` ends with NULL. */
int enter_run(const struct enter_options *options, const char *const *argv);

/* What `failure` holds. */
struct enter_failure {
    const char *sentence;
    int64_t code;  /* with which it exited */
    bool is_final; /* whoever tries again will fail again */
};
extern const struct field enter_failure_fields[];

#endif
