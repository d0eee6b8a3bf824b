/* SPDX-License-Identifier: Apache-2.0 */
/* roles.h - the roles of the one program: each runs until it is told to stop and
 * returns the exit code. */
#ifndef MAIN_ROLES_H
#define MAIN_ROLES_H

#include <stdbool.h>

#include "base/err.h"

struct agent_run_options;
struct arena;
struct serve_options;
struct stop_options;

/* `det serve` (with an agent) and `det master run` (without). */
int role_serve(const struct serve_options *options);
/* `master` NULL: the local one. */
int role_agent(const char *master, const struct agent_run_options *options);
int role_stop(const struct stop_options *options);

/* ---- shared by the roles ------------------------------------------------------------
 */

/* The path of this program, in `mem`. */
det_status program_path(struct arena *mem, const char **ret_path, struct err *err);
/* `given`, made absolute, or the default, which may not be there.  DET_INVALID: it is
 * there, and no folder. */
det_status find_data_dir(const char *given, struct arena *mem, const char **ret_path,
                         bool *ret_is_there, struct err *err);
/* The same; made when it is not there. */
det_status open_data_dir(const char *given, struct arena *mem, const char **ret_path,
                         struct err *err);
/* Prints the sentence on stderr; gives the exit code. */
int complain(det_status status, const struct err *err);

/* The agent that serves the master of `data_dir`: its directory, and the process whose
 * lock is held there (0: none). */
const char *local_agent_dir(struct arena *mem, const char *data_dir);
int local_agent_pid(const char *agent_dir);
/* What local_agent_pid() gives while the lock is held by a process that has not said
 * its number yet. */
enum { AGENT_UNKNOWN = -1 };
/* Writes DIR/agent.json: pid and master of the agent that works there. */
det_status local_agent_note(const char *agent_dir, const char *master_url,
                            struct err *err);
/* The master that agent was told; NULL: unknown. */
const char *local_agent_master(struct arena *mem, const char *agent_dir);
/* SIGTERM, and wait until the process is gone; false: it would not go. */
bool end_process(int pid, int most_seconds);

#endif
