/* SPDX-License-Identifier: Apache-2.0 */
/* cli_main.h - one command line from start to exit code. */
#ifndef CLI_FRAME_CLI_MAIN_H
#define CLI_FRAME_CLI_MAIN_H

#include "base/err.h"

/* Carries out every command except the roles (see parse.h).  Returns the exit code. */
int cli_main(int argc, char **argv);

/* Prints "det: <sentence>" and its hint on stderr.  Returns the exit code. */
int cli_report(det_status status, const struct err *err);

#endif
