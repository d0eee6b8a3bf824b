/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard.c - `det tensorboard`: TensorBoards that run as tasks, reached through the
 * master. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/nouns/task.h"
#include "cli/output/browser.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "data/json/json.h"

enum { READY_POLL_MS = 300, LOOK_MEMORY = 64 << 20, STATE_TEXT = 32 };

/* ---- opening one ----------------------------------------------------------------- */

static const char *url_of(struct cli *cli, const struct json *board)
{
    const char *url = arena_printf(&cli->mem, "%s%s", det_client_master(cli->client),
                                   json_str(json_get(board, "serviceAddress"), ""));

    return url ? url : "";
}

/* Without this, a slow start looks like a hang. */
static const char slow_start[] = " (takes a minute if it must be installed first)";

/* Waits until it is ready and prints its state when it changes.  That may take hours if
 * no agent is free, so each call has its own memory. */
static det_status wait_until_ready(struct cli *cli, const char *id,
                                   const char **ret_url)
{
    const char *name = cli_url(cli, id);
    char before[STATE_TEXT] = "";

    for (;;) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(LOOK_MEMORY);
        const struct json *board;
        struct json *reply;
        const char *state;
        det_status st = cli_get_in(cli, &mem, &reply, "/api/v1/tensorboards/%s", name);

        if (st)
            return st;
        board = json_get(reply, "tensorboard");
        state = format_state(json_get(board, "state"));
        if (!strcmp(state, "RUNNING")) {
            *ret_url = url_of(cli, board);
            return DET_OK;
        }
        if (!strcmp(state, "TERMINATED") || !strcmp(state, "TERMINATING")) {
            (void)cli_fail(cli, DET_FAILED, "TensorBoard %s has ended: %s", id,
                           json_str(json_get(board, "exitStatus"), ""));
            return cli_hint(cli, "det tensorboard logs %s", id);
        }
        if (strcmp(state, before))
            cli_note(cli, "TensorBoard %s is %s%s", id, state,
                     strcmp(state, "STARTING") ? "" : slow_start);
        snprintf(before, sizeof(before), "%s", state);
        cli_sleep(READY_POLL_MS);
    }
}

static det_status open_board(struct cli *cli, const char *id, bool with_browser)
{
    const char *url;
    det_status st = wait_until_ready(cli, id, &url);

    if (st)
        return st;
    cli_put(cli, "TensorBoard is running at %s\n", url);
    if (with_browser)
        browser_open(url, NULL);
    return DET_OK;
}

/* ---- starting -------------------------------------------------------------------- */

static det_status write_body(struct cli *cli, const struct cli_invocation *in,
                             struct buf *body)
{
    const struct tensorboard_start_options *options = in->options;
    struct json_writer w = JSON_WRITER(body);
    struct cli_ids experiments = {0};
    struct cli_ids trials = {0};
    int64_t workspace_id = 0;
    det_status st = DET_OK;

    if (in->arg_count)
        st = cli_ids(cli, "experiment", in->args, in->arg_count, &experiments);
    if (!st && options->trial_ids.count)
        st = cli_ids(cli, "trial", options->trial_ids.at, options->trial_ids.count,
                     &trials);
    if (!st && !experiments.count && !trials.count)
        st = cli_fail(cli, DET_INVALID,
                      "name at least one experiment, or trials with --trial-ids");
    if (!st && options->workspace)
        st = task_find_workspace(cli, options->workspace, &workspace_id);
    if (st)
        return st;
    jw_object(&w, NULL);
    jw_i64s(&w, "experimentIds", experiments.at, experiments.count);
    jw_i64s(&w, "trialIds", trials.at, trials.count);
    if (workspace_id)
        jw_i64(&w, "workspaceId", workspace_id);
    jw_object(&w, "config");
    if (options->name)
        jw_str(&w, "name", options->name);
    if (options->timeout != CLI_UNSET)
        jw_i64(&w, "idle_timeout", options->timeout);
    jw_end_object(&w);
    jw_end_object(&w);
    return body->status ? cli_nomem(cli) : DET_OK;
}

