/* SPDX-License-Identifier: Apache-2.0 */
/* launch_mpi.c - `det launch mpi`: starts mpirun, which starts the ranks. */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/program_path.h"
#include "cli/launch/launch.h"
#include "cli/launch/launch_place.h"
#include "cli/launch/launched.h"
#include "cli/output/format.h"

enum { WORDS_BEFORE = 16 };

/* On a signal, mpirun kills ranks that need a moment to end, and loses their last lines.
 * So the first signal goes to the ranks themselves; a second one goes to mpirun. */
static void forward_to_ranks(struct launched *launched, int number)
{
    int count = 0;
    char path[600];
    const struct dirent *each;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)launched->pid);
    threads = launched->was_told ? NULL : opendir(path);
    for (each = threads ? readdir(threads) : NULL; each; each = readdir(threads)) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)launched->pid,
                 each->d_name);
        count += launched_signal_children(path, number);
    }
    if (threads)
        closedir(threads);
    if (!count)
        kill(launched->pid, number);
}

static det_status mpirun_words(struct cli *cli, const struct cli_invocation *in,
                               int64_t ranks, const char ***ret_words)
{
    const char **words =
        arena_array(&cli->mem, const char *, in->arg_count + WORDS_BEFORE);
    const char *self;
    size_t count = 0;
    det_status st = program_path(&cli->mem, &self, cli->err);

    if (st)
        return st;
    if (!words)
        return cli_nomem(cli);
    words[count++] = "mpirun";
    if (geteuid() == 0)
        words[count++] = "--allow-run-as-root";
    /* the master counts slots, and the rank reports its failure */
    words[count++] = "--oversubscribe";
    words[count++] = "--quiet";
    /* mpirun would bind each rank to one processor, and the ranks of the next task to the
     * same ones; but frameworks have several threads per rank */
    words[count++] = "--bind-to";
    words[count++] = "none";
    words[count++] = "-n";
    words[count++] = format_i64(cli, ranks);
    words[count++] = self;
    words[count++] = "internal";
    words[count++] = "rank";
    words[count++] = "--";
    assert(count < WORDS_BEFORE); /* room for the arguments and a NULL */
    for (size_t i = 0; i < in->arg_count; i++)
        words[count++] = in->args[i];
    if (cli->mem.has_failed)
        return cli_nomem(cli);
    *ret_words = words;
    return DET_OK;
}

static void wait_for_mpirun(struct cli *cli, struct launched *launched)
{
    struct pollfd row = {.fd = launched->signals, .events = POLLIN};

    while (!launched_step(launched, &cli->exit_code))
        (void)poll(&row, 1, -1);
}

det_status run_launch_mpi(struct cli *cli, const struct cli_invocation *in)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fds[3] = {null, -1, -1};
    /* SIGTERM makes mpirun end its ranks */
    struct launched launched = {.forward = forward_to_ranks, .death_signal = SIGTERM};
    const struct launch_options *options = in->options;
    struct launch_place place;
    const char **words = NULL;
    int64_t ranks = 1;
    det_status st = launch_place_read(cli, &place);

    if (!st)
        st = launch_place_ranks(cli, options->ranks, &place, &ranks);
    if (!st) /* mpirun reaches other nodes by ssh, which tasks do not have */
        st = launch_place_is_one(cli, &place, "mpi", "");
    if (!st)
        st = launch_set(cli, "DET_LAUNCH", "mpi");
    if (!st)
        st = mpirun_words(cli, in, ranks, &words);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!st)
        st = launched_start(&launched, words, fds, cli->err);
    if (null >= 0)
        close(null);
    if (st == DET_NOT_FOUND)
        return cli_fail(cli, st,
                        "mpirun was not found: install Open MPI (openmpi-bin)");
    if (st)
        return st;
    wait_for_mpirun(cli, &launched);
    launched_done(&launched);
    launched_kill_orphans();
    return DET_OK;
}
