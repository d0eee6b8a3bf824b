/* SPDX-License-Identifier: Apache-2.0 */
/* master_impl.h - what the files of the master share. */
#ifndef MASTER_MASTER_IMPL_H
#define MASTER_MASTER_IMPL_H

#include "base/arena.h"
#include "base/task.h"
#include "config/config.h"
#include "core/core.h"
#include "master/master.h"

struct agents;
struct auth;
struct changes;
struct collector;
struct db;
struct gathers;
struct heart;
struct janitor;
struct net_server;
struct pacer;
struct policies;
struct proxies;
struct store;
struct waits;

struct master {
    struct arena mem; /* what lives as long as the master */
    struct io *io;
    struct io *storage; /* checkpoints are read there */
    struct exec *exec;
    struct net *net;
    const struct json *config;
    const char *data_dir;
    const char *checkpoint_directory; /* where the configuration names none */
    const char *host;
    uint16_t port; /* asked for; 0: a free one */
    uint32_t http_threads;
    const char *cluster_id;
    const char *cluster_name;
    const char *id; /* of this start: the epoch of agents' command sequences */
    const char *agent_token_path;
    struct core_config core_config;
    void (*on_fatal)(void *arg, const char *sentence);
    void *fatal_arg;

    struct lane *workers;
    struct lane *logins;
    struct task warming; /* the table of experiments, when a page is opened */
    struct lane *chores; /* the janitor's: files may take long to remove */
    struct lane *files;  /* reads what people download: a storage may be slow */
    struct store *store;
    struct waits *waits;
    struct changes *changes; /* the pacer's */
    struct pacer *pacer;
    struct auth *auth;
    struct agents *agents;
    struct gathers *gathers;
    struct policies *policies;
    struct proxies *proxies;
    struct heart *heart;
    struct janitor *janitor;
    struct collector *collector;
    struct net_server *server;
    bool is_loopback;          /* it listens on this machine only */
    _Atomic bool is_read_only; /* see master_set_read_only() */

    _Atomic bool is_ready; /* until then requests are turned away */
    _Atomic int64_t open_requests;
    _Atomic bool is_stopping; /* nobody waits any more */
    struct gate *drained;     /* opened by the last request, once stopping */
};

static inline int64_t master_now_us(const struct master *master)
{
    return clock_wall_us(exec_clock(master->exec));
}

/* For deadlines and pauses. */
static inline int64_t master_mono_us(const struct master *master)
{
    return clock_mono_us(exec_clock(master->exec));
}

/* The key that followers of a task's log wait on, and pollers of an allocation; in
 * `mem`. */
const char *wait_key_task(struct arena *mem, const char *task_id);
const char *wait_key_allocation(struct arena *mem, const char *name);

#endif
