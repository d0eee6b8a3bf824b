/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - offers one machine's slots to a master.
 *
 * The agent says hello with its slots and tasks, fetches commands by a long poll,
 * starts a supervisor for each task (task/supervisor.h) and reports tasks whose
 * supervisor could not report their end.  Everything it knows is in its directory: it
 * may die at any time, the tasks run on, and the next agent in the same directory finds
 * them by their locks.
 *
 *   DATA/lock             held while an agent works here
 *   DATA/instance         tells this agent from others of its name
 *   DATA/tasks/A-R/       share R of allocation A (task/task_dir.h)
 *
 * Three lanes: one talks to the master and obeys; one looks after the tasks every
 * second (it polls their locks, because a supervisor is not its child and wait(2) does
 * not report it); one removes checkpoints when the master asks for it
 * (checkpoint_remover.h). */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define AGENT_LOCK "lock" /* in its data directory; see base/io/folder_lock.h */

struct agent;
struct executor;
struct io;
struct json;
struct net;

struct agent_config {
    struct io *io;
    struct executor *exec;
    struct net *net;
    const char *master_url;
    const char *cert_file; /* by which the master is known; see master_link_trust() */
    const char *cert_name;
    const char *id;
    int64_t slots;             /* CPU slots; -1: detect */
    const char *resource_pool; /* NULL: the master's default */
    const char *data_dir;      /* its own; created if missing */
    const char *token;         /* of agents */
    const char *token_file;    /* where it is; NULL: nowhere */
    const struct json *tree;   /* its configuration file; NULL: none; borrowed */
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

/* Waits until the agent has ended: DET_OK after agent_stop(), else why the master
 * refused it.  DET_TIMEOUT: not before `deadline_us` (0: no deadline). */
det_status agent_wait(struct agent *agent, int64_t deadline_us, struct err *err);

/* Stops it ungracefully if it still runs.  NULL does nothing. */
void agent_free(struct agent *agent);

#endif
