/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - the specification of a share: the environment variables that task processes of
 * this API expect, the entrypoint, and the data of the info files. */
#include "master/rm/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/experiment_config.h"
#include "config/job_config.h"
#include "data/json/json.h"
#include "master/master_impl.h"
#include "master/request/auth.h"
#include "master/rm/run_user.h"
#include "master/storage_roots.h"
#include "model/determinism.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/people/user.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "store/task/job.h"

enum { SPEC_MEMORY = 64 << 20 };

/* The rows of one run.  Either `trial` and `experiment` are set, or `job`. */
struct parts {
    struct master *master;
    struct allocation allocation;
    struct share share;
    struct trial_view trial;
    struct experiment_view experiment;
    struct job_view job;
    struct user owner;
    struct user starter;     /* whom this run acts as */
    const char *user;        /* its Unix identity (run_user.h) */
    const char *nonce;       /* of the tokens */
    const struct json *tree; /* the complete configuration */
    const struct json *entrypoint;
    const struct json *environment_variables; /* for its type of slots */
    const char *storage_directory;
    bool has_files;
    bool measures_load;
    struct arena *mem;
};

static det_status find_share(struct parts *p, struct db *db, int64_t rank,
                             struct err *err)
{
    struct share *rows;
    uint32_t count = 0;
    det_status st = store_shares_of(db, p->allocation.id, p->mem, &rows, &count, err);

    for (uint32_t i = 0; !st && i < count; i++)
        if (rows[i].rank == rank) {
            p->share = rows[i];
            return DET_OK;
        }
    return st ? st
              : err_set(err, DET_NOT_FOUND, "allocation %s has no process %" PRId64,
                        p->allocation.name, rank);
}

/* 0: it was submitted before starters were noted, by its owner. */
static det_status find_starter(struct parts *p, struct db *db, int64_t id,
                               struct err *err)
{
    p->starter = p->owner;
    return !id || id == p->owner.id ? DET_OK
                                    : store_user_get(db, id, p->mem, &p->starter, err);
}

/* Whether somebody has written `profiling: {enabled: false}`.  The complete configuration
 * does not tell: there it is the default. */
static det_status is_load_unwanted(const char *written, struct arena *mem,
                                   bool *ret_is_unwanted, struct err *err)
{
    struct config_report report = CONFIG_REPORT(mem, NULL);
    struct json *tree = NULL;
    det_status st;

    *ret_is_unwanted = false;
    if (!written || !strstr(written, "profiling"))
        return DET_OK;
    st = config_parse(written, strlen(written), &report, &tree, NULL);
    if (st == DET_NOMEM)
        return err_default(err, st);
    if (!st)
        *ret_is_unwanted = !json_bool(json_path(tree, "profiling.enabled"), true);
    return DET_OK;
}

static det_status load_trial(struct parts *p, struct db *db, struct err *err)
{
    struct experiment_config config;
    const char *json;
    bool is_unwanted;
    det_status st = store_trial_get(db, p->allocation.trial_id, p->mem, &p->trial, err);

    if (!st)
        st = store_experiment_get(db, p->allocation.experiment_id, p->mem,
                                  &p->experiment, err);
    if (!st)
        st = store_user_get(db, p->experiment.row.owner_id, p->mem, &p->owner, err);
    if (!st)
        st = find_starter(p, db, p->experiment.row.starter_id, err);
    if (st)
        return st;
    json = p->experiment.row.config;
    st = experiment_config_open(json, strlen(json), p->mem, &config, err);
    if (st)
        return st;
    p->tree = config.tree;
    p->entrypoint = config.entrypoint;
    p->storage_directory = config.storage_directory;
    p->has_files = p->experiment.files_size > 0;
    st = is_load_unwanted(p->experiment.row.original_config, p->mem, &is_unwanted, err);
    p->measures_load = !st && !is_unwanted;
    return st;
}

static det_status load_job(struct parts *p, struct db *db, struct err *err)
{
    struct job_config config;
    det_status st = store_job_by_id(db, p->allocation.job_id, p->mem, &p->job, err);

    if (!st)
        st = store_user_get(db, p->job.row.owner_id, p->mem, &p->owner, err);
    if (!st)
        st = find_starter(p, db, p->job.row.owner_id, err);
    if (!st)
        st = job_config_open(p->job.config, p->mem, &config, err);
    if (st)
        return st;
    p->tree = config.tree;
    p->entrypoint = config.entrypoint;
    p->has_files = p->job.files_size > 0;
    return DET_OK;
}

