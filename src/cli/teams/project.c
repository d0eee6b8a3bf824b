/* SPDX-License-Identifier: Apache-2.0 */
/* project.c - `det project`, and moving experiments between projects. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/nouns/experiment.h"
#include "cli/output/format.h"
#include "cli/output/term.h"
#include "cli/teams/space.h"
#include "data/json/json.h"

/* The project that the first two arguments name. */
static det_status find_project(struct cli *cli, struct json **ret_project)
{
    return space_find_project(cli, cli->in->args[0], cli->in->args[1], ret_project);
}

/* ---- showing --------------------------------------------------------------------- */

static void print_notes(struct cli *cli, const struct json *notes)
{
    json_each(note, notes) {
        cli_put(cli, "\nnote: ");
        term_put(&cli->out, json_str(json_get(note, "name"), ""), SIZE_MAX);
        cli_put(cli, "\n");
        term_put(&cli->out, json_str(json_get(note, "contents"), ""), SIZE_MAX);
        cli_put(cli, "\n");
    }
}

det_status run_project_describe(struct cli *cli, const struct cli_invocation *in)
{
    struct json *p;
    det_status st = find_project(cli, &p);

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, p);
    cli_put(cli, "project %" PRId64 ": ", space_id(p));
    term_put(&cli->out, json_str(json_get(p, "name"), ""), SIZE_MAX);
    cli_put(cli, "\n");
    cli_print_field(cli, "key", json_str(json_get(p, "key"), ""));
    cli_print_field(cli, "workspace", json_str(json_get(p, "workspaceName"), ""));
    cli_print_field(cli, "description", json_str(json_get(p, "description"), ""));
    space_print_common(cli, p);
    cli_print_field(cli, "active",
                    format_i64(cli, json_i64(json_get(p, "numActiveExperiments"), 0)));
    cli_print_field(cli, "runs", format_i64(cli, json_i64(json_get(p, "numRuns"), 0)));
    cli_print_field(cli, "last started",
                    format_time(cli, json_get(p, "lastExperimentStartedAt")));
    print_notes(cli, json_get(p, "notes"));
    return DET_OK;
}

det_status run_project_list_experiments(struct cli *cli,
                                        const struct cli_invocation *in)
{
    const struct space_list_options *options = in->options;
    struct json *project;
    struct json *reply;
    det_status st = find_project(cli, &project);

    if (!st)
        st = cli_get(
            cli, &reply, "/api/v1/experiments?projectId=%" PRId64 "&limit=-1%s&%s",
            space_id(project), in->format == CLI_JSON ? "" : "&excludeConfig=true",
            space_list_query(cli, options));
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "experiments"));
    if (in->format == CLI_TEXT && !json_first(json_get(reply, "experiments"))) {
        cli_note(cli, "no experiments in project '%s'%s", in->args[1],
                 options->all ? "" : "; -a also shows archived ones");
        return DET_OK;
    }
    return experiment_print_table(cli, json_get(reply, "experiments"));
}

/* ---- making and changing --------------------------------------------------------- */

static void add_text(struct cli *cli, struct json *body, const char *key,
                     const char *text)
{
    if (text)
        json_set(&cli->mem, body, key, json_new_str(&cli->mem, text));
}

det_status run_project_create(struct cli *cli, const struct cli_invocation *in)
{
    const struct project_options *options = in->options;
    struct json *body = json_new(&cli->mem, JSON_OBJECT);
    struct json *workspace;
    struct json *reply;
    const char *text;
    det_status st = space_find_workspace(cli, in->args[0], &workspace);

    if (st)
        return st;
    add_text(cli, body, "name", in->args[1]);
    add_text(cli, body, "description", options->description);
    add_text(cli, body, "key", options->key);
    text = json_text(&cli->mem, body);
    if (!text || cli->mem.has_failed)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", text, &reply, "/api/v1/workspaces/%" PRId64 "/projects",
                  space_id(workspace));
    if (!st)
        cli_put(cli, "Created project %s with id %" PRId64 " and key %s\n", in->args[1],
                space_id(json_get(reply, "project")),
                json_str(json_path(reply, "project.key"), ""));
    return st;
}

