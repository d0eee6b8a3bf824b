/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - `det job` and `det task fork`: runs generic jobs and shows the queue. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/create/config_file.h"
#include "cli/create/context_folder.h"
#include "cli/create/create.h"
#include "cli/create/pack.h"
#include "cli/create/python_choice.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/interrupt.h"
#include "cli/frame/options.h"
#include "cli/nouns/logs.h"
#include "cli/nouns/task.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "config/config_report.h"
#include "config/job_config.h"
#include "data/json/json.h"
#include "data/text.h"

enum { CONFIG_LIMIT = 16 << 20, END_POLL_MS = 200 };

struct submission {
    struct buf *config;
    const struct json *tree; /* the complete configuration */
    const char *folder;      /* NULL: none */
    const char *fork;        /* the id of the task to fork; NULL: none */
    int64_t workspace_id;    /* 0: none given */
};

/* ---- the file -------------------------------------------------------------------- */

static det_status load_job(struct json *tree, struct arena *mem,
                           struct config_report *report, void *ret_config,
                           struct err *err)
{
    static const char *const of_others[] = {"tensorboard_args", "idle_timeout"};
    const struct job_defaults defaults = {.name = "job"};

    /* TensorBoards have the same keys, and these two more. */
    for (size_t i = 0; i < ARRAY_LEN(of_others); i++) {
        const struct json *value = json_get(tree, of_others[i]);

        if (!json_is_null(value) && value->line)
            config_report_notice(report, value, of_others[i],
                                 "accepted, but has no effect: only a TensorBoard "
                                 "('det tensorboard start') uses it");
    }
    return job_config_load_tree(tree, &defaults, mem, report, ret_config, err);
}

static det_status load_file(struct cli *cli, const char *path,
                            struct submission *submission)
{
    const struct job_run_options *options = cli->in->options;
    const struct config_file_source source = {
        .name = strcmp(path, "-") ? path : "standard input",
        .pairs = &options->config,
        .at_least = CONFIG_NOTICE,
        .load = load_job,
    };
    struct job_config config;
    det_status st = config_file_read(cli, path, submission->config);

    if (!st)
        st = config_file_check(cli, &source, submission->config, &config);
    if (!st)
        submission->tree = config.tree;
    return st;
}

static det_status load_fork(struct cli *cli, struct submission *submission)
{
    const struct job_run_options *options = cli->in->options;
    const struct config_file_source source = {
        .name = arena_printf(&cli->mem, "task %s", submission->fork),
        .pairs = &options->config,
        .at_least = CONFIG_ERROR,
        .load = load_job,
    };
    struct job_config config;
    struct json *reply;
    det_status st =
        cli_get(cli, &reply, "/api/v1/tasks/%s/config", cli_url(cli, submission->fork));

    if (st)
        return st;
    buf_puts(submission->config, json_str(json_get(reply, "config"), ""));
    if (!source.name || submission->config->status)
        return cli_nomem(cli);
    st = config_file_check(cli, &source, submission->config, &config);
    if (!st)
        submission->tree = config.tree;
    return st;
}

/* ---- sending --------------------------------------------------------------------- */

static det_status write_body(struct cli *cli, const struct submission *submission,
                             const struct pack *pack, struct buf *body)
{
    const struct job_run_options *options = cli->in->options;
    struct json_writer w = JSON_WRITER(body);
    det_status st = DET_OK;

    jw_object(&w, NULL);
    jw_strn(&w, "config", submission->config->data, submission->config->len);
    if (options->project_id != CLI_UNSET)
        jw_i64(&w, "projectId", options->project_id);
    if (submission->workspace_id)
        jw_i64(&w, "workspaceId", submission->workspace_id);
    if (options->no_pause)
        jw_bool(&w, "noPause", true);
    if (submission->fork)
        jw_str(&w, "forkedFrom", submission->fork);
    if (submission->folder || options->includes.count) {
        st = context_folder_write(cli, pack, &w, "contextDirectory");
    } else {
        jw_array(&w, "contextDirectory");
        jw_end_array(&w);
    }
    jw_end_object(&w);
    return !st && body->status ? cli_nomem(cli) : st;
}

