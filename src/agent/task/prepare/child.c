/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - looks up and opens everything before the fork: the process has threads, so
 * between fork and exec nothing may allocate and no lock may be needed. */
#include "agent/task/prepare/child.h"

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

#include "agent/privileged.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/prepare/limits.h"
#include "base/clock.h"
#include "base/memory/arena.h"

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

/* ---- between fork and exec ------------------------------------------------------- */

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

/* The stage that failed, and errno: a failing child sends this to its parent. */
enum stage {
    STAGE_VIEW,
    STAGE_LIMITS,
    STAGE_USER,
    STAGE_FILES,
    STAGE_DIRECTORY,
    STAGE_FORK,
    STAGE_EXEC
};
struct failure {
    enum stage stage;
    int code;
    char what[256]; /* STAGE_VIEW and STAGE_LIMITS: what could not be set up */
};

struct start {
    const struct child_config *config;
    const char *path;
    int null;
    struct pair output[2];
    struct pair status;
    struct pair exit; /* of isolated tasks */
};

static void name_failure(struct failure *failure, const char *what)
{
    size_t len = strnlen(what, sizeof(failure->what) - 1);

    memcpy(failure->what, what, len);
    failure->what[len] = '\0';
}

static _Noreturn void send_failure(int status, struct failure *failure)
{
    failure->code = errno;
    (void)!write(status, failure, sizeof(*failure));
    _exit(EXIT_LOST);
}

/* Does everything but the exec.  Limits may need root, so they come first.  A change of
 * user clears the parent-death signal, so it is set afterwards.  The directory is
 * entered with the user's rights. */
static enum stage settle_child(const struct start *start, pid_t parent,
                               struct failure *failure)
{
    const struct child_config *config = start->config;
    const char *refused =
        limits_apply(config->limits, config->group && config->group->has_limits);

    if (refused) {
        name_failure(failure, refused);
        return STAGE_LIMITS;
    }
    if (!privileged_become(config->who))
        return STAGE_USER;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST); /* the parent died before we could set the signal */
    if (!place_three(start->null, start->output[0].write, start->output[1].write))
        return STAGE_FILES;
    return chdir(config->directory) ? STAGE_DIRECTORY : STAGE_EXEC;
}

static _Noreturn void be_program(const struct start *start, int status, pid_t parent)
{
    struct failure failure = {.stage = STAGE_EXEC};

    failure.stage = settle_child(start, parent, &failure);
    if (failure.stage == STAGE_EXEC) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execve(start->path, (char *const *)(uintptr_t)start->config->argv,
               (char *const *)(uintptr_t)start->config->environment);
    }
    send_failure(status, &failure);
}

/* The first process of a process namespace: without it the program would be that, and
 * would ignore signals.  It has the task's rights only. */
static _Noreturn void be_first(const struct start *start, pid_t program)
{
    struct pollfd end = {.fd = 0};
    int status;
    pid_t pid;

    if (dup2(start->exit.write, 0) != 0)
        _exit(EXIT_LOST);
    close_range(1, ~0U, 0);
    if (!privileged_become(start->config->who))
        _exit(EXIT_LOST);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The supervisor died before we could set the signal: nobody reads the pipe. */
    if (poll(&end, 1, 0) > 0 && (end.revents & POLLERR))
        _exit(EXIT_LOST);
    do {
        pid = waitpid(-1, &status, 0);
        if (pid == program)
            (void)!write(0, &status, sizeof(status));
    } while (pid > 0 || errno == EINTR);
    _exit(0);
}

/* Whether the supervisor has died: then nobody reads the pipe any more. */
static bool is_orphan(const struct start *start, int status)
{
    struct pollfd end = {.fd = status};

    close(start->status.read);
    return poll(&end, 1, 0) > 0 && (end.revents & POLLERR);
}

static _Noreturn void be_child(const struct start *start, pid_t parent)
{
    const struct privileged_view *view = start->config->view;
    int status = lift(start->status.write);
    struct failure failure = {.stage = STAGE_VIEW};
    const char *failed;
    pid_t program;

    reset_signals();
    setsid();
    if (start->config->group && !privileged_group_join(start->config->group) &&
        start->config->group->has_limits) {
        failure.stage = STAGE_LIMITS;
        name_failure(&failure, "memory and processes (its control group)");
        send_failure(status, &failure);
    }
    failed = view ? privileged_enter(view, start->config->who) : NULL;
    if (failed) {
        name_failure(&failure, failed);
        send_failure(status, &failure);
    }
    if (!view || !view->is_isolated)
        be_program(start, status, parent);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_orphan(start, status))
        _exit(EXIT_LOST);
    program = fork();
    if (program == 0)
        be_program(start, status, getppid());
    failure.stage = STAGE_FORK;
    if (program < 0)
        send_failure(status, &failure);
    be_first(start, program);
}

/* ---- finding --------------------------------------------------------------------- */

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

int child_exit_code(det_status status)
{
    if (status == DET_NOT_FOUND)
        return 127;
    return status == DET_FORBIDDEN ? 126 : 1;
}

/* ---- the entrypoint -------------------------------------------------------------- */

static void start_done(struct start *start)
{
    close_end(&start->null);
    pair_done(&start->output[0]);
    pair_done(&start->output[1]);
    pair_done(&start->status);
    pair_done(&start->exit);
}

