/* SPDX-License-Identifier: Apache-2.0 */
/* machine_facts.h - facts about the agent's machine: for the master in the hello, and
 * for tasks as variables. */
#ifndef AGENT_MACHINE_FACTS_H
#define AGENT_MACHINE_FACTS_H

#include "agent/master_link.h"
#include "agent/slots.h"
#include "base/err.h"

struct arena;
struct json;
struct json_writer;

struct machine_facts {
    const char *agent_id;
    const char *cluster_id;
    const char *master_id;
    const char *envs; /* where environments are; NULL: nowhere */
    struct master_link_address master;
    const char *cert_file; /* by which it is known; NULL: the machine's authorities */
    const char *cert_name;
    struct slots slots;
    const struct json *config; /* of the agent, for its proxies; NULL: none */
};

/* The addresses at which other nodes reach this one: loopback if the master is there
 * too, else those of its interfaces. */
void machine_facts_write_addresses(struct json_writer *w, const char *key,
                                   const struct machine_facts *facts);

/* Adds to the spec of a START command what only the agent knows: its variables
 * (unless the master set them), the master's address, uuids and names of its GPUs,
 * the folder of environments.  In place; new nodes are in `mem`. */
det_status machine_facts_complete(const struct machine_facts *facts, struct json *spec,
                                  struct arena *mem, struct err *err);

#endif