static det_status send_job(struct cli *cli, struct submission *submission,
                           const char **ret_id)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct pack pack = {0};
    const struct job_run_options *options = cli->in->options;
    struct json *reply;
    int interrupt = 0;
    det_status st = DET_OK;

    if (submission->fork && !submission->folder && options->includes.count)
        return cli_fail(cli, DET_INVALID,
                        "--include needs CONTEXT: the files of the job cannot be sent "
                        "in part");
    if (submission->folder || options->includes.count)
        st = context_folder_scan(cli, submission->folder, &options->includes, &pack);
    if (!st && !submission->fork)
        st = python_choice_make(cli, &pack, submission->config, &submission->tree);
    if (!st)
        st = context_folder_check(cli, submission->tree, submission->fork != NULL,
                                  submission->folder, &pack);
    if (!st)
        st = write_body(cli, submission, &pack, &body);
    pack_done(&pack);
    if (!st)
        st =
            create_post(cli, "job", "/api/v1/generic-tasks", &body, &reply, &interrupt);
    if (st)
        return st;
    *ret_id = json_str(json_get(reply, "taskId"), "");
    create_show_warnings(cli, reply);
    cli_put(cli, "Created job %s\n", *ret_id);
    st = cli_flush(cli);
    if (interrupt) {
        cli_note(cli, "stop it with 'det task kill %.8s'", *ret_id);
        raise(interrupt);
    }
    return st;
}

/* ---- following ------------------------------------------------------------------- */

/* The logs end with the job; its state changes soon after. */
static det_status wait_for_end(struct cli *cli, const char *id,
                               const struct json **ret_task)
{
    for (;;) {
        struct json *reply;
        det_status st = cli_get(cli, &reply, "/api/v1/tasks/%s", cli_url(cli, id));

        if (st)
            return st;
        *ret_task = json_get(reply, "task");
        if (format_state_is_final(task_state(*ret_task)))
            return DET_OK;
        cli_sleep(END_POLL_MS);
    }
}

/* Ctrl-C does not end the job; a notice says so. */
static det_status follow_job(struct cli *cli, const char *id)
{
    struct log_options options = {.follow = true, .tail = CLI_UNSET, .head = CLI_UNSET};
    const struct json *task = NULL;
    struct interrupt_notice *notice;
    const char *reason, *state;
    char words[240];
    det_status st;

    snprintf(
        words, sizeof(words),
        "job %s keeps running; follow it with 'det task logs -f %.8s', stop it with "
        "'det task kill %.8s'",
        id, id, id);
    interrupt_notice_begin(words, &notice);
    st = logs_print_task(cli, id, &options);
    if (!st)
        st = wait_for_end(cli, id, &task);
    interrupt_notice_end(notice);
    if (st)
        return st;
    state = task_state(task);
    reason = strcmp(state, "COMPLETED") ? task_reason(task) : "";
    cli->exit_code = strcmp(state, "COMPLETED") != 0;
    cli_note(cli, "job %s is %s%s%s", id, state, *reason ? ": " : "", reason);
    return DET_OK;
}

/* ---- commands -------------------------------------------------------------------- */

static det_status submit_job(struct cli *cli, struct submission *submission)
{
    const struct job_run_options *options = cli->in->options;
    const char *id = "";
    det_status st = DET_OK;

    if (options->workspace && options->project_id != CLI_UNSET)
        return cli_fail(cli, DET_INVALID,
                        "--workspace-name and --project_id exclude each other: a "
                        "project is in one workspace");
    if (options->workspace)
        st = task_find_workspace(cli, options->workspace, &submission->workspace_id);
    if (!st)
        st = send_job(cli, submission, &id);
    return !st && options->follow ? follow_job(cli, id) : st;
}

det_status run_job_run(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct submission submission = {.config = &config,
                                    .folder = in->arg_count > 1 ? in->args[1] : NULL};
    det_status st = load_file(cli, in->args[0], &submission);

    return st ? st : submit_job(cli, &submission);
}

det_status run_task_fork(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(buf_done) struct buf config = BUF_LIMITED(CONFIG_LIMIT);
    struct submission submission = {.config = &config,
                                    .folder = in->arg_count > 1 ? in->args[1] : NULL};
    det_status st = task_find(cli, in->args[0], &submission.fork);

    if (!st)
        st = load_fork(cli, &submission);
    return st ? st : submit_job(cli, &submission);
}

/* ---- the queue ------------------------------------------------------------------- */

static const struct table_column job_columns[] = {{"ID", TABLE_RIGHT},
                                                  {"NAME", TABLE_FLEX},
                                                  {"STATE", TABLE_LEFT},
                                                  {"PRIORITY", TABLE_RIGHT},
                                                  {"WEIGHT", TABLE_RIGHT},
                                                  {"SLOTS", TABLE_RIGHT},
                                                  {"AHEAD", TABLE_RIGHT},
                                                  {"POOL", TABLE_LEFT},
                                                  {"SUBMITTED", TABLE_LEFT},
                                                  {"OWNER", TABLE_FLEX},
                                                  {"TYPE", TABLE_LEFT},
                                                  {"JOB", TABLE_LEFT},
                                                  {0}};

