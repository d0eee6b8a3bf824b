/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - who may do what in a workspace, and why: `det workspace access` in a few words,
 * `det rbac who-may` with every permission. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/table.h"
#include "cli/people/people_find.h"
#include "data/json/json.h"

static det_status read_access(struct cli *cli, const char *name,
                              struct json **ret_reply)
{
    int64_t id;
    det_status st = people_find_workspace(cli, name, &id);

    return st ? st
              : cli_get(cli, ret_reply, "/api/v1/det/workspaces/%" PRId64 "/access",
                        id);
}

/* ---- reasons ---------------------------------------------------------------------- */

static const char *reason_text(struct cli *cli, const struct json *reason)
{
    const char *kind = json_str(json_get(reason, "kind"), "");
    const char *role = json_str(json_get(reason, "roleName"), NULL);
    const char *where =
        json_bool(json_get(reason, "scopeCluster"), false) ? " on the cluster" : "";
    const char *text;

    if (!strcmp(kind, "user"))
        return "any user";
    if (!strcmp(kind, "owner"))
        return "owner of the workspace";
    if (!role)
        return kind;
    if (!strcmp(kind, "group"))
        text = arena_printf(&cli->mem, "%s through group %s%s", role,
                            json_str(json_get(reason, "groupName"), ""), where);
    else
        text = arena_printf(&cli->mem, "%s%s", role, where);
    return text ? text : "";
}

static const char *joined_reasons(struct cli *cli, const struct json *reasons)
{
    const char *text = NULL;

    json_each(reason, reasons) {
        const char *one = reason_text(cli, reason);

        text = text ? arena_printf(&cli->mem, "%s, %s", text, one) : one;
    }
    return text ? text : "";
}

static const char *joined_permissions(struct cli *cli, const struct json *list)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *copy;

    json_each(one, list)
        buf_printf(&text, "%s%s", text.len ? " " : "", people_permission(one));
    copy = arena_strdup(&cli->mem, text.len ? text.data : "");
    return copy ? copy : "";
}

/* ---- members ---------------------------------------------------------------------- */

static const char *name_of(const struct json *list, const char *id_key, int64_t id,
                           const char *name_key)
{
    json_each(one, list)
        if (json_i64(json_get(one, id_key), 0) == id)
            return json_str(json_get(one, name_key), "");
    return "";
}

static void add_members(struct table *table, const struct json *reply,
                        const struct json *found)
{
    const char *role = json_str(json_path(found, "role.name"), "");

    json_each(one, json_get(found, "userRoleAssignments")) {
        table_add(table, "user");
        table_add(table, name_of(json_get(reply, "usersAssignedDirectly"), "id",
                                 json_i64(json_get(one, "userId"), 0), "username"));
        table_add(table, role);
    }
    json_each(one, json_get(found, "groupRoleAssignments")) {
        table_add(table, "group");
        table_add(table, name_of(json_get(reply, "groups"), "groupId",
                                 json_i64(json_get(one, "groupId"), 0), "name"));
        table_add(table, role);
    }
}

det_status run_workspace_list_members(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"KIND", TABLE_LEFT}, {"NAME", TABLE_FLEX}, {"ROLE", TABLE_LEFT}, {0}};
    struct json *reply;
    struct table table;
    int64_t id;
    det_status st = people_find_workspace(cli, in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/roles/workspace/%" PRId64, id);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    table_init(&table, &cli->mem, columns);
    json_each(found, json_get(reply, "assignments"))
        add_members(&table, reply, found);
    return cli_print_table(cli, &table);
}

/* ---- every permission ------------------------------------------------------------- */

det_status run_rbac_who_may(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {{"USER", TABLE_LEFT},
                                                  {"WHY", TABLE_LEFT},
                                                  {"MAY", TABLE_FLEX},
                                                  {"MAY WITH OWN OBJECTS", TABLE_FLEX},
                                                  {0}};
    struct json *reply;
    struct table table;
    det_status st = read_access(cli, in->args[0], &reply);

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    table_init(&table, &cli->mem, columns);
    json_each(one, json_get(reply, "users")) {
        table_add(&table, json_str(json_path(one, "user.username"), ""));
        table_add(&table, joined_reasons(cli, json_get(one, "reasons")));
        table_add(&table, joined_permissions(cli, json_get(one, "permissions")));
        table_add(&table, joined_permissions(cli, json_get(one, "ownPermissions")));
    }
    return cli_print_table(cli, &table);
}

/* ---- in a few words --------------------------------------------------------------- */

/* What people ask about, each by the permission that stands for it. */
static const struct ability {
    const char *title;
    const char *permission;
} abilities[] = {
    {"VIEW", "VIEW_EXPERIMENT_METADATA"},
    {"SUBMIT", "CREATE_EXPERIMENT"},
    {"TASKS", "CREATE_NSC"},
    {"CONTROL", "UPDATE_EXPERIMENT"},
    {"DELETE", "DELETE_EXPERIMENT"},
    {"PROJECTS", "UPDATE_PROJECT"},
    {"WORKSPACE", "UPDATE_WORKSPACE"},
    {"ROLES", "ASSIGN_ROLES"},
};

static bool has_permission(const struct json *list, const char *name)
{
    json_each(one, list)
        if (!strcmp(people_permission(one), name))
            return true;
    return false;
}

static const char *answer(const struct json *one, const char *permission)
{
    if (has_permission(json_get(one, "permissions"), permission))
        return "yes";
    return has_permission(json_get(one, "ownPermissions"), permission) ? "own" : "-";
}

static void make_columns(struct table_column *columns)
{
    size_t count = 0;

    columns[count++] = (struct table_column){"USER", TABLE_FLEX};
    for (size_t i = 0; i < ARRAY_LEN(abilities); i++)
        columns[count++] = (struct table_column){abilities[i].title, TABLE_LEFT};
    columns[count++] = (struct table_column){"WHY", TABLE_FLEX};
    columns[count] = (struct table_column){0};
}

det_status run_workspace_access(struct cli *cli, const struct cli_invocation *in)
{
    struct table_column columns[ARRAY_LEN(abilities) + 3];
    struct json *reply;
    struct table table;
    det_status st = read_access(cli, in->args[0], &reply);

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    make_columns(columns);
    table_init(&table, &cli->mem, columns);
    json_each(one, json_get(reply, "users")) {
        table_add(&table, json_str(json_path(one, "user.username"), ""));
        for (size_t i = 0; i < ARRAY_LEN(abilities); i++)
            table_add(&table, answer(one, abilities[i].permission));
        table_add(&table, joined_reasons(cli, json_get(one, "reasons")));
    }
    if (in->format == CLI_TEXT)
        cli_note(cli, "mode %s%s", json_str(json_get(reply, "mode"), ""),
                 strcmp(json_str(json_get(reply, "mode"), ""), "basic")
                     ? ""
                     : ": 'own' is what a user may do with own objects only");
    return cli_print_table(cli, &table);
}
