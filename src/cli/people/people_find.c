/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/people/people_find.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/memory/buf.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/text.h"

det_status people_find_user(struct cli *cli, const char *name, struct json **ret_user)
{
    struct json *reply;
    det_status st =
        cli_get(cli, &reply, "/api/v1/users/%s/by-username", cli_url(cli, name));

    if (!st)
        *ret_user = json_get(reply, "user");
    return st;
}

det_status people_find_user_id(struct cli *cli, const char *name, int64_t *ret_id)
{
    struct json *user;
    det_status st = people_find_user(cli, name, &user);

    if (!st)
        *ret_id = json_i64(json_get(user, "id"), 0);
    return st;
}

det_status people_find_group(struct cli *cli, const char *name, int64_t *ret_id)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct json *reply;
    struct json *first;
    det_status st;

    jw_object(&w, NULL);
    jw_str(&w, "name", name);
    jw_i64(&w, "limit", 1);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, &reply, "/api/v1/groups/search");
    if (st)
        return st;
    first = json_first(json_get(reply, "groups"));
    if (!first)
        return cli_fail(cli, DET_NOT_FOUND, "group '%s' not found", name);
    *ret_id = json_i64(json_path(first, "group.groupId"), 0);
    return DET_OK;
}

det_status people_find_role(struct cli *cli, const char *name, struct json **ret_role)
{
    struct json *reply;
    int64_t id = 0;
    det_status st =
        cli_send(cli, "POST", "{\"limit\":500}", &reply, "/api/v1/roles/search");

    if (st)
        return st;
    (void)parse_i64(name, &id);
    json_each(role, json_get(reply, "roles")) {
        if (!strcasecmp(json_str(json_get(role, "name"), ""), name) ||
            json_i64(json_get(role, "roleId"), -1) == id) {
            *ret_role = role;
            return DET_OK;
        }
    }
    (void)cli_fail(cli, DET_NOT_FOUND, "there is no role '%s'", name);
    return cli_hint(cli, "'det rbac list-roles' shows all");
}

det_status people_find_workspace(struct cli *cli, const char *name, int64_t *ret_id)
{
    struct json *reply;
    det_status st;

    if (parse_i64(name, ret_id))
        return DET_OK;
    st = cli_get(cli, &reply, "/api/v1/workspaces?nameCaseSensitive=%s",
                 cli_url(cli, name));
    if (st)
        return st;
    json_each(workspace, json_get(reply, "workspaces")) {
        if (!strcmp(json_str(json_get(workspace, "name"), ""), name)) {
            *ret_id = json_i64(json_get(workspace, "id"), 0);
            return DET_OK;
        }
    }
    return cli_fail(cli, DET_NOT_FOUND, "workspace '%s' not found", name);
}

const char *people_workspace_name(struct cli *cli, int64_t id)
{
    struct err ignored = {0};
    struct err *err = cli->err;
    const char *name = NULL;
    struct json *reply;

    cli->err = &ignored;
    if (!cli_get(cli, &reply, "/api/v1/workspaces/%" PRId64, id))
        name = json_str(json_path(reply, "workspace.name"), NULL);
    cli->err = err;
    if (!name)
        name = arena_printf(&cli->mem, "workspace %" PRId64, id);
    return name ? name : "";
}

const char *people_permission(const struct json *id)
{
    static const char prefix[] = "PERMISSION_TYPE_";
    const char *text = json_str(id, "");

    return strncmp(text, prefix, sizeof(prefix) - 1) ? text : text + sizeof(prefix) - 1;
}
