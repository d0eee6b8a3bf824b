/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - the command line of det: what src/main needs of it.
 *
 * Every command is a row of commands.c; dispatch, the count of its arguments, options,
 * help, man pages and completion are read from that row.
 *
 * Rows marked CLI_ROLE (serve, stop, master run, agent run, task run) are carried out
 * by src/main: it parses with cli_parse(), and finds the options of roles.h in
 * `invocation.options`.  Help for them is cli_main()'s business like any other. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct cli_command;

/* How a listing or a description is printed. */
enum cli_format { CLI_TEXT, CLI_JSON, CLI_CSV };

/* A number that was not given. */
#define CLI_UNSET INT64_MIN

/* Options that every command takes, before or behind its name. */
struct cli_globals {
    const char *master; /* NULL: not given */
    const char *user;   /* NULL: not given */
    bool wants_help;
    bool wants_version;
    bool wants_json;
    bool wants_csv;
    const char *local; /* NULL: not given; "": where runs usually lie */
};

/* A command line that was understood.  Lives in its own arena; borrows argv. */
struct cli_invocation {
    struct arena mem;
    const struct cli_command *command; /* NULL: only help or the version is wanted */
    const char
        *noun; /* with `wants_help` and no command: help for this noun, or NULL */
    struct cli_globals globals;
    enum cli_format format;
    void *options; /* the struct of the command's option table; NULL: it has none */
    const char **args;
    size_t arg_count;
};

/* Everything `det` does but the roles.  Returns the exit code. */
int cli_main(int argc, char **argv);

/* Fills `ret`, which the caller ends with cli_invocation_done() also after a failure.
 * DET_INVALID: unknown or missing words; a second line of the sentence is a hint. */
det_status cli_parse(int argc, char **argv, struct cli_invocation *ret,
                     struct err *err);
void cli_invocation_done(struct cli_invocation *in);
/* Whether the row is one of src/main's, and its words: "master run". */
bool cli_is_role(const struct cli_invocation *in);
const char *cli_words(const struct cli_invocation *in);

/* Prints "det: <sentence>" (and its hint) on stderr; returns the exit code. */
int cli_report(det_status status, const struct err *err);

#endif
