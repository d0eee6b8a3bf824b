/* SPDX-License-Identifier: Apache-2.0 */
/* ui.c - `det ui`: shows offline runs in the WebUI.
 *
 *   folders --ui_runs.c, by REST--> master in memory --HTTP, loopback--> browser
 *
 * It is the real master, with real threads and a real port, on a file system in memory.
 * It starts nothing, keeps nothing, and ends with the command.  This command logs in
 * first; then the master becomes read-only for everybody else. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/thread/executor.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/interrupt.h"
#include "cli/frame/options.h"
#include "cli/offline/local_master.h"
#include "cli/offline/offline_run.h"
#include "cli/offline/ui_runs.h"
#include "cli/output/browser.h"
#include "libdet/client/client.h"
#include "libdet/client/runfile.h"
#include "master/master.h"
#include "net/net.h"
#include "net/net_system.h"

enum {
    LOOK_US = 1000000, /* between two passes over the folders */
    CALL_MS = 600 * 1000,
};

struct ui {
    struct cli *cli;
    struct interrupt hold;
    struct io *io;
    struct executor *exec;
    struct net *net;
    struct master *master;
    bool is_started;
    struct ui_runs *runs;
    const char *url;
};

/* ---- the master ------------------------------------------------------------------ */

static void on_fatal(void *arg, const char *sentence)
{
    (void)arg;
    fprintf(stderr, "det: %s\n",
            sentence); /* a disk in memory fails only without memory */
    _exit(det_status_exit(DET_NOMEM));
}

static det_status start_master(struct ui *ui)
{
    const struct ui_options *options = ui->cli->in->options;
    struct master_config config = {
        .io = ui->io,
        .storage = io_system(),
        .exec = ui->exec,
        .net = ui->net,
        .data_dir = "/data",
        .host = "127.0.0.1",
        .port = options->port == CLI_UNSET ? 0 : (uint16_t)options->port,
        .on_fatal = on_fatal};
    struct err *err = ui->cli->err;
    struct json *tree;
    det_status st = local_master_config(&ui->cli->mem, &tree, err);

    config.tree = tree;
    if (!st)
        st = master_new(&config, &ui->master, err);
    if (!st)
        st = master_start(ui->master, err);
    ui->is_started = !st;
    return st;
}

static det_status make_world(struct ui *ui)
{
    struct err *err = ui->cli->err;
    det_status st = io_memory_new(&ui->io, err);

    log_setup(LOG_ERROR, STDERR_FILENO);
    if (!st)
        st = io_mkdir(ui->io, "/data", true, err);
    if (!st)
        st = executor_threads_new(&clock_system, &ui->exec, err);
    if (!st)
        st = net_system_new(ui->exec, &ui->net, err);
    return st ? st : start_master(ui);
}

/* Nobody else has a session, and after this nobody can get one. */
static det_status log_in(struct ui *ui)
{
    const struct client_world world = {.io = ui->io, .net = ui->net};
    det_client_options options = {.size = sizeof(options),
                                  .user = "determined",
                                  .password = "",
                                  .auth_file = "",
                                  .timeout_ms = CALL_MS};
    struct cli *cli = ui->cli;
    struct json *me;
    det_status st;

    ui->url = arena_printf(&cli->mem, "http://127.0.0.1:%u",
                           (unsigned)master_port(ui->master));
    if (!ui->url)
        return cli_nomem(cli);
    options.master = ui->url;
    st = client_open(&world, &options, &cli->client, cli->err);
    if (!st)
        st = cli_get(cli, &me, "/api/v1/me");
    if (!st)
        master_set_read_only(ui->master);
    return st;
}

static void take_down(struct ui *ui)
{
    ui_runs_free(ui->runs);
    det_client_close(ui->cli->client);
    ui->cli->client = NULL;
    if (ui->is_started)
        master_stop(ui->master);
    if (ui->exec)
        executor_free(ui->exec);
    master_free(ui->master);
    if (ui->net)
        net_free(ui->net);
    if (ui->io)
        io_free(ui->io);
}

/* ---- the address ----------------------------------------------------------------- */

