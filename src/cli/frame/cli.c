/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/frame/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/output/table.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

/* ---- failing --------------------------------------------------------------------- */

det_status cli_hint(struct cli *cli, const char *fmt, ...)
{
    size_t len = strlen(cli->err->text);
    va_list args;

    if (strstr(cli->err->text, "\nhint: "))
        return cli->err->status; /* the first hint is the most specific */
    snprintf(cli->err->text + len, ERR_TEXT_SIZE - len, "\nhint: ");
    len = strlen(cli->err->text);
    va_start(args, fmt);
    vsnprintf(cli->err->text + len, ERR_TEXT_SIZE - len, fmt, args);
    va_end(args);
    return cli->err->status;
}

det_status cli_nomem(struct cli *cli)
{
    return err_set(cli->err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
}

/* ---- printing -------------------------------------------------------------------- */

static det_status write_all(struct cli *cli, const char *bytes, size_t len)
{
    while (len) {
        ssize_t count = write(STDOUT_FILENO, bytes, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_errno(cli->err, errno, "cannot write the output");
        bytes += count;
        len -= (size_t)count;
    }
    return DET_OK;
}

/* Names and labels are other people's: whatever a command prints, no escape sequence in it
 * reaches a terminal, except colours. */
det_status cli_flush(struct cli *cli)
{
    CLEANUP(buf_done) struct buf safe = BUF_INIT;
    struct buf *out = &cli->out;
    enum term_escapes how = cli->in->format == CLI_JSON ? TERM_JSON
                            : cli->term.is_terminal     ? TERM_COLORS
                                                        : TERM_PLAIN;
    det_status st;

    if (!out->status && !cli->is_raw && !term_is_harmless(out->data, out->len)) {
        term_escape(&safe, out->data, out->len, how);
        out = &safe;
    }
    if (out->status)
        return cli_nomem(cli);
    st = write_all(cli, out->data, out->len);
    buf_clear(&cli->out);
    return st;
}

void cli_note(struct cli *cli, const char *fmt, ...)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf safe = BUF_INIT;
    va_list args;

    (void)cli;
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    term_escape(&safe, text.data, text.len, TERM_PLAIN);
    fprintf(stderr, "%s\n", safe.data);
}

det_status cli_print_table(struct cli *cli, struct table *table)
{
    if (cli->mem.has_failed) {
        table_done(table);
        return cli_nomem(cli);
    }
    if (cli->in->format == CLI_CSV)
        table_csv(table, &cli->out);
    else
        table_print(table, &cli->term, &cli->out);
    table_done(table);
    return cli->out.status ? cli_nomem(cli) : DET_OK;
}

det_status cli_print_json(struct cli *cli, const struct json *value)
{
    struct json_writer w = JSON_WRITER(&cli->out);

    w.is_pretty = true;
    jw_json(&w, NULL, value);
    cli_put(cli, "\n");
    return cli->out.status ? cli_nomem(cli) : DET_OK;
}

det_status cli_print_tree(struct cli *cli, const struct json *value)
{
    if (cli->in->format == CLI_JSON)
        return cli_print_json(cli, value);
    yaml_write(&cli->out, value);
    return cli->out.status ? cli_nomem(cli) : DET_OK;
}

void cli_keep_first(struct cli *cli, struct err *first)
{
    if (first->status)
        cli_note(cli, "det: %s", cli->err->text);
    else
        *first = *cli->err;
}

void cli_print_field(struct cli *cli, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    cli_put(cli, "  %-12s ", name);
    term_put(&cli->out, value, SIZE_MAX);
    cli_put(cli, "\n");
}

void cli_sleep(int64_t milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = milliseconds % 1000 * 1000000};

    nanosleep(&time, NULL);
}
