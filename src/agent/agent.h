/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - one machine's slots in the service of a master.
 *
 * The agent says hello with its slots and the tasks it has, fetches commands by a long
 * poll, starts a supervisor for each task (task/supervisor.h) and reports those that
 * ended without being able to do so themselves.  It keeps nothing in memory that its
 * directory does not say: it may die at any time, the tasks run on, and the next agent
 * in the same directory finds them by their locks.
 *
 *   DATA/lock             held while an agent works here
 *   DATA/instance         what tells this agent from others of its name
 *   DATA/tasks/A-R/       share R of allocation A (task/place.h)
 *
 * Three lanes: one talks to the master and obeys, one looks after the tasks every second
 * (locks are polled: a supervisor is nobody's child, so that no wait(2) tells), one
 * removes checkpoints when the master says so (cleaner.h). */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agent;
struct exec;
struct io;
struct net;

struct agent_config {
    struct io *io;
    struct exec *exec;
    struct net *net;
    const char *master_url;
    const char *id;
    int64_t slots;             /* CPU slots; -1: detect */
    const char *resource_pool; /* NULL: the master's default */
    const char *data_dir;      /* its own; made when it is not there */
    const char *token;         /* of agents */
    const char *program;       /* path of the executable with `task run DIR` */
};

/* Borrows io, executor and network, copies the strings, and begins.  DET_BUSY: another
 * agent works in that directory. */
det_status agent_new(const struct agent_config *config, struct agent **ret_agent,
                     struct err *err);

/* From any thread; returns at once.  Graceful: signs off, tells the tasks to end
 * (SIGTERM, SIGKILL after 10 s) and waits for them; otherwise they run on for the next
 * agent. */
void agent_stop(struct agent *agent, bool is_graceful);

/* Until the agent has ended: DET_OK after agent_stop(), else why the master does not
 * want it.  False of gate_wait() is DET_TIMEOUT; `deadline_us` 0: none. */
det_status agent_wait(struct agent *agent, int64_t deadline_us, struct err *err);

/* Stops it, not gracefully, if need be.  NULL does nothing. */
void agent_free(struct agent *agent);

#endif
