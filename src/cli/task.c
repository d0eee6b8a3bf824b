/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - what runs or waits; and jobs, which are named by their task. */
#include <inttypes.h>
#include <string.h>

#include "cli/ctx.h"
#include "cli/follow.h"
#include "cli/job.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table.h"
#include "data/yaml.h"

enum { ID_LEN = 36 };

/* ---- finding --------------------------------------------------------------------- */

/* A trial's task has a dot in its id. */
static bool is_beginning(const char *word)
{
    return strlen(word) < ID_LEN && strspn(word, "0123456789abcdef-") == strlen(word);
}

det_status job_find(struct cli *cli, const char *word, const char **ret_id)
{
    const char *found = NULL;
    struct json *reply;
    det_status st;

    *ret_id = word;
    if (!is_beginning(word))
        return DET_OK;
    st = cli_get(cli, &reply, "/api/v1/generic-tasks?all=true");
    if (st)
        return st;
    json_each(task, json_get(reply, "tasks")) {
        const char *id = json_str(json_get(task, "taskId"), "");

        if (strncmp(id, word, strlen(word)))
            continue;
        if (found)
            return cli_fail(cli, DET_INVALID,
                            "several jobs begin with '%s': %s and %s; say more of it",
                            word, found, id);
        found = id;
    }
    if (!found)
        return cli_fail(cli, DET_NOT_FOUND, "task '%s' not found", word);
    *ret_id = found;
    return DET_OK;
}

const char *job_state(const struct json *task)
{
    static const char prefix[] = "GENERIC_TASK_STATE_";
    const char *state = json_str(json_get(task, "taskState"), "");

    return strncmp(state, prefix, sizeof(prefix) - 1) ? state
                                                      : state + sizeof(prefix) - 1;
}

bool job_is_over(const char *state)
{
    return !strcmp(state, "COMPLETED") || !strcmp(state, "CANCELED") ||
           !strcmp(state, "ERROR");
}

const char *job_reason(const struct json *task)
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
    const char *state = cli_state(json_get(run, "state"));

    table_add(table, json_str(json_get(run, "taskId"), ""));
    table_add(table, json_str(json_get(run, "name"), ""));
    table_add_colored(table, state, cli_state_color(state));
    table_add(table, cli_i64(cli, json_i64(json_get(run, "slotsNeeded"), 0)));
    table_add(table, json_str(json_get(run, "resourcePool"), ""));
    table_add(table, agents_of(cli, run));
    table_add_raw(table, cli_time(cli, json_get(run, "registeredTime")),
                  json_str(json_get(run, "registeredTime"), ""));
    table_add(table, json_str(json_get(run, "allocationId"), ""));
}

/* A job that is paused or over has no run to show. */
static void add_job(struct cli *cli, struct table *table, const struct json *job)
{
    const struct json *since = json_get(job, "endTime");
    const char *state = job_state(job);

    if (json_is_null(since))
        since = json_get(job, "startTime");
    table_add(table, json_str(json_get(job, "taskId"), ""));
    table_add(table, json_str(json_get(job, "name"), ""));
    table_add_colored(table, state, cli_state_color(state));
    table_add(table, cli_i64(cli, json_i64(json_get(job, "slots"), 0)));
    table_add(table, json_str(json_get(job, "resourcePool"), ""));
    table_add(table, "");
    table_add_raw(table, cli_time(cli, since), json_str(since, ""));
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

/* What runs by its allocation, as it is answered; with --all the jobs. */
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
        cli_note(cli, "nothing runs or waits");
        return DET_OK;
    }
    return cli_print_table(cli, &table);
}

/* ---- one of them ----------------------------------------------------------------- */

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
        const char *state = cli_state(json_get(run, "state"));
        const struct json *code = json_get(run, "statusCode");

        table_add(&table, json_str(json_get(run, "allocationId"), ""));
        table_add_colored(&table, state, cli_state_color(state));
        table_add(&table, cli_i64(cli, json_i64(json_get(run, "slots"), 0)));
        table_add(&table, cli_time(cli, json_get(run, "startTime")));
        table_add(&table,
                  cli_took(cli, json_get(run, "startTime"), json_get(run, "endTime")));
        table_add(&table, json_is_null(code) ? "" : cli_i64(cli, json_i64(code, 0)));
        table_add(&table, json_str(json_get(run, "exitReason"), ""));
    }
    return cli_print_table(cli, &table);
}

/* Keeps the text of one line of a log. */
static int keep_line(void *arg, const char *text, size_t len)
{
    struct last_line *last = arg;
    struct json *tree;

    if (!json_parse(text, len, &last->cli->mem, &tree, NULL))
        last->text = json_str(json_path(tree, "result.log"), last->text);
    return 0;
}

