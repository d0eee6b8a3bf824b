/* SPDX-License-Identifier: Apache-2.0 */
/* rbac.c - `det rbac`: roles, and who has them. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/people_options.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/people/people_find.h"
#include "data/json/json.h"

/* ---- roles ------------------------------------------------------------------------------ */

det_status run_rbac_list_roles(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {{"ID", TABLE_RIGHT},
                                                  {"ROLE", TABLE_LEFT},
                                                  {"PERMISSIONS", TABLE_RIGHT},
                                                  {"IN A WORKSPACE", TABLE_LEFT},
                                                  {"ON THE CLUSTER", TABLE_LEFT},
                                                  {0}};
    const struct role_list_options *options = in->options;
    struct json *reply;
    struct table table;
    det_status st =
        cli_send(cli, "POST",
                 options->exclude_global ? "{\"limit\":500,\"workspaceId\":1}"
                                         : "{\"limit\":500}",
                 &reply, "/api/v1/roles/search/by-assignability");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "roles"));
    table_init(&table, &cli->mem, columns);
    json_each(role, json_get(reply, "roles")) {
        int64_t count = 0;

        json_each(permission, json_get(role, "permissions"))
            count += permission != NULL;
        table_add(&table, format_i64(cli, json_i64(json_get(role, "roleId"), 0)));
        table_add(&table, json_str(json_get(role, "name"), ""));
        table_add(&table, format_i64(cli, count));
        table_add(&table, format_yes_no(json_path(role, "scopeTypeMask.workspace")));
        table_add(&table, format_yes_no(json_path(role, "scopeTypeMask.cluster")));
    }
    return cli_print_table(cli, &table);
}

det_status run_rbac_describe_role(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"PERMISSION", TABLE_LEFT}, {"IN A WORKSPACE", TABLE_LEFT}, {0}};
    struct json *role;
    struct table table;
    det_status st = people_find_role(cli, in->args[0], &role);

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, role);
    table_init(&table, &cli->mem, columns);
    json_each(permission, json_get(role, "permissions")) {
        table_add(&table, people_permission(json_get(permission, "id")));
        table_add(&table,
                  format_yes_no(json_path(permission, "scopeTypeMask.workspace")));
    }
    return cli_print_table(cli, &table);
}

/* ---- who has which role ------------------------------------------------------------------ */

static const struct table_column assignment_columns[] = {
    {"ROLE", TABLE_LEFT}, {"WHERE", TABLE_LEFT}, {"THROUGH", TABLE_FLEX}, {0}};

static const char *group_name(struct cli *cli, int64_t id)
{
    struct json *reply;
    const char *name;

    if (cli_get(cli, &reply, "/api/v1/groups/%" PRId64, id))
        return format_i64(cli, id);
    name = arena_printf(&cli->mem, "group %s",
                        json_str(json_path(reply, "group.name"), ""));
    return name ? name : "";
}

static void add_assignments(struct cli *cli, struct table *table, const char *role,
                            const struct json *list)
{
    json_each(one, list) {
        int64_t workspace =
            json_i64(json_path(one, "roleAssignment.scopeWorkspaceId"), 0);
        int64_t group = json_i64(json_get(one, "groupId"), 0);

        table_add(table, role);
        table_add(table,
                  workspace ? people_workspace_name(cli, workspace) : "the cluster");
        table_add(table, group ? group_name(cli, group) : "the user");
    }
}

