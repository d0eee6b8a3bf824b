/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - the process's side: finds and starts the recorder, puts its ways in the
 * place of stdout and stderr, and notes the end.
 *
 * `struct watch` lives until the process ends, on purpose: its handler is called by
 * exit(), after the context is long closed.  It is told apart from a forked child's
 * copy by its pid.  A second context of the same process ends the recording of the
 * first: its handler then finds that its ways are gone. */
#include "libdet/record.h"

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

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/json.h"
#include "libdet/context.h"

enum {
    WAYS = 2,
    READY_MS = 5000,
    DRAIN_MS = 2000,
    PIPE_BYTES = 1 << 20,
    HIGH = 20, /* descriptors of ours stay above those that programs count on */
};

struct way {
    int fd;        /* 1 or 2: what is taken over; -1: none */
    int saved;     /* where it went */
    int ours;      /* the end that the process writes to */
    int theirs;    /* the end that the recorder reads */
    char word[24]; /* "4:1:stdout" */
};

struct watch {
    pid_t pid;
    char *dir;
    int64_t run_id;
    int control; /* to the recorder; -1: there is none */
    int saved[WAYS + 1];
    bool is_interrupted;
    bool is_closed; /* the context was, and the end is noted */
};

/* ---- how it ended ---------------------------------------------------------------- */

static void note_end(const struct watch *watch, const char *state, int code)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    buf_printf(&path, "%s/" RECORD_STATE, watch->dir);
    jw_object(&w, NULL);
    jw_i64(&w, "run_id", watch->run_id);
    jw_str(&w, "state", state);
    jw_i64(&w, "exit_code", code);
    jw_time(&w, "ended", clock_wall_us(&clock_system));
    jw_end_object(&w);
    buf_putc(&text, '\n');
    if (!path.status && !text.status)
        (void)io_replace(io_system(), path.data, text.data, text.len, false, NULL);
}

/* ---- the ways -------------------------------------------------------------------- */

static bool goes_the_same_way(int a, int b)
{
    struct stat x, y;

    return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

static int high(int fd)
{
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH);

    if (fd >= 0)
        close(fd);
    return up;
}

/* A terminal of the same size in front of the real one.  What is written passes as it
 * is: it is the real one that makes "\r\n" of "\n". */
static bool make_terminal(struct way *way)
{
    char name[128];
    struct termios mode;
    struct winsize size;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int slave = -1;

    if (master >= 0 && !grantpt(master) && !unlockpt(master) &&
        !ptsname_r(master, name, sizeof(name)))
        slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave >= 0 && !tcgetattr(way->fd, &mode)) {
        mode.c_oflag &= ~(tcflag_t)OPOST;
        mode.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
        (void)tcsetattr(slave, TCSANOW, &mode);
    }
    if (slave >= 0 && !ioctl(way->fd, TIOCGWINSZ, &size))
        (void)ioctl(slave, TIOCSWINSZ, &size);
    way->theirs = high(master);
    way->ours = high(slave);
    return way->theirs >= 0 && way->ours >= 0;
}

