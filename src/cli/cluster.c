/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - agents, slots, the queue and the master. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/ctx.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/table.h"
#include "data/text.h"

static const char *yes_no(const struct json *value)
{
    return json_bool(value, false) ? "yes" : "no";
}

/* ---- agents ---------------------------------------------------------------------- */

static const struct table_column agent_columns[] = {{"AGENT", TABLE_LEFT},
                                                    {"SLOTS", TABLE_RIGHT},
                                                    {"USED", TABLE_RIGHT},
                                                    {"POOL", TABLE_LEFT},
                                                    {"CONNECTED", TABLE_LEFT},
                                                    {"ENABLED", TABLE_LEFT},
                                                    {"DRAINING", TABLE_LEFT},
                                                    {"SINCE", TABLE_LEFT},
                                                    {"ADDRESS", TABLE_FLEX},
                                                    {"VERSION", TABLE_LEFT},
                                                    {0}};

static void add_agent(struct cli *cli, struct table *table, const struct json *agent)
{
    bool is_connected = json_bool(json_get(agent, "connected"), true);
    int64_t slots = 0, used = 0;

    json_each(slot, json_get(agent, "slots")) {
        slots++;
        used += !json_is_null(json_get(slot, "container"));
    }
    table_add(table, json_str(json_get(agent, "id"), ""));
    table_add(table, cli_i64(cli, slots));
    table_add(table, cli_i64(cli, used));
    table_add(table, json_str(json_first(json_get(agent, "resourcePools")), ""));
    table_add_colored(table, is_connected ? "yes" : "no",
                      is_connected ? COLOR_NONE : COLOR_RED);
    table_add(table, yes_no(json_get(agent, "enabled")));
    table_add(table, yes_no(json_get(agent, "draining")));
    table_add_raw(table, cli_time(cli, json_get(agent, "registeredTime")),
                  json_str(json_get(agent, "registeredTime"), ""));
    table_add(table, json_str(json_first(json_get(agent, "addresses")), ""));
    table_add(table, json_str(json_get(agent, "version"), ""));
}

det_status run_agent_list(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    struct table table;
    det_status st = cli_get(cli, &reply, "/api/v1/agents");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, json_get(reply, "agents"));
    table_init(&table, &cli->mem, agent_columns);
    json_each(agent, json_get(reply, "agents"))
        add_agent(cli, &table, agent);
    return cli_print_table(cli, &table);
}

static det_status switch_agents(struct cli *cli, const char *verb, const char *body,
                                const char *done)
{
    const struct cli_invocation *in = cli->in;
    det_status st = DET_OK;

    for (size_t i = 0; i < in->arg_count && !st; i++) {
        st = cli_send(cli, "POST", body, NULL, "/api/v1/agents/%s/%s",
                      cli_url(cli, in->args[i]), verb);
        if (!st)
            cli_put(cli, "%s agent %s\n", done, in->args[i]);
    }
    return st;
}

det_status run_agent_enable(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return switch_agents(cli, "enable", NULL, "Enabled");
}

det_status run_agent_disable(struct cli *cli, const struct cli_invocation *in)
{
    const struct drain_options *options = in->options;

    return switch_agents(cli, "disable",
                         options->drain ? "{\"drain\":true}" : "{\"drain\":false}",
                         options->drain ? "Draining" : "Disabled");
}

/* ---- slots ----------------------------------------------------------------------- */

static const struct table_column slot_columns[] = {
    {"AGENT", TABLE_LEFT},   {"SLOT", TABLE_RIGHT},
    {"TYPE", TABLE_LEFT},    {"DEVICE", TABLE_FLEX},
    {"ENABLED", TABLE_LEFT}, {"DRAINING", TABLE_LEFT},
    {"TASK", TABLE_FLEX},    {0}};

/* The name of the task whose container holds a slot. */
static const char *task_of(const struct json *tasks, const struct json *container)
{
    const char *id = json_str(json_get(container, "id"), NULL);

    if (!id)
        return "";
    json_each(task, tasks)
        json_each(part, json_get(task, "resources"))
            if (!strcmp(json_str(json_get(part, "containerId"), ""), id))
                return json_str(json_get(task, "name"), "");
    return "(unknown)";
}

static void add_slot(struct cli *cli, struct table *table, const char *agent,
                     const struct json *slot, const struct json *tasks)
{
    const char *type = json_str(json_path(slot, "device.type"), "");

    (void)cli;
    table_add(table, agent);
    table_add(table, json_str(json_get(slot, "id"), ""));
    table_add(table, strncmp(type, "TYPE_", 5) ? type : type + 5);
    table_add(table, json_str(json_path(slot, "device.brand"), ""));
    table_add(table, yes_no(json_get(slot, "enabled")));
    table_add(table, yes_no(json_get(slot, "draining")));
    table_add(table, task_of(tasks, json_get(slot, "container")));
}

