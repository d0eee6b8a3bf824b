/* SPDX-License-Identifier: Apache-2.0 */
/* agent_run.c - `det agent run`.
 *
 * SIGTERM and SIGINT end the agent and, gracefully, its tasks.  SIGHUP ends only the
 * agent; the next agent in the same directory continues with its tasks. */
#include "main/agent_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/io/map_guard.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "cli/frame/cli_main.h"
#include "cli/frame/parse.h"
#include "cli/frame/program_path.h"
#include "cli/frame/role_options.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"
#include "libdet/client/runfile.h"
#include "main/agent_trust.h"
#include "main/data_dir.h"
#include "main/local_agent.h"
#include "main/log_config.h"
#include "net/net.h"
#include "net/net_system.h"

struct listening {
    struct work task;
    struct agent *agent;
    sigset_t set;
    struct gate *ended;   /* the lane has stopped listening */
    _Atomic bool is_over; /* the agent has ended; the signal only wakes the lane */
};

static void listen_for_signals(struct work *task)
{
    struct listening *l = CONTAINER_OF(task, struct listening, task);
    int sig;

    do /* SIGCONT after a stop also interrupts the wait */
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
    CLEANUP(buf_done) struct buf notices = BUF_INIT;
    struct config_report report = CONFIG_REPORT(mem, options->config);
    struct json *overrides = json_new(mem, JSON_OBJECT);
    det_status st;

    if (!options->config) {
        *ret_tree = overrides;
        return overrides ? DET_OK : err_default(err, DET_NOMEM);
    }
    st = io_read_file(io_system(), options->config, &text, err);
    if (!st)
        st = config_load(CONFIG_AGENT, text.data, text.len, overrides, &report,
                         ret_tree, err);
    if (st)
        return st;
    config_report_write(&report, CONFIG_NOTICE, &notices);
    if (notices.len)
        fputs(notices.data, stderr);
    return DET_OK;
}

/* Where the master is, and how it and the agent know each other. */
struct place {
    const char *url;
    const char *token_file;
    struct agent_trust trust;
};

/* On entry, *ret_url and *ret_token_file are the given ones, or NULL. */
static det_status find_master(const struct json *tree, struct arena *mem,
                              const char **ret_url, const char **ret_token_file,
                              const char **ret_cert_file, struct err *err)
{
    const char *host = json_str(json_get(tree, "master_host"), NULL);
    struct runfile run;
    const char *data_dir;
    det_status st;

    if (!*ret_url && host)
        *ret_url = arena_printf(
            mem, "%s://%s:%lld",
            json_bool(json_path(tree, "security.tls.enabled"), false) ? "https"
                                                                      : "http",
            host, (long long)json_i64(json_get(tree, "master_port"), 8080));
    if (*ret_url && *ret_token_file)
        return DET_OK;
    st = runfile_data_dir(mem, &data_dir, err);
    if (!st)
        st = runfile_read(io_system(), data_dir, mem, &run, err);
    if (st && *ret_url)
        return err_set(
            err, DET_INVALID,
            "an agent needs the master's agent token: copy the file agent.token "
            "from the master's data directory and name it with --token-file");
    if (st)
        return err_set(
            err, DET_INVALID,
            "no master is named and none runs here; name one with --master URL");
    if (!*ret_url) {
        *ret_url = run.url;
        *ret_cert_file = run.cert_file;
    }
    if (!*ret_token_file)
        *ret_token_file = run.agent_token_file;
    return DET_OK;
}

/* The local master is known by its run file. */
static det_status find_and_trust(const struct agent_run_options *options,
                                 const struct json *tree, struct arena *mem,
                                 struct place *place, struct err *err)
{
    const char *local_cert = NULL;
    det_status st =
        find_master(tree, mem, &place->url, &place->token_file, &local_cert, err);

