/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.h - questions to the user. */
#ifndef CLI_FRAME_PROMPT_H
#define CLI_FRAME_PROMPT_H

#include <stdbool.h>

#include "base/err.h"

struct cli;

/* Asks "QUESTION [y/N] " on the terminal.  DET_INVALID: there is no terminal.
 * DET_IO: the answer could not be read. */
det_status cli_confirm(struct cli *cli, const char *question, bool *ret_yes);
/* Reads a password without echo from the terminal, or a line of standard input where
 * there is no terminal.  At the end of the input it is "". */
det_status cli_password(struct cli *cli, const char *prompt, const char **ret_password);

#endif
