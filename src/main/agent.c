/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - `det agent run`.
 *
 * SIGTERM and SIGINT end the agent and, gracefully, its tasks; SIGHUP ends only the
 * agent: the next one in the same directory finds its tasks. */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/task.h"
#include "cli/cli.h"
#include "cli/roles.h"
#include "config/config.h"
#include "data/json.h"
#include "libdet/runfile.h"
#include "main/roles.h"
#include "net/net.h"

struct listening {
    struct task task;
    struct agent *agent;
    sigset_t set;
    struct gate *ended;   /* the lane listens no more */
    _Atomic bool is_over; /* the agent ended by itself; the signal only wakes us */
};

static void listen_for_signals(struct task *task)
{
    struct listening *l = CONTAINER_OF(task, struct listening, task);
    int sig;

    do /* a process that was stopped and goes on is interrupted by nothing at all */
        sig = sigwaitinfo(&l->set, NULL);
    while (sig < 0 && errno == EINTR);
    if (!l->is_over)
        agent_stop(l->agent, sig != SIGHUP);
    gate_open(l->ended);
}

/* ---- configuration: flags over the file ------------------------------------------ */

static det_status load_config(const struct agent_run_options *options,
                              struct arena *mem, struct json **ret_tree,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct config_report report = CONFIG_REPORT(mem, options->config);
    struct json *overrides = json_new(mem, JSON_OBJECT);
    det_status st;

    if (!options->config) {
        *ret_tree = overrides;
        return overrides ? DET_OK : err_default(err, DET_NOMEM);
    }
    st = io_read_file(io_system(), options->config, &text, err);
    return st ? st
              : config_load(CONFIG_AGENT, text.data, text.len, overrides, &report,
                            ret_tree, err);
}

/* *ret_url comes with what was given; *ret_token_file likewise. */
static det_status find_master(const struct json *tree, struct arena *mem,
                              const char **ret_url, const char **ret_token_file,
                              struct err *err)
{
    const char *host = json_str(json_get(tree, "master_host"), NULL);
    struct runfile run;
    const char *data_dir;
    det_status st;

    if (!*ret_url && host)
        *ret_url =
            arena_printf(mem, "http://%s:%lld", host,
                         (long long)json_i64(json_get(tree, "master_port"), 8080));
    if (*ret_url && *ret_token_file)
        return DET_OK;
    st = data_dir_default(mem, &data_dir, err);
    if (!st)
        st = runfile_read(io_system(), data_dir, mem, &run, err);
    if (st && *ret_url)
        return err_set(
            err, DET_INVALID,
            "an agent needs the master's agent token: copy the file agent.token "
            "of the master's data directory and name it with --token-file");
    if (st)
        return err_set(
            err, DET_INVALID,
            "no master is named and none runs here; name one with --master URL");
    if (!*ret_url)
        *ret_url = run.url;
    if (!*ret_token_file)
        *ret_token_file = run.agent_token_file;
    return DET_OK;
}

static det_status read_token(const char *path, struct arena *mem,
                             const char **ret_token, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct io_stat found;
    det_status st = io_read_file(io_system(), path, &text, err);

    if (st)
        return st;
    if (!io_stat(io_system(), path, &found, NULL) && found.kind == IO_FILE &&
        found.mode & 0007)
        fprintf(stderr,
                "det: warning: every user can read the token in '%s'; close it "
                "with 'chmod 600'\n",
                path);
    *ret_token = arena_strndup(mem, text.data, strcspn(text.data, "\r\n"));
    return *ret_token ? DET_OK : err_default(err, DET_NOMEM);
}

static const char *default_id(struct arena *mem)
{
    char name[128] = "";

    (void)gethostname(name, sizeof(name) - 1);
    return arena_strdup(mem, name[0] ? name : "agent");
}

