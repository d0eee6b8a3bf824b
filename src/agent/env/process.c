/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/env/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory/buf.h"

/* An interpreter with thousands of packages prints one long line. */
enum { CHUNK = 16 << 10, LINE_MOST = 4 << 20, EXIT_LOST = 125 };

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- the child ------------------------------------------------------------------- */

static void change_environment(const char *const *changes)
{
    for (; changes && *changes; changes++) {
        const char *equals = strchr(*changes, '=');
        char name[128];
        size_t len = equals ? (size_t)(equals - *changes) : strlen(*changes);

        if (len >= sizeof(name))
            continue;
        memcpy(name, *changes, len);
        name[len] = '\0';
        if (equals)
            (void)setenv(name, equals + 1, 1);
        else
            (void)unsetenv(name);
    }
}

/* A successful exec closes `status`; otherwise errno is written to it. */
static _Noreturn void be_child(const struct process *process, int out, int status,
                               pid_t parent)
{
    int null = open("/dev/null", O_RDONLY);
    int code;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST);
    dup2(null, 0);
    dup2(out, 1);
    dup2(out, 2);
    change_environment(process->changes);
    if (!process->directory || chdir(process->directory) == 0)
        execvp(process->argv[0], (char *const *)(uintptr_t)process->argv);
    code = errno;
    (void)!write(status, &code, sizeof(code));
    _exit(EXIT_LOST);
}

/* ---- listening ------------------------------------------------------------------- */

/* The bytes before `seen` contain no line end. */
static void tell_lines(const struct process *process, struct buf *text, size_t seen,
                       bool is_last)
{
    size_t begin = 0;

    for (size_t i = seen; i < text->len; i++)
        if (text->data[i] == '\n' || text->data[i] == '\r') {
            text->data[i] = '\0';
            if (i > begin && process->on_line)
                process->on_line(process->arg, text->data + begin);
            begin = i + 1;
        }
    buf_drop(text, begin);
    if (text->len && (is_last || text->len > LINE_MOST)) {
        if (process->on_line)
            process->on_line(process->arg, text->data);
        buf_clear(text);
    }
}

/* Calls on_wait whenever it is due, until there is something to read. */
static void wait_for_output(const struct process *process, int fd, int64_t *due_us)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    while (process->on_wait) {
        int64_t left_us = *due_us - clock_mono_us(&clock_system);

        if (left_us > 0 && poll(&polled, 1, (int)(left_us / 1000) + 1) != 0)
            return;
        if (left_us > 0)
            continue;
        process->on_wait(process->arg);
        *due_us = clock_mono_us(&clock_system) + (int64_t)process->wait_ms * 1000;
    }
}

/* Reads until all writers have closed it.  Without memory the lines are ignored,
 * because the program must not block. */
static void listen_to(const struct process *process, int fd)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    int64_t due_us = clock_mono_us(&clock_system) + (int64_t)process->wait_ms * 1000;
    char bytes[CHUNK];
    ssize_t len;

    do {
        size_t seen = text.len;

        wait_for_output(process, fd, &due_us);
        len = read(fd, bytes, sizeof(bytes));
        if (len <= 0)
            continue;
        buf_add(&text, bytes, (size_t)len);
        if (text.status)
            buf_clear(&text);
        tell_lines(process, &text, MIN(seen, text.len), false);
    } while (len > 0 || (len < 0 && errno == EINTR));
    tell_lines(process, &text, text.len, true);
}

/* Returns why the program could not be executed; 0: it runs. */
static int exec_failure(int status)
{
    int code = 0;
    ssize_t len;

    do
        len = read(status, &code, sizeof(code));
    while (len < 0 && errno == EINTR);
    return len == (ssize_t)sizeof(code) ? code : 0;
}

det_status process_run(const struct process *process, int *ret_status, struct err *err)
{
    pid_t parent = getpid();
    int out[2], status[2];
    int code = 0;
    pid_t pid;

    if (pipe2(out, O_CLOEXEC))
        return err_errno(err, errno, "cannot make a pipe");
    if (pipe2(status, O_CLOEXEC)) {
        close_end(&out[0]);
        close_end(&out[1]);
        return err_errno(err, errno, "cannot make a pipe");
    }
    pid = fork();
    if (pid == 0)
        be_child(process, out[1], status[1], parent);
    close_end(&out[1]);
    close_end(&status[1]);
    if (pid > 0)
        code = exec_failure(status[0]);
    if (pid > 0 && !code)
        listen_to(process, out[0]);
    close_end(&out[0]);
    close_end(&status[0]);
    if (pid < 0)
        return err_errno(err, errno, "cannot start a process");
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
    return code ? err_errno(err, code, "cannot run '%s'", process->argv[0]) : DET_OK;
}

bool process_was_fine(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
