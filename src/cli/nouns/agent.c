/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - `det agent` and `det slot`. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "data/json/json.h"
#include "data/text.h"

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
    table_add(table, format_i64(cli, slots));
    table_add(table, format_i64(cli, used));
    table_add(table, json_str(json_first(json_get(agent, "resourcePools")), ""));
    table_add_colored(table, is_connected ? "yes" : "no",
                      is_connected ? COLOR_NONE : COLOR_RED);
    table_add(table, format_yes_no(json_get(agent, "enabled")));
    table_add(table, format_yes_no(json_get(agent, "draining")));
    table_add_raw(table, format_time(cli, json_get(agent, "registeredTime")),
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

struct agent_switch {
    const char *verb; /* of the call */
    const char *body; /* NULL: none */
    const char *done;
};

static det_status switch_agent(struct cli *cli, const struct agent_switch *how,
                               const char *agent)
{
    det_status st = cli_send(cli, "POST", how->body, NULL, "/api/v1/agents/%s/%s",
                             cli_url(cli, agent), how->verb);

    if (!st)
        cli_put(cli, "%s agent %s\n", how->done, agent);
    return st;
}

static det_status switch_all_agents(struct cli *cli, const struct agent_switch *how)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/agents");

    if (st)
        return st;
    if (!json_first(json_get(reply, "agents")))
        cli_note(cli, "there are no agents");
    json_each(agent, json_get(reply, "agents"))
        if (!st)
            st = switch_agent(cli, how, json_str(json_get(agent, "id"), ""));
    return st;
}

static det_status switch_agents(struct cli *cli, const struct agent_switch *how)
{
    const struct cli_invocation *in = cli->in;
    const struct drain_options *options = in->options;
    det_status st = DET_OK;

    if (options->all == (in->arg_count > 0))
        return cli_fail(cli, DET_INVALID, "either AGENT or --all is needed");
    if (options->all)
        return switch_all_agents(cli, how);
    for (size_t i = 0; i < in->arg_count && !st; i++)
        st = switch_agent(cli, how, in->args[i]);
    return st;
}

det_status run_agent_enable(struct cli *cli, const struct cli_invocation *in)
{
    static const struct agent_switch how = {"enable", NULL, "Enabled"};

    (void)in;
    return switch_agents(cli, &how);
}

det_status run_agent_disable(struct cli *cli, const struct cli_invocation *in)
{
    const struct drain_options *options = in->options;
    const struct agent_switch how = {
        "disable", options->drain ? "{\"drain\":true}" : "{\"drain\":false}",
        options->drain ? "Draining" : "Disabled"};

    return switch_agents(cli, &how);
}

/* ---- slots ----------------------------------------------------------------------- */

static const struct table_column slot_columns[] = {
    {"AGENT", TABLE_LEFT},   {"SLOT", TABLE_RIGHT},
    {"TYPE", TABLE_LEFT},    {"DEVICE", TABLE_FLEX},
    {"ENABLED", TABLE_LEFT}, {"DRAINING", TABLE_LEFT},
    {"TASK", TABLE_FLEX},    {0}};

/* The name of the task that holds a slot. */
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
    table_add(table, format_yes_no(json_get(slot, "enabled")));
    table_add(table, format_yes_no(json_get(slot, "draining")));
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
                 "agent %s is disabled: its slots take tasks after 'det agent enable "
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
