/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - starting a program several times over.
 *
 *   det launch torch_distributed   launch_torch.c   starts the ranks, hands on signals,
 *   └ det internal rank            launch_rank.c    takes all down when one fails
 *     └ COMMAND
 *
 *   det launch mpi            launch.c       starts mpirun, and hands on signals
 *   └ mpirun -n N             Open MPI's     takes all down when one fails
 *     └ det internal rank     launch_rank.c  rank environment, prefixes, the culprit
 *       └ COMMAND
 *
 * Each of them ends what is below it, and is ended when what is above it dies.
 *
 *   det launch tensorflow, tensorflow_distributed   launch_tensorflow.c
 *
 * starts one process a node: alone on its node this very process becomes the command,
 * one of several nodes marks the command's lines as a rank does.
 *
 * Every layer sets DET_LAUNCH to its name: who finds it does not launch again. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cli;
struct cli_invocation;
struct json;
struct launch_place;

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
/* Another one, beside one that was started so: `usual` is that one's, which also has
 * the signals of both. */
det_status launched_start_beside(struct launched *launched, const char *const *argv,
                                 const int fds[3], struct err *err);
/* Waits for no longer than it takes to read one signal.  True: it has ended, with this
 * exit code (128 and the signal that killed it). */
bool launched_step(struct launched *launched, int *ret_code);
/* Whether it has ended; once. */
bool launched_has_ended(struct launched *launched, int *ret_code);
/* Whether programs that do not know a signal end by it. */
bool launch_is_end(int number);
/* Takes down what is left of its group, and lets signals have their way again. */
void launched_done(struct launched *launched);

/* Whatever ranks started and left behind when they were killed came to this process,
 * which is a subreaper, and ends with it. */
void launch_end_orphans(void);
/* Of this very program; NULL: out of memory. */
const char *launch_own_path(struct cli *cli);
/* As many ranks as were asked for, or as the task has slots on this node. */
det_status launch_count_ranks(struct cli *cli, int64_t wanted,
                              const struct launch_place *place, int64_t *ret_count);

/* Becomes the program; returns only when it cannot. */
det_status launch_become(struct cli *cli, const char *const *argv);

/* ---- where we are (launch_place.c) ----------------------------------------------- */

/* The part of a task that runs on this node.  Outside of tasks: a single node that has
 * no slots. */
struct launch_place {
    size_t nodes;
    const struct json *addresses; /* of the nodes, by rank; NULL: there is one */
    const struct json *counts;    /* of their slots, by rank; NULL: not known */
    int64_t rank;                 /* which of them this is */
    bool has_slots;               /* DET_SLOT_IDS is there */
    size_t slots;                 /* on this node */
    bool has_gpus;                /* the slots are GPUs */
};

enum { LAUNCH_PORT_MOST = 65535 };
/* Borrows from the arena of `cli`. */
det_status launch_place_read(struct cli *cli, struct launch_place *ret_place);
/* DET_UNSUPPORTED on several nodes, with `instead` as the way out. */
det_status launch_place_is_one(struct cli *cli, const struct launch_place *place,
                               const char *layer, const char *instead);
/* On which the nodes talk: the one that was asked for, or that of the allocation; `or`
 * when there is neither. */
det_status launch_port(struct cli *cli, int64_t wanted, int64_t or, int64_t *ret_port);
/* Sets a variable for what is started; NULL leaves it as it is. */
det_status launch_set(struct cli *cli, const char *name, const char *value);

/* ---- one rank (launch_rank.c) ---------------------------------------------------- */

/* Runs the command with its lines marked by `rank`, to its end, and takes its exit code
 * over.  `fate` says what becomes of the others when it fails. */
det_status launch_run_rank(struct cli *cli, const struct cli_invocation *in,
                           const char *rank, const char *fate);

#endif
