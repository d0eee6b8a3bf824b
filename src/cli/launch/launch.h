/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - launchers: they start one process per rank.
 *
 *   det launch torch_distributed   launch_torch.c   starts the ranks, forwards signals,
 *   └ det internal rank            launch_rank.c    ends all ranks when one fails
 *     └ COMMAND
 *
 *   det launch mpi            launch_mpi.c   starts mpirun and forwards signals
 *   └ mpirun -n N             Open MPI       ends all ranks when one fails
 *     └ det internal rank     launch_rank.c  environment, line prefixes, error report
 *       └ COMMAND
 *
 * Each process ends the processes below it, and ends when the process above it dies.
 *
 *   det launch tensorflow, tensorflow_distributed   launch_tensorflow.c
 *
 * These start one process per node.  On a single node this process becomes the command.
 * On several nodes the command's lines get a prefix, as those of a rank do.
 *
 * Every launcher sets DET_LAUNCH to its name, so that programs do not launch again. */
#ifndef CLI_LAUNCH_LAUNCH_H
#define CLI_LAUNCH_LAUNCH_H

#include "base/err.h"

struct cli;

/* Sets an environment variable for the programs that are started; NULL changes
 * nothing. */
det_status launch_set(struct cli *cli, const char *name, const char *value);
/* Becomes the program; returns only after a failure. */
det_status launch_become(struct cli *cli, const char *const *argv);

#endif
