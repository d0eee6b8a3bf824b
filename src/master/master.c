/* SPDX-License-Identifier: Apache-2.0 */
/* master.c - puts the master together, in the order in which its parts stand on one
 * another, and takes it apart in the reverse order. */
#include "master/master.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/json.h"
#include "master/auth.h"
#include "master/collector.h"
#include "master/gather.h"
#include "master/guard.h"
#include "master/heart.h"
#include "master/janitor.h"
#include "master/master_impl.h"
#include "master/pacer.h"
#include "master/policies.h"
#include "master/proxies.h"
#include "master/request.h"
#include "master/rm/agents.h"
#include "master/tell.h"
#include "net/net.h"
#include "store/roster.h"
#include "store/store.h"
#include "store/views.h"

enum {
    WORKERS = 3,
    FILE_READERS = 2,
    READERS = WORKERS + 2, /* the heart and the login lane read too */
    MAX_BODY = 192 << 20,  /* 128 MB of files in base64 */
    MAX_CONNECTIONS = 16384,
    MASTER_MEMORY = 1 << 20,
    STOP_US = 5 * 1000000, /* for calls that are being worked on */
};

const char *wait_key_task(struct arena *mem, const char *task_id)
{
    return arena_printf(mem, "task %s", task_id);
}

const char *wait_key_allocation(struct arena *mem, const char *name)
{
    return arena_printf(mem, "allocation %s", name);
}

/* ---- what the heart asks for ----------------------------------------------------- */

static bool deed_start(void *arg, const struct share *share)
{
    struct master *master = arg;

    return agents_send(master->agents, AGENT_START, share);
}

static bool deed_kill(void *arg, const struct share *share)
{
    struct master *master = arg;

    return agents_send(master->agents, AGENT_KILL, share);
}

static bool deed_kill_stray(void *arg, const char *agent, const char *task)
{
    struct master *master = arg;

    return agents_send_stray(master->agents, agent, task);
}

static void deed_agent_lost(void *arg, const char *agent)
{
    struct master *master = arg;

    agents_lost(master->agents, agent);
}

static void drop_meetings(struct master *master, const char *allocation)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    const char *prefix = arena_printf(&mem, "%s ", allocation); /* ...1 is not ...12 */

    if (prefix)
        gathers_drop(master->gathers, prefix);
}

/* Wakes whoever polls an allocation; its name comes from the store. */
static void wake_allocation(struct master *master, int64_t id, bool is_over)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    struct db *db;
    const char *name, *key;

    if (store_reader_take(master->store, &db, NULL))
        return; /* pollers look again at their deadline */
    if (!store_allocation_name(db, id, &mem, &name, NULL)) {
        key = wait_key_allocation(&mem, name);
        if (key)
            waits_wake(master->waits, key);
        if (is_over)
            drop_meetings(master, name);
    }
    store_reader_give(master->store, db);
}

static void deed_preempt(void *arg, int64_t allocation_id)
{
    wake_allocation(arg, allocation_id, false);
}

static void deed_over(void *arg, int64_t allocation_id)
{
    struct master *master = arg;

    auth_forget(master->auth);              /* its tokens open less from now on */
    collector_wake_soon(master->collector); /* it may have left something unfinished */
    wake_allocation(arg, allocation_id, true);
}

static void deed_experiment_over(void *arg, int64_t experiment_id)
{
    struct master *master = arg;

    log_info("experiment %" PRId64 " is over", experiment_id);
    if (master->janitor)
        janitor_wake(master->janitor);
    collector_wake(master->collector);
}

static void deed_task_moved(void *arg, const char *task_id)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    struct master *master = arg;
    const char *key = wait_key_task(&mem, task_id);

    if (key)
        waits_wake(master->waits, key);
}

static void deed_told(void *arg, const struct core_effect *effects, uint32_t count)
{
    struct master *master = arg;

    tell_effects(master->changes, effects, count);
}

static void deed_fatal(void *arg, const char *sentence)
{
    struct master *master = arg;

    master->on_fatal(master->fatal_arg, sentence);
}

/* ---- configuration -------------------------------------------------------------- */

static struct core_pool pool_from(const struct json *scheduler, const struct json *pool)
{
    const char *fitting = json_str(json_get(scheduler, "fitting_policy"), "best");

