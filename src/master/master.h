/* SPDX-License-Identifier: Apache-2.0 */
/* master.h - the shell around the heart: HTTP in, events and rows out.
 *
 *   net --exchange--> worker lane: route, authentication, handler
 *                        |                  |
 *                 read the store      event to the heart lane --> writer lane
 *                        |                  |                        |
 *                   answer now         actions, answer <--- commit --+
 *
 * Lanes: `worker` and `heavy` (configurations and files) run handlers, and users take turns
 * there; `life` runs those by which agents and supervisors prove that they live, so that no
 * load makes them look dead; only `heart` touches the core; `writer` (the store's) commits;
 * `login` checks passwords, one at a time; `janitor` does background work; `files` reads
 * downloads; `signin` asks identity providers and directories.  Handlers never wait: a longer
 * step continues in another function when it is done (request.h).
 *
 * The master uses the outside world only through its io, exec and net.  The simulation runs
 * the same code on their twins. */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct executor;
struct io;
struct json;
struct log_tail;
struct master;
struct net;

struct master_config {
    struct io *io;
    struct io *storage; /* of checkpoints; NULL: `io` */
    struct executor *exec;
    struct net *net;
    const char *data_dir; /* exists; the caller holds its lock */
    const char *host;
    uint16_t port;
    /* TLS, with these PEM files; NULL: plain HTTP.  `is_self_signed`: browsers are not told
     * to insist on TLS later */
    const char *cert_file;
    const char *key_file;
    bool is_self_signed;
    uint32_t http_threads;        /* 0: one */
    const struct json *tree;      /* the complete master configuration; borrowed */
    const char *initial_password; /* for users without one, given by a person; NULL: as
                                     the configuration says */
    struct log_tail *log;   /* the last lines of the log (watch/log_tail.h); borrowed;
                                     NULL: none are kept */
    bool is_root;           /* see master/storage_roots.h */
    bool checks_invariants; /* see struct core_config; debug builds always do */
    void (*on_fatal)(void *arg, const char *sentence); /* the process must end now */
    /* a user was linked with a Unix identity (on a worker), or is at the start; NULL:
     * nobody wants to know */
    void (*on_link)(void *arg);
    void *arg; /* of both */
};

/* Copies the strings of `config`; opens nothing yet. */
det_status master_new(const struct master_config *config, struct master **ret_master,
                      struct err *err);
/* Opens or creates the store, binds the port, restores the heart and serves.
 * DET_STATE: an initial password was given, but every user has one.  DET_FORBIDDEN: `host` is not loopback and users still have blank passwords.  DET_EXISTS:
 * the port is in use.  After a failure only the functions below may be called. */
det_status master_start(struct master *master, struct err *err);
/* Makes the master read-only.  Existing sessions may still do everything; new ones are
 * refused.  Other callers need no session if they call from this machine as the user that
 * runs the master, or as root: they may read everything and change nothing. */
void master_set_read_only(struct master *master);
/* Whether people of other machines use it, perhaps through a proxy on this one: its tasks are
 * isolated. */
bool master_is_shared(const struct master *master);
/* Whether its disk is full: it serves what it has, and changes nothing until there is
 * room. */
bool master_is_full(const struct master *master);
/* Call it now and then: see store_look_at_disk(). */
void master_look_at_disk(struct master *master);
/* Stop in this order: master_stop() while the executor runs (refuses new calls, answers
 * waiting ones, lets the others end), then executor_free(), then master_free(). */
void master_stop(struct master *master);
void master_free(struct master *master);

/* Reads certificate and key again; after a failure the old ones stay. */
det_status master_reload_certificate(struct master *master, struct err *err);

/* Until when the certificate is valid, for clients that ask. */
void master_set_certificate(struct master *master, int64_t expires_us);

/* Whether an agent is connected. */
bool master_has_agent(const struct master *master);
uint16_t master_port(const struct master *master);
const char *master_cluster_id(const struct master *master);
const char *master_id(const struct master *master);
/* The file with the token that agents join with. */
const char *master_agent_token_path(const struct master *master);

#endif
