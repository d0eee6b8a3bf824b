/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the tables of all nouns and commands. */
#ifndef CLI_FRAME_COMMANDS_H
#define CLI_FRAME_COMMANDS_H

#include "cli/frame/command_row.h"

extern const struct cli_command cli_commands[]; /* ends with a NULL noun */
extern const struct cli_noun cli_nouns[];       /* ends with a NULL name */
extern const struct cli_missing cli_missing[];  /* ends without words */

#endif
