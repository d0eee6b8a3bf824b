/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h.
 *
 * A farewell is a thread that waits for the signal in the place of everybody else: a
 * handler could not be told what to say without a global variable. */
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/task.h"

static void held_signals(sigset_t *set)
{
    static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        sigaddset(set, held[i]);
}

void interrupt_hold(struct interrupt *hold)
{
    sigset_t held;

    held_signals(&held);
    sigprocmask(SIG_BLOCK, &held, &hold->usual);
    hold->fd = signalfd(-1, &held, SFD_CLOEXEC);
}

void interrupt_release(struct interrupt *hold)
{
    if (hold->fd >= 0)
        close(hold->fd);
    hold->fd = -1;
    sigprocmask(SIG_SETMASK, &hold->usual, NULL);
}

const sigset_t *interrupt_usual(const struct interrupt *hold)
{
    return &hold->usual;
}

/* Of the two, whether the second is ready first.  poll() leaves out what is -1. */
static bool second_is_ready(int first_fd, int second_fd)
{
    struct pollfd ends[2] = {{.fd = first_fd, .events = POLLIN},
                             {.fd = second_fd, .events = POLLIN}};

    while (poll(ends, ARRAY_LEN(ends), -1) < 0 && errno == EINTR)
        continue;
    return !ends[0].revents;
}

bool interrupt_wait_for_input(const struct interrupt *hold)
{
    return second_is_ready(hold->fd, STDIN_FILENO);
}

void interrupt_let_stop(struct interrupt *hold)
{
    sigset_t stop, held;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    held_signals(&held);
    sigdelset(&held, SIGTSTP);
    if (hold->fd >= 0) /* else a SIGTSTP from before would count as one of these */
        (void)signalfd(hold->fd, &held, 0);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
}

bool interrupt_pause(const struct interrupt *hold, int64_t us)
{
    struct pollfd end = {.fd = hold->fd, .events = POLLIN};

    return poll(&end, 1, (int)((us + 999) / 1000)) > 0;
}

/* ---- last words ------------------------------------------------------------------ */

struct farewell {
    struct task task;
    struct exec *exec;
    struct interrupt hold;
    int over_fd; /* an eventfd: no longer needed */
    char *text;
};

/* The thread that holds the signals cannot be interrupted; this one can. */
static void say_farewell(struct task *task)
{
    struct farewell *farewell = CONTAINER_OF(task, struct farewell, task);
    struct signalfd_siginfo info;
    sigset_t one;

    if (!second_is_ready(farewell->over_fd, farewell->hold.fd) ||
        read(farewell->hold.fd, &info, sizeof(info)) != sizeof(info))
        return;
    fprintf(stderr, "\n%s\n", farewell->text);
    sigemptyset(&one);
    sigaddset(&one, (int)info.ssi_signo);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), (int)info.ssi_signo);
}

static void farewell_free(struct farewell *farewell)
{
    exec_free(farewell->exec);
    if (farewell->over_fd >= 0)
        close(farewell->over_fd);
    interrupt_release(&farewell->hold);
    mem_free(farewell->text);
    mem_free(farewell);
}

void farewell_begin(const char *text, struct farewell **ret_farewell)
{
    struct farewell *farewell = mem_new(struct farewell);
    struct lane *lane;
    sigset_t stop;

    *ret_farewell = NULL;
    if (!farewell)
        return;
    interrupt_hold(&farewell->hold);
    sigemptyset(&stop); /* who is only stopped needs no farewell */
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    farewell->over_fd = eventfd(0, EFD_CLOEXEC);
    farewell->text = mem_strndup(text, strlen(text));
    farewell->task = (struct task)TASK_INIT(say_farewell);
    if (!farewell->text || farewell->over_fd < 0 || farewell->hold.fd < 0 ||
        exec_threads_new(&clock_system, &farewell->exec, NULL) ||
        lane_new(farewell->exec, "farewell", 1, &lane, NULL)) {
        farewell_free(farewell);
        return;
    }
    lane_post(lane, &farewell->task);
    *ret_farewell = farewell;
}

void farewell_end(struct farewell *farewell)
{
    const uint64_t one = 1;

    if (!farewell)
        return;
    if (write(farewell->over_fd, &one, sizeof(one)) < 0)
        return; /* cannot be; the thread would be waited for in vain */
    farewell_free(farewell);
}
