/* SPDX-License-Identifier: Apache-2.0 */
/* local_master.c - --local: a master in the memory of this command.
 *
 * The real one, on the twins of files, threads and network that simulations use: it
 * touches no disk, opens no port, starts nothing and is gone when the command ends.  It
 * is told of the runs in the folder, oldest first, so that a run's number is the same
 * whether it is called an experiment or a trial.
 *
 * All runs are told in outline, which is what lists need; those that the command names
 * as a whole. */
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/task.h"
#include "cli/ctx.h"
#include "cli/offline.h"
#include "config/config.h"
#include "config/report.h"
#include "libdet/client.h"
#include "master/master.h"
#include "net/net.h"

enum { PORT = 8080, CONFIG_MEM = 16 << 20 };

struct local_master {
    struct arena mem;
    struct clock_manual clock;
    struct io *io;
    struct exec *exec;
    struct net *net;
    struct master *master;
    bool is_started;
    struct offline_runs runs;
};

/* ---- life ------------------------------------------------------------------------ */

static void on_fatal(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence; /* a disk in memory does not fail but by memory, which is said */
}

det_status local_master_config(struct arena *mem, struct json **ret_tree,
                               struct err *err)
{
    static const char yaml[] = "launch_error: false\n";
    struct config_report report = CONFIG_REPORT(mem, NULL);

    return config_load(CONFIG_MASTER, yaml, sizeof(yaml) - 1, NULL, &report, ret_tree,
                       err);
}

static det_status start(struct local_master *local, struct err *err)
{
    struct master_config config = {.io = local->io,
                                   .exec = local->exec,
                                   .net = local->net,
                                   .data_dir = "/data",
                                   .host = "127.0.0.1",
                                   .port = PORT,
                                   .on_fatal = on_fatal};
    struct json *tree;
    det_status st = local_master_config(&local->mem, &tree, err);

    config.tree = tree;
    if (!st)
        st = master_new(&config, &local->master, err);
    if (!st)
        st = master_start(local->master, err);
    local->is_started = !st;
    return st;
}

static det_status make(struct local_master *local, struct err *err)
{
    det_status st;

    local->mem = (struct arena)ARENA_INIT(CONFIG_MEM);
    clock_manual_init(&local->clock, clock_wall_us(&clock_system));
    log_setup(LOG_ERROR, -1);
    st = io_memory_new(&local->io, err);
    if (!st)
        st = io_mkdir(local->io, "/data", true, err);
    if (!st)
        st = exec_single_new(&local->clock, 1, &local->exec, err);
    if (!st)
        st = net_memory_new(local->exec, 1, &local->net, err);
    return st ? st : start(local, err);
}

void local_master_close(struct local_master *local)
{
    if (!local)
        return;
    if (local->is_started)
        master_stop(local->master);
    if (local->net)
        net_free(local->net);
    if (local->exec)
        exec_free(local->exec);
    if (local->master)
        master_free(local->master);
    if (local->io)
        io_free(local->io);
    arena_done(&local->mem);
    mem_free(local);
}

static det_status open_client(struct cli *cli)
{
    const struct client_world world = {.io = cli->local->io, .net = cli->local->net};
    const det_client_options options = {.size = sizeof(options),
                                        .master = "http://127.0.0.1:8080",
                                        .user = "determined",
                                        .password = "",
                                        .auth_file = "",
                                        .timeout_ms = 600 * 1000};

    return client_open(&world, &options, &cli->client, cli->err);
}

/* ---- its runs -------------------------------------------------------------------- */

static det_status find_runs(struct cli *cli)
{
    const char *path = cli->in->globals.local;
    struct io_stat stat;
    det_status st = *path ? DET_OK : offline_home(&cli->mem, &path, cli->err);

    if (st)
        return st;
    if (!*cli->in->globals.local && io_stat(io_system(), path, &stat, NULL))
        return DET_OK; /* nobody has run anything yet */
    return offline_runs_find(cli, path, &cli->local->runs);
}

/* Whether the command's words name it; "1,3" are two. */
static bool is_named(const struct cli *cli, uint32_t number)
{
    for (size_t i = 0; i < cli->in->arg_count; i++)
        for (const char *at = cli->in->args[i]; *at;) {
            size_t len = strcspn(at, ",");
            char word[4096];
            uint32_t found = 0;

            snprintf(word, sizeof(word), "%.*s", (int)len, at);
            if (offline_run_named(&cli->local->runs, word, &found) && found == number)
                return true;
            at += len;
            at += *at == ',';
        }
    return false;
}

static det_status tell_all(struct cli *cli)
{
    const struct offline_runs *runs = &cli->local->runs;
    det_status st = DET_OK;

    for (uint32_t i = 0; i < runs->count && !st; i++) {
        unsigned outline = is_named(cli, i + 1) ? 0 : BRING_OUTLINE;
        struct brought brought;

        st = bring_run(cli, &runs->at[i], BRING_IN_PLACE | outline, &brought);
        if (st)
            return err_prefix(cli->err, "the run in '%s'", runs->at[i].path);
        if (brought.lost)
            cli_note(cli, "%s: %llu reports are damaged and lost", runs->at[i].name,
                     (unsigned long long)brought.lost);
    }
    return st;
}

det_status local_master_open(struct cli *cli)
{
    det_status st;

    if (cli->in->globals.master)
        return cli_fail(cli, DET_INVALID,
                        "--local and --master exclude each other: without a master "
                        "there is none to be asked");
    cli->local = mem_new(struct local_master);
    if (!cli->local)
        return cli_nomem(cli);
    st = make(cli->local, cli->err);
    if (!st)
        st = open_client(cli);
    if (!st)
        st = find_runs(cli);
    return st ? st : tell_all(cli);
}

det_status local_master_id(struct cli *cli, const char *word, int64_t *ret_id)
{
    uint32_t number;
    det_status st = cli_connect(cli);

    if (st)
        return st;
    if (!offline_run_named(&cli->local->runs, word, &number)) {
        (void)cli_fail(cli, DET_NOT_FOUND, "there is no local run '%s'", word);
        return cli_hint(cli, "'det experiment list --local' shows them");
    }
    *ret_id = number;
    return DET_OK;
}

static det_status renew_output(struct cli *cli, int64_t id, bool *ret_is_over)
{
    struct offline_run run;
    uint64_t bytes = 0;
    det_status st =
        offline_run_read(cli->local->runs.at[id - 1].path, &cli->mem, &run, cli->err);

    if (!st)
        st = bring_more_output(cli, &run, id, &bytes);
    *ret_is_over = st || (run.state != OFFLINE_RUNNING && !bytes);
    return st;
}

det_status local_master_renew_output(struct cli *cli, int64_t id, bool *ret_is_over)
{
    struct arena kept = cli->mem;
    det_status st;

    cli->mem = (struct arena)ARENA_INIT(CONFIG_MEM); /* it is done again and again */
    st = renew_output(cli, id, ret_is_over);
    arena_done(&cli->mem);
    cli->mem = kept;
    return st;
}
