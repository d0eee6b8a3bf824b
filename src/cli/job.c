/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - `det job run`: from a file and a folder to a program that runs. */
#include "cli/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/create.h"
#include "cli/ctx.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/pack.h"
#include "cli/run.h"

enum { CONFIG_LIMIT = 16 << 20, END_POLL_MS = 200 };

/* What is sent. */
struct errand {
    struct buf *config;
    const struct json *tree; /* of the same, complete */
    const char *folder;      /* NULL: none */
    const char *fork;        /* a task's id; NULL: it is no fork */
};

/* ---- the file -------------------------------------------------------------------- */

static det_status load_job(struct json *tree, struct arena *mem,
                           struct config_report *report, void *ret_config,
                           struct err *err)
{
    const struct job_defaults defaults = {.name = "job"};

    return job_config_load_tree(tree, &defaults, mem, report, ret_config, err);
}

static det_status take_file(struct cli *cli, const char *path, struct errand *errand)
{
    const struct job_run_options *options = cli->in->options;
    const struct create_source source = {
        .name = strcmp(path, "-") ? path : "standard input",
        .pairs = &options->config,
        .at_least = CONFIG_NOTICE,
        .load = load_job,
    };
    struct job_config config;
    det_status st = cli_read_config(cli, path, errand->config);

    if (!st)
        st = create_take(cli, &source, errand->config, &config);
    if (!st)
        errand->tree = config.tree;
    return st;
}

static det_status take_fork(struct cli *cli, struct errand *errand)
{
    const struct job_run_options *options = cli->in->options;
    const struct create_source source = {
        .name = arena_printf(&cli->mem, "task %s", errand->fork),
        .pairs = &options->config,
        .at_least = CONFIG_ERROR,
        .load = load_job,
    };
    struct job_config config;
    struct json *reply;
    det_status st =
        cli_get(cli, &reply, "/api/v1/tasks/%s/config", cli_url(cli, errand->fork));

    if (st)
        return st;
    buf_puts(errand->config, json_str(json_get(reply, "config"), ""));
    if (!source.name || errand->config->status)
        return cli_nomem(cli);
    st = create_take(cli, &source, errand->config, &config);
    if (!st)
        errand->tree = config.tree;
    return st;
}

/* ---- sending --------------------------------------------------------------------- */

static det_status write_body(struct cli *cli, const struct errand *errand,
                             const struct pack *pack, struct buf *body)
{
    const struct job_run_options *options = cli->in->options;
    struct json_writer w = JSON_WRITER(body);
    det_status st = DET_OK;

    jw_object(&w, NULL);
    jw_strn(&w, "config", errand->config->data, errand->config->len);
    if (options->project_id != CLI_UNSET)
        jw_i64(&w, "projectId", options->project_id);
    if (options->no_pause)
        jw_bool(&w, "noPause", true);
    if (errand->fork)
        jw_str(&w, "forkedFrom", errand->fork);
    if (errand->folder) {
        st = create_write_files(cli, pack, &w, "contextDirectory");
    } else {
        jw_array(&w, "contextDirectory");
        jw_end_array(&w);
    }
    jw_end_object(&w);
    return !st && body->status ? cli_nomem(cli) : st;
}

static det_status send(struct cli *cli, const struct errand *errand,
                       const char **ret_id)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct pack pack = {0};
    struct json *reply;
    det_status st = DET_OK;

    if (errand->folder)
        st = create_scan_folder(cli, errand->folder, &pack);
    if (!st)
        st = create_check_folder(cli, errand->tree, errand->fork != NULL,
                                 errand->folder, &pack);
    if (!st)
        st = write_body(cli, errand, &pack, &body);
    pack_done(&pack);
    if (!st)
        st = cli_send(cli, "POST", body.data, &reply, "/api/v1/generic-tasks");
    if (st)
        return st;
    *ret_id = json_str(json_get(reply, "taskId"), "");
    create_show_warnings(cli, reply);
    cli_put(cli, "Created job %s\n", *ret_id);
    return cli_flush(cli);
}

/* ---- following ------------------------------------------------------------------- */

/* Its logs end with it; its row follows at once. */
static det_status wait_for_end(struct cli *cli, const char *id,
                               const struct json **ret_task)
{
    for (;;) {
        struct json *reply;
        det_status st = cli_get(cli, &reply, "/api/v1/tasks/%s", cli_url(cli, id));

        if (st)
            return st;
        *ret_task = json_get(reply, "task");
        if (job_is_over(job_state(*ret_task)))
            return DET_OK;
        follow_sleep(END_POLL_MS);
    }
}

/* Ctrl-C ends the following, not the job. */
static det_status follow(struct cli *cli, const char *id)
{
    struct log_options options = {.follow = true, .tail = CLI_UNSET, .head = CLI_UNSET};
    const struct json *task = NULL;
    struct farewell *farewell;
    const char *reason, *state;
    char words[240];
    det_status st;

    snprintf(words, sizeof(words),
             "job %s goes on; follow it with 'det task logs -f %.8s', stop it with "
             "'det task kill %.8s'",
             id, id, id);
    farewell_begin(words, &farewell);
    st = follow_task(cli, id, &options);
    if (!st)
        st = wait_for_end(cli, id, &task);
    farewell_end(farewell);
    if (st)
        return st;
    state = job_state(task);
    reason = strcmp(state, "COMPLETED") ? job_reason(task) : "";
    cli->exit_code = strcmp(state, "COMPLETED") != 0;
    cli_note(cli, "job %s is %s%s%s", id, state, *reason ? ": " : "", reason);
    return DET_OK;
}

/* ---- commands -------------------------------------------------------------------- */

static det_status run(struct cli *cli, struct errand *errand)
{
    const struct job_run_options *options = cli->in->options;
    const char *id;
    det_status st = send(cli, errand, &id);

    return !st && options->follow ? follow(cli, id) : st;
}

det_status run_job_run(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct errand errand = {.config = &config,
                            .folder = in->arg_count > 1 ? in->args[1] : NULL};
    det_status st = take_file(cli, in->args[0], &errand);

    return st ? st : run(cli, &errand);
}

det_status run_task_fork(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct errand errand = {.config = &config,
                            .folder = in->arg_count > 1 ? in->args[1] : NULL};
    det_status st = job_find(cli, in->args[0], &errand.fork);

    if (!st)
        st = take_fork(cli, &errand);
    return st ? st : run(cli, &errand);
}
