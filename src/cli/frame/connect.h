/* SPDX-License-Identifier: Apache-2.0 */
/* connect.h - finds the master and opens the client.
 *
 * The master is the one of -m, else DET_MASTER, else the one that runs here.  If none
 * runs here, a local master is started. */
#ifndef CLI_FRAME_CONNECT_H
#define CLI_FRAME_CONNECT_H

#include <stdbool.h>

#include "base/err.h"
#include "det/det.h"

struct cli;

/* Does nothing when the client is open. */
det_status cli_connect(struct cli *cli);
/* Another connection to the same master as the same user.  The error of `cli` is left as
 * it was; *ret_client is NULL after a failure. */
det_status cli_open_second(struct cli *cli, det_client **ret_client);
/* After DET_UNAUTHENTICATED: asks the user of -u or DET_USER for the password, once,
 * if there is a terminal.  True: repeat the call. */
bool cli_ask_and_log_in(struct cli *cli);

#endif
