/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - everything is looked up and opened before the fork, since the process has
 * threads: between fork and exec nothing may allocate, and no lock may be needed. */
#include "agent/task/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

enum { PIPE_BYTES = 1 << 20, EXIT_LOST = 125 };

/* Two ends, each -1 when closed. */
struct pair {
    int read;
    int write;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pair_done(struct pair *pair)
{
    close_end(&pair->read);
    close_end(&pair->write);
}

static bool pair_open(struct pair *pair)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC))
        return false;
    *pair = (struct pair){fd[0], fd[1]};
    return true;
}

/* ---- between fork and exec ---------------------------------------------------------
 */

static void reset_signals(void)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &by_default, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* dup2() clears close-on-exec, but not where both numbers are the same. */
static bool place_fd(int fd, int number)
{
    if (fd == number)
        return fcntl(fd, F_SETFD, 0) == 0;
    return dup2(fd, number) == number;
}

/* Out of the way of 0, 1 and 2, which may have been closed when we were started. */
static int lift(int fd)
{
    return fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static bool place_three(int in, int out, int err)
{
    in = lift(in);
    out = lift(out);
    err = lift(err);
    return place_fd(in, 0) && place_fd(out, 1) && place_fd(err, 2);
}

struct start {
    const struct child_config *config;
    const char *path;
    int null;
    struct pair output[2];
    struct pair status;
};

static _Noreturn void be_child(const struct start *start, pid_t parent)
{
    int status = lift(start->status.write);
    int code;

    reset_signals();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST); /* it died before we could ask to die with it */
    if (place_three(start->null, start->output[0].write, start->output[1].write) &&
        chdir(start->config->directory) == 0) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execve(start->path, (char *const *)(uintptr_t)start->config->argv,
               (char *const *)(uintptr_t)start->config->environment);
    }
    code = errno;
    (void)!write(status, &code, sizeof(code));
    _exit(EXIT_LOST);
}

/* ---- finding -----------------------------------------------------------------------
 */

static const char *variable(const char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    return NULL;
}

static int check_program(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return errno;
    if (!S_ISREG(st.st_mode) || access(path, X_OK))
        return EACCES;
    return 0;
}

static det_status cannot_run(const char *program, int code, struct err *err)
{
    return err_errno(err, code, "cannot run '%s'", program);
}

det_status child_find(const char *program, const char *const *environment,
                      struct arena *mem, const char **ret_path, struct err *err)
{
    const char *at = variable(environment, "PATH");
    int code = ENOENT;

    if (strchr(program, '/')) {
        *ret_path = program;
        return DET_OK;
    }
    for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; at && program[0];) {
        size_t len = strcspn(at, ":");
        const char *path =
            arena_printf(mem, "%.*s%s%s", (int)len, at, len ? "/" : "", program);
        int found;

        if (!path)
            return err_default(err, DET_NOMEM);
        found = check_program(path);
        if (!found) {
            *ret_path = path;
            return DET_OK;
        }
        if (found == EACCES)
            code = found;
        at = at[len] ? at + len + 1 : NULL;
    }
    return cannot_run(program, code, err);
}

/* ---- the entrypoint ----------------------------------------------------------------
 */

static void start_done(struct start *start)
{
    close_end(&start->null);
    pair_done(&start->output[0]);
    pair_done(&start->output[1]);
    pair_done(&start->status);
}

/* Waits for exec: 0, or what it failed with. */
static int exec_outcome(int fd)
{
    int code = 0;
    ssize_t len;

    do
        len = read(fd, &code, sizeof(code));
    while (len < 0 && errno == EINTR);
    return len == (ssize_t)sizeof(code) ? code : 0;
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

det_status child_start(const struct child_config *config, struct arena *mem,
                       struct child *ret_child, struct err *err)
{
    CLEANUP(start_done)
    struct start start = {.config = config,
                          .null = open("/dev/null", O_RDONLY | O_CLOEXEC),
                          .output = {{-1, -1}, {-1, -1}},
                          .status = {-1, -1}};
    pid_t parent = getpid();
    pid_t pid;
    int code;
    det_status status =
        child_find(config->argv[0], config->environment, mem, &start.path, err);

    if (status)
        return status;
    if (start.null < 0 || !pair_open(&start.output[0]) ||
        !pair_open(&start.output[1]) || !pair_open(&start.status))
        return err_errno(err, errno, "cannot make the task's pipes");
    pid = fork();
    if (pid == 0)
        be_child(&start, parent);
    if (pid < 0)
        return err_errno(err, errno, "cannot start a process");
    close_end(&start.status.write);
    code = exec_outcome(start.status.read);
    if (code) {
        reap(pid);
        return cannot_run(config->argv[0], code, err);
    }
    ret_child->pid = pid;
    for (int i = 0; i < 2; i++) {
        int *fd = &start.output[i].read;

        /* A large pipe lets the task run on while we are held up; smaller ones do. */
        fcntl(*fd, F_SETPIPE_SZ, PIPE_BYTES);
        fcntl(*fd, F_SETFL, O_NONBLOCK);
        ret_child->output[i] = *fd;
        *fd = -1;
    }
    return DET_OK;
}

/* ---- nobody's child ----------------------------------------------------------------
 */

static _Noreturn void be_detached(const char *const *argv, int null, int out)
{
    static const char sentence[] = "the program cannot be executed";

    reset_signals();
    setsid();
    /* The second fork: no session leader, so that no terminal is ever acquired, and
     * init's child once the first has left. */
    if (fork() != 0)
        _exit(0);
    if (place_three(null, out, null)) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execv(argv[0], (char *const *)(uintptr_t)argv);
    }
    (void)!write(1, sentence, sizeof(sentence) - 1);
    _exit(EXIT_LOST);
}

/* Reads what comes until the other side closes; false when that takes too long. */
static bool read_to_end(int fd, int timeout_ms, char *text, size_t size)
{
    int64_t until_us = clock_mono_us(&clock_system) + (int64_t)timeout_ms * 1000;
    size_t len = 0;

    for (;;) {
        int64_t left_us = until_us - clock_mono_us(&clock_system);
        struct pollfd end = {.fd = fd, .events = POLLIN};
        char rest[256];
        ssize_t got;

        text[len] = '\0';
        if (left_us <= 0)
            return false;
        if (poll(&end, 1, (int)(left_us / 1000) + 1) <= 0)
            continue;
        got = read(fd, rest, sizeof(rest));
        if (got <= 0)
            return true;
        got = MIN(got, (ssize_t)(size - 1 - len));
        memcpy(text + len, rest, (size_t)got);
        len += (size_t)got;
    }
}

det_status child_detach(const char *const *argv, int timeout_ms, struct err *err)
{
    CLEANUP(close_end) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP(pair_done) struct pair out = {-1, -1};
    char text[512];
    pid_t pid;

    if (null < 0 || !pair_open(&out))
        return err_errno(err, errno, "cannot make a pipe");
    pid = fork();
    if (pid == 0)
        be_detached(argv, null, out.write);
    if (pid < 0)
        return err_errno(err, errno, "cannot start a process");
    close_end(&out.write);
    reap(pid);
    if (!read_to_end(out.read, timeout_ms, text, sizeof(text)))
        return err_set(err, DET_TIMEOUT, "'%s' does not begin its work", argv[0]);
    if (text[0])
        return err_set(err, DET_FAILED, "%.*s", (int)strcspn(text, "\n"), text);
    return DET_OK;
}
