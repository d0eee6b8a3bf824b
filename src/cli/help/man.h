/* SPDX-License-Identifier: Apache-2.0 */
/* man.h - man pages, printed from the tables of commands. */
#ifndef CLI_HELP_MAN_H
#define CLI_HELP_MAN_H

struct buf;
struct cli_command;

/* The page of a command, or of det itself (NULL), in troff. */
void man_page(struct buf *out, const struct cli_command *command);
/* Its file name: "det-experiment-label-add.1", or "det.1". */
void man_name(struct buf *out, const struct cli_command *command);

#endif