static bool make_way(struct way *way)
{
    int ends[2];

    if (isatty(way->fd))
        return make_terminal(way);
    if (pipe2(ends, O_CLOEXEC))
        return false;
    way->theirs = high(ends[0]);
    way->ours = high(ends[1]);
    (void)fcntl(way->ours, F_SETPIPE_SZ, PIPE_BYTES);
    return way->theirs >= 0 && way->ours >= 0;
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void drop_ways(struct way way[WAYS])
{
    for (int i = 0; i < WAYS; i++) {
        close_one(way[i].ours);
        close_one(way[i].theirs);
        close_one(way[i].saved);
    }
}

/* stdout, and stderr where it goes elsewhere; how many there are. */
static int make_ways(struct way way[WAYS])
{
    bool has_out = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    bool has_err = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    bool is_one = has_out && has_err && goes_the_same_way(STDOUT_FILENO, STDERR_FILENO);
    int count = 0;

    for (int i = 0; i < WAYS; i++)
        way[i] = (struct way){.fd = -1, .saved = -1, .ours = -1, .theirs = -1};
    if (has_out)
        way[count++].fd = STDOUT_FILENO;
    if (has_err && !is_one)
        way[count++].fd = STDERR_FILENO;
    for (int i = 0; i < count; i++) {
        snprintf(way[i].word, sizeof(way[i].word), "%d:%d:%s", RECORD_FIRST + i,
                 way[i].fd, way[i].fd == STDOUT_FILENO ? "stdout" : "stderr");
        way[i].saved = fcntl(way[i].fd, F_DUPFD_CLOEXEC, HIGH);
        if (way[i].saved < 0 || !make_way(&way[i])) {
            drop_ways(way);
            return 0;
        }
    }
    return count;
}

/* ---- the recorder ---------------------------------------------------------------- */

/* Beside the library, as it is built or installed, else wherever programs are. */
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

static int spawn(const char *program, const char *dir, struct way way[WAYS], int count,
                 int control)
{
    char *argv[5 + WAYS] = {(char *)(uintptr_t) "det", (char *)(uintptr_t) "internal",
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
    posix_spawn_file_actions_adddup2(&actions, control, RECORD_CONTROL);
    for (int i = 0; i < count; i++) {
        argv[4 + i] = way[i].word;
        posix_spawn_file_actions_adddup2(&actions, way[i].theirs, RECORD_FIRST + i);
    }
    code = posix_spawnp(&pid, program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code ? -1 : (int)pid;
}

/* Waits for one byte; false: it did not come. */
static bool hear(int control, char wanted, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = control, .events = POLLIN};
    char byte = 0;
    int ready;

    do
        ready = poll(&poll_fd, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && recv(control, &byte, 1, 0) == 1 && byte == wanted;
}

/* The recorder leaves its starter at once; what is left to be waited for is short. */
static bool start_recorder(struct watch *watch, struct way way[WAYS], int count)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    int ends[2];
    int pid;
    bool is_ready;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return false;
    ends[0] = high(ends[0]);
    ends[1] = high(ends[1]);
    pid = spawn(find_program(&mem), watch->dir, way, count, ends[1]);
    close_one(ends[1]);
    is_ready = pid > 0 && hear(ends[0], RECORD_READY, READY_MS);
    if (pid > 0) {
        if (!is_ready)
            (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (is_ready)
        watch->control = ends[0];
    else
        close_one(ends[0]);
    return is_ready;
}

static void take_over(struct watch *watch, struct way way[WAYS], int count)
{
    bool is_one =
        count == 1 && way[0].fd == STDOUT_FILENO && fcntl(STDERR_FILENO, F_GETFD) >= 0;

    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < count; i++) {
        (void)dup2(way[i].ours, way[i].fd);
        watch->saved[way[i].fd] = way[i].saved;
        way[i].saved = -1;
    }
    if (is_one) {
        watch->saved[STDERR_FILENO] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, HIGH);
        (void)dup2(way[0].ours, STDERR_FILENO);
    }
}

/* Everything that was written has passed; then the old places are there again. */
static void give_back(struct watch *watch)
{
    static const char drain = RECORD_DRAIN;

    if (watch->control < 0)
        return;
    (void)fflush(stdout);
    (void)fflush(stderr);
    if (send(watch->control, &drain, 1, MSG_NOSIGNAL) == 1)
        (void)hear(watch->control, RECORD_DRAINED, DRAIN_MS);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (watch->saved[fd] >= 0) {
            (void)dup2(watch->saved[fd], fd);
            close(watch->saved[fd]);
            watch->saved[fd] = -1;
        }
    close(watch->control);
    watch->control = -1;
}

/* ---- the process ----------------------------------------------------------------- */

/* Nothing is done for a forked child's copy.  A context that is still open may be
 * closed by a handler after this one. */
static void at_exit(int status, void *arg)
{
    struct watch *watch = arg;
    bool is_ours = watch->pid == getpid();

    if (is_ours && status)
        note_end(watch, "ERROR", status);
    else if (is_ours && !watch->is_closed)
        note_end(watch, "COMPLETED", 0);
    if (is_ours)
        give_back(watch);
    if (watch->is_closed) {
        mem_free(watch->dir);
        mem_free(watch);
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

void record_begin(det_context *context, bool keeps_logs)
{
    struct watch *watch = mem_new(struct watch);
    struct way way[WAYS];
    int count = 0;

    if (!watch)
        return;
    *watch = (struct watch){.pid = getpid(),
                            .dir = mem_strdup(context->info.directory),
                            .run_id = context->info.run_id,
                            .control = -1,
                            .saved = {-1, -1, -1}};
    if (!watch->dir || on_exit(at_exit, watch)) {
        mem_free(watch->dir);
        mem_free(watch);
        return;
    }
    context->watch = watch;
    if (keeps_logs && wants_logs(context))
        count = make_ways(way);
    if (count && start_recorder(watch, way, count))
        take_over(watch, way, count);
    if (count)
        drop_ways(way);
}

/* What is printed from here on still is the run's: above all why it failed. */
void record_close(det_context *context)
{
    struct watch *watch = context->watch;

    if (!watch || watch->pid != getpid())
        return;
    if (watch->is_interrupted)
        note_end(watch, "ERROR", 128 + SIGINT); /* as shells count */
    else
        note_end(watch, "COMPLETED", 0);
    watch->is_closed = true;
}

void record_interrupt(det_context *context)
{
    if (context->watch)
        context->watch->is_interrupted = true;
}
