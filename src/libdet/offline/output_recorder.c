/* SPDX-License-Identifier: Apache-2.0 */
/* output_recorder.c - the side of the training process: finds and starts the recorder,
 * redirects stdout and stderr to it, and notes the end.
 *
 * `struct output_recorder` lives until the process ends, on purpose: exit() calls its
 * handler, long after the context was closed.  The pid distinguishes it from a forked
 * child's copy.  A second context of the same process ends the recording of the first:
 * the first handler then finds its channels gone. */
#include "libdet/offline/output_recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "libdet/context.h"
#include "libdet/offline/offline.h"

enum {
    CHANNELS = 2,
    READY_MS = 5000,
    DRAIN_MS = 2000,
    PIPE_BYTES = 1 << 20,
    HIGH = 20, /* our descriptors stay above those that programs use */
};

struct channel {
    int fd;        /* 1 or 2: the redirected descriptor; -1: none */
    int saved;     /* its original target */
    int ours;      /* the end that the process writes to */
    int theirs;    /* the end that the recorder reads */
    char word[24]; /* "4:1:stdout" */
};

struct output_recorder {
    pid_t pid;
    char *dir;
    int64_t run_id;
    int control; /* to the recorder; -1: there is none */
    int saved[CHANNELS + 1];
    bool is_interrupted;
    bool is_closed; /* the context was closed, and the end is noted */
};

/* ---- the end of the run ---------------------------------------------------------- */

static void note_end(const struct output_recorder *recorder, const char *state,
                     int code)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    buf_printf(&path, "%s/" OFFLINE_STATE, recorder->dir);
    jw_object(&w, NULL);
    jw_i64(&w, "run_id", recorder->run_id);
    jw_str(&w, "state", state);
    jw_i64(&w, "exit_code", code);
    jw_time(&w, "ended", clock_wall_us(&clock_system));
    jw_end_object(&w);
    buf_putc(&text, '\n');
    if (!path.status && !text.status)
        (void)io_replace(io_system(), path.data, text.data, text.len, false, NULL);
}

/* ---- the channels ---------------------------------------------------------------- */

static bool is_same_target(int a, int b)
{
    struct stat x, y;

    return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

static int move_high(int fd)
{
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH);

    if (fd >= 0)
        close(fd);
    return up;
}

/* Makes a pty of the same size in front of the real terminal.  Output passes unchanged,
 * because the real terminal turns "\n" into "\r\n". */
static bool make_terminal(struct channel *channel)
{
    char name[128];
    struct termios mode;
    struct winsize size;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int slave = -1;

    if (master >= 0 && !grantpt(master) && !unlockpt(master) &&
        !ptsname_r(master, name, sizeof(name)))
        slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave >= 0 && !tcgetattr(channel->fd, &mode)) {
        mode.c_oflag &= ~(tcflag_t)OPOST;
        mode.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
        (void)tcsetattr(slave, TCSANOW, &mode);
    }
    if (slave >= 0 && !ioctl(channel->fd, TIOCGWINSZ, &size))
        (void)ioctl(slave, TIOCSWINSZ, &size);
    channel->theirs = move_high(master);
    channel->ours = move_high(slave);
    return channel->theirs >= 0 && channel->ours >= 0;
}

static bool make_channel(struct channel *channel)
{
    int ends[2];

    if (isatty(channel->fd))
        return make_terminal(channel);
    if (pipe2(ends, O_CLOEXEC))
        return false;
    channel->theirs = move_high(ends[0]);
    channel->ours = move_high(ends[1]);
    (void)fcntl(channel->ours, F_SETPIPE_SZ, PIPE_BYTES);
    return channel->theirs >= 0 && channel->ours >= 0;
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void drop_channels(struct channel channel[CHANNELS])
{
    for (int i = 0; i < CHANNELS; i++) {
        close_one(channel[i].ours);
        close_one(channel[i].theirs);
        close_one(channel[i].saved);
    }
}

/* Makes a channel for stdout, and one for stderr if its target differs; returns how
 * many. */
static int make_channels(struct channel channel[CHANNELS])
{
    bool has_out = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    bool has_err = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    bool is_one = has_out && has_err && is_same_target(STDOUT_FILENO, STDERR_FILENO);
    int count = 0;

    for (int i = 0; i < CHANNELS; i++)
        channel[i] = (struct channel){.fd = -1, .saved = -1, .ours = -1, .theirs = -1};
    if (has_out)
        channel[count++].fd = STDOUT_FILENO;
    if (has_err && !is_one)
        channel[count++].fd = STDERR_FILENO;
    for (int i = 0; i < count; i++) {
        snprintf(channel[i].word, sizeof(channel[i].word), "%d:%d:%s",
                 RECORDER_FIRST + i, channel[i].fd,
                 channel[i].fd == STDOUT_FILENO ? "stdout" : "stderr");
        channel[i].saved = fcntl(channel[i].fd, F_DUPFD_CLOEXEC, HIGH);
        if (channel[i].saved < 0 || !make_channel(&channel[i])) {
            drop_channels(channel);
            return 0;
        }
    }
    return count;
}

/* ---- the recorder ---------------------------------------------------------------- */

/* Looks beside the library, as built or as installed, else in PATH. */
static const char *find_program(struct arena *mem)
{
    static const char *const near[] = {"det",           "../det",
                                       "../../det",     "../bin/det",
                                       "../../bin/det", "../../../../bin/det"};
    Dl_info info;
    const char *slash;

    if (!dladdr((const void *)(uintptr_t)det_init, &info) || !info.dli_fname)
        return "det";
    slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; slash && i < ARRAY_LEN(near); i++) {
        const char *path = arena_printf(mem, "%.*s/%s", (int)(slash - info.dli_fname),
                                        info.dli_fname, near[i]);

        struct stat found;

        if (path && !stat(path, &found) && S_ISREG(found.st_mode) &&
            !access(path, X_OK))
            return path;
    }
    return "det";
}

