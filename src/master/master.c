/* SPDX-License-Identifier: Apache-2.0 */
/* master.c - builds the master's parts in the order of their dependencies, and frees them
 * in the reverse order. */
#include "master/master.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "libdet/client/runfile.h"
#include "master/api/people/login_limit.h"
#include "master/background/collector.h"
#include "master/background/janitor.h"
#include "master/background/log_policies.h"
#include "master/background/proxy_activity.h"
#include "master/changes/pacer.h"
#include "master/heart/heart.h"
#include "master/heart/rendezvous.h"
#include "master/master_impl.h"
#include "master/request/auth.h"
#include "master/request/client_address.h"
#include "master/request/dispatch.h"
#include "master/request/origin_guard.h"
#include "master/request/password.h"
#include "master/request/waits.h"
#include "master/rm/agents.h"
#include "master/signin/signin.h"
#include "master/watch/log_tail.h"
#include "master/watch/meters.h"
#include "net/net.h"
#include "store/people/role_assignment.h"
#include "store/people/user.h"
#include "store/roster/roster_find.h"
#include "store/setting.h"
#include "store/space/workspace.h"
#include "store/store.h"
#include "store/task/allocation.h"

enum {
    MAX_MEMORY = 512 << 20, /* unless the configuration says otherwise */
    WORKERS = 3,
    WORKERS_OF_ONE = 2, /* at most for one user at once */
    HEAVY_WORKERS = 1,
    FILE_READERS = 2,
    FILE_READERS_OF_ONE = 1, /* storage may be slow: the other one serves others */
    READERS = WORKERS + HEAVY_WORKERS + SIGNIN_THREADS +
              3,          /* the heart, the lane of life and the login lane read, too */
    MAX_BODY = 192 << 20, /* 128 MB of files in base64 */
    LEAST_MEMORY = 256 << 20,
    OPEN_PART = 32, /* of what is left for requests: anonymous callers */
    OTHER_MEMORY =
        80 << 20, /* of max_memory: connections, the store's caches, the heart */
    LIFE_MEMORY = 16 << 20, /* of this, signs of life; one user's: half of it */
    BATCH_MEMORY = 1 << 30,
    MASTER_MEMORY = 1 << 20,
    SHORT_ID = 8,          /* letters of its id in those of requests */
    STOP_US = 5 * 1000000, /* for running calls to end */
    TRIM_US = 20 * 1000000,
};

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
    bool has_defaults;

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
    /* Without default pools the names are not used, but must exist. */
    has_defaults = !json_bool(json_get(manager, "no_default_resource_pools"), false);
    master->core_config.needs_pool_name = !has_defaults;
    master->core_config.default_compute_pool = json_str(
        has_defaults ? json_get(manager, "default_compute_resource_pool") : NULL,
        made[0].name);
    master->core_config.default_aux_pool =
        json_str(has_defaults ? json_get(manager, "default_aux_resource_pool") : NULL,
                 made[0].name);
    return DET_OK;
}

static det_status read_reserved_ports(struct master *master, struct err *err)
{
    const struct json *list = json_get(master->config, "reserved_ports");
    size_t count = json_first(list) ? list->list.count : 0;
    int64_t *ports = arena_array(&master->mem, int64_t, count + 1);
    size_t at = 0;

    if (!ports)
        return err_default(err, DET_NOMEM);
    json_each(port, count ? list : NULL)
        ports[at++] = json_i64(port, 0);
    master->core_config.reserved_ports = ports;
    master->core_config.reserved_port_count = at;
    return DET_OK;
}

/* One user gets three quarters of it at most: the largest submission fits, and the others
 * go on.  Anonymous callers have a small part, and one address half of that. */
static det_status read_memory(struct master *master, struct err *err)
{
    int64_t bytes = json_i64(json_get(master->config, "max_memory"), MAX_MEMORY);

    if (bytes < LEAST_MEMORY)
        return err_set(err, DET_INVALID,
                       "max_memory is %" PRId64 " bytes; a master needs at least %d MB",
                       bytes, LEAST_MEMORY >> 20);
    master->open_memory.most = ((size_t)bytes - OTHER_MEMORY) / OPEN_PART;
    master->open_memory.group_most = master->open_memory.most / 2;
    master->memory.most = (size_t)bytes - OTHER_MEMORY - master->open_memory.most;
    master->memory.group_most = master->memory.most / 4 * 3;
    master->life_memory.most = LIFE_MEMORY;
    master->life_memory.group_most = LIFE_MEMORY / 2;
    master->batch_memory = BATCH_MEMORY;
    return DET_OK;
}

