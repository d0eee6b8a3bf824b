/* SPDX-License-Identifier: Apache-2.0 */
/* option_rows.h - how a row of an option table is written: letter, name, struct, member,
 * ..., help text.  Only for the tables in this folder. */
#ifndef CLI_OPTIONS_OPTION_ROWS_H
#define CLI_OPTIONS_OPTION_ROWS_H

#include <stddef.h>

#include "base/compiler.h"
#include "cli/frame/command_row.h"

#define FLAG(letter_, name_, struct_, member_, help_, ...)                             \
    {                                                                                  \
        .kind = OPT_FLAG, .letter = (letter_), .name = (name_), .help = (help_),       \
        .offset = offsetof(struct struct_, member_), __VA_ARGS__                       \
    }
#define TEXT(letter_, name_, struct_, member_, value_, help_, ...)                     \
    {                                                                                  \
        .kind = OPT_TEXT, .letter = (letter_), .name = (name_), .value = (value_),     \
        .help = (help_), .offset = offsetof(struct struct_, member_), __VA_ARGS__      \
    }
#define TEXTS(letter_, name_, struct_, member_, value_, help_, ...)                    \
    {                                                                                  \
        .kind = OPT_TEXTS, .letter = (letter_), .name = (name_), .value = (value_),    \
        .help = (help_), .offset = offsetof(struct struct_, member_), __VA_ARGS__      \
    }
#define PAIRS(letter_, name_, struct_, member_, value_, help_)                         \
    {                                                                                  \
        .kind = OPT_PAIRS, .letter = (letter_), .name = (name_), .value = (value_),    \
        .help = (help_), .offset = offsetof(struct struct_, member_)                   \
    }
#define NUMBER(letter_, name_, struct_, member_, value_, min_, max_, help_, ...)       \
    {                                                                                  \
        .kind = OPT_NUMBER, .letter = (letter_), .name = (name_), .value = (value_),   \
        .help = (help_), .offset = offsetof(struct struct_, member_), .min = (min_),   \
        .max = (max_), __VA_ARGS__                                                     \
    }
#define REAL(letter_, name_, struct_, member_, value_, help_)                          \
    {                                                                                  \
        .kind = OPT_REAL, .letter = (letter_), .name = (name_), .value = (value_),     \
        .help = (help_), .offset = offsetof(struct struct_, member_)                   \
    }
#define END                                                                            \
    {                                                                                  \
        .kind = OPT_END                                                                \
    }
#define CHOICES(...)                                                                   \
    .choices = (const char *const[])                                                   \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define ALSO(names_)          .also = (names_)
#define HAS(struct_, member_) .has = offsetof(struct struct_, member_) + 1

enum { COUNT_MOST = 1000000000, DAYS_MOST = 36500 };

#define PAGES(struct_)                                                                 \
    TEXT(0, "pages", struct_, pages, "PAGES",                                          \
         "1: one page of --limit; all: all of it", CHOICES("1", "all"))

#define ENV_DATA(struct_)                                                              \
    TEXT(0, "data-dir", struct_, data_dir, "DIR",                                      \
         "data directory of agent or master (default: ~/.local/share/det)")

#endif