/* Waits for exec; false: it failed. */
static bool exec_worked(int fd, struct failure *ret_failure)
{
    ssize_t len;

    do
        len = read(fd, ret_failure, sizeof(*ret_failure));
    while (len < 0 && errno == EINTR);
    return len != (ssize_t)sizeof(*ret_failure);
}

det_status child_blame_machine(det_status status, struct err *err)
{
    if (status != DET_NOT_FOUND && status != DET_FORBIDDEN)
        return status;
    if (err)
        err->status = DET_FAILED;
    return DET_FAILED;
}

static det_status tell_unsettled(const struct child_config *config,
                                 const struct failure *failure, struct arena *mem,
                                 struct err *err)
{
    const struct identity *who = config->who;
    const char *barrier = NULL;

    if (failure->stage == STAGE_VIEW)
        return err_errno(err, failure->code, "cannot mount '%s' for the task",
                         failure->what);
    if (failure->stage == STAGE_LIMITS)
        return err_errno(err, failure->code, "cannot set the task's limit of %s",
                         failure->what);
    if (failure->stage == STAGE_USER)
        return err_errno(err, failure->code, "cannot become user %u",
                         (unsigned)who->uid);
    if (failure->stage == STAGE_FORK)
        return err_errno(err, failure->code, "cannot start a process");
    if (failure->stage == STAGE_FILES)
        return err_errno(err, failure->code, "cannot place the task's pipes");
    if (who && who->is_other && failure->code == EACCES)
        barrier = identity_barrier(who, config->directory, mem);
    if (barrier)
        return err_set(
            err, DET_FORBIDDEN,
            "user %u cannot reach the task's directory, since '%s' is closed "
            "to it; choose a data directory elsewhere, such as /var/lib/det",
            (unsigned)who->uid, barrier);
    return err_errno(err, failure->code, "cannot enter '%s'", config->directory);
}

static det_status tell_failure(const struct child_config *config,
                               const struct failure *failure, struct arena *mem,
                               struct err *err)
{
    if (failure->stage == STAGE_EXEC)
        return cannot_run(config->argv[0], failure->code, err);
    return child_blame_machine(tell_unsettled(config, failure, mem, err), err);
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
                          .status = {-1, -1},
                          .exit = {-1, -1}};
    bool is_isolated = config->view && config->view->is_isolated;
    pid_t parent = getpid();
    struct failure failure;
    pid_t pid;
    det_status status =
        child_find(config->argv[0], config->environment, mem, &start.path, err);

    if (status)
        return status;
    if (start.null < 0 || !pair_open(&start.output[0]) ||
        !pair_open(&start.output[1]) || !pair_open(&start.status) ||
        (is_isolated && !pair_open(&start.exit)))
        return child_blame_machine(
            err_errno(err, errno, "cannot make the task's pipes"), err);
    privileged_give_pipe(config->who, start.output[0].write);
    privileged_give_pipe(config->who, start.output[1].write);
    pid = privileged_clone(config->view);
    if (pid == 0)
        be_child(&start, parent);
    if (pid < 0)
        return child_blame_machine(err_errno(err, errno, "cannot start a process"),
                                   err);
    close_end(&start.status.write);
    if (!exec_worked(start.status.read, &failure)) {
        reap(pid);
        return tell_failure(config, &failure, mem, err);
    }
    ret_child->pid = pid;
    ret_child->exit_fd = start.exit.read;
    if (is_isolated)
        fcntl(start.exit.read, F_SETFL, O_NONBLOCK);
    start.exit.read = -1;
    for (int i = 0; i < 2; i++) {
        int *fd = &start.output[i].read;

        /* A large pipe lets the task run on while we are busy; a smaller one also
         * works. */
        fcntl(*fd, F_SETPIPE_SZ, PIPE_BYTES);
        fcntl(*fd, F_SETFL, O_NONBLOCK);
        ret_child->output[i] = *fd;
        *fd = -1;
    }
    return DET_OK;
}

/* ---- detached processes ---------------------------------------------------------- */

char child_status_letter(det_status status)
{
    return (char)('A' + (int)status);
}

static _Noreturn void leave_detached(int out, int code, const char *sentence)
{
    const char status = child_status_letter(err_status_of(code));

    (void)!write(out, &status, 1);
    (void)!write(out, sentence, strlen(sentence));
    _exit(EXIT_LOST);
}

static _Noreturn void be_detached(const char *const *argv, int null, int out)
{
    pid_t pid;

    reset_signals();
    setsid();
    /* The second fork: not a session leader, so it never gets a terminal; init's
     * child once the first has exited. */
    pid = fork();
    if (pid < 0)
        leave_detached(out, errno, "cannot start a second process");
    if (pid > 0)
        _exit(0);
    if (place_three(null, out, null)) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execv(argv[0], (char *const *)(uintptr_t)argv);
    }
    leave_detached(1, errno, "the program cannot be executed");
}

/* Reads until the other side closes; false if that takes too long. */
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
        return err_set(err, DET_TIMEOUT, "'%s' did not start in time", argv[0]);
    if (!text[0])
        return DET_OK;
    return err_set(err, text[0] > 'A' ? (det_status)(text[0] - 'A') : DET_FAILED,
                   "%.*s", (int)strcspn(text + 1, "\n"), text + 1);
}
