/* SPDX-License-Identifier: Apache-2.0 */
/* enter.h - the first program of every task: it makes the task's environment, records
 * it, and executes the entrypoint.
 *
 * It runs as the task's own process, as the task's user, with the task's variables and
 * output.  So everything that a build executes has the task's rights only, its output
 * is in the task's log, and it ends with the task.
 *
 * The record (machine.h, the interpreter and its packages) is in `record` when
 * complete.  If the interpreter must be asked, a detached process asks it beside the
 * entrypoint: no task waits for that, and none finds a child it did not start.  Until
 * then there is RECORD.part, which lacks the packages. */
#ifndef AGENT_ENV_ENTER_H
#define AGENT_ENV_ENTER_H

#include "model/field.h"

#define ENTER_PART ".part"

struct enter_options {
    const char *envs;          /* the folder of environments; must exist */
    const char *record;        /* the file to write */
    const char *failure;       /* written if the entrypoint cannot be executed */
    const char *python;        /* an interpreter; NULL: python3 */
    const char *requirements;  /* a file in the current folder; NULL: none */
    struct field_strs require; /* or lines of one */
    const char *package;       /* the folder that holds `determined`; NULL: none */
    const char *code;          /* a checksum of the task's files; NULL: no files */
    struct field_strs gpus;    /* by name */
};

/* Returns only on failure, with the exit code.  `argv` ends with NULL. */
int enter_run(const struct enter_options *options, const char *const *argv);

/* The content of the file `failure`. */
struct enter_failure {
    const char *sentence;
    int64_t code;    /* with which it exited */
    bool is_final;   /* a retry would fail again */
    bool is_lacking; /* its machine lacks resources */
};
extern const struct field enter_failure_fields[];

#endif
