/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h.
 *
 * The notice needs a thread that waits for the signal: a signal handler would need a
 * global variable to know the text. */
#include "cli/frame/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"

static void list_held_signals(sigset_t *set)
{
    static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        sigaddset(set, held[i]);
}

void interrupt_hold(struct interrupt *hold)
{
    sigset_t held;

    list_held_signals(&held);
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

/* Waits until one of them is ready; false if it is the first.  poll() ignores an fd of
 * -1. */
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
    list_held_signals(&held);
    sigdelset(&held, SIGTSTP);
    if (hold->fd >= 0) /* else a pending SIGTSTP would count as an interrupt */
        (void)signalfd(hold->fd, &held, 0);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
}

bool interrupt_pause(const struct interrupt *hold, int64_t us)
{
    struct pollfd end = {.fd = hold->fd, .events = POLLIN};

    return poll(&end, 1, (int)((us + 999) / 1000)) > 0;
}

/* ---- the notice ------------------------------------------------------------------ */

struct interrupt_notice {
    struct work task;
    struct executor *exec;
    struct interrupt hold;
    int over_fd; /* an eventfd: the notice is no longer needed */
    char *text;
    bool is_patient; /* the first signal does not end the process */
    int first;       /* that signal, once the thread has ended; 0: none came */
};

/* Waits for a signal.  0: it is over. */
static int next_signal(const struct interrupt_notice *notice)
{
    struct signalfd_siginfo info;

    if (!second_is_ready(notice->over_fd, notice->hold.fd) ||
        read(notice->hold.fd, &info, sizeof(info)) != sizeof(info))
        return 0;
    return (int)info.ssi_signo;
}

/* The other threads block the signals; this one unblocks one and ends the process. */
static void print_notice(struct work *task)
{
    struct interrupt_notice *notice = CONTAINER_OF(task, struct interrupt_notice, task);
    int number = next_signal(notice);
    sigset_t one;

    if (!number)
        return;
    fprintf(stderr, "\n%s\n", notice->text);
    if (notice->is_patient) {
        notice->first = number;
        number = next_signal(notice);
        if (!number)
            return;
    }
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), number);
}

static void notice_free(struct interrupt_notice *notice)
{
    executor_free(notice->exec);
    if (notice->over_fd >= 0)
        close(notice->over_fd);
    interrupt_release(&notice->hold);
    mem_free(notice->text);
    mem_free(notice);
}

static void notice_begin(const char *text, bool is_patient,
                         struct interrupt_notice **ret_notice)
{
    struct interrupt_notice *notice = mem_new(struct interrupt_notice);
    struct lane *lane;
    sigset_t stop;

    *ret_notice = NULL;
    if (!notice)
        return;
    interrupt_hold(&notice->hold);
    sigemptyset(&stop); /* a process that is only stopped needs no notice */
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    notice->over_fd = eventfd(0, EFD_CLOEXEC);
    notice->text = mem_strndup(text, strlen(text));
    notice->is_patient = is_patient;
    notice->task = (struct work)WORK_INIT(print_notice);
    if (!notice->text || notice->over_fd < 0 || notice->hold.fd < 0 ||
        executor_threads_new(&clock_system, &notice->exec, NULL) ||
        lane_new(notice->exec, "interrupt notice", 1, &lane, NULL)) {
        notice_free(notice);
        return;
    }
    lane_post(lane, &notice->task);
    *ret_notice = notice;
}

void interrupt_notice_begin(const char *text, struct interrupt_notice **ret_notice)
{
    notice_begin(text, false, ret_notice);
}

void interrupt_patience_begin(const char *text, struct interrupt_notice **ret_notice)
{
    notice_begin(text, true, ret_notice);
}

static int notice_end(struct interrupt_notice *notice)
{
    const uint64_t one = 1;
    int first;

    if (!notice)
        return 0;
    if (write(notice->over_fd, &one, sizeof(one)) < 0)
        return 0; /* cannot happen; freeing would wait for the thread for ever */
    executor_free(notice->exec); /* waits for the thread */
    notice->exec = NULL;
    first = notice->first;
    notice_free(notice);
    return first;
}

void interrupt_notice_end(struct interrupt_notice *notice)
{
    (void)notice_end(notice);
}

int interrupt_patience_end(struct interrupt_notice *notice)
{
    return notice_end(notice);
}
