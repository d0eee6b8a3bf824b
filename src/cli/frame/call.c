/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/cli.h"
#include "cli/frame/connect.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/url.h"
#include "libdet/client/client.h"

enum { SHOWN_UPLOAD_BYTES = 1 << 20 };

static det_status add_hint(struct cli *cli, det_status status)
{
    const char *user = det_client_user(cli->client);
    const char *text = det_error_text(cli->client);

    if (status == DET_UNAUTHENTICATED && cli->identity == DET_AS_USER && !user &&
        getenv("DET_USER_TOKEN"))
        return cli_hint(cli, "the token in DET_USER_TOKEN has expired, was revoked, is "
                             "not complete, or belongs to another master");
    if (status == DET_UNAUTHENTICATED && cli->identity == DET_AS_USER)
        return cli_hint(cli,
                        "log in with 'det user login %s', or set DET_USER and DET_PASS",
                        user ? user : "NAME");
    /* a master that is there, but not trusted or called in the wrong way, has its own
     * sentence */
    if (status == DET_UNREACHABLE && strncmp(text, "no safe connection", 18) != 0 &&
        !strstr(text, "name it with http"))
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

/* Large bodies take a while on a slow network: says how much was sent. */
static void show_upload(void *arg, size_t sent_bytes, size_t body_bytes)
{
    struct cli *cli = arg;
    char all[16];

    if (body_bytes < SHOWN_UPLOAD_BYTES)
        return;
    size_format(body_bytes, all);
    if (sent_bytes < body_bytes)
        progress_line_set(&cli->progress, "Sending %s to the master... %d%%", all,
                          (int)(100 * sent_bytes / body_bytes));
    else
        progress_line_set(&cli->progress, "Sent %s; the master stores it...", all);
}

static det_status call_with_body(struct cli *cli, const char *method, const char *path,
                                 const char *body, det_reply **ret_reply)
{
    det_status st;

    client_watch(cli->client, show_upload, cli);
    st = det_call(cli->client, method, path, body, ret_reply);
    client_watch(cli->client, NULL, NULL);
    progress_line_end(&cli->progress);
    return st;
}

static det_status call_master(struct cli *cli, const char *method, const char *path,
                              const char *body, struct arena *mem,
                              struct json **ret_reply)
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
        st = body ? call_with_body(cli, method, path, body, &reply)
                  : det_call(cli->client, method, path, NULL, &reply);
    while (st == DET_UNAUTHENTICATED && cli_ask_and_log_in(cli));
    if (st)
        return cli_client_failed(cli, st);
    text = det_reply_body(reply, &len);
    if (ret_reply)
        st = json_parse(text, len, mem, ret_reply, cli->err);
    det_reply_free(reply);
    if (st == DET_INVALID)
        return cli_fail(cli, DET_FAILED, "the server at %s is not a det master",
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
    return call_master(cli, "GET", path, NULL, &cli->mem, ret_reply);
}

det_status cli_get_in(struct cli *cli, struct arena *mem, struct json **ret_reply,
                      const char *fmt, ...)
{
    const char *path;
    va_list args;

    va_start(args, fmt);
    path = arena_vprintf(mem, fmt, args);
    va_end(args);
    return call_master(cli, "GET", path, NULL, mem, ret_reply);
}

det_status cli_send(struct cli *cli, const char *method, const char *body,
                    struct json **ret_reply, const char *fmt, ...)
{
    const char *path;
    va_list args;

    va_start(args, fmt);
    path = arena_vprintf(&cli->mem, fmt, args);
    va_end(args);
    return call_master(cli, method, path, body, &cli->mem, ret_reply);
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

const char *cli_url(struct cli *cli, const char *text)
{
    CLEANUP(buf_done) struct buf encoded = BUF_INIT;
    char *copy;

    url_encode(&encoded, text);
    copy = arena_strndup(&cli->mem, encoded.data, encoded.len);
    if (encoded.status)
        cli->mem.has_failed = true;
    return copy ? copy : "";
}

struct json *cli_try_get(det_client *client, const char *path, struct arena *mem)
{
    struct json *tree = NULL;
    det_reply *reply;
    const char *text;
    size_t len;

    if (!path || det_call(client, "GET", path, NULL, &reply))
        return NULL;
    text = det_reply_body(reply, &len);
    if (json_parse(text, len, mem, &tree, NULL))
        tree = NULL;
    det_reply_free(reply);
    return tree;
}
