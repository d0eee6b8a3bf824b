/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle.h - reports one run of a task to the master, from PULLING to its exit:
 *
 *   start_steps[] (task_start.h) -> (ready) -> RUNNING -> (ended) -> exit
 *
 * The steps run on a lane of their own, in order; each is repeated while the master is
 * away.  In brackets the lifecycle waits for the supervisor's loop, which it wakes
 * after every change.
 *
 * While the task runs, the lifecycle tells the master every few seconds that the task
 * is alive; the master says how often.  That keeps the machine's tasks while its agent
 * is away.  The reply tells what the agent cannot: that the run is over, or must end.
 * The record of what the run runs on (env/enter.h) is sent as soon as it exists, at the
 * latest before the exit.
 *
 * Threading: the functions are for the loop's thread. */
#ifndef AGENT_TASK_LIFECYCLE_H
#define AGENT_TASK_LIFECYCLE_H

#include <stdbool.h>

#include "base/err.h"

struct executor;
struct lane;
struct lifecycle;
struct task_exit;
struct task_start;

struct lifecycle_config {
    struct executor *exec;
    struct lane *lane;            /* of width 1 */
    struct task_start *start;     /* the lane's until view.is_ready */
    void (*on_change)(void *arg); /* called on the lane */
    void *arg;
};

/* Borrows everything, and begins. */
det_status lifecycle_new(const struct lifecycle_config *config,
                         struct lifecycle **ret_lifecycle, struct err *err);
void lifecycle_free(struct lifecycle *lifecycle); /* after its lane has stopped */

struct lifecycle_view {
    bool is_ready;      /* the entrypoint may start */
    bool has_failed;    /* it cannot: `why` is the sentence */
    bool is_superseded; /* the master says that this run is over, or must end */
    bool is_over;       /* the exit was reported, or refused for good */
};
/* `ret_why` gets the sentence of a failure, if there is one. */
struct lifecycle_view lifecycle_look(struct lifecycle *lifecycle, struct err *ret_why);

/* Ends the preparation: the call under way is interrupted and counts as failed. */
void lifecycle_stop(struct lifecycle *lifecycle);
/* The entrypoint runs. */
void lifecycle_set_running(struct lifecycle *lifecycle);
/* It ended (copied); nothing comes after this. */
det_status lifecycle_set_exit(struct lifecycle *lifecycle, const struct task_exit *exit,
                              struct err *err);
/* Ends a pause before the next attempt. */
void lifecycle_hurry(struct lifecycle *lifecycle);

#endif
