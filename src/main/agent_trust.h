/* SPDX-License-Identifier: Apache-2.0 */
/* agent_trust.h - by which certificate an agent knows its master.
 *
 * An agent is told: by a fingerprint, which comes with the token; by a file; or not at all,
 * and then the machine's authorities must vouch for the master.  A master that is not the
 * intended one is refused before the token is sent. */
#ifndef MAIN_AGENT_TRUST_H
#define MAIN_AGENT_TRUST_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

struct agent_config;
struct agent_run_options;
struct arena;
struct json;

struct agent_trust {
    const char *cert_file; /* absolute; "noverify": anybody */
    const char *name;
    const char *fingerprint;
};

/* The options, else the configuration file.  DET_INVALID: they contradict each other, or
 * the address is not https:// though an option is about TLS. */
det_status agent_trust_read(const struct agent_run_options *options,
                            const struct json *tree, const char *master_url,
                            struct arena *mem, struct agent_trust *ret_trust,
                            struct err *err);
/* Checks the master, and fills in `config` what the agent and its tasks need to know it.
 * With a fingerprint it waits until the master answers, for tasks need the certificate
 * itself; *ret_is_stopped: one of `signals`, which are blocked, came first.  Does nothing
 * for http://. */
det_status agent_trust_meet(const struct agent_trust *trust,
                            struct agent_config *config, const sigset_t *signals,
                            struct arena *mem, bool *ret_is_stopped, struct err *err);

#endif
