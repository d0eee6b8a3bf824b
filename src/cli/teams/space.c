/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/teams/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/options.h"
#include "cli/frame/prompt.h"
#include "cli/output/format.h"
#include "data/json/json.h"

enum { POLL_MS = 200 };

int64_t space_id(const struct json *space)
{
    return json_i64(json_get(space, "id"), 0);
}

det_status space_find_workspace(struct cli *cli, const char *name,
                                struct json **ret_workspace)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/workspaces?nameCaseSensitive=%s",
                            cli_url(cli, name));

    if (st)
        return st;
    *ret_workspace = *name ? json_first(json_get(reply, "workspaces")) : NULL;
    if (*ret_workspace)
        return DET_OK;
    (void)cli_fail(cli, DET_NOT_FOUND, "there is no workspace '%s'", name);
    return cli_hint(cli, "'det workspace list --all' shows all");
}

/* The list is asked without regard to case, so the exact name is looked for in it. */
det_status space_find_project(struct cli *cli, const char *workspace, const char *name,
                              struct json **ret_project)
{
    struct json *reply;
    struct json *in;
    det_status st = space_find_workspace(cli, workspace, &in);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/workspaces/%" PRId64 "/projects?name=%s",
                     space_id(in), cli_url(cli, name));
    if (st)
        return st;
    json_each(project, json_get(reply, "projects"))
        if (!strcmp(json_str(json_get(project, "name"), ""), name)) {
            *ret_project = project;
            return DET_OK;
        }
    (void)cli_fail(cli, DET_NOT_FOUND, "there is no project '%s' in workspace '%s'",
                   name, workspace);
    return cli_hint(cli, "'det workspace list-projects %s --all' shows all", workspace);
}

det_status space_post(struct cli *cli, const char *kind, const struct json *space,
                      const char *verb, const char *done)
{
    det_status st = cli_send(cli, "POST", NULL, NULL, "/api/v1/%ss/%" PRId64 "/%s",
                             kind, space_id(space), verb);

    if (!st)
        cli_put(cli, "%s %s %s\n", done, kind, json_str(json_get(space, "name"), ""));
    return st;
}

/* ---- deleting -------------------------------------------------------------------- */

static det_status confirm(struct cli *cli, const char *kind, const struct json *space)
{
    char question[256];
    bool yes;
    det_status st;

    snprintf(question, sizeof(question),
             "Delete %s '%s' with its %" PRId64 " experiments and their checkpoints?",
             kind, json_str(json_get(space, "name"), ""),
             json_i64(json_get(space, "numExperiments"), 0));
    st = cli_confirm(cli, question, &yes);
    if (!st && !yes)
        st = cli_fail(cli, DET_FAILED, "nothing was deleted");
    return st;
}

/* Until the master does not know it any longer. */
static det_status await_end(struct cli *cli, const char *kind, int64_t id)
{
    for (;;) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(4 << 20);
        struct json *reply;
        const struct json *space;
        det_status st = cli_get_in(cli, &mem, &reply, "/api/v1/%ss/%" PRId64, kind, id);

        if (st == DET_NOT_FOUND) {
            *cli->err = (struct err){0};
            return DET_OK;
        }
        if (st)
            return st;
        space = json_get(reply, kind);
        if (!strcmp(json_str(json_get(space, "state"), ""),
                    "WORKSPACE_STATE_DELETE_FAILED"))
            return cli_fail(cli, DET_FAILED, "the %s could not be deleted: %s", kind,
                            json_str(json_get(space, "errorMessage"), ""));
        cli_sleep(POLL_MS);
    }
}

det_status space_delete(struct cli *cli, const char *kind, const struct json *space,
                        bool yes)
{
    int64_t id = space_id(space);
    struct json *reply;
    det_status st = yes ? DET_OK : confirm(cli, kind, space);

    if (!st)
        st = cli_send(cli, "DELETE", NULL, &reply, "/api/v1/%ss/%" PRId64, kind, id);
    if (!st && !json_bool(json_get(reply, "completed"), false))
        st = await_end(cli, kind, id);
    if (!st)
        cli_put(cli, "Deleted %s %s\n", kind, json_str(json_get(space, "name"), ""));
    return st;
}

/* ---- showing --------------------------------------------------------------------- */

void space_print_common(struct cli *cli, const struct json *space)
{
    const char *state = json_str(json_get(space, "state"), "");

    if (json_bool(json_get(space, "archived"), false))
        cli_print_field(cli, "archived", "yes");
    if (strcmp(state, "WORKSPACE_STATE_UNSPECIFIED") != 0)
        cli_print_field(cli, "state",
                        strncmp(state, "WORKSPACE_STATE_", 16) ? state : state + 16);
    cli_print_field(cli, "error", json_str(json_get(space, "errorMessage"), ""));
    cli_print_field(cli, "owner", json_str(json_get(space, "username"), ""));
    cli_print_field(cli, "experiments",
                    format_i64(cli, json_i64(json_get(space, "numExperiments"), 0)));
}

const char *space_list_query(struct cli *cli, const struct space_list_options *options)
{
    const char *query =
        arena_printf(&cli->mem, "%ssortBy=SORT_BY_%s&orderBy=ORDER_BY_%s",
                     options->all ? "" : "archived=false&",
                     strcmp(options->sort_by, "name") ? "ID" : "NAME",
                     strcmp(options->order_by, "desc") ? "ASC" : "DESC");

    return query ? query : ""; /* the call fails, too: there is no memory */
}
