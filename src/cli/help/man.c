/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help/man.h"

#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/command_row.h"
#include "cli/frame/commands.h"
#include "cli/options/option_tables.h"

/* troff takes a leading '.' or '\'' for a request and a backslash for an escape. */
static void put_escaped(struct buf *out, const char *text)
{
    bool is_start = true;

    for (; *text; text++) {
        if (is_start && (*text == '.' || *text == '\''))
            buf_puts(out, "\\&");
        if (*text == '\\')
            buf_puts(out, "\\e");
        else if (*text == '-')
            buf_puts(out, "\\-");
        else
            buf_putc(out, *text);
        is_start = *text == '\n';
    }
}

static void put_paragraphs(struct buf *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t len = end ? (size_t)(end - text) : strlen(text);
        bool has_lines = memchr(text, '\n', len) != NULL;

        if (has_lines)
            buf_puts(out, ".nf\n");
        for (size_t i = 0; i < len; i++) {
            char c[2] = {text[i], '\0'};

            if (!i || text[i - 1] == '\n' || text[i] == '\\' || text[i] == '-')
                put_escaped(out, c);
            else
                buf_putc(out, text[i]);
        }
        buf_puts(out, has_lines ? "\n.fi\n" : "\n");
        text += len;
        if (*text)
            buf_puts(out, ".PP\n");
        text += strspn(text, "\n");
    }
}

/* "; also --follow-first-trial" */
static void put_other_names(struct buf *out, const char *names)
{
    const char *before = "; also ";

    while (names && *names) {
        size_t len = strcspn(names, " ");
        char name[64];

        snprintf(name, sizeof(name), "%s%.*s", *names == '-' ? "" : "--", (int)len,
                 names);
        buf_puts(out, before);
        put_escaped(out, name);
        before = ", ";
        names += len + strspn(names + len, " ");
    }
}

static void put_option(struct buf *out, const struct cli_opt *opt)
{
    buf_puts(out, ".TP\n");
    if (opt->letter)
        buf_printf(out, "\\fB\\-%c\\fR, ", opt->letter);
    buf_puts(out, "\\fB\\-\\-");
    put_escaped(out, opt->name);
    buf_puts(out, "\\fR");
    if (opt->value)
        buf_printf(out, opt->is_optional ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", opt->value);
    buf_putc(out, '\n');
    put_escaped(out, opt->help);
    if (opt->def) {
        buf_puts(out, " (default: ");
        put_escaped(out, opt->def);
        buf_putc(out, ')');
    }
    for (const char *const *c = opt->choices; c && *c; c++)
        buf_printf(out, "%s%s", c == opt->choices ? "; one of " : ", ", *c);
    put_other_names(out, opt->also);
    buf_putc(out, '\n');
}

static void put_options(struct buf *out, const struct cli_command *command)
{
    buf_puts(out, ".SH OPTIONS\n");
    for (const struct cli_opt *opt = command ? command->opts : NULL; opt && opt->kind;
         opt++)
        put_option(out, opt);
    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++)
        if (cli_global_applies(opt, command))
            put_option(out, opt);
}

void man_name(struct buf *out, const struct cli_command *command)
{
    buf_puts(out, "det");
    if (command)
        buf_printf(out, "-%s", command->noun);
    for (const char *at = command && command->verb ? command->verb : NULL; at && *at;) {
        size_t len = strcspn(at, " ");

        buf_putc(out, '-');
        buf_add(out, at, len);
        at += len + (at[len] == ' ');
    }
    buf_puts(out, ".1");
}

static void put_exit_codes(struct buf *out)
{
    buf_puts(out,
             ".SH EXIT STATUS\n"
             "0 success; 1 failure; 2 wrong usage or configuration; 3 not logged in "
             "or not allowed; 4 no such object; 5 the state does not allow it; 6 "
             "busy, try again; 7 out of memory; 8 reading or writing failed; 9 "
             "timeout; 10 no answer from the master; 11 not built yet.\n");
}

static void put_page_of_det(struct buf *out)
{
    buf_puts(out, ".TH DET 1\n.SH NAME\ndet \\- train models on this machine or on a "
                  "cluster\n.SH SYNOPSIS\n\\fBdet\\fR [options] \\fICOMMAND\\fR ...\n"
                  ".SH COMMANDS\n");
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        if (c->flags & CLI_HIDDEN)
            continue;
        buf_printf(out, ".TP\n\\fBdet %s%s%s\\fR %s\n", c->noun, c->verb ? " " : "",
                   c->verb ? c->verb : "", c->synopsis);
        put_escaped(out, c->summary);
        buf_puts(out, ".\n");
    }
    put_options(out, NULL);
    buf_puts(out,
             ".SH ENVIRONMENT\n"
             ".TP\n\\fBDET_MASTER\\fR\nthe master's address\n"
             ".TP\n\\fBDET_MASTER_CERT_FILE\\fR\nfor an https:// address: the "
             "certificate of the master or its signer (PEM), or noverify\n"
             ".TP\n\\fBDET_MASTER_CERT_NAME\\fR\na name that this certificate must "
             "have\n"
             ".TP\n\\fBDET_USER\\fR, \\fBDET_PASS\\fR\nuser and password\n"
             ".TP\n\\fBNO_COLOR\\fR\nprints without colours\n"
             ".SH FILES\n"
             ".TP\n\\fI~/.config/determined/auth.json\\fR\nlogin sessions\n"
             ".TP\n\\fI~/.config/determined/known_masters\\fR\nthe masters that "
             "'det trust' has stored\n"
             ".TP\n\\fI~/.local/share/det\\fR\nthe data of a local master\n");
    put_exit_codes(out);
}

void man_page(struct buf *out, const struct cli_command *command)
{
    const char *verb;

    if (!command) {
        put_page_of_det(out);
        return;
    }
    verb = command->verb ? command->verb : "";
    buf_puts(out, ".TH \"");
    man_name(out, command);
    buf_cut(out, out->len - 2);
    buf_puts(out, "\" 1\n.SH NAME\n");
    man_name(out, command);
    buf_cut(out, out->len - 2);
    buf_puts(out, " \\- ");
    put_escaped(out, command->summary);
    buf_printf(out, "\n.SH SYNOPSIS\n\\fBdet %s%s%s\\fR%s %s\n", command->noun,
               *verb ? " " : "", verb, command->opts ? " [options]" : "",
               command->synopsis);
    if (command->help) {
        buf_puts(out, ".SH DESCRIPTION\n");
        put_paragraphs(out, command->help);
    }
    put_options(out, command);
    put_exit_codes(out);
    buf_puts(out, ".SH SEE ALSO\n.BR det (1)\n");
}

static det_status write_page(struct cli *cli, const char *folder,
                             const struct cli_command *command)
{
    CLEANUP(buf_done) struct buf page = BUF_INIT;
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_printf(&path, "%s/", folder);
    man_name(&path, command);
    man_page(&page, command);
    if (page.status || path.status)
        return cli_nomem(cli);
    return io_replace(io_system(), path.data, page.data, page.len, false, cli->err);
}

det_status run_internal_man(struct cli *cli, const struct cli_invocation *in)
{
    det_status st = io_mkdir(io_system(), in->args[0], false, cli->err);

    if (!st)
        st = write_page(cli, in->args[0], NULL);
    for (const struct cli_command *c = cli_commands; c->noun && !st; c++)
        if (!(c->flags & CLI_HIDDEN))
            st = write_page(cli, in->args[0], c);
    return st;
}