static det_status read_config(struct master *master, struct err *err)
{
    const struct json *timeout =
        json_path(master->config, "task_container_defaults.preemption_timeout");
    det_status st;

    master->cluster_name = json_str(json_get(master->config, "cluster_name"), "");
    master->core_config.preemption_timeout_us = json_i64(timeout, 3600) * 1000000;
    master->core_config.refuses_unfittable =
        json_bool(json_get(master->config, "launch_error"), true);
    master->core_config.snapshot_every = 256;
    master->enables_cors = json_bool(json_get(master->config, "enable_cors"), false);
    master->metric_names_most =
        (uint32_t)json_i64(json_get(master->config, "max_metric_names"), 0);
    master->media_bytes_most = json_i64(json_get(master->config, "max_media_bytes"), 0);
    st = read_pools(master, err);
    if (!st)
        st = read_reserved_ports(master, err);
    if (!st)
        st = read_memory(master, err);
    return st ? st : client_address_read_config(master, err);
}

/* ---- first start: identity and users -------------------------------------------- */

struct first_start {
    struct master *master;
    struct gate *gate;
    struct write_job job;
    unsigned char random[32];
    const char *password; /* sealed; NULL: blank passwords stay */
    char cluster_id[UUID_TEXT];
    int64_t entropy;
    bool has_blank; /* an active user has a blank password */
    bool has_link;  /* the tasks of a user run with another Unix identity */
};

static det_status add_users(struct first_start *first, struct db *db, struct err *err)
{
    const struct user people[] = {
        {.username = "admin", .is_admin = true, .is_active = true},
        {.username = "determined", .is_active = true},
    };

    for (size_t i = 0; i < ARRAY_LEN(people); i++) {
        struct user user = people[i];
        int64_t id;
        det_status st;

        user.modified_us = master_now_us(first->master);
        st = store_user_add(db, &user, &id, err);
        if (!st && user.is_admin)
            st = store_role_follow_admin(db, id, true, err);
        if (st)
            return st;
    }
    return DET_OK;
}

/* Whether a workspace names the Unix user of its tasks. */
static det_status look_at_workspaces(struct first_start *first, struct db *db,
                                     struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct workspace_view *views;
    uint32_t count = 0;
    det_status st = store_workspace_list(db, 0, &mem, &views, &count, err);

    for (uint32_t i = 0; !st && i < count; i++)
        first->has_link = first->has_link || task_user_is_set(&views[i].row.task_user);
    return st;
}

/* Finds out whether users have blank passwords, and replaces them if there is a password. */
static det_status look_at_passwords(struct first_start *first, struct db *db,
                                    struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct user *users;
    uint32_t count = 0;
    det_status st = store_user_list(db, &mem, &users, &count, err);

    for (uint32_t i = 0; !st && i < count; i++) {
        first->has_link = first->has_link || users[i].agent_user;
        /* remote users sign in elsewhere and never have a password here */
        if (users[i].password || !users[i].is_active || users[i].is_remote)
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
            st = add_users(first, db, err);
    } else {
        snprintf(first->cluster_id, sizeof(first->cluster_id), "%s", cluster_id);
        st = store_number_get(db, "entropy", 0, &first->entropy, err);
    }
    if (!st)
        st = look_at_workspaces(first, db, err);
    return st ? st : look_at_passwords(first, db, err);
}

static det_status write_passwords(struct write_job *job, struct db *db, struct err *err)
{
    return look_at_passwords(job->arg, db, err);
}

static void first_start_done(struct write_job *job)
{
    struct first_start *first = job->arg;

    gate_open(first->gate);
}

/* Runs one job of the writer and waits for it. */
static det_status write_and_wait(struct first_start *first, write_fn *run,
                                 struct err *err)
{
    det_status st = gate_new(first->master->exec, &first->gate, err);

    if (st)
        return st;
    first->job = (struct write_job){.run = run, .done = first_start_done, .arg = first};
    store_write(first->master->store, &first->job);
    (void)gate_wait(first->gate, 0);
    gate_free(first->gate);
    return first->job.status
               ? err_set(err, first->job.status, "%.1500s", first->job.err.text)
               : DET_OK;
}

