/* SPDX-License-Identifier: Apache-2.0 */
/* master.c - `det master`: what the master says about itself. */
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "data/json/json.h"

det_status run_master_info(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/master");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    cli_print_field(cli, "address", det_client_master(cli->client));
    cli_print_field(cli, "version", json_str(json_get(reply, "detVersion"), ""));
    cli_print_field(cli, "API", json_str(json_get(reply, "version"), ""));
    cli_print_field(cli, "cluster", json_str(json_get(reply, "clusterName"), ""));
    cli_print_field(cli, "cluster id", json_str(json_get(reply, "clusterId"), ""));
    cli_print_field(cli, "master id", json_str(json_get(reply, "masterId"), ""));
    return DET_OK;
}

det_status run_master_config(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/master/config");

    (void)in;
    return st ? st : cli_print_tree(cli, json_get(reply, "config"));
}
