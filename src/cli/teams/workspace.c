/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - `det workspace`. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "cli/teams/space.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

/* ---- lists ----------------------------------------------------------------------- */

det_status run_workspace_list(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT},          {"NAME", TABLE_FLEX},
        {"OWNER", TABLE_FLEX},        {"PROJECTS", TABLE_RIGHT},
        {"EXPERIMENTS", TABLE_RIGHT}, {"PINNED", TABLE_LEFT},
        {"ARCHIVED", TABLE_LEFT},     {0}};
    const struct space_list_options *options = in->options;
    struct json *reply;
    struct table table;
    det_status st =
        cli_get(cli, &reply, "/api/v1/workspaces?%s", space_list_query(cli, options));

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "workspaces"));
    table_init(&table, &cli->mem, columns);
    json_each(w, json_get(reply, "workspaces")) {
        table_add(&table, format_i64(cli, space_id(w)));
        table_add(&table, json_str(json_get(w, "name"), ""));
        table_add(&table, json_str(json_get(w, "username"), ""));
        table_add(&table, format_i64(cli, json_i64(json_get(w, "numProjects"), 0)));
        table_add(&table, format_i64(cli, json_i64(json_get(w, "numExperiments"), 0)));
        table_add(&table, format_yes_no(json_get(w, "pinned")));
        table_add(&table, format_yes_no(json_get(w, "archived")));
    }
    return cli_print_table(cli, &table);
}

static det_status print_projects(struct cli *cli, const struct json *projects)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT},      {"KEY", TABLE_LEFT},
        {"NAME", TABLE_FLEX},     {"DESCRIPTION", TABLE_FLEX},
        {"OWNER", TABLE_FLEX},    {"EXPERIMENTS", TABLE_RIGHT},
        {"ACTIVE", TABLE_RIGHT},  {"LAST STARTED", TABLE_LEFT},
        {"ARCHIVED", TABLE_LEFT}, {0}};
    struct table table;

    table_init(&table, &cli->mem, columns);
    json_each(p, projects) {
        table_add(&table, format_i64(cli, space_id(p)));
        table_add(&table, json_str(json_get(p, "key"), ""));
        table_add(&table, json_str(json_get(p, "name"), ""));
        table_add(&table, json_str(json_get(p, "description"), ""));
        table_add(&table, json_str(json_get(p, "username"), ""));
        table_add(&table, format_i64(cli, json_i64(json_get(p, "numExperiments"), 0)));
        table_add(&table,
                  format_i64(cli, json_i64(json_get(p, "numActiveExperiments"), 0)));
        table_add_raw(&table, format_time(cli, json_get(p, "lastExperimentStartedAt")),
                      json_str(json_get(p, "lastExperimentStartedAt"), ""));
        table_add(&table, format_yes_no(json_get(p, "archived")));
    }
    return cli_print_table(cli, &table);
}

det_status run_workspace_list_projects(struct cli *cli, const struct cli_invocation *in)
{
    const struct space_list_options *options = in->options;
    struct json *workspace;
    struct json *reply;
    det_status st = space_find_workspace(cli, in->args[0], &workspace);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/workspaces/%" PRId64 "/projects?%s",
                     space_id(workspace), space_list_query(cli, options));
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "projects"));
    if (in->format == CLI_TEXT && !json_first(json_get(reply, "projects"))) {
        cli_note(cli, "no projects%s",
                 options->all ? "" : "; -a also shows archived ones");
        return DET_OK;
    }
    return print_projects(cli, json_get(reply, "projects"));
}

det_status run_workspace_list_pools(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {{"POOL", TABLE_LEFT}, {0}};
    struct json *workspace;
    struct json *reply;
    struct table table;
    det_status st = space_find_workspace(cli, in->args[0], &workspace);

    if (!st)
        st = cli_get(cli, &reply,
                     "/api/v1/workspaces/%" PRId64 "/available-resource-pools",
                     space_id(workspace));
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "resourcePools"));
    table_init(&table, &cli->mem, columns);
    json_each(pool, json_get(reply, "resourcePools"))
        table_add(&table, json_str(pool, ""));
    return cli_print_table(cli, &table);
}

/* ---- one ------------------------------------------------------------------------- */

static void print_task_user(struct cli *cli, const struct json *user)
{
    static const char *const keys[] = {"agentUid", "agentGid", "agentUser",
                                       "agentGroup"};
    static const char *const names[] = {"task uid", "task gid", "task user",
                                        "task group"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!json_is_null(json_get(user, keys[i])))
            cli_print_field(cli, names[i], format_json(cli, json_get(user, keys[i])));
}

det_status run_workspace_describe(struct cli *cli, const struct cli_invocation *in)
{
    struct json *found;
    struct json *reply;
    struct json *w;
    det_status st = space_find_workspace(cli, in->args[0], &found);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/workspaces/%" PRId64, space_id(found));
    if (st)
        return st;
    w = json_get(reply, "workspace");
    if (in->format == CLI_JSON)
        return cli_print_json(cli, w);
    cli_put(cli, "workspace %" PRId64 ": ", space_id(w));
    term_put(&cli->out, json_str(json_get(w, "name"), ""), SIZE_MAX);
    cli_put(cli, "\n");
    space_print_common(cli, w);
    cli_print_field(cli, "projects",
                    format_i64(cli, json_i64(json_get(w, "numProjects"), 0)));
    cli_print_field(cli, "pinned", format_yes_no(json_get(w, "pinned")));
    cli_print_field(cli, "compute pool",
                    json_str(json_get(w, "defaultComputePool"), ""));
    cli_print_field(cli, "aux pool", json_str(json_get(w, "defaultAuxPool"), ""));
    print_task_user(cli, json_get(w, "agentUserGroup"));
    if (!json_is_null(json_get(w, "checkpointStorageConfig")))
        cli_print_field(cli, "storage",
                        format_json(cli, json_get(w, "checkpointStorageConfig")));
    return DET_OK;
}