static const char *initial_password(const struct master *master)
{
    return master->initial_password
               ? master->initial_password
               : json_str(json_path(master->config, "security.initial_user_password"),
                          "");
}

/* Nothing that a person asked for is ignored; a password in the configuration stays there
 * after the first start, which is no mistake. */
static det_status check_initial_password(struct master *master, bool has_blank,
                                         struct err *err)
{
    const char *password = initial_password(master);

    if (master->initial_password && !has_blank)
        return err_set(err, DET_STATE,
                       "the initial password is for users without one, and every user "
                       "of this master has one; change a password with 'det user "
                       "change-password', or a forgotten one with 'det user "
                       "reset-password NAME'");
    if (has_blank && (*password || master->initial_password))
        return password_check_length(password, err);
    if (has_blank && !master->is_loopback)
        return err_set(
            err, DET_FORBIDDEN,
            "the users still have blank passwords, so this master listens on "
            "this machine only, not on '%s'; give them one with "
            "--initial-password-file FILE or security.initial_user_password",
            master->host);
    return DET_OK;
}

/* *ret_has_blank: users have blank passwords, which set_initial_password() may replace. */
static det_status load_identity(struct master *master, bool *ret_has_blank,
                                struct err *err)
{
    struct first_start first = {.master = master};
    det_status st = rng_secret(first.random, sizeof(first.random), err);

    if (!st)
        st = write_and_wait(&first, write_first_start, err);
    if (st)
        return st;
    master->cluster_id = arena_strdup(&master->mem, first.cluster_id);
    master->core_config.entropy = (uint64_t)first.entropy;
    if (!master->cluster_id)
        return err_default(err, DET_NOMEM);
    *ret_has_blank = first.has_blank;
    if (first.has_link && master->on_link)
        master->on_link(master->fatal_arg);
    return check_initial_password(master, first.has_blank, err);
}

/* After the port is bound: a master that cannot listen must change no password. */
static det_status set_initial_password(struct master *master, bool has_blank,
                                       struct err *err)
{
    struct first_start first = {.master = master};
    const char *password = initial_password(master);
    const char *hash;
    det_status st;

    if (!*password || !has_blank)
        return DET_OK;
    hash = password_hash(password, false, &master->mem);
    if (!hash)
        return err_default(err, DET_NOMEM);
    st = password_seal(hash, &master->mem, &first.password, err);
    return st ? st : write_and_wait(&first, write_passwords, err);
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
    master->short_id = arena_strndup(&master->mem, text, SHORT_ID);
    return master->id && master->short_id ? DET_OK : err_default(err, DET_NOMEM);
}

static void log_note(bool is_warning, const char *sentence)
{
    if (is_warning)
        log_warn("%s", sentence);
    else
        log_info("%s", sentence);
}

/* The bytes of a file of the data directory; 0: it is empty or missing. */
static uint64_t bytes_of(struct master *master, const char *name)
{
    const char *path = arena_printf(&master->mem, "%s/%s", master->data_dir, name);
    struct io_stat found;

    return path && !io_stat(master->io, path, &found, NULL) ? found.size_bytes : 0;
}

/* A database that somebody emptied must not become a new cluster without a word.  SQLite
 * throws the log of an empty database away. */
static det_status check_emptied(struct master *master, struct err *err)
{
    if (bytes_of(master, "det.db") || !bytes_of(master, RUNFILE_LAST))
        return DET_OK;
    return err_set(err, DET_CORRUPT,
                   "the database '%s/det.db' is empty or missing, but a master has "
                   "worked here; "
                   "restore a backup with 'det restore', or choose another --data-dir",
                   master->data_dir);
}

static det_status open_store(struct master *master, struct err *err)
{
    struct store_config config = {
        .io = master->io,
        .exec = master->exec,
        .directory = master->data_dir,
        .readers = READERS + master->http_threads,
        .on_fatal = master->on_fatal,
        .arg = master->fatal_arg,
        .on_note = log_note,
    };

    return store_open(&config, &master->store, err);
}

static void warn_operator(void *arg, const char *text)
{
    (void)arg;
    log_warn("%s", text);
}