det_status run_rbac_list_users_roles(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    struct table table;
    int64_t id;
    det_status st = people_find_user_id(cli, in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/roles/search/by-user/%" PRId64, id);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "roles"));
    table_init(&table, &cli->mem, assignment_columns);
    json_each(found, json_get(reply, "roles")) {
        const char *role = json_str(json_path(found, "role.name"), "");

        add_assignments(cli, &table, role, json_get(found, "userRoleAssignments"));
        add_assignments(cli, &table, role, json_get(found, "groupRoleAssignments"));
    }
    return cli_print_table(cli, &table);
}

static const char *role_name(const struct json *roles, int64_t id)
{
    json_each(role, roles) {
        if (json_i64(json_get(role, "roleId"), 0) == id)
            return json_str(json_get(role, "name"), "");
    }
    return "";
}

/* Roles with a summary of the places where they apply. */
static det_status print_summary(struct cli *cli, const struct json *reply,
                                const char *through)
{
    struct table table;

    table_init(&table, &cli->mem, assignment_columns);
    json_each(one, json_get(reply, "assignments")) {
        const char *role =
            role_name(json_get(reply, "roles"), json_i64(json_get(one, "roleId"), 0));

        if (json_bool(json_get(one, "scopeCluster"), false)) {
            table_add(&table, role);
            table_add(&table, "the cluster");
            table_add(&table, through);
        }
        json_each(workspace, json_get(one, "scopeWorkspaceIds")) {
            if (!json_i64(workspace, 0))
                continue;
            table_add(&table, role);
            table_add(&table, people_workspace_name(cli, json_i64(workspace, 0)));
            table_add(&table, through);
        }
    }
    return cli_print_table(cli, &table);
}

det_status run_rbac_list_groups_roles(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    int64_t id;
    det_status st = people_find_group(cli, in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/roles/search/by-group/%" PRId64, id);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    return print_summary(cli, reply, "the group");
}

static void add_permissions(struct table *table, const char *where,
                            const struct json *roles, int64_t role_id)
{
    json_each(role, roles) {
        if (json_i64(json_get(role, "roleId"), -1) != role_id)
            continue;
        json_each(permission, json_get(role, "permissions")) {
            table_add(table, where);
            table_add(table, json_str(json_get(role, "name"), ""));
            table_add(table, people_permission(json_get(permission, "id")));
        }
    }
}

/* Roles are recorded in mode basic, too, where they decide nothing. */
static void note_mode(struct cli *cli)
{
    struct json *reply;

    if (!cli_get(cli, &reply, "/api/v1/master") &&
        strcmp(json_str(json_get(reply, "authzType"), "basic"), "rbac") != 0)
        cli_note(cli, "this master runs in mode basic, where roles decide nothing; "
                      "security.authz.type: rbac changes that");
}

det_status run_rbac_my_permissions(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"WHERE", TABLE_LEFT}, {"ROLE", TABLE_LEFT}, {"PERMISSION", TABLE_LEFT}, {0}};
    struct json *reply;
    struct table table;
    det_status st = cli_get(cli, &reply, "/api/v1/permissions/summary");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    note_mode(cli);
    table_init(&table, &cli->mem, columns);
    json_each(one, json_get(reply, "assignments")) {
        const struct json *roles = json_get(reply, "roles");
        int64_t role_id = json_i64(json_get(one, "roleId"), 0);

        if (json_bool(json_get(one, "scopeCluster"), false))
            add_permissions(&table, "the cluster", roles, role_id);
        json_each(workspace, json_get(one, "scopeWorkspaceIds"))
            add_permissions(&table, people_workspace_name(cli, json_i64(workspace, 0)),
                            roles, role_id);
    }
    return cli_print_table(cli, &table);
}

/* ---- assigning ---------------------------------------------------------------------------- */

struct assignee {
    const char *list; /* "userRoleAssignments" */
    const char *key;
    int64_t id;
};

static det_status find_assignee(struct cli *cli,
                                const struct role_assign_options *options,
                                struct assignee *ret)
{
    if (!options->user == !options->group)
        return cli_fail(cli, DET_INVALID,
                        "say who: --username-to-assign NAME or --group-name-to-assign "
                        "NAME, one of them");
    ret->list = options->user ? "userRoleAssignments" : "groupRoleAssignments";
    ret->key = options->user ? "userId" : "groupId";
    return options->user ? people_find_user_id(cli, options->user, &ret->id)
                         : people_find_group(cli, options->group, &ret->id);
}

static det_status write_assignment(struct cli *cli, struct buf *body,
                                   const struct assignee *who, int64_t role_id,
                                   int64_t workspace_id)
{
    struct json_writer w = JSON_WRITER(body);

    jw_object(&w, NULL);
    jw_array(&w, who->list);
    jw_object(&w, NULL);
    jw_i64(&w, who->key, who->id);
    jw_object(&w, "roleAssignment");
    jw_object(&w, "role");
    jw_i64(&w, "roleId", role_id);
    jw_end_object(&w);
    if (workspace_id)
        jw_i64(&w, "scopeWorkspaceId", workspace_id);
    else
        jw_bool(&w, "scopeCluster", true);
    jw_end_object(&w);
    jw_end_object(&w);
    jw_end_array(&w);
    jw_end_object(&w);
    return body->status ? cli_nomem(cli) : DET_OK;
}

struct change_words {
    const char *path;
    const char *done;
    const char *from; /* or to */
};

static det_status change_role(struct cli *cli, const struct cli_invocation *in,
                              const struct change_words *words)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct role_assign_options *options = in->options;
    struct assignee who;
    struct json *role;
    int64_t workspace_id = 0;
    det_status st = find_assignee(cli, options, &who);

    if (!st)
        st = people_find_role(cli, in->args[0], &role);
    if (!st && options->workspace)
        st = people_find_workspace(cli, options->workspace, &workspace_id);
    if (!st)
        st = write_assignment(cli, &body, &who, json_i64(json_get(role, "roleId"), 0),
                              workspace_id);
    if (!st)
        st = cli_send(cli, "POST", body.data, NULL, "%s", words->path);
    if (st)
        return st;
    cli_put(cli, "%s the role %s %s %s %s %s %s\n", words->done,
            json_str(json_get(role, "name"), ""), words->from,
            options->user ? "user" : "group",
            options->user ? options->user : options->group,
            workspace_id ? "in workspace" : "on",
            workspace_id ? options->workspace : "the cluster");
    note_mode(cli);
    return DET_OK;
}

det_status run_rbac_assign_role(struct cli *cli, const struct cli_invocation *in)
{
    static const struct change_words words = {"/api/v1/roles/add-assignments",
                                              "Assigned", "to"};

    return change_role(cli, in, &words);
}

det_status run_rbac_unassign_role(struct cli *cli, const struct cli_invocation *in)
{
    static const struct change_words words = {"/api/v1/roles/remove-assignments",
                                              "Removed", "from"};

    return change_role(cli, in, &words);
}