det_status run_project_edit(struct cli *cli, const struct cli_invocation *in)
{
    const struct project_options *options = in->options;
    struct json *body = json_new(&cli->mem, JSON_OBJECT);
    struct json *project;
    const char *text;
    det_status st;

    add_text(cli, body, "name", options->name);
    add_text(cli, body, "description", options->description);
    add_text(cli, body, "key", options->key);
    if (!json_first(body))
        return cli_fail(cli, DET_INVALID,
                        "nothing to change: give --name, --description or --key");
    st = find_project(cli, &project);
    if (st)
        return st;
    text = json_text(&cli->mem, body);
    if (!text || cli->mem.has_failed)
        return cli_nomem(cli);
    st = cli_send(cli, "PATCH", text, NULL, "/api/v1/projects/%" PRId64,
                  space_id(project));
    if (!st)
        cli_put(cli, "Changed project %s\n", in->args[1]);
    return st;
}

det_status run_project_add_note(struct cli *cli, const struct cli_invocation *in)
{
    struct json *body = json_new(&cli->mem, JSON_OBJECT);
    struct json *project;
    const char *text;
    det_status st = find_project(cli, &project);

    if (st)
        return st;
    add_text(cli, body, "name", in->args[2]);
    add_text(cli, body, "contents", in->args[3]);
    text = json_text(&cli->mem, body);
    if (!text || cli->mem.has_failed)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", text, NULL, "/api/v1/projects/%" PRId64 "/notes",
                  space_id(project));
    if (!st)
        cli_put(cli, "Added note %s to project %s\n", in->args[2], in->args[1]);
    return st;
}

/* ---- actions --------------------------------------------------------------------- */

static det_status post(struct cli *cli, const char *verb, const char *done)
{
    struct json *project;
    det_status st = find_project(cli, &project);

    return st ? st : space_post(cli, "project", project, verb, done);
}

det_status run_project_archive(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return post(cli, "archive", "Archived");
}

det_status run_project_unarchive(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return post(cli, "unarchive", "Unarchived");
}

det_status run_project_move(struct cli *cli, const struct cli_invocation *in)
{
    struct json *project;
    struct json *to;
    const char *body;
    det_status st = find_project(cli, &project);

    if (!st)
        st = space_find_workspace(cli, in->args[2], &to);
    if (st)
        return st;
    body = arena_printf(&cli->mem, "{\"destinationWorkspaceId\":%" PRId64 "}",
                        space_id(to));
    if (!body)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body, NULL, "/api/v1/projects/%" PRId64 "/move",
                  space_id(project));
    if (!st)
        cli_put(cli, "Moved project %s to workspace %s\n", in->args[1], in->args[2]);
    return st;
}

det_status run_project_delete(struct cli *cli, const struct cli_invocation *in)
{
    const struct yes_options *options = in->options;
    struct json *project;
    det_status st = find_project(cli, &project);

    return st ? st : space_delete(cli, "project", project, options->yes);
}

/* ---- experiments ----------------------------------------------------------------- */

/* Tries all; the first refusal is the answer. */
det_status run_experiment_move(struct cli *cli, const struct cli_invocation *in)
{
    struct cli_ids ids;
    struct json *project;
    struct err first = {0};
    const char *body;
    det_status st = cli_ids(cli, "experiment", in->args, 1, &ids);

    if (!st)
        st = space_find_project(cli, in->args[1], in->args[2], &project);
    if (st)
        return st;
    body = arena_printf(&cli->mem, "{\"destinationProjectId\":%" PRId64 "}",
                        space_id(project));
    if (!body)
        return cli_nomem(cli);
    for (size_t i = 0; i < ids.count; i++) {
        st = cli_send(cli, "POST", body, NULL, "/api/v1/experiments/%" PRId64 "/move",
                      ids.at[i]);
        if (st)
            cli_keep_first(cli, &first);
        else
            cli_put(cli, "Moved experiment %" PRId64 " to project %s\n", ids.at[i],
                    in->args[2]);
    }
    if (!first.status)
        return DET_OK;
    *cli->err = first;
    return first.status;
}
