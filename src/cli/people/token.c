/* SPDX-License-Identifier: Apache-2.0 */
/* token.c - `det token`: access tokens for programs. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/connect.h"
#include "cli/frame/options.h"
#include "cli/frame/people_options.h"
#include "cli/frame/prompt.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/people/people_find.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/client/auth.h"

/* The user that is named, else the caller. */
static det_status whose_token(struct cli *cli, const struct cli_invocation *in,
                              int64_t *ret_id)
{
    struct json *reply;
    det_status st;

    if (in->arg_count)
        return people_find_user_id(cli, in->args[0], ret_id);
    st = cli_get(cli, &reply, "/api/v1/me");
    if (!st)
        *ret_id = json_i64(json_path(reply, "user.id"), 0);
    return st;
}

/* Why does a token open nothing?  The master's answer does not say, so that nobody learns
 * which tokens exist. */
static det_status refuse_token(struct cli *cli, det_status status)
{
    if (status != DET_UNAUTHENTICATED)
        return status;
    return cli_hint(cli, "the token has expired, was revoked, is not complete, or "
                         "belongs to another master; an administrator makes a new one "
                         "with 'det token create'");
}

static const char *lifespan_of(struct cli *cli,
                               const struct token_create_options *options)
{
    if (options->days == -1)
        return "-1";
    if (options->days != CLI_UNSET)
        return arena_printf(&cli->mem, "%" PRId64 "h", options->days * 24);
    return options->lifespan;
}

det_status run_token_create(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct token_create_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    int64_t id;
    det_status st = DET_OK;

    if (options->days == 0)
        return cli_fail(cli, DET_INVALID,
                        "--expiration-days is '0'; expected a number from 1, or -1 for "
                        "the longest that is allowed");
    if (options->days != CLI_UNSET && options->lifespan)
        return cli_fail(cli, DET_INVALID,
                        "give --expiration-days or --lifespan, not both");
    st = whose_token(cli, in, &id);
    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64(&w, "userId", id);
    if (lifespan_of(cli, options))
        jw_str(&w, "lifespan", lifespan_of(cli, options));
    if (options->description)
        jw_str(&w, "description", options->description);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, &reply, "/api/v1/tokens");
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    cli_note(cli, "Created token %" PRId64 "; it is shown only now:",
             json_i64(json_get(reply, "tokenId"), 0));
    cli_put(cli, "%s\n", json_str(json_get(reply, "token"), ""));
    return DET_OK;
}

static det_status print_tokens(struct cli *cli, const struct cli_invocation *in,
                               const struct json *list)
{
    static const struct table_column columns[] = {{"ID", TABLE_RIGHT},
                                                  {"USER", TABLE_LEFT},
                                                  {"DESCRIPTION", TABLE_FLEX},
                                                  {"CREATED", TABLE_LEFT},
                                                  {"EXPIRES", TABLE_LEFT},
                                                  {"REVOKED", TABLE_LEFT},
                                                  {0}};
    struct table table;

    if (in->format == CLI_JSON)
        return cli_print_json(cli, list);
    table_init(&table, &cli->mem, columns);
    json_each(token, list) {
        table_add(&table, format_i64(cli, json_i64(json_get(token, "id"), 0)));
        table_add(&table, json_str(json_get(token, "username"), ""));
        table_add(&table, json_str(json_get(token, "description"), ""));
        table_add_raw(&table, format_time(cli, json_get(token, "createdAt")),
                      json_str(json_get(token, "createdAt"), ""));
        table_add_raw(&table, format_time(cli, json_get(token, "expiry")),
                      json_str(json_get(token, "expiry"), ""));
        table_add(&table, format_yes_no(json_get(token, "revoked")));
    }
    return cli_print_table(cli, &table);
}

static const struct {
    const char *word;
    const char *key;
} token_sort_keys[] = {
    {"id", "SORT_BY_UNSPECIFIED"},  {"user", "SORT_BY_USER_ID"},
    {"expiry", "SORT_BY_EXPIRY"},   {"created", "SORT_BY_CREATED_AT"},
    {"revoked", "SORT_BY_REVOKED"}, {"description", "SORT_BY_DESCRIPTION"},
};

