/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/help/help.h"

#include <string.h>

#include "base/memory/buf.h"
#include "cli/frame/command_row.h"
#include "cli/frame/commands.h"
#include "cli/frame/parse.h"
#include "cli/options/option_tables.h"

enum { LINE = 80, NAMES = 26 };

static bool is_shown(const struct cli_command *command)
{
    return !(command->flags & CLI_HIDDEN);
}

/* Wraps lines at LINE columns.  Line breaks of the text are kept. */
static void put_wrapped(struct buf *out, const char *text, size_t indent)
{
    size_t column = 0;

    for (const char *at = text; *at;) {
        size_t len = strcspn(at, " \n");

        if (column && column + 1 + len > LINE) {
            buf_putc(out, '\n');
            column = 0;
        }
        if (len && !column) {
            buf_printf(out, "%*s", (int)indent, "");
            column = indent;
        } else if (len) {
            buf_putc(out, ' ');
            column++;
        }
        buf_add(out, at, len);
        column += len;
        at += len;
        if (*at == '\n') {
            buf_putc(out, '\n');
            column = 0;
            at++;
        } else {
            at += strspn(at, " ");
        }
    }
    buf_putc(out, '\n');
}

static void pad_column(struct buf *out, size_t from, size_t width)
{
    size_t len = out->len - from;

    buf_printf(out, "%*s", len < width ? (int)(width - len) : 1, "");
}

static void put_option_names(struct buf *out, const struct cli_opt *opt)
{
    if (opt->letter)
        buf_printf(out, "-%c, ", opt->letter);
    else
        buf_puts(out, "    ");
    buf_printf(out, "--%s", opt->name);
    if (opt->value)
        buf_printf(out, opt->is_optional ? "[=%s]" : " %s", opt->value);
}

static void put_option(struct buf *out, const struct cli_opt *opt)
{
    size_t start = out->len;

    buf_puts(out, "  ");
    put_option_names(out, opt);
    if (out->len - start >= NAMES + 2) {
        buf_putc(out, '\n');
        start = out->len;
    }
    pad_column(out, start, NAMES + 2);
    buf_puts(out, opt->help);
    if (opt->def)
        buf_printf(out, " (default: %s)", opt->def);
    buf_putc(out, '\n');
    for (const char *const *c = opt->choices; c && *c; c++)
        buf_printf(out, "%*s%s%s", c == opt->choices ? NAMES + 2 : 0, "",
                   c == opt->choices ? "one of " : ", ", *c);
    if (opt->choices)
        buf_putc(out, '\n');
}

static void put_global_options(struct buf *out, const struct cli_command *command)
{
    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++)
        if (cli_global_applies(opt, command))
            put_option(out, opt);
}

static void put_words(struct buf *out, const struct cli_command *command)
{
    buf_printf(out, "det %s", command->noun);
    if (command->verb)
        buf_printf(out, " %s", command->verb);
}

void help_command(struct buf *out, const struct cli_command *command)
{
    buf_puts(out, "usage: ");
    put_words(out, command);
    if (command->opts)
        buf_puts(out, " [options]");
    if (*command->synopsis)
        buf_printf(out, " %s", command->synopsis);
    buf_printf(out, "\n\n%s.\n", command->summary);
    if (command->help) {
        buf_putc(out, '\n');
        put_wrapped(out, command->help, 0);
    }
    buf_puts(out, "\noptions:\n");
    for (const struct cli_opt *opt = command->opts; opt && opt->kind; opt++)
        put_option(out, opt);
    put_global_options(out, command);
    if (command->aliases)
        buf_printf(out, "\nalso: %s\n", command->aliases);
}

static void put_command(struct buf *out, const struct cli_command *command,
                        bool with_noun)
{
    size_t start = out->len;

    buf_puts(out, "  ");
    if (with_noun)
        buf_puts(out, command->noun);
    else
        buf_puts(out, command->verb);
    if (*command->synopsis)
        buf_printf(out, " %s", command->synopsis);
    if (out->len - start >= NAMES + 6) {
        buf_putc(out, '\n');
        start = out->len;
    }
    pad_column(out, start, NAMES + 6);
    buf_printf(out, "%s\n", command->summary);
}

void help_noun(struct buf *out, const char *noun)
{
    const struct cli_noun *row = cli_nouns;

    while (row->name && strcmp(row->name, noun))
        row++;
    buf_printf(out, "usage: det %s COMMAND ...\n\n", noun);
    if (row->summary)
        buf_printf(out, "%s.", row->summary);
    if (row->alias)
        buf_printf(out, "  '%s' is short for '%s'.", row->alias, noun);
    buf_puts(out, "\n\ncommands:\n");
    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (!strcmp(c->noun, noun) && c->verb && is_shown(c))
            put_command(out, c, false);
    buf_printf(out, "\n'det %s COMMAND --help' shows more.\n", noun);
}

static const struct cli_command *whole_command(const char *noun)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (!strcmp(c->noun, noun) && !c->verb)
            return c;
    return NULL;
}

void help_all(struct buf *out)
{
    buf_puts(out, "usage: det [options] COMMAND ...\n\n"
                  "Train models: on this machine, or on a cluster.\n\n"
                  "first steps:\n"
                  "  det experiment create const.yaml .\n"
                  "  det experiment list\n\n"
                  "commands:\n");
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++) {
        const struct cli_command *command = whole_command(noun->name);
        size_t start = out->len;

        if (command && is_shown(command)) {
            put_command(out, command, true);
        } else if (noun->summary) {
            buf_printf(out, "  %s%s%s ...", noun->name, noun->alias ? ", " : "",
                       noun->alias ? noun->alias : "");
            pad_column(out, start, NAMES + 6);
            buf_printf(out, "%s\n", noun->summary);
        }
    }
    buf_puts(out, "\noptions:\n");
    put_global_options(out, NULL);
    buf_puts(out, "\n'det COMMAND --help' shows more.\n");
}
