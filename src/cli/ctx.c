/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ctx.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/table.h"
#include "data/yaml.h"

/* ---- failing --------------------------------------------------------------------- */

det_status cli_hint(struct cli *cli, const char *fmt, ...)
{
    size_t len = strlen(cli->err->text);
    va_list args;

    if (strstr(cli->err->text, "\nhint: "))
        return cli->err->status; /* the nearer one is the better one */
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

/* ---- calling --------------------------------------------------------------------- */

static det_status add_hint(struct cli *cli, det_status status)
{
    const char *user = det_client_user(cli->client);

    if (status == DET_UNAUTHENTICATED && cli->identity == DET_AS_USER)
        return cli_hint(cli,
                        "log in with 'det user login %s', or set DET_USER and DET_PASS",
                        user ? user : "NAME");
    if (status == DET_UNREACHABLE)
        return cli_hint(cli, "is a master running at %s? 'det serve' starts one here",
                        det_client_master(cli->client));
    return status;
}

det_status cli_client_failed(struct cli *cli, det_status status)
{
    const char *text = det_error_text(cli->client);

    cli->err->status = status;
    snprintf(cli->err->text, sizeof(cli->err->text), "%s",
             *text ? text : det_status_text(status));
    return add_hint(cli, status);
}

static det_status call(struct cli *cli, const char *method, const char *path,
                       const char *body, struct arena *mem, struct json **ret_reply)
{
    det_reply *reply;
    const char *text;
    size_t len;
    det_status st;

    if (!path)
        return cli_nomem(cli);
    st = cli_connect(cli);
    if (st)
        return st;
    do
        st = det_call(cli->client, method, path, body, &reply);
    while (st == DET_UNAUTHENTICATED && cli_ask_and_log_in(cli));
    if (st)
        return cli_client_failed(cli, st);
    text = det_reply_body(reply, &len);
    if (ret_reply)
        st = json_parse(text, len, mem, ret_reply, cli->err);
    det_reply_free(reply);
    if (st == DET_INVALID)
        return cli_fail(cli, DET_FAILED, "what answers at %s is not a master",
                        det_client_master(cli->client));
    return st;
}

det_status cli_get(struct cli *cli, struct json **ret_reply, const char *fmt, ...)
{
    const char *path;
    va_list args;

    va_start(args, fmt);
    path = arena_vprintf(&cli->mem, fmt, args);
    va_end(args);
    return call(cli, "GET", path, NULL, &cli->mem, ret_reply);
}

det_status cli_get_in(struct cli *cli, struct arena *mem, struct json **ret_reply,
                      const char *fmt, ...)
{
    const char *path;
    va_list args;

    va_start(args, fmt);
    path = arena_vprintf(mem, fmt, args);
    va_end(args);
    return call(cli, "GET", path, NULL, mem, ret_reply);
}

det_status cli_send(struct cli *cli, const char *method, const char *body,
                    struct json **ret_reply, const char *fmt, ...)
{
    const char *path;
    va_list args;

    va_start(args, fmt);
    path = arena_vprintf(&cli->mem, fmt, args);
    va_end(args);
    return call(cli, method, path, body, &cli->mem, ret_reply);
}

det_status cli_stream(struct cli *cli, const char *path, det_line_fn *on_line,
                      void *arg)
{
    det_status st = cli_connect(cli);

    if (st)
        return st;
    do
        st = det_call_stream(cli->client, path, on_line, arg);
    while (st == DET_UNAUTHENTICATED && cli_ask_and_log_in(cli));
    return st ? cli_client_failed(cli, st) : DET_OK;
}

void cli_keep_first(struct cli *cli, struct err *first)
{
    if (first->status)
        cli_note(cli, "det: %s", cli->err->text);
    else
        *first = *cli->err;
}
