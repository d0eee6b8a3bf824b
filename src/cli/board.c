/* SPDX-License-Identifier: Apache-2.0 */
/* board.c - `det tensorboard`: TensorBoards that run as tasks, shown through the
 * master. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/browser.h"
#include "cli/ctx.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/table.h"

enum { READY_POLL_MS = 300, LOOK_MEMORY = 64 << 20, STATE_TEXT = 32 };

/* ---- looking at one -------------------------------------------------------------- */

static const char *url_of(struct cli *cli, const struct json *board)
{
    const char *url = arena_printf(&cli->mem, "%s%s", det_client_master(cli->client),
                                   json_str(json_get(board, "serviceAddress"), ""));

    return url ? url : "";
}

/* Who does not know this thinks that it hangs. */
static const char slow_start[] = " (a minute where it must be installed first)";

/* Until it can be looked at, which may take hours where no agent is free: each look has
 * memory of its own.  What is happening is told as it changes. */
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
        state = cli_state(json_get(board, "state"));
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
        follow_sleep(READY_POLL_MS);
    }
}

static det_status show_it(struct cli *cli, const char *id, bool with_browser)
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

static void write_ids(struct json_writer *w, const char *key, const struct cli_ids *ids)
{
    jw_array(w, key);
    for (size_t i = 0; i < ids->count; i++)
        jw_i64(w, NULL, ids->at[i]);
    jw_end_array(w);
}

static det_status write_body(struct cli *cli, const struct cli_invocation *in,
                             struct buf *body)
{
    const struct tensorboard_start_options *options = in->options;
    struct json_writer w = JSON_WRITER(body);
    struct cli_ids experiments = {0};
    struct cli_ids trials = {0};
    det_status st = DET_OK;

    if (in->arg_count)
        st = cli_ids(cli, "experiment", in->args, in->arg_count, &experiments);
    if (!st && options->trial_ids.count)
        st = cli_ids(cli, "trial", options->trial_ids.at, options->trial_ids.count,
                     &trials);
    if (!st && !experiments.count && !trials.count)
        st = cli_fail(cli, DET_INVALID,
                      "name at least one experiment, or trials with --trial-ids");
    if (st)
        return st;
    jw_object(&w, NULL);
    write_ids(&w, "experimentIds", &experiments);
    write_ids(&w, "trialIds", &trials);
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
    return st ? st : show_it(cli, id, !options->no_browser);
}

det_status run_tensorboard_open(struct cli *cli, const struct cli_invocation *in)
{
    const struct tensorboard_open_options *options = in->options;
    const char *id;
    det_status st = job_find(cli, in->args[0], &id);

    return st ? st : show_it(cli, id, !options->no_browser);
}

/* ---- the list -------------------------------------------------------------------- */

static const char *numbers(struct cli *cli, const struct json *list)
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
        {"ID", TABLE_LEFT},     {"NAME", TABLE_FLEX},    {"STATE", TABLE_LEFT},
        {"OWNER", TABLE_LEFT},  {"STARTED", TABLE_LEFT}, {"EXPERIMENTS", TABLE_FLEX},
        {"TRIALS", TABLE_FLEX}, {"POOL", TABLE_LEFT},    {0}};
    const struct task_list_options *options = in->options;
    struct json *reply;
    struct table table;
    det_status st = cli_get(cli, &reply, "/api/v1/tensorboards?all=%s",
                            options->all ? "true" : "false");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "tensorboards"));
    if (in->format == CLI_TEXT && !json_first(json_get(reply, "tensorboards"))) {
        cli_note(cli, "no TensorBoard runs");
        return DET_OK;
    }
    table_init(&table, &cli->mem, columns);
    json_each(board, json_get(reply, "tensorboards")) {
        const char *state = cli_state(json_get(board, "state"));

        table_add(&table, json_str(json_get(board, "id"), ""));
        table_add(&table, json_str(json_get(board, "description"), ""));
        table_add_colored(&table, state, cli_state_color(state));
        table_add(&table, json_str(json_get(board, "username"), ""));
        table_add_raw(&table, cli_time(cli, json_get(board, "startTime")),
                      json_str(json_get(board, "startTime"), ""));
        table_add(&table, numbers(cli, json_get(board, "experimentIds")));
        table_add(&table, numbers(cli, json_get(board, "trialIds")));
        table_add(&table, json_str(json_get(board, "resourcePool"), ""));
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
        det_status st = job_find(cli, in->args[i], &id);

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
