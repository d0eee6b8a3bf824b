/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - turns the words of a command line into an invocation.
 *
 * Each command is a row of commands.c.  Dispatch, the number of arguments, options, help,
 * man pages and completion all come from that row.
 *
 * src/main carries out the rows marked CLI_ROLE (serve, stop, master run, agent run,
 * task run, task enter).  It finds their options (role_options.h) in
 * `invocation.options`.  cli_main() prints help for them, as for other commands. */
#ifndef CLI_FRAME_PARSE_H
#define CLI_FRAME_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/arena.h"

struct cli_command;
struct cli_opt;

/* How a list or a description is printed. */
enum cli_format { CLI_TEXT, CLI_JSON, CLI_CSV };

/* The value of a number option that was not given. */
#define CLI_UNSET INT64_MIN

/* Options that all commands share, before or after the command's name. */
struct cli_globals {
    const char *master; /* NULL: not given */
    const char *user;   /* NULL: not given */
    bool wants_help;
    bool wants_version;
    bool wants_json;
    bool wants_csv;
    const char *local; /* NULL: not given; "": the default folder of offline runs */
};

/* A parsed command line.  It owns its arena and borrows argv. */
struct cli_invocation {
    struct arena mem;
    const struct cli_command *command; /* NULL: only help or the version is wanted */
    const char *noun; /* `wants_help` without a command: help for this noun, or NULL */
    struct cli_globals globals;
    enum cli_format format;
    void *options; /* the struct of the command's option table; NULL: it has none */
    const char **args;
    size_t arg_count;
};

/* Fills `ret`; the caller calls cli_invocation_done() even after a failure.
 * DET_INVALID: unknown or missing words; a second line of the sentence is a hint. */
det_status cli_parse(int argc, char **argv, struct cli_invocation *ret,
                     struct err *err);
void cli_invocation_done(struct cli_invocation *in);
/* Whether src/main carries out the command. */
bool cli_is_role(const struct cli_invocation *in);
/* The words of its command: "master run". */
const char *cli_words(const struct cli_invocation *in);

/* Whether a global option makes sense with a command (NULL: without a command). */
bool cli_global_applies(const struct cli_opt *opt, const struct cli_command *command);
/* How many arguments a synopsis allows; SIZE_MAX: no limit. */
void cli_arity(const char *synopsis, size_t *ret_least, size_t *ret_most);
/* The words of a row, "experiment label add"; in `mem`. */
const char *cli_command_words(const struct cli_command *command, struct arena *mem);

#endif
