/* SPDX-License-Identifier: Apache-2.0 */
/* agents.h - the agents as the shell sees them: commands on their way, signs of life.
 *
 * An agent fetches its commands by a long poll after the last sequence number it has
 * seen; what it acknowledges that way is forgotten.  Commands are derived from the
 * heart (again after a restart of the master) and may arrive twice: they are keyed by
 * allocation and rank.  Sequence numbers belong to one start of the master, its
 * *epoch*.
 *
 * Signs of life: an agent with a poll outstanding is alive.  One whose connection
 * closes while it polls, that signs off, or that has not polled for SILENT_AFTER is
 * reported to the heart as silent, and as heard when it comes back.  While it is silent
 * the supervisors of its tasks, which call by themselves every agents_beat_us(), speak
 * for its machine.
 *
 * Several agents may claim one name.  The heart lets one *instance* of them join at a
 * time (core/agent.c); only that one may fetch commands.
 *
 * Threading: everything from any thread; one lock inside. */
#ifndef MASTER_RM_AGENTS_H
#define MASTER_RM_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agents;
struct arena;
struct json_writer;
struct master;
struct share;

enum agent_command_kind { AGENT_START, AGENT_KILL, AGENT_CLEAN };

struct agent_command {
    int64_t seq;
    enum agent_command_kind kind;
    int64_t allocation_id; /* 0: `task` says it */
    int64_t rank;
    char task[160]; /* "<allocation>/<rank>", for tasks that are nobody's any more */
};

/* Knows the agents of the store: they have SILENT_AFTER to be heard. */
det_status agents_new(struct master *master, struct agents **ret_agents,
                      struct err *err);
/* Begins to watch for silence; after the heart is there. */
void agents_watch(struct agents *agents);
void agents_free(struct agents *agents);

bool agents_send(struct agents *agents, enum agent_command_kind kind,
                 const struct share *share);
bool agents_send_stray(struct agents *agents, const char *agent, const char *task);

/* There are files to remove: it asks for them.  Once, until it has heard it. */
void agents_send_clean(struct agents *agents, const char *agent);

/* Whether it polls, or has just done so. */
bool agents_is_there(struct agents *agents, const char *name);
/* Whether any agent is polling now. */
bool agents_are_there(struct agents *agents);
/* The heart took it: it is known from now on.  `instance` may be NULL. */
det_status agents_joined(struct agents *agents, const char *name, const char *instance,
                         struct err *err);
/* The heart has given it up: it must join again. */
void agents_lost(struct agents *agents, const char *name);
/* DET_NOT_FOUND: it must join (again).  DET_EXISTS: another instance of that name has
 * joined since. */
det_status agents_poll_began(struct agents *agents, const char *name,
                             const char *instance, struct err *err);
/* `is_gone`: the connection was closed. */
void agents_poll_ended(struct agents *agents, const char *name, bool is_gone);
/* It ends by itself and wants no more work. */
void agents_left(struct agents *agents, const char *name, const char *instance);

/* A supervisor of one of its tasks called. */
void agents_task_heard(struct agents *agents, const char *name);
/* How often they shall. */
int64_t agents_beat_us(const struct agents *agents);
/* Forgets commands up to `after`; gives those behind it, in `mem`. */
det_status agents_commands(struct agents *agents, const char *name, int64_t after,
                           struct arena *mem, struct agent_command **ret_commands,
                           uint32_t *ret_count, struct err *err);

/* What an agent needs to start a share. */
struct db;
det_status spec_write(struct master *master, struct db *db, int64_t allocation_id,
                      int64_t rank, struct json_writer *w, struct err *err);

#endif
