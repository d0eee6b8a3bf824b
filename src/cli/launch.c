/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - `det launch mpi`, and what every launcher needs: a child in a group of its
 * own, which gets the signals that we get, and does not outlive us. */
#include "cli/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/ctx.h"
#include "cli/options.h"
#include "cli/run.h"

enum { EXIT_LOST = 125, WORDS_BEFORE = 16 };

/* ---- a child --------------------------------------------------------------------- */

static void handed_on(sigset_t *set)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD};

    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(set, numbers[i]);
}

/* Writes errno to `status` when it cannot become the program. */
static _Noreturn void be_child(const struct launched *launched, const char *const *argv,
                               const int fds[3], int status, pid_t parent)
{
    int code = 0;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, launched->heir);
    if (getppid() != parent)
        _exit(EXIT_LOST); /* it died before we could ask to be told */
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && dup2(fds[i], i) < 0)
            code = errno;
    sigprocmask(SIG_SETMASK, &launched->usual, NULL);
    if (!code)
        execvp(argv[0], (char *const *)(uintptr_t)argv);
    code = code ? code : errno;
    (void)!write(status, &code, sizeof(code));
    _exit(EXIT_LOST);
}

static det_status start(struct launched *launched, const char *const *argv,
                        const int fds[3], struct err *err)
{
    pid_t parent = getpid();
    int status[2];
    int code = 0;

    if (pipe2(status, O_CLOEXEC))
        return err_errno(err, errno, "cannot start '%s'", argv[0]);
    launched->pid = fork();
    if (launched->pid == 0)
        be_child(launched, argv, fds, status[1], parent);
    if (launched->pid < 0)
        code = errno;
    close(status[1]);
    /* nothing comes when it has become the program */
    if (launched->pid > 0 && read(status[0], &code, sizeof(code)) > 0)
        waitpid(launched->pid, NULL, 0);
    close(status[0]);
    if (code)
        launched->pid = -1;
    return code ? err_errno(err, code, "cannot start '%s'", argv[0]) : DET_OK;
}

det_status launched_start_beside(struct launched *launched, const char *const *argv,
                                 const int fds[3], struct err *err)
{
    launched->signals = -1;
    return start(launched, argv, fds, err);
}

det_status launched_start(struct launched *launched, const char *const *argv,
                          const int fds[3], struct err *err)
{
    sigset_t set;
    det_status st;

    handed_on(&set);
    sigprocmask(SIG_BLOCK, &set, &launched->usual);
    launched->pid = -1;
    launched->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    st = launched->signals < 0 ? err_errno(err, errno, "cannot wait for signals")
                               : start(launched, argv, fds, err);
    if (st)
        launched_done(launched);
    return st;
}

/* A stop of the child is no end of it. */
bool launched_has_ended(struct launched *launched, int *ret_code)
{
    int how;

    if (waitpid(launched->pid, &how, WNOHANG) != launched->pid)
        return false;
    *ret_code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return true;
}

bool launch_is_end(int number)
{
    return number != SIGUSR1 && number != SIGUSR2 && number != SIGWINCH;
}

bool launched_step(struct launched *launched, int *ret_code)
{
    struct signalfd_siginfo info;
    bool is_over = false;

    while (read(launched->signals, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;

        /* they come in the order of their numbers: who ended by itself was not told */
        is_over = is_over || launched_has_ended(launched, ret_code);
        if (is_over || number == SIGCHLD)
            continue;
        if (launched->hand_on)
            launched->hand_on(launched, number);
        else
            kill(launched->pid, number);
        launched->was_told = launched->was_told || launch_is_end(number);
    }
    return is_over;
}

void launched_done(struct launched *launched)
{
    if (launched->pid > 0)
        kill(-launched->pid, SIGKILL);
    if (launched->signals >= 0)
        close(launched->signals);
    launched->signals = -1;
    sigprocmask(SIG_SETMASK, &launched->usual, NULL);
}

det_status launch_become(struct cli *cli, const char *const *argv)
{
    det_status st = cli_flush(cli);

    if (st)
        return st;
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    return err_errno(cli->err, errno, "cannot start '%s'", argv[0]);
}

/* ---- children -------------------------------------------------------------------- */

/* The children of one thread, each of which gets the signal; how many there were. */
static int signal_children(const char *path, int number)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    char *at = text;
    int count = 0;

    if (fd >= 0)
        close(fd);
    text[MAX(len, (ssize_t)0)] = '\0';
    for (long pid = strtol(at, &at, 10); pid > 0; pid = strtol(at, &at, 10))
        if (*at) /* else the number may be cut off */
            count += kill((pid_t)pid, number) == 0;
    return count;
}

