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

det_status cli_flush(struct cli *cli)
{
    size_t sent = 0;

    if (cli->out.status)
        return cli_nomem(cli);
    while (sent < cli->out.len) {
        ssize_t count = write(STDOUT_FILENO, cli->out.data + sent, cli->out.len - sent);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            int code = errno;

            buf_clear(&cli->out);
            return err_errno(cli->err, code, "cannot write the output");
        }
        sent += (size_t)count;
    }
    buf_clear(&cli->out);
    return DET_OK;
}

void cli_note(struct cli *cli, const char *fmt, ...)
{
    va_list args;

    (void)cli;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
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