static int64_t slots_of(const struct agent_run_options *options,
                        const struct json *tree)
{
    int64_t artificial = json_i64(json_get(tree, "artificial_slots"), 0);

    if (options->slots != CLI_UNSET)
        return options->slots;
    return artificial > 0 ? artificial : -1;
}

static det_status configure(const struct agent_run_options *options, struct arena *mem,
                            struct agent_config *config, bool *ret_is_there,
                            struct err *err)
{
    const char *token_file = options->token_file;
    const char *data_dir;
    struct json *tree;
    det_status st = load_config(options, mem, &tree, err);

    if (!st)
        st = find_master(tree, mem, &config->master_url, &token_file, err);
    if (!st)
        st = read_token(token_file, mem, &config->token, err);
    if (!st)
        st = program_path(mem, &config->program, err);
    if (st)
        return st;
    config->id = options->id ? options->id : json_str(json_get(tree, "agent_id"), NULL);
    if (!config->id || !*config->id)
        config->id = default_id(mem);
    config->slots = slots_of(options, tree);
    config->resource_pool = options->resource_pool
                                ? options->resource_pool
                                : json_str(json_get(tree, "resource_pool"), NULL);
    config->data_dir = options->data_dir;
    if (!config->data_dir) {
        st = open_data_dir(NULL, mem, &data_dir, err);
        if (st)
            return st;
        config->data_dir = arena_printf(mem, "%s/agent-%s", data_dir, config->id);
        if (!config->data_dir)
            return err_default(err, DET_NOMEM);
    }
    return find_data_dir(config->data_dir, mem, &config->data_dir, ret_is_there, err);
}

/* ---- life ----------------------------------------------------------------------- */

/* An agent that was refused leaves nothing behind in a directory that was not there
 * before it.  With tasks it was none: then the first step fails, and all stays. */
static void leave(const char *dir)
{
    static const char *const names[] = {"tasks", "agent.json", "instance", "lock", ""};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *path = arena_printf(&mem, "%s/%s", dir, names[i]);
        det_status st = path ? io_remove(io_system(), path, NULL) : DET_NOMEM;

        if (st && st != DET_NOT_FOUND)
            return;
    }
}

static det_status work(struct agent_config *config, struct listening *listening,
                       struct err *err)
{
    struct lane *lane;
    det_status st = lane_new(config->exec, "signals", 1, &lane, err);

    if (!st)
        st = gate_new(config->exec, &listening->ended, err);
    if (!st)
        st = agent_new(config, &listening->agent, err);
    if (!st)
        st = local_agent_note(config->data_dir, config->master_url, err);
    if (st)
        return st;
    lane_post(lane, &listening->task);
    st = agent_wait(listening->agent, 0, err);
    listening->is_over = true;
    kill(getpid(), SIGTERM); /* lets the lane end when it still listens */
    (void)gate_wait(listening->ended, 0);
    return st;
}

int role_agent(const char *master, const struct agent_run_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct agent_config config = {.io = io_system(), .master_url = master};
    struct listening listening = {.task = TASK_INIT(listen_for_signals)};
    struct err err = {0};
    bool was_there = true;
    det_status st = configure(options, &mem, &config, &was_there, &err);

    if (st)
        return complain(st, &err);
    log_setup(LOG_INFO, 2);
    sigemptyset(&listening.set);
    sigaddset(&listening.set, SIGINT);
    sigaddset(&listening.set, SIGTERM);
    sigaddset(&listening.set, SIGHUP);
    sigprocmask(SIG_BLOCK, &listening.set, NULL);
    signal(SIGPIPE, SIG_IGN);
    st = exec_threads_new(&clock_system, &config.exec, &err);
    if (!st)
        st = net_system_new(config.exec, &config.net, &err);
    if (!st)
        st = work(&config, &listening, &err);
    agent_free(listening.agent);
    gate_free(listening.ended);
    exec_free(config.exec);
    net_free(config.net);
    if (st && !was_there)
        leave(config.data_dir);
    return st ? complain(st, &err) : 0;
}