    return (struct core_pool){
        .name = json_str(json_get(pool, "pool_name"), "default"),
        .config = {.policy = json_str(json_get(scheduler, "type"), "priority"),
                   .is_preemptive = json_bool(json_get(scheduler, "preemption"), false),
                   .fits_worst = !strcmp(fitting, "worst"),
                   .allows_heterogeneous_fits = json_bool(
                       json_get(scheduler, "allow_heterogeneous_fits"), false),
                   .max_aux_per_agent = (uint32_t)json_i64(
                       json_get(pool, "max_aux_containers_per_agent"), 100)},
        .default_priority =
            (uint32_t)json_i64(json_get(scheduler, "default_priority"), 42),
        .agent_reconnect_wait_us =
            json_i64(json_get(pool, "agent_reconnect_wait"), 25) * 1000000,
    };
}

static det_status read_pools(struct master *master, struct err *err)
{
    const struct json *manager = json_get(master->config, "resource_manager");
    const struct json *pools = json_get(master->config, "resource_pools");
    size_t count = pools && pools->kind == JSON_ARRAY ? pools->list.count : 0;
    struct core_pool *made =
        arena_array(&master->mem, struct core_pool, count ? count : 1);
    uint32_t at = 0;

    if (!made)
        return err_default(err, DET_NOMEM);
    if (!count)
        made[at++] = pool_from(json_get(manager, "scheduler"), NULL);
    json_each(pool, count ? pools : NULL) {
        const struct json *own = json_get(pool, "scheduler");

        made[at++] =
            pool_from(json_is_null(own) ? json_get(manager, "scheduler") : own, pool);
    }
    master->core_config.pool = made;
    master->core_config.pool_count = at;
    master->core_config.default_compute_pool =
        json_str(json_get(manager, "default_compute_resource_pool"), made[0].name);
    master->core_config.default_aux_pool =
        json_str(json_get(manager, "default_aux_resource_pool"), made[0].name);
    return DET_OK;
}

static det_status read_config(struct master *master, struct err *err)
{
    const struct json *timeout =
        json_path(master->config, "task_container_defaults.preemption_timeout");

    master->cluster_name = json_str(json_get(master->config, "cluster_name"), "");
    master->core_config.preemption_timeout_us = json_i64(timeout, 3600) * 1000000;
    master->core_config.refuses_unfittable =
        json_bool(json_get(master->config, "launch_error"), true);
    master->core_config.snapshot_every = 256;
    return read_pools(master, err);
}

/* ---- first start: identity and people -------------------------------------------- */

struct first_start {
    struct master *master;
    struct gate *gate;
    struct write_job job;
    unsigned char random[32];
    const char *password; /* sealed; NULL: blank */
    char cluster_id[UUID_TEXT];
    int64_t entropy;
    bool has_blank; /* somebody can log in without a password */
};

static det_status add_people(struct first_start *first, struct db *db, struct err *err)
{
    const struct user people[] = {
        {.username = "admin", .is_admin = true, .is_active = true},
        {.username = "determined", .is_active = true},
    };

    for (size_t i = 0; i < ARRAY_LEN(people); i++) {
        struct user user = people[i];
        int64_t id;
        det_status st;

        user.password = first->password;
        user.modified_us = master_now_us(first->master);
        st = store_user_add(db, &user, &id, err);
        if (st)
            return st;
    }
    return DET_OK;
}

/* Blank passwords are replaced once an initial password is given. */
static det_status set_passwords(struct first_start *first, struct db *db,
                                struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct user *users;
    uint32_t count = 0;
    det_status st = store_user_list(db, &mem, &users, &count, err);

    for (uint32_t i = 0; !st && i < count; i++) {
        if (users[i].password || !users[i].is_active)
            continue;
        if (first->password) {
            users[i].password = first->password;
            st = store_user_put(db, &users[i], err);
        } else {
            first->has_blank = true;
        }
    }
    return st;
}

