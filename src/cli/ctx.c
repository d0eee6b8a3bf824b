/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/table.h"
#include "data/yaml.h"

enum { CALL_TIMEOUT_MS = 120 * 1000 };

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

/* ---- the master ------------------------------------------------------------------ */

static det_status open_client(struct cli *cli, const char *master)
{
    det_client_options options = {
        .size = sizeof(options),
        .master = master,
        .user = cli->in->globals.user,
        .identity = cli->identity,
        .timeout_ms = CALL_TIMEOUT_MS,
        .error = cli->err->text,
        .error_size = sizeof(cli->err->text),
    };

    cli->err->text[0] = '\0';
    cli->err->status = det_client_open(&options, &cli->client);
    return cli->err->status;
}

/* `det serve --background`, which returns once it answers.  What it says goes to
 * stderr: our stdout is for results. */
static det_status start_master(struct cli *cli)
{
    char *argv[] = {(char *)(uintptr_t) "det", (char *)(uintptr_t) "serve",
                    (char *)(uintptr_t) "--background", NULL};
    posix_spawn_file_actions_t actions;
    int status = 0, code;
    pid_t pid;

    code = posix_spawn_file_actions_init(&actions);
    if (code)
        return err_errno(cli->err, code, "cannot start a local master");
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    code = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        return err_errno(cli->err, code, "cannot start a local master");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DET_OK;
    return cli_fail(cli, DET_UNREACHABLE, "the local master did not start");
}

det_status cli_connect(struct cli *cli)
{
    const char *master = cli->in->globals.master;
    const char *named = getenv("DET_MASTER");
    det_status st;

    if (cli->client)
        return DET_OK;
    if (master || (named && *named))
        return open_client(cli, master);
    st = open_client(cli, NULL);
    if (st == DET_FORBIDDEN)
        return cli_hint(cli, "name the master you mean with -m or DET_MASTER");
    if (st != DET_NOT_FOUND)
        return st;
    st = start_master(cli);
    /* somebody else may have started one in the same moment: then ours did not, and
     * theirs serves as well */
    if (open_client(cli, NULL) == DET_OK) {
        if (!st)
            cli_note(cli, "Started a local master at %s (stop it with 'det stop')",
                     det_client_master(cli->client));
        return DET_OK;
    }
    if (st)
        (void)cli_fail(cli, st, "no master is named, and none could be started here");
    return cli_hint(cli,
                    "name one with -m or DET_MASTER, or start one with 'det serve'");
}

static det_status add_hint(struct cli *cli, det_status status)
{
    const char *user = det_client_user(cli->client);

    if (status == DET_UNAUTHENTICATED && cli->identity == DET_AS_USER)
        return cli_hint(cli, "log in with 'det user login %s'", user ? user : "NAME");
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
    st = det_call(cli->client, method, path, body, &reply);
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
