/* SPDX-License-Identifier: Apache-2.0 */
/* launch_rank.c - one rank: its environment, its lines with their prefix, and the
 * sentence that names it when it is the one that failed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/task.h"
#include "cli/ctx.h"
#include "cli/launch.h"
#include "cli/run.h"
#include "data/text.h"

enum { CHUNK = 1 << 14, LINE_MOST = 1 << 16 };

/* One of its two outputs, on the way to ours. */
struct lines {
    int from; /* -1: closed */
    int into;
    const char *prefix;
    struct buf text; /* a line that has no end yet */
    struct buf ready;
};

/* ---- environment ----------------------------------------------------------------- */

/* Names that programs look for, from those of mpirun. */
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
                            "%s is not set: 'det internal rank' is for mpirun to start",
                            names[i][1]);
        is_set = is_set && setenv(names[i][0], value, 1) == 0;
    }
    is_set = is_set && setenv("CROSS_RANK", "0", 1) == 0 &&
             setenv("CROSS_SIZE", "1", 1) == 0;
    return is_set ? DET_OK : cli_nomem(cli);
}

/* Frameworks start a thread for each processor, and each of their ranks does.  Threads
 * of several ranks then share a processor: one that is needed waits for one that looks
 * for work.  What the user has said stays. */
static det_status share_processors(struct cli *cli)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS",
                                        "TF_NUM_INTEROP_THREADS"};
    int64_t ranks = 1;
    const char *threads;
    bool is_set = true;

    if (!parse_i64(getenv("LOCAL_SIZE"), &ranks) || ranks < 2)
        return DET_OK;
    threads = cli_i64(cli, MAX((int64_t)task_cores() / ranks, INT64_C(1)));
    for (size_t i = 0; threads && i < ARRAY_LEN(names); i++)
        is_set = is_set && setenv(names[i], threads, 0) == 0;
    return threads && is_set ? DET_OK : cli_nomem(cli);
}

/* ---- lines ----------------------------------------------------------------------- */

/* All of it; whoever does not read any more does not stop the rank. */
static void pass_on(struct lines *lines)
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

/* Whole lines, and what is too long to wait for its end; at the end everything. */
static void take_lines(struct lines *lines, bool is_end)
{
    size_t at = 0;

    while (at < lines->text.len) {
        const char *begin = lines->text.data + at;
        const char *end = memchr(begin, '\n', lines->text.len - at);
        size_t len = end ? (size_t)(end - begin) : lines->text.len - at;

        if (!end && !is_end && len < LINE_MOST)
            break;
        buf_puts(&lines->ready, lines->prefix);
        buf_add(&lines->ready, begin, len);
        buf_putc(&lines->ready, '\n');
        at += len + (end != NULL);
    }
    buf_drop(&lines->text, at);
    pass_on(lines);
}

/* False: there is nothing more now. */
static bool read_some(struct lines *lines)
{
    char bytes[CHUNK];
    ssize_t count = lines->from < 0 ? -1 : read(lines->from, bytes, sizeof(bytes));

    if (count > 0) {
        buf_add(&lines->text, bytes, (size_t)count);
        take_lines(lines, false);
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
    take_lines(lines, true);
    if (lines->from >= 0)
        close(lines->from);
    buf_done(&lines->text);
    buf_done(&lines->ready);
}

/* ---- the rank -------------------------------------------------------------------- */

/* A pipe whose near end does not wait; -1 in both when there is none to be had. */
static bool open_pipe(struct lines *lines, int *ret_far)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return false;
    lines->from = ends[0];
    *ret_far = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

/* Until it has ended and everything that it wrote is on its way. */
static int live(struct launched *launched, struct lines lines[2])
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
            while (read_some(&lines[i]) && is_over)
                continue;
    }
    return code;
}

/* Those who are taken down because of another say nothing. */
static void name_culprit(const char *rank, const char *fate, int code, bool was_told)
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

det_status launch_run_rank(struct cli *cli, const struct cli_invocation *in,
                           const char *rank, const char *fate)
{
    const char *prefix = arena_printf(&cli->mem, "[rank=%s] ", rank);
    struct lines lines[2] = {
        {.from = -1, .into = STDOUT_FILENO, .prefix = prefix, BUF_INIT, BUF_INIT},
        {.from = -1, .into = STDERR_FILENO, .prefix = prefix, BUF_INIT, BUF_INIT},
    };
    struct launched launched = {.heir = SIGKILL};
    det_status st = prefix ? DET_OK : cli_nomem(cli);

    prctl(PR_SET_PDEATHSIG, SIGTERM); /* of mpirun, or of the task */
    if (!st)
        st = start_rank(cli, in, lines, &launched);
    if (!st)
        cli->exit_code = live(&launched, lines);
    for (int i = 0; i < 2; i++)
        lines_done(&lines[i]);
    if (st)
        return st;
    launched_done(&launched);
    name_culprit(rank, fate, cli->exit_code, launched.was_told);
    return DET_OK;
}

/* Of `det launch torch_distributed` it has come with the environment that it needs. */
static bool is_told(void)
{
    const char *layer = getenv("DET_LAUNCH");

    return layer && strcmp(layer, "torch_distributed") == 0 && getenv("RANK");
}

det_status run_internal_rank(struct cli *cli, const struct cli_invocation *in)
{
    det_status st = is_told() ? DET_OK : set_environment(cli);

    if (!st)
        st = share_processors(cli);
    return st ? st
              : launch_run_rank(cli, in, getenv("RANK"), "all ranks are taken down");
}
