/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C at a moment when something has to be put right first.
 *
 * While signals are held they wait; interrupt_release() lets them have their way, which
 * mostly ends the process.  Held are SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGTSTP. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct exec;
struct farewell;

struct interrupt {
    sigset_t usual; /* what was blocked before */
    int fd;         /* readable while a signal waits; -1: cannot be told */
};

void interrupt_hold(struct interrupt *hold);
void interrupt_release(struct interrupt *hold);

/* What a process that is started now must not inherit. */
const sigset_t *interrupt_usual(const struct interrupt *hold);

/* Reads of stdin wait here: true when there is something to read, false when a signal
 * came first. */
bool interrupt_wait_for_input(const struct interrupt *hold);

/* From now on Ctrl-Z stops us at once; what would end us still waits. */
void interrupt_let_stop(struct interrupt *hold);
/* Waits so long, or until a signal waits: then it returns true. */
bool interrupt_pause(const struct interrupt *hold, int64_t us);

/* Until farewell_end(): a signal that ends the process prints `text` (copied) and a
 * line break on stderr first.  NULL in *ret_farewell, and no harm done, where that
 * cannot be had. */
void farewell_begin(const char *text, struct farewell **ret_farewell);
void farewell_end(struct farewell *farewell); /* NULL does nothing */

#endif
