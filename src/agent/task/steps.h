/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - what a supervisor has to say to the master, and to fetch from it, in order:
 *
 *   PULLING -> who -> context -> STARTING -> rendezvous -> handing over
 *           -> (ready) -> RUNNING -> (ended) -> exit
 *
 * The steps run on a lane of their own, one after the other, each again and again while
 * the master is away.  In brackets they wait for the supervisor's loop, which is woken
 * whenever something here has changed.
 *
 * What the run runs on (env/enter.h) is told as soon as it is known, and before the
 * exit at the latest.
 *
 * While the task runs the master is called every few seconds, as often as it says: our
 * word keeps this machine's tasks when its agent is away, and the answer tells us what
 * the agent cannot, that the run is over or must end.
 *
 * Threading: the functions are for the loop's thread. */
#ifndef AGENT_TASK_STEPS_H
#define AGENT_TASK_STEPS_H

#include <stdbool.h>

#include "base/err.h"

struct exec;
struct identity;
struct io;
struct lane;
struct steps;
struct talk;
struct task_exit;
struct task_spec;

struct steps_config {
    struct exec *exec;
    struct lane *lane; /* of width 1 */
    struct talk *talk;
    struct io *io;
    const struct task_spec *spec;
    const char *dir;
    void (*on_change)(void *arg); /* called on the lane */
    void *arg;
};

/* Borrows everything, and begins. */
det_status steps_new(const struct steps_config *config, struct steps **ret_steps,
                     struct err *err);
void steps_free(struct steps *steps); /* after its lane has stopped */

struct steps_view {
    bool is_ready;      /* the entrypoint may start */
    bool has_failed;    /* it cannot: `why` is the sentence */
    bool is_superseded; /* the master says that this run is over, or must end */
    bool is_over;       /* the exit was reported, or refused for good */
};
/* `ret_why` gets the sentence of a failure, if there is one. */
struct steps_view steps_look(struct steps *steps, struct err *ret_why);

/* Who is to run the entrypoint, once it may start; borrowed. */
const struct identity *steps_who(const struct steps *steps);
/* A sum of the files that were unpacked, likewise; "": there were none. */
const char *steps_code(const struct steps *steps);

/* No preparation any more: what is under way is broken off and counts as failed. */
void steps_stop(struct steps *steps);
/* The entrypoint runs. */
void steps_running(struct steps *steps);
/* It ended (copied); nothing comes after this. */
det_status steps_exit(struct steps *steps, const struct task_exit *exit,
                      struct err *err);
/* Do not wait for the rest of a pause. */
void steps_hurry(struct steps *steps);

#endif