static det_status print_slots_json(struct cli *cli, const struct json *agents)
{
    struct json *all = json_new(&cli->mem, JSON_ARRAY);

    json_each(agent, agents)
        json_each(slot, json_get(agent, "slots")) {
            struct json *copy = json_copy(&cli->mem, slot);

            json_set(&cli->mem, copy, "agentId",
                     json_new_str(&cli->mem, json_str(json_get(agent, "id"), "")));
            json_push(all, copy);
        }
    return cli->mem.has_failed ? cli_nomem(cli) : cli_print_json(cli, all);
}

det_status run_slot_list(struct cli *cli, const struct cli_invocation *in)
{
    struct json *agents, *tasks;
    struct table table;
    det_status st = cli_get(cli, &agents, "/api/v1/agents");

    if (!st)
        st = cli_get(cli, &tasks, "/api/v1/tasks");
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return print_slots_json(cli, json_get(agents, "agents"));
    table_init(&table, &cli->mem, slot_columns);
    json_each(agent, json_get(agents, "agents"))
        json_each(slot, json_get(agent, "slots"))
            add_slot(cli, &table, json_str(json_get(agent, "id"), ""), slot,
                     json_get(tasks, "allocationIdToSummary"));
    return cli_print_table(cli, &table);
}

static det_status switch_slot(struct cli *cli, const char *verb, const char *body,
                              const char *done)
{
    const struct cli_invocation *in = cli->in;
    struct json *reply = NULL;
    int64_t slot;
    det_status st = DET_OK;

    if (!parse_i64(in->args[1], &slot) || slot < 0)
        return cli_fail(cli, DET_INVALID, "'%s' is not the number of a slot",
                        in->args[1]);
    st = cli_send(cli, "POST", body, &reply, "/api/v1/agents/%s/slots/%" PRId64 "/%s",
                  cli_url(cli, in->args[0]), slot, verb);
    if (st)
        return st;
    cli_put(cli, "%s slot %" PRId64 " of agent %s\n", done, slot, in->args[0]);
    if (!strcmp(verb, "enable") && !json_bool(json_path(reply, "slot.enabled"), true))
        cli_note(cli,
                 "agent %s is disabled: the slot takes tasks after 'det agent enable "
                 "%s'",
                 in->args[0], in->args[0]);
    return DET_OK;
}

det_status run_slot_enable(struct cli *cli, const struct cli_invocation *in)
{
    (void)in;
    return switch_slot(cli, "enable", NULL, "Enabled");
}

det_status run_slot_disable(struct cli *cli, const struct cli_invocation *in)
{
    const struct drain_options *options = in->options;

    return switch_slot(cli, "disable",
                       options->drain ? "{\"drain\":true}" : "{\"drain\":false}",
                       options->drain ? "Draining" : "Disabled");
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

/* "TYPE_EXPERIMENT" is an experiment, "TYPE_GENERIC" what `det job run` makes. */
static const char *type_of(const struct json *job)
{
    const char *type = json_str(json_get(job, "type"), "");

    return !strcmp(type, "TYPE_GENERIC") ? "job" : "experiment";
}

static void add_job(struct cli *cli, struct table *table, const struct json *job)
{
    const char *state = cli_state(json_path(job, "summary.state"));

    table_add(table, json_str(json_get(job, "entityId"), ""));
    table_add(table, json_str(json_get(job, "name"), ""));
    table_add_colored(table, state, cli_state_color(state));
    table_add(table, cli_i64(cli, json_i64(json_get(job, "priority"), 0)));
    table_add(table, cli_number(cli, json_get(job, "weight")));
    table_add(table, arena_printf(&cli->mem, "%" PRId64 "/%" PRId64,
                                  json_i64(json_get(job, "allocatedSlots"), 0),
                                  json_i64(json_get(job, "requestedSlots"), 0)));
    table_add(table, cli_i64(cli, json_i64(json_path(job, "summary.jobsAhead"), 0)));
    table_add(table, json_str(json_get(job, "resourcePool"), ""));
    table_add_raw(table, cli_time(cli, json_get(job, "submissionTime")),
                  json_str(json_get(job, "submissionTime"), ""));
    table_add(table, json_str(json_get(job, "username"), ""));
    table_add(table, type_of(job));
    table_add(table, json_str(json_get(job, "jobId"), ""));
}

det_status run_job_list(struct cli *cli, const struct cli_invocation *in)
{
    const struct job_list_options *options = in->options;
    struct json *reply;
    struct table table;
    det_status st =
        cli_get(cli, &reply, "/api/v1/job-queues-v2?orderBy=ORDER_BY_ASC%s%s",
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

/* A number is an experiment's. */
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

/* ---- the master ------------------------------------------------------------------ */

det_status run_master_info(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/master");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    show_field(cli, "address", det_client_master(cli->client));
    show_field(cli, "version", json_str(json_get(reply, "detVersion"), ""));
    show_field(cli, "API", json_str(json_get(reply, "version"), ""));
    show_field(cli, "cluster", json_str(json_get(reply, "clusterName"), ""));
    show_field(cli, "cluster id", json_str(json_get(reply, "clusterId"), ""));
    show_field(cli, "master id", json_str(json_get(reply, "masterId"), ""));
    return DET_OK;
}

det_status run_master_config(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/master/config");

    (void)in;
    return st ? st : cli_print_tree(cli, json_get(reply, "config"));
}
