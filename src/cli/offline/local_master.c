/* SPDX-License-Identifier: Apache-2.0 */
/* local_master.c - see local_master.h.
 *
 * It is the real master on the in-memory twins of files, threads and network: it uses no
 * disk, opens no port, starts nothing and ends with the command.  The runs of the folder
 * are imported oldest first, so the numbers of a run's experiment and trial are the same.
 *
 * Runs that the command names are imported completely; of the others only what lists
 * need. */
#include "cli/offline/local_master.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "cli/frame/cli.h"
#include "cli/frame/connect.h"
#include "cli/offline/import_output.h"
#include "cli/offline/import_run.h"
#include "cli/offline/offline_run.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "libdet/client/client.h"
#include "master/master.h"
#include "net/memory/net_memory.h"
#include "net/net.h"

enum { PORT = 8080, CONFIG_MEM = 16 << 20 };

struct local_master {
    struct arena mem;
    struct clock_manual clock;
    struct io *io;
    struct executor *exec;
    struct net *net;
    struct master *master;
    bool is_started;
    struct offline_runs runs;
};

/* ---- life ------------------------------------------------------------------------ */

static void on_fatal(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence; /* a disk in memory fails only without memory, which is reported */
}

det_status local_master_config(struct arena *mem, struct json **ret_tree,
                               struct err *err)
{
    static const char yaml[] = "launch_error: false\n";
    struct config_report report = CONFIG_REPORT(mem, NULL);

    return config_load(CONFIG_MASTER, yaml, sizeof(yaml) - 1, NULL, &report, ret_tree,
                       err);
}

static det_status start_master(struct local_master *local, struct err *err)
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

static det_status make_world(struct local_master *local, struct err *err)
{
    det_status st;

    local->mem = (struct arena)ARENA_INIT(CONFIG_MEM);
    clock_manual_init(&local->clock, clock_wall_us(&clock_system));
    log_setup(LOG_ERROR, -1);
    st = io_memory_new(&local->io, err);
    if (!st)
        st = io_mkdir(local->io, "/data", true, err);
    if (!st)
        st = executor_single_new(&local->clock, 1, &local->exec, err);
    if (!st)
        st = net_memory_new(local->exec, 1, &local->net, err);
    return st ? st : start_master(local, err);
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
        executor_free(local->exec);
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

/* ---- the runs -------------------------------------------------------------------- */

static det_status find_runs(struct cli *cli)
{
    const char *path = cli->in->globals.local;
    struct io_stat stat;
    det_status st = *path ? DET_OK : offline_home(&cli->mem, &path, cli->err);

    if (st)
        return st;
    if (!*cli->in->globals.local && io_stat(io_system(), path, &stat, NULL))
        return DET_OK; /* there was no offline run yet */
    return offline_runs_find(cli, path, &cli->local->runs);
}

/* Whether an argument names the run; "1,3" names two. */
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

static det_status import_all(struct cli *cli)
{
    const struct offline_runs *runs = &cli->local->runs;
    det_status st = DET_OK;

    for (uint32_t i = 0; i < runs->count && !st; i++) {
        unsigned outline = is_named(cli, i + 1) ? 0 : IMPORT_OUTLINE;
        struct import_result result;

        st = import_run(cli, &runs->at[i], IMPORT_IN_PLACE | outline, &result);
        if (st)
            return err_prefix(cli->err, "the run in '%s'", runs->at[i].path);
        if (result.lost)
            cli_note(cli, "%s: %llu damaged reports are not shown", runs->at[i].name,
                     (unsigned long long)result.lost);
    }
    return st;
}

det_status local_master_open(struct cli *cli)
{
    det_status st;

    if (cli->in->globals.master)
        return cli_fail(
            cli, DET_INVALID,
            "--local and --master cannot be used together: without a master "
            "there is nobody to ask");
    cli->local = mem_new(struct local_master);
    if (!cli->local)
        return cli_nomem(cli);
    st = make_world(cli->local, cli->err);
    if (!st)
        st = open_client(cli);
    if (!st)
        st = find_runs(cli);
    return st ? st : import_all(cli);
}

det_status local_master_id(struct cli *cli, const char *word, int64_t *ret_id)
{
    uint32_t number;
    det_status st = cli_connect(cli);

    if (st)
        return st;
    if (!offline_run_named(&cli->local->runs, word, &number)) {
        (void)cli_fail(cli, DET_NOT_FOUND, "there is no offline run '%s'", word);
        return cli_hint(cli, "'det experiment list --local' shows them");
    }
    *ret_id = number;
    return DET_OK;
}

static det_status renew_output(struct cli *cli, int64_t id, bool *ret_is_over)
{
    struct offline_run run;
    uint64_t bytes = 0;
    det_status st;

    assert(id >= 1 && id <= cli->local->runs.count);
    st = offline_run_read(cli->local->runs.at[id - 1].path, &cli->mem, &run, cli->err);

    if (!st)
        st = import_more_output(cli, &run, id, &bytes);
    *ret_is_over = st || (run.state != OFFLINE_RUNNING && !bytes);
    return st;
}

det_status local_master_renew_output(struct cli *cli, int64_t id, bool *ret_is_over)
{
    struct arena kept = cli->mem;
    det_status st;

    cli->mem = (struct arena)ARENA_INIT(CONFIG_MEM); /* called again and again */
    st = renew_output(cli, id, ret_is_over);
    arena_done(&cli->mem);
    cli->mem = kept;
    return st;
}
