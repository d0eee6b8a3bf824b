/* SPDX-License-Identifier: Apache-2.0 */
/* user_group.c - `det user-group`: groups of users. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/people_options.h"
#include "cli/frame/prompt.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/people/people_find.h"
#include "data/json/json.h"

/* "key": [ids of the named users] */
static det_status write_user_ids(struct cli *cli, struct json_writer *w,
                                 const char *key, const char *const *names,
                                 size_t count)
{
    det_status st = DET_OK;

    jw_array(w, key);
    for (size_t i = 0; !st && i < count; i++) {
        int64_t id = 0;

        st = people_find_user_id(cli, names[i], &id);
        jw_i64(w, NULL, id);
    }
    jw_end_array(w);
    return st;
}

det_status run_user_group_create(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct user_group_create_options *options = in->options;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    det_status st;

    jw_object(&w, NULL);
    jw_str(&w, "name", in->args[0]);
    st = write_user_ids(cli, &w, "addUsers", options->add_user.at,
                        options->add_user.count);
    jw_end_object(&w);
    if (!st && body.status)
        st = cli_nomem(cli);
    if (!st)
        st = cli_send(cli, "POST", body.data, &reply, "/api/v1/groups");
    if (!st)
        cli_put(cli, "Created group %s with id %" PRId64 "\n", in->args[0],
                json_i64(json_path(reply, "group.groupId"), 0));
    return st;
}

det_status run_user_group_list(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT}, {"NAME", TABLE_FLEX}, {"MEMBERS", TABLE_RIGHT}, {0}};
    const struct user_group_list_options *options = in->options;
    struct json *reply;
    struct table table;
    int64_t user_id = 0;
    det_status st = DET_OK;

    if (options->user)
        st = people_find_user_id(cli, options->user, &user_id);
    if (!st)
        st = cli_send(
            cli, "POST",
            arena_printf(&cli->mem, "{\"limit\":500,\"userId\":%" PRId64 "}", user_id),
            &reply, "/api/v1/groups/search");
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "groups"));
    table_init(&table, &cli->mem, columns);
    json_each(found, json_get(reply, "groups")) {
        table_add(&table,
                  format_i64(cli, json_i64(json_path(found, "group.groupId"), 0)));
        table_add(&table, json_str(json_path(found, "group.name"), ""));
        table_add(&table, format_i64(cli, json_i64(json_get(found, "numMembers"), 0)));
    }
    return cli_print_table(cli, &table);
}

det_status run_user_group_describe(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT}, {"NAME", TABLE_LEFT}, {"DISPLAY NAME", TABLE_FLEX}, {0}};
    struct json *reply;
    struct table table;
    int64_t id;
    det_status st = people_find_group(cli, in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/groups/%" PRId64, id);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "group"));
    table_init(&table, &cli->mem, columns);
    json_each(user, json_path(reply, "group.users")) {
        table_add(&table, format_i64(cli, json_i64(json_get(user, "id"), 0)));
        table_add(&table, json_str(json_get(user, "username"), ""));
        table_add(&table, json_str(json_get(user, "displayName"), ""));
    }
    return cli_print_table(cli, &table);
}

static det_status change_members(struct cli *cli, const struct cli_invocation *in,
                                 const char *key, const char *done)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    int64_t id;
    det_status st = people_find_group(cli, in->args[0], &id);

    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64(&w, "groupId", id);
    st = write_user_ids(cli, &w, key, in->args + 1, in->arg_count - 1);
    jw_end_object(&w);
    if (!st && body.status)
        st = cli_nomem(cli);
    if (!st)
        st = cli_send(cli, "PUT", body.data, NULL, "/api/v1/groups/%" PRId64, id);
    if (!st)
        cli_put(cli, "%s group %s\n", done, in->args[0]);
    return st;
}

det_status run_user_group_add_user(struct cli *cli, const struct cli_invocation *in)
{
    return change_members(cli, in, "addUsers", "Added to");
}

det_status run_user_group_remove_user(struct cli *cli, const struct cli_invocation *in)
{
    return change_members(cli, in, "removeUsers", "Removed from");
}

det_status run_user_group_change_name(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    int64_t id;
    det_status st = people_find_group(cli, in->args[0], &id);

    if (st)
        return st;
    if (!*in->args[1]) /* in the call it means: keep the name */
        return cli_fail(cli, DET_INVALID, "a group name must have 1 to 64 characters");
    jw_object(&w, NULL);
    jw_i64(&w, "groupId", id);
    jw_str(&w, "name", in->args[1]);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "PUT", body.data, NULL, "/api/v1/groups/%" PRId64, id);
    if (!st)
        cli_put(cli, "Renamed group %s to %s\n", in->args[0], in->args[1]);
    return st;
}

det_status run_user_group_delete(struct cli *cli, const struct cli_invocation *in)
{
    const struct yes_options *options = in->options;
    bool yes = options->yes;
    int64_t id;
    det_status st = people_find_group(cli, in->args[0], &id);

    if (!st && !yes)
        st = cli_confirm(cli,
                         arena_printf(&cli->mem,
                                      "Delete group %s and its role assignments?",
                                      in->args[0]),
                         &yes);
    if (st)
        return st;
    if (!yes)
        return cli_fail(cli, DET_INVALID, "not deleted");
    st = cli_send(cli, "DELETE", NULL, NULL, "/api/v1/groups/%" PRId64, id);
    if (!st)
        cli_put(cli, "Deleted group %s\n", in->args[0]);
    return st;
}
