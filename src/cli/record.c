/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - det internal record DIR WAY...: keeps what a run without a master prints.
 *
 * The other side of libdet/record.c, which says why there is a process of its own.  A
 * way is "READ:WRITE:STREAM": what comes from the first descriptor is kept in the spool
 * of the stream and written on to the second.  First kept, then written: a terminal
 * that stands still does not cost the log a line.
 *
 * It ends when the last writer of the last way is gone, which is not always the process
 * that started it: what that has forked may live on. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "agent/task/spool.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/io.h"
#include "cli/ctx.h"
#include "cli/run.h"
#include "data/text.h"
#include "libdet/record.h"

enum { WAYS_MOST = 2, TERMINAL_MS = 20 };

/* All that fits on the disk. */
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
    int control; /* -1: the process is gone */
};

/* ---- passing on ------------------------------------------------------------------ */

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t count = write(fd, bytes, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN) { /* somebody else made it so */
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

/* One read.  A reader that has left takes the way with it, so that the process learns
 * of it as it would have. */
static void pass(struct way *way)
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

/* What lies there now; a terminal hands it over a moment later. */
static void drain(struct recorder *r)
{
    static const char drained = RECORD_DRAINED;

    for (int i = 0; i < r->count; i++)
        while (has_more(&r->way[i], r->way[i].is_terminal ? TERMINAL_MS : 0))
            pass(&r->way[i]);
    (void)send(r->control, &drained, 1, MSG_NOSIGNAL);
}

static void hear(struct recorder *r)
{
    char byte;
    ssize_t count = recv(r->control, &byte, 1, 0);

    if (count < 0 && errno == EINTR)
        return;
    if (count == 1 && byte == RECORD_DRAIN) {
        drain(r);
        return;
    }
    if (count <= 0) {
        close(r->control);
        r->control = -1;
    }
}

/* The window has changed: the terminal in front of it does, too. */
static void resize(const struct recorder *r)
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

static void loop(struct recorder *r)
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
        if (count < 0) { /* a signal, and there is only one */
            resize(r);
            continue;
        }
        for (int i = 0; i < r->count; i++)
            if (ready[i].revents && r->way[i].from >= 0)
                pass(&r->way[i]);
        if (ready[r->count].revents && r->control >= 0)
            hear(r);
    }
}

/* ---- beginning ------------------------------------------------------------------- */

static void wake(int number)
{
    (void)number;
}

/* What ends the process, or stops it, is not for this one: it ends after it. */
static void set_signals(void)
{
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                  SIGTSTP, SIGPIPE, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigset_t winch;

    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        (void)sigaction(ignored[i], &action, NULL);
    action.sa_handler = wake;
    (void)sigaction(SIGWINCH, &action, NULL);
    sigemptyset(&winch);
    sigaddset(&winch, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &winch, NULL); /* but inside of ppoll() */
}

static det_status open_way(struct cli *cli, const char *folder, const char *word,
                           struct way *way)
{
    struct spool_config config = {
        .io = io_system(), .dir = folder, .limit_bytes = limit_bytes};
    char name[16] = "";

    if (sscanf(word, "%d:%d:%15s", &way->from, &way->to, name) != 3 ||
        (strcmp(name, "stdout") && strcmp(name, "stderr")))
        return cli_fail(cli, DET_INVALID, "'%s' is no way; expected 4:1:stdout", word);
    config.name = name;
    way->is_terminal = isatty(way->from);
    return spool_open(&config, &way->spool, cli->err);
}

/* The process waits for this one's parent, and so is not the one that has a child. */
static void leave(void)
{
    pid_t pid = fork();

    if (pid > 0)
        _exit(0);
}

det_status run_internal_record(struct cli *cli, const struct cli_invocation *in)
{
    static const char ready = RECORD_READY;
    struct recorder r = {.control = RECORD_CONTROL};
    const char *folder = arena_printf(&cli->mem, "%s/" RECORD_LOGS, in->args[0]);
    det_status st =
        folder ? io_mkdir(io_system(), folder, true, cli->err) : cli_nomem(cli);

    for (size_t i = 1; !st && i < in->arg_count && r.count < WAYS_MOST; i++)
        st = open_way(cli, folder, in->args[i], &r.way[r.count++]);
    if (!st) {
        leave();
        set_signals();
        if (send(r.control, &ready, 1, MSG_NOSIGNAL) == 1)
            loop(&r);
    }
    for (int i = 0; i < r.count; i++)
        spool_close(r.way[i].spool);
    return st;
}
