/* SPDX-License-Identifier: Apache-2.0 */
/* user.c - `det user`: logging in and out, accounts and passwords. */
#include "cli/nouns/user.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/connect.h"
#include "cli/frame/people_options.h"
#include "cli/frame/prompt.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/signin/user_signin.h"
#include "data/json/json.h"
#include "libdet/client/auth.h"

enum { PASSWORD_LEAST = 8 };

det_status run_user_login(struct cli *cli, const struct cli_invocation *in)
{
    const struct login_options *options = in->options;
    const char *user = in->arg_count ? in->args[0] : in->globals.user;
    const char *password = options->password;
    det_status st;

    if (options->sso || options->device)
        return user_signin_run(cli, in);
    if (!user)
        user = getenv("DET_USER");
    if (!user || !*user)
        user = "determined";
    st = cli_connect(cli);
    if (!st && !password)
        st = cli_password(cli, arena_printf(&cli->mem, "Password for user '%s'", user),
                          &password);
    if (st)
        return st;
    st = det_login(cli->client, user, password);
    if (st) {
        cli->err->status = st;
        snprintf(cli->err->text, sizeof(cli->err->text), "%s",
                 det_error_text(cli->client));
        return st;
    }
    cli_put(cli, "Logged in as %s at %s\n", user, det_client_master(cli->client));
    return DET_OK;
}

det_status run_user_logout(struct cli *cli, const struct cli_invocation *in)
{
    det_status st = cli_connect(cli);

    (void)in;
    if (st)
        return st;
    st = det_logout(cli->client);
    if (st)
        return cli_client_failed(cli, st);
    cli_put(cli, "Logged out %s\n", det_client_user(cli->client));
    return DET_OK;
}

det_status run_user_whoami(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/me");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "user"));
    cli_put(cli, "%s%s at %s\n", json_str(json_path(reply, "user.username"), ""),
            json_bool(json_path(reply, "user.admin"), false) ? " (administrator)" : "",
            det_client_master(cli->client));
    return DET_OK;
}

det_status run_user_list(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {{"ID", TABLE_RIGHT},
                                                  {"NAME", TABLE_LEFT},
                                                  {"DISPLAY NAME", TABLE_FLEX},
                                                  {"ADMIN", TABLE_LEFT},
                                                  {"ACTIVE", TABLE_LEFT},
                                                  {"REMOTE", TABLE_LEFT},
                                                  {"TASKS RUN AS", TABLE_LEFT},
                                                  {"LAST LOGIN", TABLE_LEFT},
                                                  {0}};
    const struct user_list_options *options = in->options;
    struct json *reply;
    struct table table;
    det_status st =
        cli_get(cli, &reply, "/api/v1/users%s", options->all ? "" : "?active=true");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "users"));
    table_init(&table, &cli->mem, columns);
    json_each(user, json_get(reply, "users")) {
        table_add(&table, format_i64(cli, json_i64(json_get(user, "id"), 0)));
        table_add(&table, json_str(json_get(user, "username"), ""));
        table_add(&table, json_str(json_get(user, "displayName"), ""));
        table_add(&table, format_yes_no(json_get(user, "admin")));
        table_add(&table, format_yes_no(json_get(user, "active")));
        table_add(&table, format_yes_no(json_get(user, "remote")));
        table_add(&table, json_str(json_path(user, "agentUserGroup.agentUser"), ""));
        table_add_raw(&table, format_time(cli, json_get(user, "lastAuthAt")),
                      json_str(json_get(user, "lastAuthAt"), ""));
    }
    return cli_print_table(cli, &table);
}

/* ---- accounts -------------------------------------------------------------------- */

det_status user_new_password(struct cli *cli, const char *given, const char *user,
                             const char **ret_password)
{
    const char *again;
    det_status st = DET_OK;

    *ret_password = given;
    if (!given)
        st = cli_password(cli, arena_printf(&cli->mem, "New password for '%s'", user),
                          ret_password);
    if (!st && !given && isatty(STDIN_FILENO)) {
        st = cli_password(cli, "Again", &again);
        if (!st && strcmp(again, *ret_password))
            st = cli_fail(cli, DET_INVALID, "the two passwords differ");
    }
    if (!st && strlen(*ret_password) < PASSWORD_LEAST)
        st = cli_fail(cli, DET_INVALID, "a password must have at least %d characters",
                      PASSWORD_LEAST);
    return st;
}

det_status run_user_create(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct user_create_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    char hash[AUTH_HASH_TEXT] = "";
    const char *password;
    det_status st = DET_OK;

    if (options->remote && options->password)
        return cli_fail(cli, DET_INVALID,
                        "a remote user has no password here: give --remote or "
                        "--password, not both");
    if (!options->remote) {
        st = user_new_password(cli, options->password, in->args[0], &password);
        if (st)
            return st;
        auth_hash(password, hash);
    }
    jw_object(&w, NULL);
    jw_object(&w, "user");
    jw_str(&w, "username", in->args[0]);
    jw_bool(&w, "admin", options->admin);
    jw_bool(&w, "active", true);
    jw_bool(&w, "remote", options->remote);
    jw_end_object(&w);
    if (!options->remote) {
        jw_str(&w, "password", hash);
        jw_bool(&w, "isHashed", true);
    }
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, NULL, "/api/v1/users");
    if (st == DET_FORBIDDEN)
        return cli_hint(
            cli,
            "only administrators may create users: 'det -u admin user create ...'");
    if (!st)
        cli_put(cli, "Created user %s\n", in->args[0]);
    return st;
}

det_status user_find(struct cli *cli, const struct cli_invocation *in,
                     const char **ret_name, int64_t *ret_id)
{
    struct json *reply;
    det_status st;

    if (in->arg_count)
        st = cli_get(cli, &reply, "/api/v1/users/%s/by-username",
                     cli_url(cli, in->args[0]));
    else
        st = cli_get(cli, &reply, "/api/v1/me");
    if (st)
        return st;
    *ret_name = json_str(json_path(reply, "user.username"), "");
    *ret_id = json_i64(json_path(reply, "user.id"), 0);
    return DET_OK;
}

det_status run_user_change_password(struct cli *cli, const struct cli_invocation *in)
{
    const struct password_options *options = in->options;
    char hash[AUTH_HASH_TEXT];
    const char *name, *password, *body;
    const char *me;
    int64_t id;
    det_status st = user_find(cli, in, &name, &id);

    if (!st)
        st = user_new_password(cli, options->password, name, &password);
    if (st)
        return st;
    auth_hash(password, hash);
    body = arena_printf(&cli->mem, "{\"password\":\"%s\",\"isHashed\":true}", hash);
    if (!body)
        return cli_nomem(cli);
    st = cli_send(cli, "PATCH", body, NULL, "/api/v1/users/%" PRId64, id);
    if (st)
        return st;
    cli_put(cli, "Changed the password of %s\n", name);
    /* the change has ended our own session: log in again */
    me = det_client_user(cli->client);
    if (me && !strcmp(me, name)) {
        st = det_login(cli->client, name, password);
        if (st)
            return cli_client_failed(cli, st);
    }
    return DET_OK;
}