/* What it said last itself: with a failure it is mostly why. */
static det_status show_last_line(struct cli *cli, const struct json *task)
{
    struct last_line last = {.cli = cli, .text = ""};
    const char *path = arena_printf(
        &cli->mem,
        "/api/v1/tasks/%s/logs?follow=false&limit=1&orderBy=ORDER_BY_DESC&sources=task",
        json_str(json_get(task, "taskId"), ""));
    det_status st = path ? cli_stream(cli, path, keep_line, &last) : cli_nomem(cli);

    if (!st && *last.text)
        show_field(cli, "last line", last.text);
    return st;
}

static void show_job(struct cli *cli, const struct json *task)
{
    show_field(cli, "name", json_str(json_get(task, "name"), ""));
    show_field(cli, "state", job_state(task));
    show_field(cli, "owner", json_str(json_get(task, "username"), ""));
    show_field(cli, "slots", cli_i64(cli, json_i64(json_get(task, "slots"), 0)));
    show_field(cli, "pool", json_str(json_get(task, "resourcePool"), ""));
    show_field(cli, "priority", cli_i64(cli, json_i64(json_get(task, "priority"), 0)));
    if (!json_is_null(json_get(task, "forkedFrom")))
        show_field(cli, "forked from", json_str(json_get(task, "forkedFrom"), ""));
    if (json_bool(json_get(task, "noPause"), false))
        show_field(cli, "pausing", "never");
}

static det_status describe(struct cli *cli, const char *word, struct json *all)
{
    const struct json *task;
    struct json *reply;
    const char *id;
    det_status st = job_find(cli, word, &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tasks/%s", cli_url(cli, id));
    if (st)
        return st;
    task = json_get(reply, "task");
    if (all) {
        json_push(all, json_copy(&cli->mem, task));
        return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
    }
    show_field(cli, "task", json_str(json_get(task, "taskId"), ""));
    show_field(cli, "type", *job_state(task) ? "job" : "trial");
    if (*job_state(task))
        show_job(cli, task);
    show_field(cli, "started", cli_time(cli, json_get(task, "startTime")));
    if (!json_is_null(json_get(task, "endTime")))
        show_field(cli, "ended", cli_time(cli, json_get(task, "endTime")));
    if (!strcmp(job_state(task), "ERROR"))
        st = show_last_line(cli, task);
    return st ? st : print_runs(cli, task);
}

det_status run_task_describe(struct cli *cli, const struct cli_invocation *in)
{
    struct json *all = in->format == CLI_JSON ? json_new(&cli->mem, JSON_ARRAY) : NULL;
    det_status st = in->format == CLI_JSON && !all ? cli_nomem(cli) : DET_OK;

    for (size_t i = 0; i < in->arg_count && !st; i++) {
        if (i && !all)
            cli_put(cli, "\n");
        st = describe(cli, in->args[i], all);
    }
    return st || !all ? st : cli_print_json(cli, all);
}

det_status run_task_logs(struct cli *cli, const struct cli_invocation *in)
{
    const char *id;
    det_status st = job_find(cli, in->args[0], &id);

    return st ? st : follow_task(cli, id, in->options);
}

det_status run_task_config(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply, *tree;
    const char *id, *text;
    det_status st = job_find(cli, in->args[0], &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tasks/%s/config", cli_url(cli, id));
    if (st)
        return st;
    text = json_str(json_get(reply, "config"), "");
    st = yaml_parse(text, strlen(text), NULL, &cli->mem, &tree, cli->err);
    return st ? st : cli_print_tree(cli, tree);
}

/* ---- steering -------------------------------------------------------------------- */

/* As with experiments: people are told what they find. */
struct steering {
    const char *verb;
    const char *done;  /* "Killed" */
    const char *there; /* the state in which it is so already */
    bool refuses_ended;
};

static det_status steer_one(struct cli *cli, const struct steering *how,
                            const char *word)
{
    struct json *reply;
    const char *id, *state;
    det_status st = job_find(cli, word, &id);

    if (!st)
        st = cli_get(cli, &reply, "/api/v1/tasks/%s", cli_url(cli, id));
    if (st)
        return st;
    state = job_state(json_get(reply, "task"));
    if (job_is_over(state) && how->refuses_ended)
        return cli_fail(cli, DET_STATE, "task %s had already ended (%s)", id, state);
    if (job_is_over(state)) {
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

/* The first failure is the result; the others are still tried. */
static det_status steer(struct cli *cli, const struct steering *how)
{
    const struct cli_invocation *in = cli->in;
    struct err first = {0};

    for (size_t i = 0; i < in->arg_count && first.status != DET_UNREACHABLE; i++)
        if (steer_one(cli, how, in->args[i]))
            cli_keep_first(cli, &first);
    if (first.status)
        *cli->err = first;
    return first.status;
}

det_status run_task_kill(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {"kill", "Killed", "STOPPING_CANCELED", false};

    (void)in;
    return steer(cli, &how);
}

det_status run_task_pause(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {"pause", "Paused", "PAUSED", true};

    (void)in;
    return steer(cli, &how);
}

det_status run_task_unpause(struct cli *cli, const struct cli_invocation *in)
{
    static const struct steering how = {"unpause", "Unpaused", "ACTIVE", true};

    (void)in;
    return steer(cli, &how);
}