static det_status write_first_start(struct write_job *job, struct db *db,
                                    struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    struct first_start *first = job->arg;
    const char *cluster_id;
    det_status st = store_text_get(db, "cluster_id", &mem, &cluster_id, err);

    if (st)
        return st;
    if (!cluster_id) {
        uuid_format(first->random, first->cluster_id);
        memcpy(&first->entropy, first->random + 16, sizeof(first->entropy));
        st = store_text_put(db, "cluster_id", first->cluster_id, err);
        if (!st)
            st = store_number_put(db, "entropy", first->entropy, err);
        if (!st)
            st = add_people(first, db, err);
    } else {
        snprintf(first->cluster_id, sizeof(first->cluster_id), "%s", cluster_id);
        st = store_number_get(db, "entropy", 0, &first->entropy, err);
    }
    return st ? st : set_passwords(first, db, err);
}

static void first_start_done(struct write_job *job)
{
    struct first_start *first = job->arg;

    gate_open(first->gate);
}

static det_status seal_initial_password(struct master *master,
                                        struct first_start *first, struct err *err)
{
    const char *password =
        json_str(json_path(master->config, "security.initial_user_password"), "");
    const char *hash = password_hash(password, false, &master->mem);

    if (!hash)
        return err_default(err, DET_NOMEM);
    return password_seal(hash, &master->mem, &first->password, err);
}

static det_status settle(struct master *master, struct err *err)
{
    struct first_start first = {.master = master};
    det_status st = rng_secret(first.random, sizeof(first.random), err);

    if (!st)
        st = seal_initial_password(master, &first, err);
    if (!st)
        st = gate_new(master->exec, &first.gate, err);
    if (st)
        return st;
    first.job = (struct write_job){
        .run = write_first_start, .done = first_start_done, .arg = &first};
    store_write(master->store, &first.job);
    (void)gate_wait(first.gate, 0);
    gate_free(first.gate);
    if (first.job.status)
        return err_set(err, first.job.status, "%.1500s", first.job.err.text);

    master->cluster_id = arena_strdup(&master->mem, first.cluster_id);
    master->core_config.entropy = (uint64_t)first.entropy;
    if (!master->cluster_id)
        return err_default(err, DET_NOMEM);
    if (!master->is_loopback && first.has_blank)
        return err_set(
            err, DET_FORBIDDEN,
            "the users still have blank passwords, so this master listens on "
            "this machine only, not on '%s'; give them one with "
            "--initial-password PASSWORD or security.initial_user_password",
            master->host);
    return DET_OK;
}

/* ---- life ----------------------------------------------------------------------- */

