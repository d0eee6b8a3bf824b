/* SPDX-License-Identifier: Apache-2.0 */
/* command_row.h - the rows of the tables of commands and options.
 *
 * To add a command: add a row to commands.c, write its function and declare it in
 * command_functions.h.  For its options add a struct to options.h and a table to
 * options/. */
#ifndef CLI_FRAME_COMMAND_ROW_H
#define CLI_FRAME_COMMAND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct cli_invocation;

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
    const char *value; /* the value's name in help: "DIR"; NULL for flags */
    bool is_optional;  /* "--name=VALUE" or "--name" alone, which means "" */
    const char *def;   /* NULL: none */
    const char *help;  /* one line */
    uint32_t offset;   /* in the command's options struct */
    uint32_t has;      /* 1 + offset of a bool that says "was given"; 0: none */
    int64_t min;       /* numbers; both 0: any */
    int64_t max;
    const char *const *choices; /* texts; ends with NULL; NULL: any */
    const char *const *offers;  /* what completion offers, besides; ends with NULL */
    const char *also; /* other names, separated by spaces; "-rp" is a word of its own */
};

enum cli_command_flag {
    CLI_ROLE = 1,   /* carried out by src/main */
    CLI_HIDDEN = 2, /* not in help, man pages or completion */
    CLI_LISTS = 4,  /* takes --json and --csv */
    CLI_SHOWS = 8,  /* takes --json */
    CLI_CALLS = 16, /* talks to a master: takes -m and -u */
    CLI_LOCAL = 32, /* also shows offline runs: takes --local */
};

typedef det_status cli_fn(struct cli *cli, const struct cli_invocation *in);

struct cli_command {
    const char *noun;    /* "experiment" */
    const char *verb;    /* "label add"; NULL: the noun is the whole command */
    const char *aliases; /* other verbs, separated by spaces; NULL: none */
    /* Its arguments: "CONFIG [CONTEXT]", "ID..."; brackets mean optional, dots mean one
     * or more. */
    const char *synopsis;
    const char *summary;        /* one line, no full stop */
    const char *help;           /* more paragraphs; NULL: none */
    const struct cli_opt *opts; /* ends with OPT_END; NULL: none */
    size_t opts_size;
    unsigned flags;
    cli_fn *run; /* NULL for CLI_ROLE */
};

struct cli_noun {
    const char *name;
    const char *alias;   /* "e"; NULL: none */
    const char *summary; /* NULL: a single command has this noun, and its own summary */
};

/* A command or an option of Determined that det does not have. */
struct cli_missing {
    const char *words; /* of the command: "master logs"; a noun alone means all of it */
    const char *option;  /* without the dashes; NULL: the command itself is missing */
    const char *instead; /* a sentence: what to use */
};

#endif
