/* SPDX-License-Identifier: Apache-2.0 */
/* launch_rank.h - one rank. */
#ifndef CLI_LAUNCH_LAUNCH_RANK_H
#define CLI_LAUNCH_LAUNCH_RANK_H

#include "base/err.h"

struct cli;
struct cli_invocation;

/* Runs the command until it ends, prefixes its lines with `rank`, and takes over its
 * exit code.  `fate` says what happens to the other ranks if it fails. */
det_status launch_rank_run(struct cli *cli, const struct cli_invocation *in,
                           const char *rank, const char *fate);

#endif
