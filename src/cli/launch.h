/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - starting a program several times over.
 *
 *   det launch mpi            launch.c       starts mpirun, and hands on signals
 *   └ mpirun -n N             Open MPI's     takes all down when one fails
 *     └ det internal rank     launch_rank.c  rank environment, prefixes, the culprit
 *       └ COMMAND
 *
 * Each of them ends what is below it, and is ended when what is above it dies. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* A program that was started, in a process group of its own.  The first two are set
 * before. */
struct launched {
    void (*hand_on)(struct launched *launched, int number); /* NULL: to the program */
    int heir; /* the signal that it gets when we die */
    pid_t pid;
    bool was_told;  /* that it should end: such a signal was handed on */
    sigset_t usual; /* what was blocked before */
    int signals;    /* a signalfd: its end, and what is to be handed on to it */
};

/* `fds` become its stdin, stdout and stderr, where they are not -1.  From here on the
 * signals wait in `signals`.  DET_NOT_FOUND: there is no such program. */
det_status launched_start(struct launched *launched, const char *const *argv,
                          const int fds[3], struct err *err);
/* Waits for no longer than it takes to read one signal.  True: it has ended, with this
 * exit code (128 and the signal that killed it). */
bool launched_step(struct launched *launched, int *ret_code);
/* Takes down what is left of its group, and lets signals have their way again. */
void launched_done(struct launched *launched);

#endif