    if (!st)
        st = agent_trust_read(options, tree, place->url, mem, &place->trust, err);
    if (!st && local_cert && !place->trust.cert_file && !place->trust.fingerprint)
        place->trust.cert_file = local_cert;
    return st;
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
    if (!*ret_token)
        return err_default(err, DET_NOMEM);
    if (!**ret_token)
        return err_set(err, DET_INVALID,
                       "the first line of '%s' is empty; copy the file agent.token of "
                       "the master's data directory there",
                       path);
    return DET_OK;
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
                            struct agent_config *config, struct agent_trust *trust,
                            bool *ret_is_there, struct err *err)
{
    struct place place = {.url = config->master_url, .token_file = options->token_file};
    const char *data_dir;
    struct json *tree;
    det_status st = load_config(options, mem, &tree, err);

    if (!st)
        st = find_and_trust(options, tree, mem, &place, err);
    if (!st)
        st = read_token(place.token_file, mem, &config->token, err);
    if (!st)
        st = program_path(mem, &config->program, err);
    if (st)
        return st;
    log_config_apply(tree, "agent");
    config->tree = tree;
    config->token_file = place.token_file;
    config->master_url = place.url;
    *trust = place.trust;
    config->id = options->id ? options->id : json_str(json_get(tree, "agent_id"), NULL);
    if (!config->id)
        config->id = default_id(mem);
    if (config->id && (!*config->id || strchr(config->id, '/')))
        return err_set(err, DET_INVALID,
                       "an agent's id must not be empty or contain '/': leave --id out "
                       "to use the name of this machine");
    config->slots = slots_of(options, tree);
    config->resource_pool = options->resource_pool
                                ? options->resource_pool
                                : json_str(json_get(tree, "resource_pool"), NULL);
    config->data_dir = options->data_dir ? options->data_dir
                                         : json_str(json_get(tree, "data_dir"), NULL);
    if (!config->data_dir) {
        st = data_dir_open(NULL, mem, &data_dir, err);
        if (st)
            return st;
        config->data_dir = arena_printf(mem, "%s/agent-%s", data_dir, config->id);
        if (!config->data_dir)
            return err_default(err, DET_NOMEM);
    }
    return data_dir_find(config->data_dir, mem, &config->data_dir, ret_is_there, err);
}

/* ---- life ----------------------------------------------------------------------- */

/* If the master refuses a new agent, its new directory is removed.  A directory with
 * tasks is not new: then the first step fails, and everything stays. */
static void remove_new_dir(const char *dir)
{
    static const char *const names[] = {"tasks", "agent.json", "instance",
                                        "lock",  "master.crt", ""};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *path = arena_printf(&mem, "%s/%s", dir, names[i]);
        det_status st = path ? io_remove(io_system(), path, NULL) : DET_NOMEM;

        if (st && st != DET_NOT_FOUND)
            return;
    }
}

static det_status run_agent(struct agent_config *config, struct listening *listening,
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
    kill(getpid(), SIGTERM); /* ends the lane if it still listens */
    (void)gate_wait(listening->ended, 0);
    return st;
}

int agent_run_main(const char *master, const struct agent_run_options *options)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct agent_config config = {.io = io_system(), .master_url = master};
    struct listening listening = {.task = WORK_INIT(listen_for_signals)};
    struct agent_trust trust = {0};
    struct err err = {0};
    bool was_there = true;
    bool is_stopped = false;
    det_status st = configure(options, &mem, &config, &trust, &was_there, &err);

    if (st)
        return cli_report(st, &err);
    sigemptyset(&listening.set);
    sigaddset(&listening.set, SIGINT);
    sigaddset(&listening.set, SIGTERM);
    sigaddset(&listening.set, SIGHUP);
    sigprocmask(SIG_BLOCK, &listening.set, NULL);
    signal(SIGPIPE, SIG_IGN);
    map_guard_install(); /* it drains the rings of tasks whose supervisors died */
    st = executor_threads_new(&clock_system, &config.exec, &err);
    if (!st)
        st = net_system_new(config.exec, &config.net, &err);
    if (!st)
        st = agent_trust_meet(&trust, &config, &listening.set, &mem, &is_stopped, &err);
    if (!st && !is_stopped)
        st = run_agent(&config, &listening, &err);
    agent_free(listening.agent);
    gate_free(listening.ended);
    executor_free(config.exec);
    net_free(config.net);
    if (st && !was_there)
        remove_new_dir(config.data_dir);
    return st ? cli_report(st, &err) : 0;
}
