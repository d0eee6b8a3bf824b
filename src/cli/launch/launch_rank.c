/* SPDX-License-Identifier: Apache-2.0 */
/* launch_rank.c - one rank: sets its environment, prefixes its lines, and reports its
 * failure.
 *
 * All ranks print into one pipe.  So only whole lines are forwarded, and of a line that is
 * being rewritten (a progress bar) each state as a whole, between two "\r": whatever another
 * rank prints next overwrites it. */
#include "cli/launch/launch_rank.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/task/output/lines.h"
#include "base/compiler.h"
#include "base/thread/executor.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/launch/launched.h"
#include "cli/output/format.h"
#include "data/text.h"

enum { CHUNK = 1 << 14 };

/* One of the two outputs of the rank, forwarded to ours. */
struct lines {
    int from; /* -1: closed */
    int into;
    const char *prefix;
    struct buf text; /* an incomplete line */
    struct buf ready;
};

/* ---- environment ----------------------------------------------------------------- */

/* Sets the names that programs read from those of mpirun. */
static det_status set_environment(struct cli *cli)
{
    static const char *const names[][2] = {
        {"RANK", "OMPI_COMM_WORLD_RANK"},
        {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},
        {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
        {"LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    };
    bool is_set = true;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i][1]);

        if (!value)
            return cli_fail(cli, DET_INVALID,
                            "%s is not set: only mpirun starts 'det internal rank'",
                            names[i][1]);
        is_set = is_set && setenv(names[i][0], value, 1) == 0;
    }
    is_set = is_set && setenv("CROSS_RANK", "0", 1) == 0 &&
             setenv("CROSS_SIZE", "1", 1) == 0;
    return is_set ? DET_OK : cli_nomem(cli);
}

/* Frameworks start one thread per processor, in each rank.  Then threads of several ranks
 * share a processor, and a busy one waits for one that spins.  So each rank gets its
 * share.  Variables that the user has set stay. */
static det_status share_processors(struct cli *cli)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS",
                                        "TF_NUM_INTEROP_THREADS"};
    int64_t ranks = 1;
    const char *threads;
    bool is_set = true;

    if (!parse_i64(getenv("LOCAL_SIZE"), &ranks) || ranks < 2)
        return DET_OK;
    threads = format_i64(cli, MAX((int64_t)executor_cores() / ranks, INT64_C(1)));
    for (size_t i = 0; threads && i < ARRAY_LEN(names); i++)
        is_set = is_set && setenv(names[i], threads, 0) == 0;
    return threads && is_set ? DET_OK : cli_nomem(cli);
}

/* ---- lines ----------------------------------------------------------------------- */

/* Writes everything.  A closed output does not stop the rank. */
static void write_ready(struct lines *lines)
{
    size_t at = 0;

    while (at < lines->ready.len) {
        ssize_t count =
            write(lines->into, lines->ready.data + at, lines->ready.len - at);

        if (count < 0 && errno != EINTR)
            break;
        at += count > 0 ? (size_t)count : 0;
    }
    buf_clear(&lines->ready);
}

/* Prefixes whole lines, and lines that are too long to wait for their end; at the end
 * everything. */
static void prefix_lines(struct lines *lines, bool is_end)
{
    struct line line;
    size_t at = 0;

    while (line_cut(lines->text.data + at, lines->text.len - at, is_end, &line)) {
        at += line.taken;
        if (line.is_hidden)
            continue;
        buf_puts(&lines->ready, lines->prefix);
        buf_add(&lines->ready, line.text, line.len);
        buf_putc(&lines->ready, '\n');
    }
    if (line_live(lines->text.data + at, lines->text.len - at, &line)) {
        buf_printf(&lines->ready, "\r%s", lines->prefix);
        buf_add(&lines->ready, line.text, line.len);
        buf_putc(&lines->ready, '\r');
    }
    buf_drop(&lines->text, at);
    write_ready(lines);
}

/* False: there is nothing to read now. */
static bool read_lines(struct lines *lines)
{
    char bytes[CHUNK];
    ssize_t count = lines->from < 0 ? -1 : read(lines->from, bytes, sizeof(bytes));

    if (count > 0) {
        buf_add(&lines->text, bytes, (size_t)count);
        prefix_lines(lines, false);
        return true;
    }
    if (count == 0) {
        close(lines->from);
        lines->from = -1;
    }
    return false;
}

