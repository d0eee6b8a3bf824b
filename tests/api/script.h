/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - an agent and its task processes, played by the test.
 *
 * It says hello, fetches commands by the long poll and answers them as agents and
 * supervisors do; nothing runs.  The test fails if an expected command does not come.
 */
#ifndef TESTS_API_SCRIPT_H
#define TESTS_API_SCRIPT_H

#include "tests/api/harness.h"

enum { AGENT_COMMANDS = 64 };

struct command {
    bool is_start;
    const char *allocation;
    int64_t rank;
    struct json *spec; /* of a START */
};

struct agent {
    struct bed *bed;
    const char *name;
    int slots;
    const char *pool;
    const char *epoch;
    int64_t after; /* the last command seen */
    struct command queue[AGENT_COMMANDS];
    int queued;
    const char *started[AGENT_COMMANDS]; /* allocations: STARTs may come twice */
    int start_count;
    bool is_cleaning; /* it was told that there are files to remove */
};

/* One process of an allocation. */
struct share {
    struct bed *bed;
    struct agent *agent;
    const char *allocation;
    int64_t rank;
    struct json *spec;
    const char *task; /* tokens */
    const char *supervisor;
    const char *owner;
    const char *task_id;
    const char *container;
    int64_t experiment;
    int64_t trial;
    int64_t run;
    int64_t logged; /* bytes of its standard output that the master has */
};

/* Joins with `slots` devices and nothing running. */
void agent_join(struct agent *agent, struct bed *bed, const char *name, int slots);
/* Says hello again; `tasks` is a JSON list of "allocation/rank". */
void agent_hello(struct agent *agent, const char *tasks);
/* The next command; waits for it. */
struct command agent_next(struct agent *agent);
/* Whether no command is waiting for it. */
bool agent_is_idle(struct agent *agent);

/* Waits to be told to clean, and asks what: {"removals": [...], "sweeps": [...]}. */
struct json *agent_removals(struct agent *agent);
/* Does that too: removes the files and says so; `error` NULL: it went well. */
void agent_clean(struct agent *agent, const char *error);

/* The next command is a START (but for those obeyed before): the share, its process not
 * yet running. */
struct share agent_start(struct agent *agent);
/* The same, and it runs. */
struct share agent_run(struct agent *agent);
/* The next command is the KILL of that share. */
void share_await_kill(struct share *share);

/* Speak as this share from now on (TASK, OWNER) and keep ${share.trial}, .run,
 * .allocation, .task_id, .container and .experiment. */
void share_speak(struct share *share);
const char *share_env(const struct share *share, const char *name); /* NULL: not set */

void share_state(struct share *share, const char *state, int status);
void share_exit(struct share *share, const char *exit, int code);
/* A line of its standard output; its offset follows the last one. */
void share_log(struct share *share, const char *text);
void share_report(struct share *share, const char *group, int64_t steps,
                  const char *metrics, int status);
void share_checkpoint(struct share *share, const char *uuid, int64_t steps);
bool share_is_preempted(struct share *share, int timeout_s);
void share_acknowledge(struct share *share);

/* Creates and activates; its id. */
int64_t create(struct bed *bed, const char *config);
/* Waits until it is so: "COMPLETED" etc. */
void await_experiment(struct bed *bed, int64_t id, const char *state);
void await_trial(struct bed *bed, int64_t id, const char *state);

#endif