/* "K=V" strings for tasks with GPUs, or without. */
static det_status choose_variables(struct parts *p, struct db *db, struct err *err)
{
    struct agent agent = {0};
    det_status st = DET_OK;

    if (p->allocation.slots)
        st = store_agent_get(db, p->share.agent_id, p->mem, &agent, err);
    if (st && st != DET_NOT_FOUND)
        return st;
    p->environment_variables =
        json_path(p->tree, !st && agent.devices && strstr(agent.devices, "\"cuda\"")
                               ? "environment.environment_variables.cuda"
                               : "environment.environment_variables.cpu");
    return DET_OK;
}

static det_status load_parts(struct parts *p, struct db *db, int64_t id, int64_t rank,
                             struct err *err)
{
    det_status st = store_allocation_by_id(db, id, p->mem, &p->allocation, err);

    if (!st)
        st = store_allocation_nonce(db, id, p->mem, &p->nonce, err);
    if (!st)
        st = find_share(p, db, rank, err);
    if (st)
        return st;
    st = p->allocation.job_id ? load_job(p, db, err) : load_trial(p, db, err);
    if (!st)
        st = choose_variables(p, db, err);
    return st ? st : run_user_find(p->master, db, id, p->mem, &p->user, err);
}

static void env_i64(struct json_writer *w, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    jw_str(w, name, text);
}

static void write_identity(struct json_writer *w, const struct parts *p)
{
    const struct auth *auth = p->master->auth;
    int64_t id = p->allocation.id;

    jw_str(w, "DET_TASK_ID", p->allocation.task_id);
    jw_str(w, "DET_ALLOCATION_ID", p->allocation.name);
    jw_str(w, "DET_RESOURCES_ID", p->share.container_id);
    jw_str(w, "DET_CONTAINER_ID", p->share.container_id);
    jw_str(w, "DET_SESSION_TOKEN", auth_token(auth, TOKEN_TASK, id, p->nonce, p->mem));
    jw_str(w, "DET_USER_TOKEN", auth_token(auth, TOKEN_USER, id, p->nonce, p->mem));
    jw_str(w, "DET_USER", p->owner.username);
    jw_str(w, "DET_SEGMENT_ENABLED", "false");
    jw_str(w, "DET_TASK_LOGGING_METADATA",
           arena_printf(p->mem, "{\"allocation_id\": \"%s\", \"task_id\": \"%s\"}",
                        p->allocation.name, p->allocation.task_id));
    jw_str(w, "DET_CLUSTER_ID", p->master->cluster_id);
    jw_str(w, "DET_MASTER_ID", p->master->id);
    jw_str(w, "DET_SLOT_IDS", p->share.slots);
}

static void write_trial(struct json_writer *w, const struct parts *p)
{
    const struct trial *trial = &p->trial.row;
    const char *from =
        trial->latest_checkpoint ? trial->latest_checkpoint : trial->warm_start;

    jw_str(w, "DET_TASK_TYPE", "TRIAL");
    env_i64(w, "DET_EXPERIMENT_ID", trial->experiment_id);
    env_i64(w, "DET_TRIAL_ID", trial->id);
    env_i64(w, "DET_TRIAL_RUN_ID", p->allocation.run_id);
    env_i64(w, "DET_TRIAL_SEED", trial->seed);
    env_i64(w, "DET_MAX_METRIC_NAMES", p->master->metric_names_most);
    jw_str(w, "DET_EXPERIMENT_CONFIG", p->experiment.row.config);
    jw_str(w, "DET_HPARAMS", trial->hparams);
    env_i64(w, "DET_STEPS_COMPLETED",
            trial->latest_checkpoint ? trial->latest_steps : 0);
    if (from)
        jw_str(w, "DET_LATEST_CHECKPOINT", from);
}

static void write_determinism(struct json_writer *w, const struct parts *p)
{
    if (!determinism_is_wanted(p->tree))
        return;
    for (size_t i = 0; i < determinism_variable_count; i++)
        jw_str(w, determinism_variables[i].name, determinism_variables[i].value);
    env_i64(w, DETERMINISM_HASH, p->trial.row.seed);
}

static void write_job(struct json_writer *w, const struct parts *p)
{
    jw_str(w, "DET_TASK_TYPE", p->job.type);
    jw_str(w, "DET_TASK_CONFIG", p->job.config);
    if (p->job.sources)
        jw_str(w, "DET_TENSORBOARD", p->job.sources);
    if (json_bool(json_get(p->tree, "debug"), false))
        jw_str(w, "DET_DEBUG", "true");
}

/* Ports for the connections between the processes of one task. */
static void write_ports(struct json_writer *w, const struct parts *p)
{
    env_i64(w, "DTRAIN_SSH_PORT", p->allocation.ports[0]);
    env_i64(w, "INTER_TRAIN_PROCESS_COMM_PORT_1", p->allocation.ports[1]);
    env_i64(w, "INTER_TRAIN_PROCESS_COMM_PORT_2", p->allocation.ports[2]);
    env_i64(w, "C10D_PORT", p->allocation.ports[3]);
}

