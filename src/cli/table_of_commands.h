/* SPDX-License-Identifier: Apache-2.0 */
/* table_of_commands.h - what a row of commands.c is made of.
 *
 * To add a command: a row in commands.c, its function, declared in run.h, and when it
 * takes options their struct in options.h and their rows in option_tables.c. */
#ifndef CLI_TABLE_OF_COMMANDS_H
#define CLI_TABLE_OF_COMMANDS_H

#include "cli/cli.h"

struct cli;

enum cli_opt_kind {
    OPT_END,
    OPT_FLAG,   /* bool */
    OPT_TEXT,   /* const char * */
    OPT_NUMBER, /* int64_t; CLI_UNSET without a default */
    OPT_REAL,   /* double; NaN without a default */
    OPT_TEXTS,  /* struct field_strs: may be repeated, and "a,b" counts as two */
    OPT_PAIRS,  /* struct field_strs: may be repeated; commas are kept */
};

struct cli_opt {
    enum cli_opt_kind kind;
    char letter;       /* 0: none */
    const char *name;  /* without the dashes */
    const char *value; /* what the value is called in help: "DIR"; NULL for flags */
    bool is_optional;  /* the value comes behind a '=' or not at all: then it is "" */
    const char *def;   /* NULL: none */
    const char *help;  /* one line */
    uint32_t offset;   /* in the command's options struct */
    uint32_t has;      /* offset of a bool plus 1 that says "was given"; 0: none */
    int64_t min;       /* numbers; both 0: any */
    int64_t max;
    const char *const *choices; /* texts; ends with NULL; NULL: any */
};

enum cli_command_flag {
    CLI_ROLE = 1,   /* carried out by src/main */
    CLI_HIDDEN = 2, /* in no help, man page or completion */
    CLI_LISTS = 4,  /* takes --json and --csv */
    CLI_SHOWS = 8,  /* takes --json */
    CLI_CALLS = 16, /* talks to a master: takes -m and -u */
    CLI_LOCAL = 32, /* also shows runs without a master: takes --local */
};

typedef det_status cli_fn(struct cli *cli, const struct cli_invocation *in);

struct cli_command {
    const char *noun;    /* "experiment" */
    const char *verb;    /* "label add"; NULL: the noun is the whole command */
    const char *aliases; /* other verbs, space between; NULL: none */
    /* Its arguments: "CONFIG [CONTEXT]", "ID..."; brackets are optional, dots mean one
     * or more. */
    const char *synopsis;
    const char *summary;        /* one line, no full stop */
    const char *help;           /* paragraphs behind it; NULL: none */
    const struct cli_opt *opts; /* ends with OPT_END; NULL: none */
    size_t opts_size;
    unsigned flags;
    cli_fn *run; /* NULL for CLI_ROLE */
};

/* What stands behind a noun. */
struct cli_noun {
    const char *name;
    const char *alias; /* "e"; NULL: none */
    const char *summary;
};

extern const struct cli_command cli_commands[]; /* ends with a NULL noun */
extern const struct cli_noun cli_nouns[];       /* ends with a NULL name */
extern const struct cli_opt cli_global_opts[];  /* over struct cli_globals */

/* Whether a global option makes sense with a command (NULL: without one). */
bool cli_global_applies(const struct cli_opt *opt, const struct cli_command *command);

/* How many arguments a synopsis takes: SIZE_MAX for no limit. */
void cli_arity(const char *synopsis, size_t *ret_least, size_t *ret_most);

/* The words of a row, "experiment label add"; in `mem`. */
const char *cli_command_words(const struct cli_command *command, struct arena *mem);

#endif