static det_status show_address(struct ui *ui, const char *url)
{
    const struct ui_options *options = ui->cli->in->options;
    det_status st;

    cli_put(ui->cli, "%s/det/\n", url);
    st = cli_flush(ui->cli);
    if (!st && !options->no_browser)
        browser_open(arena_printf(&ui->cli->mem, "%s/det/", url), &ui->hold.usual);
    return st;
}

/* ---- which runs ------------------------------------------------------------------ */

static det_status count_runs(struct cli *cli, const char *path, uint32_t *ret_count)
{
    struct offline_runs runs = {0};
    struct io_stat stat;
    det_status st = DET_OK;

    if (!io_stat(io_system(), path, &stat, NULL))
        st = offline_runs_find(cli, path, &runs);
    *ret_count = runs.count;
    return st;
}

/* Without a folder and without any run: show the pages of the local master. */
static det_status show_master(struct ui *ui, const char *path)
{
    struct cli *cli = ui->cli;
    const char *data_dir;
    struct runfile run;
    det_status st = runfile_data_dir(&cli->mem, &data_dir, cli->err);

    if (!st)
        st = executor_threads_new(&clock_system, &ui->exec, cli->err);
    if (!st)
        st = net_system_new(ui->exec, &ui->net, cli->err);
    if (!st)
        st = runfile_find(io_system(), ui->net, data_dir, &cli->mem, &run, cli->err);
    if (!st)
        return show_address(ui, run.url);
    if (st != DET_NOT_FOUND)
        return st;
    (void)cli_fail(cli, DET_NOT_FOUND,
                   "there are no offline runs in '%s', and no master runs here", path);
    return cli_hint(cli, "'det ui DIR' shows the runs of another folder; 'det serve' "
                         "starts a master");
}

/* DIR must exist; it may be empty. */
static det_status find_path(struct cli *cli, const char **ret_path, bool *ret_is_usual)
{
    struct io_stat stat;
    det_status st;

    *ret_is_usual = !cli->in->arg_count;
    if (*ret_is_usual)
        return offline_home(&cli->mem, ret_path, cli->err);
    *ret_path = cli->in->args[0];
    st = io_stat(io_system(), *ret_path, &stat, cli->err);
    if (st == DET_NOT_FOUND)
        return cli_fail(cli, st, "there is no folder '%s'", *ret_path);
    if (!st && stat.kind != IO_DIRECTORY && stat.kind != IO_LINK)
        return cli_fail(cli, DET_INVALID, "'%s' is not a folder", *ret_path);
    return st;
}

/* ---- the command ----------------------------------------------------------------- */

/* Until a signal comes. */
static det_status follow_runs(struct ui *ui)
{
    det_status st = DET_OK;
    bool is_behind = true;

    while (!st && !interrupt_pause(&ui->hold, is_behind ? 0 : LOOK_US)) {
        st = ui_runs_find(ui->runs);
        if (!st)
            st = ui_runs_update(ui->runs, &is_behind);
    }
    return st;
}

static det_status show_runs(struct ui *ui, const char *path)
{
    struct cli *cli = ui->cli;
    det_status st = make_world(ui);

    if (!st)
        st = log_in(ui);
    if (!st)
        st = ui_runs_new(cli, path, &ui->runs);
    if (!st)
        st = ui_runs_find(ui->runs);
    if (st)
        return st;
    if (!ui_runs_count(ui->runs))
        cli_note(cli, "there is no run in '%s' yet; runs appear when they start", path);
    st = show_address(ui, ui->url);
    return st ? st : follow_runs(ui);
}

static void forget_signal(void)
{
    const struct timespec none = {0};
    sigset_t all;

    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    (void)sigtimedwait(&all, NULL, &none);
}

det_status run_ui(struct cli *cli, const struct cli_invocation *in)
{
    struct ui ui = {.cli = cli};
    const char *path;
    uint32_t count = 0;
    bool is_usual;
    det_status st = find_path(cli, &path, &is_usual);

    (void)in;
    if (!st && is_usual)
        st = count_runs(cli, path, &count);
    if (st)
        return st;
    interrupt_hold(&ui.hold);
    interrupt_let_stop(&ui.hold);
    st = is_usual && !count ? show_master(&ui, path) : show_runs(&ui, path);
    take_down(&ui);
    if (!st)
        forget_signal(); /* Ctrl-C is the normal end */
    interrupt_release(&ui.hold);
    return st;
}
