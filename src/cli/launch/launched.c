/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/launch/launched.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

enum { EXIT_LOST = 125 };

static void list_forwarded(sigset_t *set)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD};

    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(set, numbers[i]);
}

/* In the child: becomes the program, or writes errno to `status`. */
static _Noreturn void be_child(const struct launched *launched, const char *const *argv,
                               const int fds[3], int status, pid_t parent)
{
    int code = 0;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, launched->death_signal);
    if (getppid() != parent)
        _exit(EXIT_LOST); /* the parent died before prctl() */
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

static det_status start_child(struct launched *launched, const char *const *argv,
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
    /* exec closes the pipe: then nothing is read */
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
    return start_child(launched, argv, fds, err);
}

det_status launched_start(struct launched *launched, const char *const *argv,
                          const int fds[3], struct err *err)
{
    sigset_t set;
    det_status st;

    list_forwarded(&set);
    sigprocmask(SIG_BLOCK, &set, &launched->usual);
    launched->pid = -1;
    launched->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    st = launched->signals < 0 ? err_errno(err, errno, "cannot wait for signals")
                               : start_child(launched, argv, fds, err);
    if (st)
        launched_done(launched);
    return st;
}

bool launched_has_ended(struct launched *launched, int *ret_code)
{
    int how;

    assert(launched->pid > 0);
    if (waitpid(launched->pid, &how, WNOHANG) != launched->pid)
        return false;
    *ret_code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return true;
}

bool launched_is_end_signal(int number)
{
    return number != SIGUSR1 && number != SIGUSR2 && number != SIGWINCH;
}

bool launched_step(struct launched *launched, int *ret_code)
{
    struct signalfd_siginfo info;
    bool is_over = false;

    while (read(launched->signals, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;

        /* signals are read in the order of their numbers, SIGTERM before SIGCHLD: check
         * first whether the child has ended by itself */
        is_over = is_over || launched_has_ended(launched, ret_code);
        if (is_over || number == SIGCHLD)
            continue;
        if (launched->forward)
            launched->forward(launched, number);
        else
            kill(launched->pid, number);
        launched->was_told = launched->was_told || launched_is_end_signal(number);
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

/* ---- orphans --------------------------------------------------------------------- */

int launched_signal_children(const char *path, int number)
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
        if (*at) /* else the number may be incomplete */
            count += kill((pid_t)pid, number) == 0;
    return count;
}

/* Repeats: the children of a killed child become ours. */
void launched_kill_orphans(void)
{
    while (launched_signal_children("/proc/thread-self/children", SIGKILL))
        waitpid(-1, NULL, 0);
}