static det_status open_server(struct master *master, uint16_t port, struct err *err)
{
    /* Half a year: a browser that was here once comes back by https:// only. */
    static const char *const plain[] = {"X-Content-Type-Options: nosniff",
                                        "Cross-Origin-Opener-Policy: same-origin",
                                        NULL};
    static const char *const strict[] = {
        "X-Content-Type-Options: nosniff", "Cross-Origin-Opener-Policy: same-origin",
        "Strict-Transport-Security: max-age=15768000", NULL};
    static const char *const open[] = {
        "X-Content-Type-Options: nosniff", "Cross-Origin-Opener-Policy: same-origin",
        "Access-Control-Allow-Origin: *",
        "Access-Control-Expose-Headers: X-Request-Id, Retry-After", NULL};
    static const char *const strict_open[] = {
        "X-Content-Type-Options: nosniff",
        "Cross-Origin-Opener-Policy: same-origin",
        "Access-Control-Allow-Origin: *",
        "Access-Control-Expose-Headers: X-Request-Id, Retry-After",
        "Strict-Transport-Security: max-age=15768000",
        NULL};
    bool is_strict = master->cert_file && !master->is_self_signed;
    const struct json *limits = json_get(master->config, "connections");
    struct net_server_config config = {
        .host = master->host,
        .cert_file = master->cert_file,
        .key_file = master->key_file,
        .headers = master->enables_cors ? (is_strict ? strict_open : open)
                                        : (is_strict ? strict : plain),
        .port = port,
        .max_body_bytes = MAX_BODY,
        .memory = &master->memory,
        .body_limit = dispatch_body_limit,
        .threads = master->http_threads,
        .max_connections = (uint32_t)json_i64(json_get(limits, "max"), 0),
        .max_of_address = (uint32_t)json_i64(json_get(limits, "max_per_address"), 0),
        .head_us = json_i64(json_get(limits, "head_timeout"), 0) * 1000000,
        .least_rate = (uint32_t)json_i64(json_get(limits, "least_rate"), 0),
        .trusted = master->trusted_proxies,
        .mark = master->cluster_id,
        .handler = dispatch_request,
        .warn = warn_operator,
        .arg = master,
    };

    return net_serve(master->net, &config, &master->server, err);
}

static void warm_roster(struct work *work)
{
    store_roster_warm(CONTAINER_OF(work, struct master, warming)->store);
}

/* After a large request, and now and then for what many small ones have left. */
static void trim_memory(struct work *work)
{
    struct master *master = CONTAINER_OF(work, struct master, trimming);

    mem_trim();
    if (!executor_is_single(
            master->exec)) /* a simulation would never come to its end */
        lane_post_at(master->chores, work, master_mono_us(master) + TRIM_US);
}

static det_status make_lanes(struct master *master, struct err *err)
{
    const struct {
        const char *name;
        struct lane **ret_lane;
        uint32_t width;
        uint32_t turns; /* for one user at once; 0: it does not take turns */
    } lanes[] = {
        {"worker", &master->workers, WORKERS, WORKERS_OF_ONE},
        {"life", &master->life, 1, 1},
        {"heavy", &master->heavy, HEAVY_WORKERS, HEAVY_WORKERS},
        {"login", &master->logins, 1, 1},
        {"slow-login", &master->slow_logins, 1, 1},
        {"janitor", &master->chores, 1, 0},
        {"files", &master->files, FILE_READERS, FILE_READERS_OF_ONE},
    };
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < ARRAY_LEN(lanes); i++) {
        st = lane_new(master->exec, lanes[i].name, lanes[i].width, lanes[i].ret_lane,
                      err);
        if (!st && lanes[i].turns)
            lane_take_turns(*lanes[i].ret_lane, lanes[i].turns);
    }
    return st;
}

/* Somebody may be following the log. */
static void wake_log_readers(void *arg)
{
    struct master *master = arg;

    waits_wake(master->waits, WAITS_KEY_MASTER_LOG);
}

/* The lanes and tables that handlers use. */
static det_status build_handler_parts(struct master *master, struct err *err)
{
    det_status st = make_lanes(master, err);

    master->warming = (struct work)WORK_INIT(warm_roster);
    master->trimming = (struct work)WORK_INIT(trim_memory);
    if (!st)
        st = login_limit_new(&master->login_limit, err);
    if (!st)
        st = gate_new(master->exec, &master->drained, err);
    if (!st)
        st = waits_new(&master->waits, err);
    if (!st)
        st = pacer_new(master, &master->pacer, err);
    if (!st)
        st = log_policies_new(&master->log_policies, err);
    if (!st)
        st = rendezvous_new(&master->rendezvous, err);
    if (!st)
        st = proxy_activity_new(&master->proxy_activity, err);
    if (!st)
        st = signin_new(master, &master->signin, err);
    if (!st)
        st = agents_new(master, &master->agents, err);
    return st;
}

