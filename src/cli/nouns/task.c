/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - `det task`: tasks that run or wait, and jobs, which are named by their task. */
#include "cli/nouns/task.h"

#include <string.h>

#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/nouns/logs.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "data/json/json.h"
#include "data/yaml/yaml.h"

enum { ID_LEN = 36 };

/* ---- finding --------------------------------------------------------------------- */

/* The first characters of a job's id.  A trial's task has a dot in its id. */
static bool is_id_prefix(const char *word)
{
    return strlen(word) < ID_LEN && strspn(word, "0123456789abcdef-") == strlen(word);
}

det_status task_find(struct cli *cli, const char *word, const char **ret_id)
{
    const char *found = NULL;
    struct json *reply;
    det_status st;

    *ret_id = word;
    if (!is_id_prefix(word))
        return DET_OK;
    st = cli_get(cli, &reply, "/api/v1/generic-tasks?all=true");
    if (st)
        return st;
    json_each(task, json_get(reply, "tasks")) {
        const char *id = json_str(json_get(task, "taskId"), "");

        if (strncmp(id, word, strlen(word)))
            continue;
        if (found)
            return cli_fail(
                cli, DET_INVALID,
                "several jobs begin with '%s': %s and %s; give more characters", word,
                found, id);
        found = id;
    }
    if (!found)
        return cli_fail(cli, DET_NOT_FOUND, "task '%s' not found", word);
    *ret_id = found;
    return DET_OK;
}

det_status task_find_workspace(struct cli *cli, const char *name, int64_t *ret_id)
{
    const struct json *found;
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/workspaces?nameCaseSensitive=%s",
                            cli_url(cli, name));

    if (st)
        return st;
    found = *name ? json_first(json_get(reply, "workspaces")) : NULL;
    if (!found) {
        (void)cli_fail(cli, DET_NOT_FOUND, "there is no workspace '%s'", name);
        return cli_hint(cli, "'det workspace list' shows all");
    }
    *ret_id = json_i64(json_get(found, "id"), 0);
    return DET_OK;
}

const char *task_state(const struct json *task)
{
    static const char prefix[] = "GENERIC_TASK_STATE_";
    const char *state = json_str(json_get(task, "taskState"), "");

    return strncmp(state, prefix, sizeof(prefix) - 1) ? state
                                                      : state + sizeof(prefix) - 1;
}

const char *task_reason(const struct json *task)
{
    return json_str(json_get(json_first(json_get(task, "allocations")), "exitReason"),
                    "");
}

/* ---- the list -------------------------------------------------------------------- */

static const struct table_column task_columns[] = {
    {"TASK", TABLE_LEFT},   {"NAME", TABLE_FLEX},       {"STATE", TABLE_LEFT},
    {"SLOTS", TABLE_RIGHT}, {"POOL", TABLE_LEFT},       {"AGENTS", TABLE_FLEX},
    {"SINCE", TABLE_LEFT},  {"ALLOCATION", TABLE_LEFT}, {0}};

static const char *agents_of(struct cli *cli, const struct json *task)
{
    const char *text = "";

    json_each(part, json_get(task, "resources"))
        json_each(agent, json_get(part, "agentDevices")) {
            text =
                arena_printf(&cli->mem, "%s%s%s", text, *text ? "," : "", agent->key);
            if (!text)
                return "";
        }
    return text;
}

static void add_run(struct cli *cli, struct table *table, const struct json *run)
{
    const char *state = format_state(json_get(run, "state"));

    table_add(table, json_str(json_get(run, "taskId"), ""));
    table_add(table, json_str(json_get(run, "name"), ""));
    table_add_colored(table, state, format_state_color(state));
    table_add(table, format_i64(cli, json_i64(json_get(run, "slotsNeeded"), 0)));
    table_add(table, json_str(json_get(run, "resourcePool"), ""));
    table_add(table, agents_of(cli, run));
    table_add_raw(table, format_time(cli, json_get(run, "registeredTime")),
                  json_str(json_get(run, "registeredTime"), ""));
    table_add(table, json_str(json_get(run, "allocationId"), ""));
}

/* A paused or ended job has no current run. */
static void add_job(struct cli *cli, struct table *table, const struct json *job)
{
    const struct json *since = json_get(job, "endTime");
    const char *state = task_state(job);

    if (json_is_null(since))
        since = json_get(job, "startTime");
    table_add(table, json_str(json_get(job, "taskId"), ""));
    table_add(table, json_str(json_get(job, "name"), ""));
    table_add_colored(table, state, format_state_color(state));
    table_add(table, format_i64(cli, json_i64(json_get(job, "slots"), 0)));
    table_add(table, json_str(json_get(job, "resourcePool"), ""));
    table_add(table, "");
    table_add_raw(table, format_time(cli, since), json_str(since, ""));
    table_add(table, "");
}

