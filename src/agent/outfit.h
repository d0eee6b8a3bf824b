/* SPDX-License-Identifier: Apache-2.0 */
/* outfit.h - what an agent tells of its machine: to the master in its hello, and to
 * each task in variables of its own. */
#ifndef AGENT_OUTFIT_H
#define AGENT_OUTFIT_H

#include "agent/slots.h"
#include "agent/talk.h"
#include "base/err.h"

struct arena;
struct json;
struct json_writer;

struct outfit {
    const char *agent_id;
    const char *cluster_id;
    const char *master_id;
    const char *envs; /* where environments are; NULL: nowhere */
    struct talk_address master;
    struct slots slots;
};

/* Where other nodes reach this one: the loopback address when the master is there too,
 * else the addresses of its interfaces. */
void outfit_write_addresses(struct json_writer *w, const char *key,
                            const struct outfit *outfit);

/* Adds to the spec of a START command: the variables that are the agent's to set, where
 * the master did not, the master's address, the uuids and names of its GPUs and where
 * environments are.  In place; new nodes in `mem`. */
det_status outfit_complete(const struct outfit *outfit, struct json *spec,
                           struct arena *mem, struct err *err);

#endif