static void lines_done(struct lines *lines)
{
    prefix_lines(lines, true);
    if (lines->from >= 0)
        close(lines->from);
    buf_done(&lines->text);
    buf_done(&lines->ready);
}

/* ---- the rank -------------------------------------------------------------------- */

/* A pipe with a non-blocking read end. */
static bool open_pipe(struct lines *lines, int *ret_far)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return false;
    lines->from = ends[0];
    *ret_far = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

/* Until the rank has ended and all its output is forwarded. */
static int forward_until_end(struct launched *launched, struct lines lines[2])
{
    int code = EXIT_FAILURE;
    bool is_over = false;

    while (!is_over) {
        struct pollfd rows[3] = {{.fd = launched->signals, .events = POLLIN},
                                 {.fd = lines[0].from, .events = POLLIN},
                                 {.fd = lines[1].from, .events = POLLIN}};

        (void)poll(rows, ARRAY_LEN(rows), -1);
        is_over = launched_step(launched, &code);
        for (int i = 0; i < 2; i++)
            while (read_lines(&lines[i]) && is_over)
                continue;
    }
    return code;
}

/* Ranks that were told to end because another one failed report nothing. */
static void report_failed_rank(const char *rank, const char *fate, int code,
                               bool was_told)
{
    char text[240];
    int len;

    if (!code || was_told)
        return;
    len =
        code > 128
            ? snprintf(text, sizeof(text), "det: rank %s was killed by signal %d (%s)",
                       rank, code - 128, strsignal(code - 128))
            : snprintf(text, sizeof(text), "det: rank %s exited with %d", rank, code);
    len += snprintf(text + len, sizeof(text) - (size_t)len, "; %s\n", fate);
    (void)!write(STDERR_FILENO, text, (size_t)len);
}

static det_status start_rank(struct cli *cli, const struct cli_invocation *in,
                             struct lines lines[2], struct launched *launched)
{
    const char **argv = arena_array(&cli->mem, const char *, in->arg_count + 1);
    int fds[3] = {-1, -1, -1};
    det_status st;

    if (!argv)
        return cli_nomem(cli);
    memcpy(argv, in->args, in->arg_count * sizeof(*argv));
    if (!open_pipe(&lines[0], &fds[1]) || !open_pipe(&lines[1], &fds[2]))
        st = err_errno(cli->err, errno, "cannot read what the rank prints");
    else
        st = launched_start(launched, argv, fds, cli->err);
    for (int i = 1; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return st;
}

det_status launch_rank_run(struct cli *cli, const struct cli_invocation *in,
                           const char *rank, const char *fate)
{
    const char *prefix = arena_printf(&cli->mem, "[rank=%s] ", rank);
    struct lines lines[2] = {
        {.from = -1, .into = STDOUT_FILENO, .prefix = prefix, BUF_INIT, BUF_INIT},
        {.from = -1, .into = STDERR_FILENO, .prefix = prefix, BUF_INIT, BUF_INIT},
    };
    struct launched launched = {.death_signal = SIGKILL};
    det_status st = prefix ? DET_OK : cli_nomem(cli);

    prctl(PR_SET_PDEATHSIG, SIGTERM); /* of mpirun, or of the task */
    if (!st)
        st = start_rank(cli, in, lines, &launched);
    if (!st)
        cli->exit_code = forward_until_end(&launched, lines);
    for (int i = 0; i < 2; i++)
        lines_done(&lines[i]);
    if (st)
        return st;
    launched_done(&launched);
    report_failed_rank(rank, fate, cli->exit_code, launched.was_told);
    return DET_OK;
}

/* `det launch torch_distributed` has set the environment already. */
static bool has_environment(void)
{
    const char *layer = getenv("DET_LAUNCH");

    return layer && strcmp(layer, "torch_distributed") == 0 && getenv("RANK");
}

det_status run_internal_rank(struct cli *cli, const struct cli_invocation *in)
{
    det_status st = has_environment() ? DET_OK : set_environment(cli);

    if (!st)
        st = share_processors(cli);
    return st ? st : launch_rank_run(cli, in, getenv("RANK"), "all ranks are ended");
}