static bool has_run(const struct json *runs, const struct json *job)
{
    const char *id = json_str(json_get(job, "taskId"), "");

    json_each(run, runs)
        if (!strcmp(json_str(json_get(run, "taskId"), ""), id))
            return true;
    return false;
}

/* The runs by allocation, as the API returns them; with --all the jobs. */
static det_status print_list_json(struct cli *cli, struct json *runs,
                                  const struct json *jobs, bool all)
{
    struct json *list;

    if (!all)
        return cli_print_json(cli, runs);
    list = json_new(&cli->mem, JSON_ARRAY);
    json_each(job, jobs)
        json_push(list, json_copy(&cli->mem, job));
    return cli->mem.has_failed ? cli_nomem(cli) : cli_print_json(cli, list);
}

det_status run_task_list(struct cli *cli, const struct cli_invocation *in)
{
    const struct task_list_options *options = in->options;
    struct json *reply, *runs, *jobs;
    bool is_empty = true;
    struct table table;
    det_status st = cli_get(cli, &reply, "/api/v1/tasks");

    if (st)
        return st;
    runs = json_get(reply, "allocationIdToSummary");
    st = cli_get(cli, &reply, "/api/v1/generic-tasks?all=%s",
                 options->all ? "true" : "false");
    if (st)
        return st;
    jobs = json_get(reply, "tasks");
    if (in->format == CLI_JSON)
        return print_list_json(cli, runs, jobs, options->all);
    table_init(&table, &cli->mem, task_columns);
    json_each(run, runs) {
        add_run(cli, &table, run);
        is_empty = false;
    }
    json_each(job, jobs) {
        if (has_run(runs, job))
            continue;
        add_job(cli, &table, job);
        is_empty = false;
    }
    if (in->format == CLI_TEXT && is_empty) {
        table_done(&table);
        cli_note(cli, "no task is running or waiting");
        return DET_OK;
    }
    return cli_print_table(cli, &table);
}

/* ---- one task -------------------------------------------------------------------- */

static const struct table_column run_columns[] = {
    {"RUN", TABLE_LEFT},    {"STATE", TABLE_LEFT},
    {"SLOTS", TABLE_RIGHT}, {"BEGAN", TABLE_LEFT},
    {"TOOK", TABLE_LEFT},   {"EXIT", TABLE_RIGHT},
    {"REASON", TABLE_FLEX}, {0}};

struct last_line {
    struct cli *cli;
    const char *text; /* in cli->mem; "": none */
};

static det_status print_runs(struct cli *cli, const struct json *task)
{
    const struct json *runs = json_get(task, "allocations");
    struct table table;

    if (!json_first(runs))
        return DET_OK;
    cli_put(cli, "\n");
    table_init(&table, &cli->mem, run_columns);
    json_each(run, runs) {
        const char *state = format_state(json_get(run, "state"));
        const struct json *code = json_get(run, "statusCode");

        table_add(&table, json_str(json_get(run, "allocationId"), ""));
        table_add_colored(&table, state, format_state_color(state));
        table_add(&table, format_i64(cli, json_i64(json_get(run, "slots"), 0)));
        table_add(&table, format_time(cli, json_get(run, "startTime")));
        table_add(&table, format_elapsed(cli, json_get(run, "startTime"),
                                         json_get(run, "endTime")));
        table_add(&table, json_is_null(code) ? "" : format_i64(cli, json_i64(code, 0)));
        table_add(&table, json_str(json_get(run, "exitReason"), ""));
    }
    return cli_print_table(cli, &table);
}

/* Keeps the text of one log line. */
static int keep_line(void *arg, const char *text, size_t len)
{
    struct last_line *last = arg;
    struct json *tree;

    if (!json_parse(text, len, &last->cli->mem, &tree, NULL))
        last->text = json_str(json_path(tree, "result.log"), last->text);
    return 0;
}

/* The last line of its output: after a failure it usually names the cause. */
static det_status print_last_line(struct cli *cli, const struct json *task)
{
    struct last_line last = {.cli = cli, .text = ""};
    const char *path = arena_printf(
        &cli->mem,
        "/api/v1/tasks/%s/logs?follow=false&limit=1&orderBy=ORDER_BY_DESC&sources=task",
        json_str(json_get(task, "taskId"), ""));
    det_status st = path ? cli_stream(cli, path, keep_line, &last) : cli_nomem(cli);

    if (!st && *last.text)
        cli_print_field(cli, "last line", last.text);
    return st;
}

