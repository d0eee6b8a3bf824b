/* SPDX-License-Identifier: Apache-2.0 */
/* local_agent.h - the agent that `det serve` runs beside its master.
 *
 * DATA_DIR/agent is its directory.  While it runs it holds the lock there, and
 * agent.json names its process and its master. */
#ifndef MAIN_LOCAL_AGENT_H
#define MAIN_LOCAL_AGENT_H

#include "base/err.h"

struct arena;

const char *local_agent_dir(struct arena *mem, const char *data_dir);
/* The process that holds the lock; 0: none; AGENT_UNKNOWN: it has not written its number
 * yet. */
int local_agent_pid(const char *agent_dir);
enum { AGENT_UNKNOWN = -1 };
/* Writes agent.json for this process. */
det_status local_agent_note(const char *agent_dir, const char *master_url,
                            struct err *err);
/* The address of its master, from agent.json; NULL: unknown. */
const char *local_agent_master(struct arena *mem, const char *agent_dir);

#endif
