/* SPDX-License-Identifier: Apache-2.0 */
/* output_recorder.c - `det internal record DIR WAY...`: records the output of an offline
 * run.
 *
 * libdet/offline/output_recorder.c starts it and says why it is a separate process.  A
 * way is "READ:WRITE:STREAM": bytes from the first descriptor are written to the spool of
 * the stream, and then to the second descriptor.  In this order, a terminal that is
 * stopped costs the log nothing.
 *
 * It ends when the last writer of the last way has closed it.  That may be a child of the
 * program that outlives it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "agent/task/output/spool.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "libdet/offline/offline.h"
#include "libdet/offline/output_recorder.h"

enum { WAYS_MOST = 2, TERMINAL_MS = 20 };

/* No limit but the disk. */
static const uint64_t limit_bytes = UINT64_C(1) << 50;

struct way {
    int from;
    int to;
    bool is_terminal;
    struct spool *spool;
};

struct recorder {
    struct way way[WAYS_MOST];
    int count;
    int control; /* -1: the program has ended */
};

/* ---- recording ------------------------------------------------------------------- */

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t count = write(fd, bytes, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN) { /* another process made it non-blocking */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            (void)poll(&ready, 1, -1);
            continue;
        }
        if (count < 0)
            return false;
        bytes += count;
        len -= (size_t)count;
    }
    return true;
}

static void close_way(struct way *way)
{
    close(way->from);
    way->from = -1;
    spool_end(way->spool, clock_wall_us(&clock_system));
}

/* Records and forwards one read.  If nobody reads the output any more, the way is closed,
 * so the program gets SIGPIPE as it would without us. */
static void pass_bytes(struct way *way)
{
    char bytes[SPOOL_RECORD];
    ssize_t count = read(way->from, bytes, sizeof(bytes));

    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count > 0)
        spool_write(way->spool, clock_wall_us(&clock_system), bytes, (size_t)count);
    if (count <= 0 || !write_all(way->to, bytes, (size_t)count))
        close_way(way);
}

static bool has_more(const struct way *way, int timeout_ms)
{
    struct pollfd ready = {.fd = way->from, .events = POLLIN};

    return way->from >= 0 && poll(&ready, 1, timeout_ms) > 0;
}

/* Records everything written so far.  A terminal delivers it a moment later. */
static void drain_ways(struct recorder *r)
{
    static const char drained = RECORDER_DRAINED;

    for (int i = 0; i < r->count; i++)
        while (has_more(&r->way[i], r->way[i].is_terminal ? TERMINAL_MS : 0))
            pass_bytes(&r->way[i]);
    (void)send(r->control, &drained, 1, MSG_NOSIGNAL);
}

static void read_control(struct recorder *r)
{
    char byte;
    ssize_t count = recv(r->control, &byte, 1, 0);

    if (count < 0 && errno == EINTR)
        return;
    if (count == 1 && byte == RECORDER_DRAIN) {
        drain_ways(r);
        return;
    }
    if (count <= 0) {
        close(r->control);
        r->control = -1;
    }
}

/* The size of the window has changed: change that of the program's terminal. */
static void resize_terminals(const struct recorder *r)
{
    struct winsize size;

    for (int i = 0; i < r->count; i++)
        if (r->way[i].from >= 0 && r->way[i].is_terminal &&
            !ioctl(r->way[i].to, TIOCGWINSZ, &size))
            (void)ioctl(r->way[i].from, TIOCSWINSZ, &size);
}

static bool is_over(const struct recorder *r)
{
    for (int i = 0; i < r->count; i++)
        if (r->way[i].from >= 0)
            return false;
    return true;
}

static void record_until_end(struct recorder *r)
{
    sigset_t none;

    sigemptyset(&none);
    while (!is_over(r)) {
        struct pollfd ready[WAYS_MOST + 1];
        int count;

        for (int i = 0; i < r->count; i++)
            ready[i] = (struct pollfd){.fd = r->way[i].from, .events = POLLIN};
        ready[r->count] = (struct pollfd){.fd = r->control, .events = POLLIN};
        count = ppoll(ready, (nfds_t)r->count + 1, NULL, &none);
        if (count < 0) { /* interrupted by SIGWINCH, the only signal that we handle */
            resize_terminals(r);
            continue;
        }
        for (int i = 0; i < r->count; i++)
            if (ready[i].revents && r->way[i].from >= 0)
                pass_bytes(&r->way[i]);
        if (ready[r->count].revents && r->control >= 0)
            read_control(r);
    }
}

/* ---- starting -------------------------------------------------------------------- */

static void ignore_signal(int number)
{
    (void)number;
}

/* Signals that end or stop the program are not for the recorder: it ends after it. */
static void set_signals(void)
{
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                  SIGTSTP, SIGPIPE, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigset_t winch;

    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        (void)sigaction(ignored[i], &action, NULL);
    action.sa_handler = ignore_signal;
    (void)sigaction(SIGWINCH, &action, NULL);
    sigemptyset(&winch);
    sigaddset(&winch, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &winch, NULL); /* except in ppoll() */
}

static det_status open_way(struct cli *cli, const char *folder, const char *word,
                           struct way *way)
{
    struct spool_config config = {
        .io = io_system(), .dir = folder, .limit_bytes = limit_bytes};
    char name[16] = "";

    if (sscanf(word, "%d:%d:%15s", &way->from, &way->to, name) != 3 ||
        (strcmp(name, "stdout") && strcmp(name, "stderr")))
        return cli_fail(cli, DET_INVALID, "'%s' is not a way; expected 4:1:stdout",
                        word);
    config.name = name;
    way->is_terminal = isatty(way->from);
    return spool_open(&config, &way->spool, cli->err);
}

/* Continues in a child.  The program waits for this process, which ends here, and is left
 * without a child. */
static void leave_parent(void)
{
    pid_t pid = fork();

    if (pid > 0)
        _exit(0);
}

det_status run_internal_record(struct cli *cli, const struct cli_invocation *in)
{
    static const char ready = RECORDER_READY;
    struct recorder r = {.control = RECORDER_CONTROL};
    const char *folder = arena_printf(&cli->mem, "%s/" OFFLINE_LOGS, in->args[0]);
    det_status st =
        folder ? io_mkdir(io_system(), folder, true, cli->err) : cli_nomem(cli);

    for (size_t i = 1; !st && i < in->arg_count && r.count < WAYS_MOST; i++)
        st = open_way(cli, folder, in->args[i], &r.way[r.count++]);
    if (!st) {
        leave_parent();
        set_signals();
        if (send(r.control, &ready, 1, MSG_NOSIGNAL) == 1)
            record_until_end(&r);
    }
    for (int i = 0; i < r.count; i++)
        spool_close(r.way[i].spool);
    return st;
}