static void print_job(struct cli *cli, const struct json *task)
{
    cli_print_field(cli, "name", json_str(json_get(task, "name"), ""));
    cli_print_field(cli, "state", task_state(task));
    cli_print_field(cli, "owner", json_str(json_get(task, "username"), ""));
    cli_print_field(cli, "slots",
                    format_i64(cli, json_i64(json_get(task, "slots"), 0)));
    cli_print_field(cli, "pool", json_str(json_get(task, "resourcePool"), ""));
    cli_print_field(cli, "priority",
                    format_i64(cli, json_i64(json_get(task, "priority"), 0)));
    if (!json_is_null(json_get(task, "forkedFrom")))
        cli_print_field(cli, "forked from", json_str(json_get(task, "forkedFrom"), ""));
    if (json_bool(json_get(task, "noPause"), false))
        cli_print_field(cli, "pausing", "never");
}

static det_status describe_task(struct cli *cli, const char *word, struct json *all)
{
    const struct json *task;
    struct json *reply;
    const char *id;
    det_status st = task_find(cli, word, &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tasks/%s", cli_url(cli, id));
    if (st)
        return st;
    task = json_get(reply, "task");
    if (all) {
        json_push(all, json_copy(&cli->mem, task));
        return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
    }
    cli_print_field(cli, "task", json_str(json_get(task, "taskId"), ""));
    cli_print_field(cli, "type", *task_state(task) ? "job" : "trial");
    if (*task_state(task))
        print_job(cli, task);
    cli_print_field(cli, "started", format_time(cli, json_get(task, "startTime")));
    if (!json_is_null(json_get(task, "endTime")))
        cli_print_field(cli, "ended", format_time(cli, json_get(task, "endTime")));
    if (!strcmp(task_state(task), "ERROR"))
        st = print_last_line(cli, task);
    return st ? st : print_runs(cli, task);
}

det_status run_task_describe(struct cli *cli, const struct cli_invocation *in)
{
    struct json *all = in->format == CLI_JSON ? json_new(&cli->mem, JSON_ARRAY) : NULL;
    det_status st = in->format == CLI_JSON && !all ? cli_nomem(cli) : DET_OK;

    for (size_t i = 0; i < in->arg_count && !st; i++) {
        if (i && !all)
            cli_put(cli, "\n");
        st = describe_task(cli, in->args[i], all);
    }
    return st || !all ? st : cli_print_json(cli, all);
}

det_status run_task_logs(struct cli *cli, const struct cli_invocation *in)
{
    const char *id;
    det_status st = task_find(cli, in->args[0], &id);

    return st ? st : logs_print_task(cli, id, in->options);
}

det_status run_task_config(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply, *tree;
    const char *id, *text;
    det_status st = task_find(cli, in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tasks/%s/config", cli_url(cli, id));
    if (st)
        return st;
    text = json_str(json_get(reply, "config"), "");
    st = yaml_parse(text, strlen(text), NULL, &cli->mem, &tree, cli->err);
    return st ? st : cli_print_tree(cli, tree);
}

/* ---- changing states ------------------------------------------------------------- */

/* As with experiments, we look at the state first and tell the user. */
struct control {
    const char *verb;
    const char *done;  /* "Killed" */
    const char *there; /* the state that needs no change */
    bool refuses_ended;
};

static det_status change_one(struct cli *cli, const struct control *how,
                             const char *word)
{
    struct json *reply;
    const char *id, *state;
    det_status st = task_find(cli, word, &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tasks/%s", cli_url(cli, id));
    if (st)
        return st;
    state = task_state(json_get(reply, "task"));
    if (format_state_is_final(state) && how->refuses_ended)
        return cli_fail(cli, DET_STATE, "task %s had already ended (%s)", id, state);
    if (format_state_is_final(state)) {
        cli_put(cli, "task %s had already ended (%s)\n", id, state);
        return DET_OK;
    }
    if (!strcmp(state, how->there)) {
        cli_put(cli, "task %s was already %s\n", id, state);
        return DET_OK;
    }
    st = cli_send(cli, "POST", NULL, NULL, "/api/v1/tasks/%s/%s", cli_url(cli, id),
                  how->verb);
    if (!st)
        cli_put(cli, "%s task %s\n", how->done, id);
    return st;
}

/* After a failure the others are still tried; the first failure is the result. */
static det_status change_arguments(struct cli *cli, const struct control *how)
{
    const struct cli_invocation *in = cli->in;
    struct err first = {0};

    for (size_t i = 0; i < in->arg_count && first.status != DET_UNREACHABLE; i++)
        if (change_one(cli, how, in->args[i]))
            cli_keep_first(cli, &first);
    if (first.status)
        *cli->err = first;
    return first.status;
}

det_status run_task_kill(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {"kill", "Killed", "STOPPING_CANCELED", false};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_task_pause(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {"pause", "Paused", "PAUSED", true};

    (void)in;
    return change_arguments(cli, &how);
}

det_status run_task_unpause(struct cli *cli, const struct cli_invocation *in)
{
    static const struct control how = {"unpause", "Unpaused", "ACTIVE", true};

    (void)in;
    return change_arguments(cli, &how);
}
