/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C while something must be finished or undone first.
 *
 * interrupt_hold() blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGTSTP.
 * interrupt_release() delivers the blocked ones, which usually ends the process. */
#ifndef CLI_FRAME_INTERRUPT_H
#define CLI_FRAME_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct interrupt_notice;

struct interrupt {
    sigset_t usual; /* the signal mask before */
    int fd;         /* readable while a signal is pending; -1: unknown */
};

void interrupt_hold(struct interrupt *hold);
void interrupt_release(struct interrupt *hold);

/* The signal mask for a child process. */
const sigset_t *interrupt_usual(const struct interrupt *hold);

/* Waits before a read of stdin.  True: there is input; false: a signal came first. */
bool interrupt_wait_for_input(const struct interrupt *hold);

/* From now on Ctrl-Z stops the process at once; the other signals stay blocked. */
void interrupt_let_stop(struct interrupt *hold);
/* Sleeps for `us`.  True: a signal is pending, and the sleep was cut short. */
bool interrupt_pause(const struct interrupt *hold, int64_t us);

/* Until interrupt_notice_end(), a signal that ends the process first prints `text`
 * (copied) and a line break on stderr.  Without resources for that, *ret_notice is NULL
 * and nothing will be printed. */
void interrupt_notice_begin(const char *text, struct interrupt_notice **ret_notice);
void interrupt_notice_end(struct interrupt_notice *notice); /* NULL does nothing */

/* Until interrupt_patience_end(), a first signal only prints `text` on stderr; a second one
 * ends the process.  The end returns the first signal, or 0: once the caller has finished,
 * it should raise() that.  Nothing in between may wait for input. */
void interrupt_patience_begin(const char *text, struct interrupt_notice **ret_notice);
int interrupt_patience_end(struct interrupt_notice *notice); /* NULL: returns 0 */

#endif