/* The port is bound before any part posts work: a port in use is an ordinary failure, and
 * after it the executor must not hold work of this master.  Early callers are told to try
 * again. */
det_status master_start(struct master *master, struct err *err)
{
    bool has_blank = false;
    det_status st = make_id(master, err);

    if (!st)
        st = read_config(master, err);
    if (!st)
        st = auth_new(master->io, master->data_dir, &master->auth, err);
    if (!st)
        st = check_emptied(master, err);
    if (!st)
        st = open_store(master, err);
    if (!st)
        st = load_identity(master, &has_blank, err);
    if (!st)
        st = open_server(master, master->port, err);
    if (!st)
        st = set_initial_password(master, has_blank, err);
    if (!st)
        st = build_handler_parts(master, err);
    if (!st)
        st = janitor_new(master, &master->janitor, err);
    if (!st)
        st = collector_new(master, &master->collector, err);
    if (!st)
        st = heart_new(master, &master->heart, err);
    if (st)
        return st;
    if (master->log)
        log_tail_set_watch(master->log, wake_log_readers, master);
    atomic_store(&master->is_ready, true);
    lane_post(master->chores, &master->trimming);
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
    master->is_rbac = !strcmp(
        json_str(json_path(config->tree, "security.authz.type"), "basic"), "rbac");
    master->port = config->port;
    master->is_root = config->is_root;
    master->on_fatal = config->on_fatal;
    master->on_link = config->on_link;
    master->log = config->log;
    master->fatal_arg = config->arg;
    master->core_config.checks_invariants = config->checks_invariants || DET_DEBUG;
    master->data_dir = arena_strdup(&master->mem, config->data_dir);
    master->http_threads = MAX(config->http_threads, 1u);
    master->checkpoint_directory =
        arena_printf(&master->mem, "%s/checkpoints", config->data_dir);
    master->host = arena_strdup(&master->mem, config->host);
    if (config->initial_password)
        master->initial_password = arena_strdup(&master->mem, config->initial_password);
    master->cert_file = arena_strdup(&master->mem, config->cert_file);
    master->key_file = arena_strdup(&master->mem, config->key_file);
    master->is_self_signed = config->is_self_signed;
    master->agent_token_path =
        arena_printf(&master->mem, "%s/agent.token", config->data_dir);
    master->meters = mem_new(struct meters);
    if (master->mem.has_failed || !master->meters) {
        master_free(master);
        return err_default(err, DET_NOMEM);
    }
    master->is_loopback = origin_guard_is_loopback(master->host);
    master->slow_request_us =
        json_i64(json_path(config->tree, "log.slow_request_ms"), 0) * 1000;
    master->started_us = master_now_us(master);
    *ret_master = master;
    return DET_OK;
}

det_status master_reload_certificate(struct master *master, struct err *err)
{
    return net_server_reload(master->server, err);
}

void master_set_certificate(struct master *master, int64_t expires_us)
{
    master->certificate_expires_us = expires_us;
}

void master_set_read_only(struct master *master)
{
    master->is_read_only = true;
}

bool master_is_shared(const struct master *master)
{
    return !master->is_loopback || master->trusted_proxies.count > 0;
}

bool master_is_full(const struct master *master)
{
    return store_is_full(master->store);
}

void master_look_at_disk(struct master *master)
{
    bool was_full = master_is_full(master);

    store_look_at_disk(master->store);
    if (was_full && !master_is_full(master))
        log_info("there is room on the disk again: everything can be changed");
}

void master_stop(struct master *master)
{
    const struct clock *clock = executor_clock(master->exec);

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
    if (master->log)
        log_tail_set_watch(master->log, NULL, NULL);
    gate_free(master->drained);
    collector_free(master->collector);
    janitor_free(master->janitor);
    heart_free(master->heart);
    agents_free(master->agents);
    rendezvous_free(master->rendezvous);
    proxy_activity_free(master->proxy_activity);
    signin_free(master->signin);
    log_policies_free(master->log_policies);
    pacer_free(master->pacer);
    waits_free(master->waits);
    login_limit_free(master->login_limit);
    store_close(master->store);
    auth_free(master->auth);
    mem_free(master->meters);
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
