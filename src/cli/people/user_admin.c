/* SPDX-License-Identifier: Apache-2.0 */
/* user_admin.c - `det user link-with-agent-user` and `det user reset-password`.
 *
 * Resetting needs no session, but access to the master's data directory: the command
 * writes the new password's hash into a file there, under a random name, the ticket, and
 * asks the master to take it (master/api/people/reset_password.c). */
#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "base/rng.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/people_options.h"
#include "cli/nouns/user.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "libdet/client/auth.h"
#include "libdet/client/runfile.h"

enum { TICKET_BYTES = 16 };

/* ---- link-with-agent-user -------------------------------------------------------- */

static det_status check_link(struct cli *cli, const struct user_link_options *options)
{
    bool has_all = options->uid != CLI_UNSET && options->gid != CLI_UNSET &&
                   options->user && options->group;
    bool has_any = options->uid != CLI_UNSET || options->gid != CLI_UNSET ||
                   options->user || options->group;

    if (options->remove && has_any)
        return cli_fail(cli, DET_INVALID, "--remove goes with none of the others");
    if (!options->remove && !has_all)
        return cli_fail(cli, DET_INVALID,
                        "--agent-uid, --agent-gid, --agent-user and --agent-group are "
                        "needed, all four; --remove ends the link");
    return DET_OK;
}

static void write_link(struct json_writer *w, const struct user_link_options *options)
{
    jw_object(w, NULL);
    jw_object(w, "agentUserGroup");
    if (!options->remove) {
        jw_i64(w, "agentUid", options->uid);
        jw_i64(w, "agentGid", options->gid);
        jw_str(w, "agentUser", options->user);
        jw_str(w, "agentGroup", options->group);
    }
    jw_end_object(w);
    jw_end_object(w);
}

det_status run_user_link(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct user_link_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    const char *name;
    int64_t id;
    det_status st = check_link(cli, options);

    if (!st)
        st = user_find(cli, in, &name, &id);
    if (st)
        return st;
    write_link(&w, options);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "PATCH", body.data, NULL, "/api/v1/users/%" PRId64, id);
    if (st)
        return st;
    if (options->remove)
        cli_put(cli, "New tasks of %s run as the master's configuration says\n", name);
    else
        cli_put(cli, "New tasks of %s run as %s:%s (%" PRId64 ":%" PRId64 ")\n", name,
                options->user, options->group, options->uid, options->gid);
    return DET_OK;
}

/* ---- reset-password -------------------------------------------------------------- */

static det_status find_master(struct cli *cli, const char *given, const char **ret_dir,
                              struct runfile *ret_run)
{
    det_status st = DET_OK;

    *ret_dir = given;
    if (!given)
        st = runfile_data_dir(&cli->mem, ret_dir, cli->err);
    if (st)
        return st;
    st = runfile_read(io_system(), *ret_dir, &cli->mem, ret_run, cli->err);
    if (st == DET_NOT_FOUND)
        return cli_fail(
            cli, DET_NOT_FOUND,
            "no master runs in '%s'; start it with 'det serve' and try again, "
            "or name its data directory with --data-dir",
            *ret_dir);
    return st;
}

/* DIR/reset-TICKET, which only its owner can read. */
static det_status write_ticket(struct cli *cli, const char *dir, const char *user,
                               const char *password, char ticket[2 * TICKET_BYTES + 1],
                               const char **ret_path)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    unsigned char bytes[TICKET_BYTES];
    char hash[AUTH_HASH_TEXT];
    det_status st = rng_secret(bytes, sizeof(bytes), cli->err);

    if (st)
        return st;
    hex_encode(ticket, bytes, sizeof(bytes));
    auth_hash(password, hash);
    jw_object(&w, NULL);
    jw_str(&w, "username", user);
    jw_str(&w, "password", hash);
    jw_end_object(&w);
    *ret_path = arena_printf(&cli->mem, "%s/reset-%s", dir, ticket);
    if (text.status || !*ret_path)
        return cli_nomem(cli);
    return io_replace(io_system(), *ret_path, text.data, text.len, true, cli->err);
}

/* Over TLS the run file says which certificate to expect: its directory need not be the one
 * that other commands know. */
static det_status send_ticket(struct cli *cli, const struct runfile *run,
                              const char *ticket)
{
    const char *body = arena_printf(&cli->mem, "{\"ticket\":\"%s\"}", ticket);
    det_client_options options = {.size = sizeof(options),
                                  .master = run->url,
                                  .cert_file = run->cert_file,
                                  .cert_name = "",
                                  .auth_file = "",
                                  .identity = DET_AS_NOBODY,
                                  .error = cli->err->text,
                                  .error_size = sizeof(cli->err->text)};
    det_client *client = NULL;
    det_reply *reply = NULL;
    det_status st = body ? det_client_open(&options, &client) : cli_nomem(cli);

    if (!st) {
        st = det_call(client, "POST", "/api/v1/det/reset-password", body, &reply);
        if (st)
            snprintf(cli->err->text, sizeof(cli->err->text), "%s",
                     det_error_text(client));
    }
    det_reply_free(reply);
    det_client_close(client);
    cli->err->status = st;
    return st;
}

det_status run_user_reset_password(struct cli *cli, const struct cli_invocation *in)
{
    const struct user_reset_options *options = in->options;
    char ticket[2 * TICKET_BYTES + 1];
    const char *dir, *path, *password;
    struct runfile run = {0};
    det_status st = find_master(cli, options->data_dir, &dir, &run);

    if (!st)
        st = user_new_password(cli, NULL, in->args[0], &password);
    if (!st)
        st = write_ticket(cli, dir, in->args[0], password, ticket, &path);
    if (st)
        return st;
    st = send_ticket(cli, &run, ticket);
    (void)io_remove(io_system(), path, NULL); /* the master has, if it took it */
    if (!st)
        cli_put(cli, "Set the password of %s and ended its sessions\n", in->args[0]);
    return st;
}