det_status run_token_list(struct cli *cli, const struct cli_invocation *in)
{
    const struct token_list_options *options = in->options;
    const char *key = token_sort_keys[0].key;
    struct json *reply;
    det_status st;

    for (size_t i = 0; i < ARRAY_LEN(token_sort_keys); i++)
        if (!strcmp(options->sort_by, token_sort_keys[i].word))
            key = token_sort_keys[i].key;
    st = cli_get(cli, &reply, "/api/v1/tokens?sortBy=%s&orderBy=%s&showInactive=%s%s%s",
                 key, options->reverse ? "ORDER_BY_DESC" : "ORDER_BY_ASC",
                 options->show_inactive ? "true" : "false",
                 in->arg_count ? "&username=" : "",
                 in->arg_count ? cli_url(cli, in->args[0]) : "");
    return st ? st : print_tokens(cli, in, json_get(reply, "tokenInfo"));
}

static det_status token_number(struct cli *cli, const char *text, int64_t *ret_id)
{
    if (!parse_i64(text, ret_id) || *ret_id <= 0)
        return cli_fail(
            cli, DET_INVALID,
            "'%s' is not the number of a token; 'det token list' shows them", text);
    return DET_OK;
}

det_status run_token_describe(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    struct json *reply;
    struct json *list;
    size_t found = 0;
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < in->arg_count; i++) {
        int64_t id = 0;

        st = token_number(cli, in->args[i], &id);
        buf_printf(&query, "&tokenIds=%" PRId64, id);
    }
    if (!st && query.status)
        st = cli_nomem(cli);
    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tokens?showInactive=true%s", query.data);
    if (st)
        return st;
    list = json_get(reply, "tokenInfo");
    json_each(token, list)
        found += token != NULL;
    if (found < in->arg_count)
        return cli_fail(cli, DET_NOT_FOUND,
                        in->arg_count == 1 ? "token %s not found"
                                           : "a token of %s and the others not found",
                        in->args[0]);
    return print_tokens(cli, in, list);
}

static det_status patch_token(struct cli *cli, const char *number,
                              const char *description, bool revokes)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    int64_t id;
    det_status st = token_number(cli, number, &id);

    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64(&w, "tokenId", id);
    if (description)
        jw_str(&w, "description", description);
    jw_bool(&w, "setRevoked", revokes);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    return cli_send(cli, "PATCH", body.data, NULL, "/api/v1/tokens/%" PRId64, id);
}

det_status run_token_edit(struct cli *cli, const struct cli_invocation *in)
{
    const struct token_edit_options *options = in->options;
    det_status st;

    if (!options->description)
        return cli_fail(cli, DET_INVALID, "say what to change: --description TEXT");
    st = patch_token(cli, in->args[0], options->description, false);
    if (!st)
        cli_put(cli, "Changed token %s\n", in->args[0]);
    return st;
}

det_status run_token_revoke(struct cli *cli, const struct cli_invocation *in)
{
    det_status st = patch_token(cli, in->args[0], NULL, true);

    if (!st)
        cli_put(cli, "Revoked token %s\n", in->args[0]);
    return st;
}

/* ---- logging in ----------------------------------------------------------------------------- */

/* Asks the master whose token it is. */
static det_status check_token(struct cli *cli, const char *token, const char **ret_user)
{
    char error[512] = "";
    det_client_options options = {sizeof(options)};
    det_client *client = NULL;
    det_reply *reply = NULL;
    struct json *tree;
    size_t len = 0;
    const char *text;
    det_status st;

    options.master = det_client_master(cli->client);
    options.token = token;
    options.auth_file = "";
    options.error = error;
    options.error_size = sizeof(error);
    st = det_client_open(&options, &client);
    if (st)
        return cli_fail(cli, st, "%s", error);
    st = det_call(client, "GET", "/api/v1/me", NULL, &reply);
    if (st) {
        st = refuse_token(cli, cli_fail(cli, st, "%s", det_error_text(client)));
    } else {
        text = det_reply_body(reply, &len);
        st = json_parse(text, len, &cli->mem, &tree, cli->err);
        if (!st)
            *ret_user = json_str(json_path(tree, "user.username"), "");
    }
    det_reply_free(reply);
    det_client_close(client);
    return st;
}

det_status run_token_login(struct cli *cli, const struct cli_invocation *in)
{
    const char *token = in->arg_count ? in->args[0] : NULL;
    struct auth_place place = {.io = io_system()};
    struct auth_change change = {.activates = 1};
    det_status st = cli_connect(cli);

    if (!st && !token)
        st = cli_password(cli, "Token", &token);
    if (!st)
        st = check_token(cli, token, &change.user);
    if (!st)
        st = auth_file_default(&cli->mem, &place.path, cli->err);
    if (st)
        return st;
    place.url = det_client_master(cli->client);
    change.token = token;
    st = auth_store(&place, &change, cli->err);
    if (!st)
        cli_put(cli, "Logged in as %s at %s\n", change.user, place.url);
    return st;
}
