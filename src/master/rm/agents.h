/* SPDX-License-Identifier: Apache-2.0 */
/* agents.h - the connections to agents: commands under way and signs of life.
 *
 * An agent fetches its commands by a long poll that names the last sequence number it has
 * seen; commands up to that number are dropped.  Commands are derived from the heart, again
 * after a restart of the master, and may arrive twice: allocation and rank identify them.
 * Sequence numbers belong to one start of the master, its *epoch*.
 *
 * Signs of life: an agent with an open poll is alive.  It is reported to the heart as silent
 * if its connection closes during a poll, if it signs off, or if it has not polled for
 * SILENT_AFTER_US; and as heard when it is back.  While it is silent, the supervisors of its
 * tasks, which call every agents_beat_us(), prove that its machine is alive.
 *
 * Several agents may claim one name.  The heart lets one *instance* join at a time
 * (core/agent.c); only that one may fetch commands.
 *
 * Threading: everything from any thread; one lock inside. */
#ifndef MASTER_RM_AGENTS_H
#define MASTER_RM_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agents;
struct arena;
struct master;
struct share;

enum agent_command_kind { AGENT_START, AGENT_KILL, AGENT_CLEAN };

struct agent_command {
    int64_t seq;
    enum agent_command_kind kind;
    int64_t allocation_id; /* 0: see `task` */
    int64_t rank;
    char task[160]; /* "<allocation>/<rank>" of an orphan task */
};

/* Loads the agents of the store; they have SILENT_AFTER_US to call. */
det_status agents_new(struct master *master, struct agents **ret_agents,
                      struct err *err);
/* Starts to watch for silent agents; only after heart_new(). */
void agents_watch(struct agents *agents);
void agents_free(struct agents *agents);

/* Queue a command; false: no memory. */
bool agents_send(struct agents *agents, enum agent_command_kind kind,
                 const struct share *share);
/* Kills an orphan task. */
bool agents_send_stray(struct agents *agents, const char *agent, const char *task);

/* Tells the agent that there are files to remove.  Does nothing if such a command is still
 * queued. */
void agents_send_clean(struct agents *agents, const char *agent);

/* Whether the agent polls, or did so within SILENT_AFTER_US. */
bool agents_is_there(struct agents *agents, const char *name);
/* Whether any agent is polling now. */
bool agents_are_there(struct agents *agents);
/* The heart has let the agent join.  `instance` may be NULL. */
det_status agents_joined(struct agents *agents, const char *name, const char *instance,
                         struct err *err);
/* The heart has given the agent up: it must join again. */
void agents_lost(struct agents *agents, const char *name);
/* DET_NOT_FOUND: the agent must join (again).  DET_EXISTS: another instance of that name
 * has joined since. */
det_status agents_poll_began(struct agents *agents, const char *name,
                             const char *instance, struct err *err);
/* `is_gone`: the connection was closed. */
void agents_poll_ended(struct agents *agents, const char *name, bool is_gone);
/* The agent signs off. */
void agents_left(struct agents *agents, const char *name, const char *instance);

/* How an agent is doing; unknown numbers are -1. */
struct agent_sign {
    int64_t quiet_us; /* since its last sign of life; 0: it is polling */
    int64_t disk_free_bytes;
    int64_t clock_ahead_us; /* of the master's; negative: behind */
};
void agents_look(struct agents *agents, const char *name, struct agent_sign *ret_sign);
/* What the agent says of its disk and its clock; 0: nothing. */
void agents_note_machine(struct agents *agents, const char *name, int64_t free_bytes,
                         int64_t clock_us);

/* A supervisor of one of the agent's tasks called. */
void agents_task_heard(struct agents *agents, const char *name);
/* How often supervisors call. */
int64_t agents_beat_us(const struct agents *agents);
/* Drops the commands up to `after`; returns the later ones, in `mem`. */
det_status agents_commands(struct agents *agents, const char *name, int64_t after,
                           struct arena *mem, struct agent_command **ret_commands,
                           uint32_t *ret_count, struct err *err);

#endif
