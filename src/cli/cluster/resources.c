/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - `det resources`: who used the cluster's slots, as CSV or JSON. */
#include "base/memory/arena.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "data/json/json.h"

static int print_row(void *arg, const char *text, size_t len)
{
    struct cli *cli = arg;

    buf_add(&cli->out, text, len);
    buf_putc(&cli->out, '\n');
    return cli->out.status != DET_OK;
}

/* The master writes the CSV; programs of Determined read the same columns. */
static det_status print_usage(struct cli *cli, const char *path)
{
    struct json *reply;
    det_status st;

    if (!path)
        return cli_nomem(cli);
    if (cli->in->format != CLI_JSON)
        return cli_stream(cli, path, print_row, cli);
    st = cli_get(cli, &reply, "/api/v1%s", path);
    return st ? st : cli_print_json(cli, json_get(reply, "resourceEntries"));
}

det_status run_resources_raw(struct cli *cli, const struct cli_invocation *in)
{
    const char *path = arena_printf(
        &cli->mem, "/resources/allocation/raw?timestamp_after=%s&timestamp_before=%s",
        cli_url(cli, in->args[0]), cli_url(cli, in->args[1]));

    return print_usage(cli, path);
}

det_status run_resources_aggregated(struct cli *cli, const struct cli_invocation *in)
{
    const struct resources_options *options = in->options;
    const char *path =
        arena_printf(&cli->mem,
                     "/resources/allocation/aggregated?start_date=%s&end_date=%s"
                     "&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_%s&experiments=%s",
                     cli_url(cli, in->args[0]), cli_url(cli, in->args[1]),
                     options->monthly ? "MONTHLY" : "DAILY",
                     options->by_experiment ? "true" : "false");

    return print_usage(cli, path);
}
