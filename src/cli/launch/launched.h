/* SPDX-License-Identifier: Apache-2.0 */
/* launched.h - a child process in its own process group. */
#ifndef CLI_LAUNCH_LAUNCHED_H
#define CLI_LAUNCH_LAUNCHED_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* The caller sets the first two members. */
struct launched {
    /* Forwards a signal; NULL: kill(pid, number). */
    void (*forward)(struct launched *launched, int number);
    int death_signal; /* the child gets it when this process dies */
    pid_t pid;
    bool was_told;  /* a signal that ends programs was forwarded to it */
    sigset_t usual; /* the signal mask before */
    int signals;    /* a signalfd: SIGCHLD, and signals to forward */
};

/* `fds` become its stdin, stdout and stderr, unless they are -1.  Blocks the signals and
 * queues them in `signals`.  DET_NOT_FOUND: there is no such program. */
det_status launched_start(struct launched *launched, const char *const *argv,
                          const int fds[3], struct err *err);
/* Starts another one.  `usual` is that of the first, whose `signals` serve both. */
det_status launched_start_beside(struct launched *launched, const char *const *argv,
                                 const int fds[3], struct err *err);
/* Handles queued signals without waiting.  True: the child has ended with this exit code
 * (128 + signal number if a signal killed it). */
bool launched_step(struct launched *launched, int *ret_code);
/* Collects the exit code if the child has ended.  True at most once. */
bool launched_has_ended(struct launched *launched, int *ret_code);
/* Whether a signal ends programs that do not handle it. */
bool launched_is_end_signal(int number);
/* Kills what is left of the process group and restores the signal mask. */
void launched_done(struct launched *launched);

/* Sends a signal to the children of a thread, listed in `path` ("/proc/.../children").
 * Returns their number. */
int launched_signal_children(const char *path, int number);
/* Kills and reaps all children of this process.  It is a subreaper, so orphans of killed
 * ranks are among them. */
void launched_kill_orphans(void);

#endif
