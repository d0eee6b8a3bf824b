/* SPDX-License-Identifier: Apache-2.0 */
/* task_start.h - from a START command to the first instruction of the user's program.
 *
 * The whole way, with the function that takes each step:
 *
 * master
 *   effects_carry_out()      master/heart/effects.c   EFFECT_START
 *   agents_send()            master/rm/agents.c       a command for the agent
 *   spec_write()             master/rm/spec.c         what to run
 * agent
 *   poll_commands(), obey()  agent/agent.c            the long poll brings it
 *   tasks_start()            agent/tasks.c            makes the task directory, writes
 *                                                     spec.json, executes
 *                                                     `det task run DIR`
 * supervisor
 *   supervisor_run()         agent/task/supervisor.c  lock, log, spools, lanes
 *   run_lifecycle()          agent/task/lifecycle.c   runs start_steps[] below
 *   task_start_entrypoint()  task_start.c             builds the command ...
 *   child_start()            prepare/child.c          ... fork, exec
 * the task
 *   enter_run()              agent/env/enter.c        `det task enter`: the Python
 *                                                     environment, then exec
 *   main()                                            the user's program
 *
 * task_start.c holds the supervisor's part of it in the order in which it happens.
 * Threading: the steps run on the lifecycle's lane, task_start_entrypoint() on the
 * loop's thread after them. */
#ifndef AGENT_TASK_PREPARE_TASK_START_H
#define AGENT_TASK_PREPARE_TASK_START_H

#include "agent/privileged.h"
#include "agent/task/prepare/identity.h"
#include "base/err.h"
#include "base/memory/arena.h"
#include "data/sha256.h"

struct child;
struct io;
struct master_link;
struct task_spec;

struct task_start {
    struct io *io;
    struct master_link *link;
    const struct task_spec *spec;
    const char *dir;     /* the task directory */
    const char *program; /* this executable */

    struct arena mem;              /* of the steps */
    struct identity user;          /* who runs the program; in `mem` */
    struct privileged_view *view;  /* what it sees; in `mem`; NULL: what we see */
    struct privileged_group group; /* which it is in; fd -1: none */
    const char *note;              /* for its log; NULL: none */
    bool is_lacking;               /* what failed last, failed for want of resources */
    char code[SHA256_TEXT]; /* checksum of the files that were unpacked; "": none */
};

typedef det_status start_step_fn(struct task_start *start, struct err *err);

/* Either tells the master this state, or does something. */
struct start_step {
    const char *state;
    start_step_fn *run;
};

enum { START_STEPS = 7 };
extern const struct start_step start_steps[START_STEPS];

/* After the steps.  Executes the program; memory of the command is in `mem`.  Statuses
 * as child_start(). */
det_status task_start_entrypoint(struct task_start *start, struct arena *mem,
                                 struct child *ret_child, struct err *err);

/* After the program's end: `det task keep` for the files `paths`, which end with NULL, of
 * its working directory, as the same user, with the same view and limits. */
det_status task_start_keeper(struct task_start *start, const char *const *paths,
                             struct arena *mem, struct child *ret_child,
                             struct err *err);

#endif
