/* SPDX-License-Identifier: Apache-2.0 */
/* master_impl.h - the parts of the master, for its own files. */
#ifndef MASTER_MASTER_IMPL_H
#define MASTER_MASTER_IMPL_H

#include "base/memory/allowance.h"
#include "base/memory/arena.h"
#include "base/thread/executor.h"
#include "core/core.h"
#include "master/master.h"
#include "net/peer/forwarded.h"

struct agents;
struct auth;
struct changes;
struct collector;
struct rendezvous;
struct heart;
struct janitor;
struct net_server;
struct pacer;
struct log_policies;
struct log_tail;
struct meters;
struct login_limit;
struct proxy_activity;
struct signin;
struct store;
struct waits;

struct master {
    struct arena mem; /* lives as long as the master */
    struct io *io;
    struct io *storage; /* where checkpoints are read */
    struct executor *exec;
    struct net *net;
    const struct json *config;
    const char *data_dir;
    const char *checkpoint_directory;       /* if the configuration names none */
    const char *initial_password;           /* NULL: as the configuration says */
    _Atomic int64_t certificate_expires_us; /* 0: not known, or plain HTTP */
    bool is_root; /* this process may read and write every file */
    const char *host;
    uint16_t port; /* as configured; 0: any free port */
    uint32_t http_threads;
    struct net_ranges trusted_proxies;
    struct allowance memory; /* for requests: bodies, what is made of them, replies */
    struct allowance open_memory; /* for the bodies of anonymous callers */
    struct allowance life_memory; /* for signs of life, whatever their owners do */
    size_t batch_memory;          /* for the effects of one batch of events (heart.c) */
    const char *cluster_id;
    const char *cluster_name;
    const char *id;       /* of this start: the epoch of agents' command sequences */
    const char *short_id; /* its beginning: the first part of a request's id */
    const char *agent_token_path;
    struct core_config core_config;
    void (*on_fatal)(void *arg, const char *sentence);
    void (*on_link)(void *arg);
    void *fatal_arg; /* of both */

    struct lane *workers; /* users' calls, by turns (request/dispatch.c) */
    struct lane *life;    /* signs of life of agents and supervisors */
    struct lane *heavy;   /* configurations and files, by turns */
    struct lane *logins;
    struct lane *slow_logins; /* of doubtful addresses (login_limit.h) */
    struct login_limit *login_limit;
    struct work warming;  /* loads the table of experiments when a page is opened */
    struct work trimming; /* gives memory back to the system */
    struct lane *chores;  /* the janitor's: files may take long to remove */
    struct lane *files;   /* reads downloads: the storage may be slow */
    struct store *store;
    struct waits *waits;
    struct changes *changes; /* the pacer's */
    struct pacer *pacer;
    struct auth *auth;
    struct signin *signin;
    struct agents *agents;
    struct rendezvous *rendezvous;
    struct log_policies *log_policies;
    struct proxy_activity *proxy_activity;
    struct heart *heart;
    struct janitor *janitor;
    struct collector *collector;
    struct net_server *server;
    const char *cert_file; /* NULL: plain HTTP */
    const char *key_file;
    bool is_self_signed;
    bool is_loopback; /* it listens only on this machine; see also master_is_shared() */
    bool is_rbac;     /* security.authz.type is rbac (wire/rights.h) */
    bool enables_cors; /* pages of other sites may call (request/origin_guard.c) */
    uint32_t metric_names_most; /* max_metric_names of the configuration */
    int64_t media_bytes_most;   /* max_media_bytes of it */
    _Atomic bool is_read_only;  /* see master_set_read_only() */

    struct log_tail *log; /* NULL: no lines are kept */
    struct meters *meters;
    _Atomic uint64_t requests;   /* so far: the second part of a request's id */
    _Atomic int64_t slow_second; /* of the last slow request */
    _Atomic uint32_t slow_lines; /* logged in it */
    int64_t slow_request_us;     /* log.slow_request_ms; 0: never */
    int64_t started_us;          /* wall clock */

    _Atomic bool is_ready; /* before that, requests are answered with DET_BUSY */
    _Atomic int64_t open_requests;
    _Atomic bool is_stopping; /* requests no longer wait */
    struct gate *drained;     /* opened by the last request while stopping */
};

static inline int64_t master_now_us(const struct master *master)
{
    return clock_wall_us(executor_clock(master->exec));
}

/* For deadlines and pauses. */
static inline int64_t master_mono_us(const struct master *master)
{
    return clock_mono_us(executor_clock(master->exec));
}

#endif