static const char *type_of(const struct json *job)
{
    static const struct {
        const char *type;
        const char *name;
    } names[] = {{"TYPE_EXPERIMENT", "experiment"},
                 {"TYPE_GENERIC", "job"},
                 {"TYPE_TENSORBOARD", "TensorBoard"}};
    const char *type = json_str(json_get(job, "type"), "");

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(type, names[i].type))
            return names[i].name;
    return type; /* of a newer master */
}

static void add_job(struct cli *cli, struct table *table, const struct json *job)
{
    const char *state = format_state(json_path(job, "summary.state"));
    int64_t ahead = json_i64(json_path(job, "summary.jobsAhead"), 0);

    table_add(table, json_str(json_get(job, "entityId"), ""));
    table_add(table, json_str(json_get(job, "name"), ""));
    table_add_colored(table, state, format_state_color(state));
    table_add(table, format_i64(cli, json_i64(json_get(job, "priority"), 0)));
    table_add(table, format_number(cli, json_get(job, "weight")));
    table_add(table, arena_printf(&cli->mem, "%" PRId64 "/%" PRId64,
                                  json_i64(json_get(job, "allocatedSlots"), 0),
                                  json_i64(json_get(job, "requestedSlots"), 0)));
    table_add(table, ahead < 0 ? "-" : format_i64(cli, ahead));
    table_add(table, json_str(json_get(job, "resourcePool"), ""));
    table_add_raw(table, format_time(cli, json_get(job, "submissionTime")),
                  json_str(json_get(job, "submissionTime"), ""));
    table_add(table, json_str(json_get(job, "username"), ""));
    table_add(table, type_of(job));
    table_add(table, json_str(json_get(job, "jobId"), ""));
}

det_status run_job_list(struct cli *cli, const struct cli_invocation *in)
{
    const struct job_list_options *options = in->options;
    bool is_all = options->limit == CLI_UNSET || !options->limit ||
                  (options->pages && !strcmp(options->pages, "all"));
    struct json *reply;
    struct table table;
    det_status st =
        cli_get(cli, &reply,
                "/api/v1/job-queues-v2?orderBy=ORDER_BY_%s&limit=%" PRId64
                "&offset=%" PRId64 "%s%s",
                options->reverse ? "DESC" : "ASC", is_all ? -1 : options->limit,
                options->offset == CLI_UNSET ? 0 : options->offset,
                options->resource_pool ? "&resourcePool=" : "",
                options->resource_pool ? cli_url(cli, options->resource_pool) : "");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "jobs"));
    if (in->format == CLI_TEXT && !json_first(json_get(reply, "jobs"))) {
        cli_note(cli, "the queue is empty");
        return DET_OK;
    }
    table_init(&table, &cli->mem, job_columns);
    json_each(job, json_get(reply, "jobs"))
        add_job(cli, &table, json_get(job, "full"));
    return cli_print_table(cli, &table);
}

/* A number is the id of an experiment. */
static det_status job_id_of(struct cli *cli, const char *word, const char **ret_id)
{
    struct json *reply;
    int64_t id;
    det_status st;

    *ret_id = word;
    if (!parse_i64(word, &id))
        return DET_OK;
    st = cli_get(cli, &reply, "/api/v1/experiments/%" PRId64, id);
    if (!st)
        *ret_id = json_str(json_path(reply, "experiment.jobId"), word);
    return st;
}

det_status run_job_update(struct cli *cli, const struct cli_invocation *in)
{
    const struct job_update_options *options = in->options;
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    int changes = (options->priority != CLI_UNSET) + !isnan(options->weight) +
                  (options->resource_pool != NULL);
    const char *id;
    det_status st;

    if (changes != 1)
        return cli_fail(cli, DET_INVALID,
                        "exactly one of --priority, --weight and --resource-pool is "
                        "needed");
    st = job_id_of(cli, in->args[0], &id);
    if (st)
        return st;
    jw_object(&w, NULL);
    jw_array(&w, "updates");
    jw_object(&w, NULL);
    jw_str(&w, "jobId", id);
    if (options->priority != CLI_UNSET)
        jw_i64(&w, "priority", options->priority);
    else if (options->resource_pool)
        jw_str(&w, "resourcePool", options->resource_pool);
    else
        jw_real(&w, "weight", options->weight);
    jw_end_object(&w);
    jw_end_array(&w);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, NULL, "/api/v1/job-queues");
    if (!st)
        cli_put(cli, "Changed job %s\n", in->args[0]);
    return st;
}
