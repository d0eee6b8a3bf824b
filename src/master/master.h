/* SPDX-License-Identifier: Apache-2.0 */
/* master.h - the shell around the heart: HTTP in, events and rows out.
 *
 *   net --exchange--> worker lane: route, authentication, handler
 *                        |                  |
 *                 read the store      event to the heart lane --> writer lane
 *                        |                  |                        |
 *                   answer now         deeds, answer <----- commit --+
 *
 * Lanes: `workers` run handlers; `heart` owns the core and nothing else touches it;
 * `writer` (the store's) commits; `login` checks passwords, one at a time.  No handler
 * waits: what takes time continues in another function when it is done (request.h).
 *
 * The master reaches the world only through the io, exec and net it is given, so that
 * the simulation runs this very code on their twins. */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct exec;
struct io;
struct json;
struct master;
struct net;

struct master_config {
    struct io *io;
    struct io *storage; /* where checkpoints lie; NULL: `io` */
    struct exec *exec;
    struct net *net;
    const char
        *data_dir; /* exists, and nobody else uses it (the caller holds its lock) */
    const char *host;
    uint16_t port;
    uint32_t http_threads;   /* 0: one */
    const struct json *tree; /* the complete master configuration; borrowed */
    void (*on_fatal)(void *arg, const char *sentence); /* the process must end now */
    void *arg;
};

/* Copies the strings of `config`; nothing happens yet. */
det_status master_new(const struct master_config *config, struct master **ret_master,
                      struct err *err);
/* Opens or makes the store, takes the port, restores the heart, serves.  DET_FORBIDDEN:
 * `host` is not loopback and the users still have blank passwords.  DET_EXISTS: the
 * port is taken.  After a failure it is only good for being taken down, as below. */
det_status master_start(struct master *master, struct err *err);
/* From now on it only shows: whoever has opened a session before may do everything, and
 * nobody opens another; all others on this machine whose sockets belong to the user
 * that runs it, or to root, may look at everything without one, and change nothing. */
void master_set_read_only(struct master *master);
/* In this order: master_stop() while the executor runs (takes no more calls, answers
 * those that wait, lets the others end), then exec_free(), then master_free(). */
void master_stop(struct master *master);
void master_free(struct master *master);

/* Whether an agent is there to take tasks. */
bool master_has_agent(const struct master *master);
uint16_t master_port(const struct master *master);
const char *master_cluster_id(const struct master *master);
const char *master_id(const struct master *master);
/* The file with the token that agents join with. */
const char *master_agent_token_path(const struct master *master);

#endif
