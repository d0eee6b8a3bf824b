/* SPDX-License-Identifier: Apache-2.0 */
/* complete_ids.h - which ids completion offers for a word of the command line. */
#ifndef CLI_HELP_COMPLETE_IDS_H
#define CLI_HELP_COMPLETE_IDS_H

struct cli_command;
struct cli_opt;

/* The kind of a command's arguments, for `det internal complete`; NULL: none. */
const char *completion_kind(const struct cli_command *command);
/* The kind of an option's value; NULL: none. */
const char *completion_value_kind(const struct cli_opt *opt);

#endif