static det_status make_id(struct master *master, struct err *err)
{
    unsigned char random[16];
    char text[UUID_TEXT];
    det_status st = rng_secret(random, sizeof(random), err);

    if (st)
        return st;
    uuid_format(random, text);
    master->id = arena_strdup(&master->mem, text);
    return master->id ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status open_store(struct master *master, struct err *err)
{
    struct store_config config = {
        .io = master->io,
        .exec = master->exec,
        .directory = master->data_dir,
        .readers = READERS + master->http_threads,
        .on_fatal = deed_fatal,
        .arg = master,
    };

    return store_open(&config, &master->store, err);
}

static det_status open_heart(struct master *master, struct err *err)
{
    struct heart_config config = {
        .exec = master->exec,
        .store = master->store,
        .core = master->core_config,
        .deeds = {.start = deed_start,
                  .kill = deed_kill,
                  .kill_stray = deed_kill_stray,
                  .agent_lost = deed_agent_lost,
                  .preempt = deed_preempt,
                  .over = deed_over,
                  .experiment_over = deed_experiment_over,
                  .task_moved = deed_task_moved,
                  .told = deed_told,
                  .fatal = deed_fatal,
                  .arg = master},
    };

    return heart_new(&config, &master->heart, err);
}

static det_status open_server(struct master *master, uint16_t port, struct err *err)
{
    struct net_server_config config = {
        .host = master->host,
        .port = port,
        .max_body_bytes = MAX_BODY,
        .body_limit = request_body_limit,
        .threads = master->http_threads,
        .max_connections = MAX_CONNECTIONS,
        .mark = master->cluster_id,
        .handler = request_arrived,
        .arg = master,
    };

    return net_serve(master->net, &config, &master->server, err);
}

static void warm(struct task *task)
{
    store_roster_warm(CONTAINER_OF(task, struct master, warming)->store);
}

/* What handlers need. */
static det_status build_tools(struct master *master, struct err *err)
{
    det_status st = lane_new(master->exec, "worker", WORKERS, &master->workers, err);

    master->warming = (struct task)TASK_INIT(warm);
    if (!st)
        st = lane_new(master->exec, "login", 1, &master->logins, err);
    if (!st)
        st = lane_new(master->exec, "janitor", 1, &master->chores, err);
    if (!st)
        st = lane_new(master->exec, "files", FILE_READERS, &master->files, err);
    if (!st)
        st = gate_new(master->exec, &master->drained, err);
    if (!st)
        st = waits_new(&master->waits, err);
    if (!st)
        st = pacer_new(master, &master->pacer, err);
    if (!st)
        st = policies_new(&master->policies, err);
    if (!st)
        st = gathers_new(&master->gathers, err);
    if (!st)
        st = proxies_new(&master->proxies, err);
    if (!st)
        st = agents_new(master, &master->agents, err);
    return st;
}

/* The port comes before everything that posts tasks: a port that is taken is an
 * ordinary failure, after which nothing of this master may be left with the executor.
 * Who calls before the rest is there is told to try again. */
det_status master_start(struct master *master, struct err *err)
{
    det_status st = make_id(master, err);

    if (!st)
        st = read_config(master, err);
    if (!st)
        st = auth_new(master->io, master->data_dir, &master->auth, err);
    if (!st)
        st = open_store(master, err);
    if (!st)
        st = settle(master, err);
    if (!st)
        st = open_server(master, master->port, err);
    if (!st)
        st = build_tools(master, err);
    if (!st)
        st = janitor_new(master, &master->janitor, err);
    if (!st)
        st = collector_new(master, &master->collector, err);
    if (!st)
        st = open_heart(master, err);
    if (st)
        return st;
    atomic_store(&master->is_ready, true);
    agents_watch(master->agents);
    return DET_OK;
}

det_status master_new(const struct master_config *config, struct master **ret_master,
                      struct err *err)
{
    struct master *master = mem_new(struct master);

    if (!master)
        return err_default(err, DET_NOMEM);
    master->mem = (struct arena)ARENA_INIT(MASTER_MEMORY);
    master->io = config->io;
    master->storage = config->storage ? config->storage : config->io;
    master->exec = config->exec;
    master->net = config->net;
    master->config = config->tree;
    master->port = config->port;
    master->on_fatal = config->on_fatal;
    master->fatal_arg = config->arg;
    master->data_dir = arena_strdup(&master->mem, config->data_dir);
    master->http_threads = MAX(config->http_threads, 1u);
    master->checkpoint_directory =
        arena_printf(&master->mem, "%s/checkpoints", config->data_dir);
    master->host = arena_strdup(&master->mem, config->host);
    master->agent_token_path =
        arena_printf(&master->mem, "%s/agent.token", config->data_dir);
    if (master->mem.has_failed) {
        master_free(master);
        return err_default(err, DET_NOMEM);
    }
    master->is_loopback = guard_is_loopback(master->host);
    *ret_master = master;
    return DET_OK;
}

void master_set_read_only(struct master *master)
{
    master->is_read_only = true;
}

void master_stop(struct master *master)
{
    const struct clock *clock = exec_clock(master->exec);

    if (master->server)
        net_server_free(master->server);
    master->server = NULL;
    master->is_stopping = true;
    if (master->waits)
        waits_close(master->waits);
    if (master->open_requests)
        (void)gate_wait(master->drained, clock_mono_us(clock) + STOP_US);
}

void master_free(struct master *master)
{
    if (!master)
        return;
    gate_free(master->drained);
    collector_free(master->collector);
    janitor_free(master->janitor);
    heart_free(master->heart);
    agents_free(master->agents);
    gathers_free(master->gathers);
    proxies_free(master->proxies);
    policies_free(master->policies);
    pacer_free(master->pacer);
    waits_free(master->waits);
    store_close(master->store);
    auth_free(master->auth);
    arena_done(&master->mem);
    mem_free(master);
}

bool master_has_agent(const struct master *master)
{
    return agents_are_there(master->agents);
}

uint16_t master_port(const struct master *master)
{
    return net_server_port(master->server);
}

const char *master_cluster_id(const struct master *master)
{
    return master->cluster_id;
}

const char *master_id(const struct master *master)
{
    return master->id;
}

const char *master_agent_token_path(const struct master *master)
{
    return master->agent_token_path;
}
