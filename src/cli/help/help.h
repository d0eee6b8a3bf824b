/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - help texts, printed from the tables of commands. */
#ifndef CLI_HELP_HELP_H
#define CLI_HELP_HELP_H

struct buf;
struct cli_command;

void help_all(struct buf *out);
void help_noun(struct buf *out, const char *noun);
void help_command(struct buf *out, const struct cli_command *command);

#endif