static int spawn_recorder(const char *program, const char *dir,
                          struct channel channel[CHANNELS], int count, int control)
{
    char *argv[5 + CHANNELS] = {(char *)(uintptr_t) "det",
                                (char *)(uintptr_t) "internal",
                                (char *)(uintptr_t) "record", (char *)(uintptr_t)dir};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = -1;
    int code;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, control, RECORDER_CONTROL);
    for (int i = 0; i < count; i++) {
        argv[4 + i] = channel[i].word;
        posix_spawn_file_actions_adddup2(&actions, channel[i].theirs,
                                         RECORDER_FIRST + i);
    }
    code = posix_spawnp(&pid, program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code ? -1 : (int)pid;
}

/* Waits for one byte; returns false if it does not come. */
static bool wait_for_byte(int control, char wanted, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = control, .events = POLLIN};
    char byte = 0;
    int ready;

    do
        ready = poll(&poll_fd, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && recv(control, &byte, 1, 0) == 1 && byte == wanted;
}

/* The recorder forks and its first process exits at once, so waitpid() takes little
 * time. */
static bool start_recorder(struct output_recorder *recorder,
                           struct channel channel[CHANNELS], int count)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    int ends[2];
    int pid;
    bool is_ready;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return false;
    ends[0] = move_high(ends[0]);
    ends[1] = move_high(ends[1]);
    pid = spawn_recorder(find_program(&mem), recorder->dir, channel, count, ends[1]);
    close_one(ends[1]);
    is_ready = pid > 0 && wait_for_byte(ends[0], RECORDER_READY, READY_MS);
    if (pid > 0) {
        if (!is_ready)
            (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (is_ready)
        recorder->control = ends[0];
    else
        close_one(ends[0]);
    return is_ready;
}

static void redirect_output(struct output_recorder *recorder,
                            struct channel channel[CHANNELS], int count)
{
    bool is_one = count == 1 && channel[0].fd == STDOUT_FILENO &&
                  fcntl(STDERR_FILENO, F_GETFD) >= 0;

    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < count; i++) {
        (void)dup2(channel[i].ours, channel[i].fd);
        recorder->saved[channel[i].fd] = channel[i].saved;
        channel[i].saved = -1;
    }
    if (is_one) {
        recorder->saved[STDERR_FILENO] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, HIGH);
        (void)dup2(channel[0].ours, STDERR_FILENO);
    }
}

/* Waits until all output has passed, then restores the original targets. */
static void restore_output(struct output_recorder *recorder)
{
    static const char drain = RECORDER_DRAIN;

    if (recorder->control < 0)
        return;
    (void)fflush(stdout);
    (void)fflush(stderr);
    if (send(recorder->control, &drain, 1, MSG_NOSIGNAL) == 1)
        (void)wait_for_byte(recorder->control, RECORDER_DRAINED, DRAIN_MS);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (recorder->saved[fd] >= 0) {
            (void)dup2(recorder->saved[fd], fd);
            close(recorder->saved[fd]);
            recorder->saved[fd] = -1;
        }
    close(recorder->control);
    recorder->control = -1;
}

/* ---- start and end --------------------------------------------------------------- */

/* Does nothing for a forked child's copy.  A context that is still open may be closed
 * by a handler after this one. */
static void on_process_exit(int status, void *arg)
{
    struct output_recorder *recorder = arg;
    bool is_ours = recorder->pid == getpid();

    if (is_ours && status)
        note_end(recorder, "ERROR", status);
    else if (is_ours && !recorder->is_closed)
        note_end(recorder, "COMPLETED", 0);
    if (is_ours)
        restore_output(recorder);
    if (recorder->is_closed) {
        mem_free(recorder->dir);
        mem_free(recorder);
    }
}

static bool wants_logs(const det_context *context)
{
    static const char *const no[] = {"0", "no", "off", "false"};
    const char *text = context_variable(context, "DET_OFFLINE_LOGS");

    for (size_t i = 0; text && i < ARRAY_LEN(no); i++)
        if (!strcmp(text, no[i]))
            return false;
    return true;
}

void output_recorder_start(det_context *context, bool keeps_logs)
{
    struct output_recorder *recorder = mem_new(struct output_recorder);
    struct channel channel[CHANNELS];
    int count = 0;

    if (!recorder)
        return;
    *recorder = (struct output_recorder){.pid = getpid(),
                                         .dir = mem_strdup(context->info.directory),
                                         .run_id = context->info.run_id,
                                         .control = -1,
                                         .saved = {-1, -1, -1}};
    if (!recorder->dir || on_exit(on_process_exit, recorder)) {
        mem_free(recorder->dir);
        mem_free(recorder);
        return;
    }
    context->recorder = recorder;
    if (keeps_logs && wants_logs(context))
        count = make_channels(channel);
    if (count && start_recorder(recorder, channel, count))
        redirect_output(recorder, channel, count);
    if (count)
        drop_channels(channel);
}

/* Recording goes on after this: the output may say why the program failed. */
void output_recorder_close(det_context *context)
{
    struct output_recorder *recorder = context->recorder;

    if (!recorder || recorder->pid != getpid())
        return;
    if (recorder->is_interrupted)
        note_end(recorder, "ERROR", 128 + SIGINT); /* as shells do */
    else
        note_end(recorder, "COMPLETED", 0);
    recorder->is_closed = true;
}

void output_recorder_interrupt(det_context *context)
{
    if (context->recorder)
        context->recorder->is_interrupted = true;
}