det_status run_tensorboard_start(struct cli *cli, const struct cli_invocation *in)
{
    const struct tensorboard_start_options *options = in->options;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct json *board;
    struct json *reply;
    const char *id;
    det_status st = write_body(cli, in, &body);

    if (!st)
        st = cli_send(cli, "POST", body.data, &reply, "/api/v1/tensorboards");
    if (st)
        return st;
    board = json_get(reply, "tensorboard");
    id = json_str(json_get(board, "id"), "");
    cli_put(cli, "Launched TensorBoard %s\n", id);
    if (options->detach) {
        cli_put(cli, "It will be at %s\n", url_of(cli, board));
        return DET_OK;
    }
    st = cli_flush(cli);
    return st ? st : open_board(cli, id, !options->no_browser);
}

det_status run_tensorboard_open(struct cli *cli, const struct cli_invocation *in)
{
    const struct tensorboard_open_options *options = in->options;
    const char *id;
    det_status st = task_find(cli, in->args[0], &id);

    return st ? st : open_board(cli, id, !options->no_browser);
}

/* ---- the list -------------------------------------------------------------------- */

static const char *join_ids(struct cli *cli, const struct json *list)
{
    const char *text = "";

    json_each(id, list) {
        text = arena_printf(&cli->mem, "%s%s%" PRId64, text, *text ? "," : "",
                            json_i64(id, 0));
        if (!text)
            return "";
    }
    return text;
}

det_status run_tensorboard_list(struct cli *cli, const struct cli_invocation *in)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_LEFT},        {"NAME", TABLE_FLEX},
        {"STATE", TABLE_LEFT},     {"OWNER", TABLE_LEFT},
        {"STARTED", TABLE_LEFT},   {"EXPERIMENTS", TABLE_FLEX},
        {"TRIALS", TABLE_FLEX},    {"POOL", TABLE_LEFT},
        {"WORKSPACE", TABLE_FLEX}, {0}};
    const struct tensorboard_list_options *options = in->options;
    struct json *reply;
    struct table table;
    int64_t workspace_id = 0; /* of all */
    det_status st = DET_OK;

    if (options->workspace)
        st = task_find_workspace(cli, options->workspace, &workspace_id);
    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tensorboards?all=%s&workspaceId=%" PRId64,
                     options->all ? "true" : "false", workspace_id);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "tensorboards"));
    if (in->format == CLI_TEXT && !json_first(json_get(reply, "tensorboards"))) {
        cli_note(cli, "no TensorBoard is running");
        return DET_OK;
    }
    table_init(&table, &cli->mem, columns);
    json_each(board, json_get(reply, "tensorboards")) {
        const char *state = format_state(json_get(board, "state"));

        table_add(&table, json_str(json_get(board, "id"), ""));
        table_add(&table, json_str(json_get(board, "description"), ""));
        table_add_colored(&table, state, format_state_color(state));
        table_add(&table, json_str(json_get(board, "username"), ""));
        table_add_raw(&table, format_time(cli, json_get(board, "startTime")),
                      json_str(json_get(board, "startTime"), ""));
        table_add(&table, join_ids(cli, json_get(board, "experimentIds")));
        table_add(&table, join_ids(cli, json_get(board, "trialIds")));
        table_add(&table, json_str(json_get(board, "resourcePool"), ""));
        table_add(&table, json_str(json_get(board, "workspaceName"), ""));
    }
    return cli_print_table(cli, &table);
}

/* ---- the rest -------------------------------------------------------------------- */

det_status run_tensorboard_logs(struct cli *cli, const struct cli_invocation *in)
{
    return run_task_logs(cli, in);
}

det_status run_tensorboard_config(struct cli *cli, const struct cli_invocation *in)
{
    return run_task_config(cli, in);
}

det_status run_tensorboard_kill(struct cli *cli, const struct cli_invocation *in)
{
    struct err first = {0};

    for (size_t i = 0; i < in->arg_count && first.status != DET_UNREACHABLE; i++) {
        const char *id;
        struct json *reply;
        det_status st = task_find(cli, in->args[i], &id);

        if (!st)
            st = cli_send(cli, "POST", NULL, &reply, "/api/v1/tensorboards/%s/kill",
                          cli_url(cli, id));
        if (st)
            cli_keep_first(cli, &first);
        else
            cli_put(cli, "Killed TensorBoard %s\n", id);
    }
    if (first.status)
        *cli->err = first;
    return first.status;
}