/* "K=V" strings of the configuration come last, so they win. */
static void write_user_variables(struct json_writer *w, const struct parts *p)
{
    json_each(item, p->environment_variables) {
        const char *text = json_str(item, "");
        size_t len = strcspn(text, "=");
        const char *name = arena_strndup(p->mem, text, len);

        if (name && len)
            jw_str(w, name, text[len] ? text + len + 1 : "");
    }
}

/* Between the processes of distributed training; NULL: any. */
static const char *training_interface(const struct parts *p)
{
    const char *name =
        json_str(json_path(p->master->config,
                           "task_container_defaults.dtrain_network_interface"),
                 NULL);

    return name && *name ? name : NULL;
}

/* Gloo and NCCL read theirs. */
static void write_interface(struct json_writer *w, const struct parts *p)
{
    static const char *const names[] = {"DET_INTER_NODE_NETWORK_INTERFACE",
                                        "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"};
    const char *interface = training_interface(p);

    for (size_t i = 0; interface && i < ARRAY_LEN(names); i++)
        jw_str(w, names[i], interface);
}

static void write_info(struct json_writer *w, const struct parts *p)
{
    const struct trial *trial = &p->trial.row;

    jw_object(w, "info");
    if (!trial->id) { /* a job has no trial */
        jw_end_object(w);
        return;
    }
    jw_object(w, "trial");
    jw_i64(w, "trial_id", trial->id);
    jw_i64(w, "experiment_id", trial->experiment_id);
    jw_i64(w, "trial_seed", trial->seed);
    jw_raw(w, "hparams", trial->hparams);
    jw_raw(w, "config", p->experiment.row.config);
    jw_i64(w, "steps_completed", trial->latest_checkpoint ? trial->latest_steps : 0);
    jw_i64(w, "trial_run_id", p->allocation.run_id);
    jw_bool(w, "debug", json_bool(json_get(p->tree, "debug"), false));
    jw_str(w, "inter_node_network_interface", training_interface(p));
    jw_end_object(w);
    jw_end_object(w);
}

/* What the agent needs to separate the task from others. */
static void write_isolation(struct json_writer *w, const struct parts *p)
{
    const struct json *defaults =
        json_get(p->master->config, "task_container_defaults");

    jw_i64(w, "shmSize", json_i64(json_path(p->tree, "resources.shm_size"), 0));
    jw_i64(w, "shmDefault", json_i64(json_get(defaults, "shm_size_bytes"), 0));
    jw_json(w, "bindMounts", json_get(p->tree, "bind_mounts"));
    jw_bool(w, "isShared", master_is_shared(p->master));
    storage_roots_write(p->master, w, "storageRoots");
    jw_str(w, "storageDirectory", p->storage_directory);
}

det_status spec_write(struct master *master, struct db *db, int64_t allocation_id,
                      int64_t rank, struct json_writer *w, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SPEC_MEMORY);
    struct parts p = {.master = master, .mem = &mem};
    det_status st = load_parts(&p, db, allocation_id, rank, err);

    /* Its texts do not fit, and will not the next time. */
    if (st == DET_NOMEM && mem.is_full)
        return err_set(err, DET_TOO_LARGE, "its configuration is too large");
    if (st)
        return st;
    jw_object(w, "spec");
    jw_str(w, "allocation", p.allocation.name);
    jw_i64(w, "rank", rank);
    jw_i64(w, "shares", p.allocation.shares);
    jw_str(w, "taskId", p.allocation.task_id);
    jw_str(w, "containerId", p.share.container_id);
    jw_raw(w, "slots", p.share.slots);
    jw_str(w, "supervisorToken",
           auth_token(master->auth, TOKEN_SUPERVISOR, p.allocation.id, p.nonce, &mem));
    jw_json(w, "entrypoint", p.entrypoint);
    jw_bool(w, "context", p.has_files);
    jw_str(w, "tcdStartupHook",
           json_str(json_path(master->config, "task_container_defaults.startup_hook"),
                    NULL));
    run_user_write(w, p.user);
    write_isolation(w, &p);
    jw_json(w, "requirements", json_path(p.tree, "environment.requirements"));
    jw_str(w, "python", json_str(json_path(p.tree, "environment.python"), NULL));
    jw_json(w, "keep", json_get(p.tree, "keep"));
    jw_bool(w, "measuresLoad", p.measures_load);
    jw_object(w, "environment");
    write_identity(w, &p);
    if (p.allocation.job_id) {
        write_job(w, &p);
    } else {
        write_trial(w, &p);
        write_determinism(w, &p);
    }
    write_ports(w, &p);
    write_interface(w, &p);
    write_user_variables(w, &p);
    jw_end_object(w);
    write_info(w, &p);
    jw_end_object(w);
    return mem.has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}