/* ---- making and changing --------------------------------------------------------- */

static det_status add_storage(struct cli *cli, const struct workspace_options *options,
                              struct json *body)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *storage = NULL;
    det_status st = DET_OK;

    if (options->storage && options->storage_file)
        return cli_fail(cli, DET_INVALID,
                        "--checkpoint-storage-config and "
                        "--checkpoint-storage-config-file exclude each other");
    if (!options->storage && !options->storage_file)
        return DET_OK;
    if (options->storage_file)
        st = io_read_file(io_system(), options->storage_file, &text, cli->err);
    else
        buf_puts(&text, options->storage);
    if (!st)
        st = yaml_parse(text.data, text.len, options->storage_file, &cli->mem, &storage,
                        cli->err);
    if (st)
        return st;
    /* the file may also be a piece of a configuration */
    if (!json_is_null(json_get(storage, "checkpoint_storage")))
        storage = json_get(storage, "checkpoint_storage");
    json_set(&cli->mem, body, "checkpointStorageConfig",
             json_is_null(storage) ? json_new(&cli->mem, JSON_OBJECT) : storage);
    return DET_OK;
}

static void add_text(struct cli *cli, struct json *body, const char *key,
                     const char *text)
{
    if (text)
        json_set(&cli->mem, body, key, json_new_str(&cli->mem, text));
}

static void add_number(struct cli *cli, struct json *body, const char *key,
                       int64_t value)
{
    if (value != CLI_UNSET)
        json_set(&cli->mem, body, key, json_new_i64(&cli->mem, value));
}

static det_status make_body(struct cli *cli, const struct workspace_options *options,
                            bool is_new, struct json *body)
{
    struct json *user = json_new(&cli->mem, JSON_OBJECT);

    add_number(cli, user, "agentUid", options->agent_uid);
    add_number(cli, user, "agentGid", options->agent_gid);
    add_text(cli, user, "agentUser", options->agent_user);
    add_text(cli, user, "agentGroup", options->agent_group);
    if (json_first(user))
        json_set(&cli->mem, body, "agentUserGroup", user);
    add_text(cli, body, is_new ? "defaultComputePool" : "defaultComputeResourcePool",
             options->compute_pool);
    add_text(cli, body, is_new ? "defaultAuxPool" : "defaultAuxResourcePool",
             options->aux_pool);
    return add_storage(cli, options, body);
}

det_status run_workspace_create(struct cli *cli, const struct cli_invocation *in)
{
    struct json *body = json_new(&cli->mem, JSON_OBJECT);
    struct json *reply;
    const char *text;
    det_status st;

    add_text(cli, body, "name", in->args[0]);
    st = make_body(cli, in->options, true, body);
    if (st)
        return st;
    text = json_text(&cli->mem, body);
    if (!text || cli->mem.has_failed)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", text, &reply, "/api/v1/workspaces");
    if (!st)
        cli_put(cli, "Created workspace %s with id %" PRId64 "\n", in->args[0],
                space_id(json_get(reply, "workspace")));
    return st;
}

det_status run_workspace_edit(struct cli *cli, const struct cli_invocation *in)
{
    const struct workspace_options *options = in->options;
    struct json *body = json_new(&cli->mem, JSON_OBJECT);
    struct json *workspace;
    const char *text;
    det_status st = make_body(cli, options, false, body);

    add_text(cli, body, "name", options->name);
    if (!st && !json_first(body))
        st = cli_fail(cli, DET_INVALID,
                      "nothing to change: give --name or another option");
    if (!st)
        st = space_find_workspace(cli, in->args[0], &workspace);
    if (st)
        return st;
    text = json_text(&cli->mem, body);
    if (!text || cli->mem.has_failed)
        return cli_nomem(cli);
    st = cli_send(cli, "PATCH", text, NULL, "/api/v1/workspaces/%" PRId64,
                  space_id(workspace));
    if (!st)
        cli_put(cli, "Changed workspace %s\n", in->args[0]);
    return st;
}

/* ---- actions --------------------------------------------------------------------- */

static det_status post(struct cli *cli, const char *verb, const char *done)
{
    struct json *workspace;
    det_status st = space_find_workspace(cli, cli->in->args[0], &workspace);

    return st ? st : space_post(cli, "workspace", workspace, verb, done);
}

det_status run_workspace_archive(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return post(cli, "archive", "Archived");
}

det_status run_workspace_unarchive(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return post(cli, "unarchive", "Unarchived");
}

det_status run_workspace_pin(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return post(cli, "pin", "Pinned");
}

det_status run_workspace_unpin(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return post(cli, "unpin", "Unpinned");
}

det_status run_workspace_delete(struct cli *cli, const struct cli_invocation *in)
{
    const struct yes_options *options = in->options;
    struct json *workspace;
    det_status st = space_find_workspace(cli, in->args[0], &workspace);

    return st ? st : space_delete(cli, "workspace", workspace, options->yes);
}
