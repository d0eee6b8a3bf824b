/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - texts printed from the tables: help, man pages, completion. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/err.h"

struct buf;
struct cli_command;

/* Everything det can do; what one noun can do; one command. */
void help_all(struct buf *out);
void help_noun(struct buf *out, const char *noun);
void help_command(struct buf *out, const struct cli_command *command);

/* The man page of a command, or of det itself (NULL), in troff. */
void man_page(struct buf *out, const struct cli_command *command);
/* "det-experiment-label-add.1", or "det.1". */
void man_name(struct buf *out, const struct cli_command *command);

/* A script for "bash", "zsh" or "fish".  DET_INVALID: another shell. */
det_status completion_write(const char *shell, struct buf *out, struct err *err);

#endif