/* As often as there is somebody: each may have children of its own, which come to us
 * when it has ended, and wait for nobody. */
void launch_end_orphans(void)
{
    while (signal_children("/proc/thread-self/children", SIGKILL))
        waitpid(-1, NULL, 0);
}

/* mpirun would cut ranks off that need a moment to end, and lose their last lines: the
 * first signal goes to the ranks themselves.  Who asks again means it. */
static void hand_to_ranks(struct launched *launched, int number)
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
        count += signal_children(path, number);
    }
    if (threads)
        closedir(threads);
    if (!count)
        kill(launched->pid, number);
}

/* ---- mpirun ---------------------------------------------------------------------- */

det_status launch_count_ranks(struct cli *cli, int64_t wanted,
                              const struct launch_place *place, int64_t *ret_count)
{
    if (wanted == CLI_UNSET && !place->has_slots)
        return cli_fail(cli, DET_INVALID,
                        "how many ranks? say -n N; only a task has slots to count");
    *ret_count = wanted != CLI_UNSET ? wanted : MAX((int64_t)place->slots, (int64_t)1);
    return DET_OK;
}

const char *launch_own_path(struct cli *cli)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

    return len > 0 && (size_t)len < sizeof(path)
               ? arena_strndup(&cli->mem, path, (size_t)len)
               : NULL;
}

static const char **mpirun_words(struct cli *cli, const struct cli_invocation *in,
                                 int64_t ranks)
{
    const char **words =
        arena_array(&cli->mem, const char *, in->arg_count + WORDS_BEFORE);
    const char *self = launch_own_path(cli);
    size_t count = 0;

    if (!words || !self)
        return NULL;
    words[count++] = "mpirun";
    if (geteuid() == 0)
        words[count++] = "--allow-run-as-root";
    /* slots are counted by the platform, and what failed is said by the rank */
    words[count++] = "--oversubscribe";
    words[count++] = "--quiet";
    /* mpirun would put each of two ranks on one processor, and those of the next task
     * on the same; frameworks have threads, and GPUs many more processors than ranks */
    words[count++] = "--bind-to";
    words[count++] = "none";
    words[count++] = "-n";
    words[count++] = cli_i64(cli, ranks);
    words[count++] = self;
    words[count++] = "internal";
    words[count++] = "rank";
    words[count++] = "--";
    for (size_t i = 0; i < in->arg_count; i++)
        words[count++] = in->args[i];
    return cli->mem.has_failed ? NULL : words;
}

static void wait_for_end(struct cli *cli, struct launched *launched)
{
    struct pollfd row = {.fd = launched->signals, .events = POLLIN};

    while (!launched_step(launched, &cli->exit_code))
        (void)poll(&row, 1, -1);
}

det_status run_launch_mpi(struct cli *cli, const struct cli_invocation *in)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fds[3] = {null, -1, -1};
    /* mpirun takes its ranks down when it is asked to end */
    struct launched launched = {.hand_on = hand_to_ranks, .heir = SIGTERM};
    const struct launch_options *options = in->options;
    struct launch_place place;
    const char **words;
    int64_t ranks = 1;
    det_status st = launch_place_read(cli, &place);

    if (!st)
        st = launch_count_ranks(cli, options->ranks, &place, &ranks);
    if (!st) /* mpirun reaches other nodes by ssh, which tasks do not have */
        st = launch_place_is_one(cli, &place, "mpi", "");
    if (!st)
        st = launch_set(cli, "DET_LAUNCH", "mpi");
    words = st ? NULL : mpirun_words(cli, in, ranks);
    if (!st && !words)
        st = cli_nomem(cli);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!st)
        st = launched_start(&launched, words, fds, cli->err);
    if (null >= 0)
        close(null);
    if (st == DET_NOT_FOUND)
        return cli_fail(cli, st,
                        "there is no mpirun here: install Open MPI (openmpi-bin)");
    if (st)
        return st;
    wait_for_end(cli, &launched);
    launched_done(&launched);
    launch_end_orphans();
    return DET_OK;
}
