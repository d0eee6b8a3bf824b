/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nouns/trial_environment.h"

#include <inttypes.h>

#include "cli/frame/arguments.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/output/format.h"
#include "data/json/json.h"

det_status trial_environment_get(struct cli *cli, int64_t trial,
                                 struct json **ret_reply)
{
    return cli_get(cli, ret_reply, "/api/v1/det/trials/%" PRId64 "/environment", trial);
}

/* One per line. */
static void print_packages(struct cli *cli, const struct json *packages)
{
    const char *name = "packages";

    json_each(package, packages) {
        cli_print_field(
            cli, name,
            arena_printf(&cli->mem, "%s==%s", package->key, json_str(package, "")));
        name = "";
    }
}

static const char *gpus_text(struct cli *cli, const struct json *gpus)
{
    const char *text = "";

    json_each(gpu, gpus) {
        text = arena_printf(&cli->mem, "%s%s%s", text ? text : "",
                            text && *text ? ", " : "", json_str(gpu, ""));
    }
    return text;
}

static void print_record(struct cli *cli, const struct json *run)
{
    const struct json *record = json_get(run, "record");
    const struct json *cpu = json_get(record, "cpu");
    const struct json *python = json_get(record, "python");
    int64_t memory = json_i64(json_get(record, "memoryBytes"), 0);

    cli_put(cli, "\nrun %" PRId64 ", rank %" PRId64 " (agent %s)\n",
            json_i64(json_get(run, "runId"), 0), json_i64(json_get(run, "rank"), 0),
            json_str(json_get(run, "agent"), "?"));
    cli_print_field(cli, "det", json_str(json_get(record, "det"), ""));
    cli_print_field(cli, "host", json_str(json_get(record, "host"), ""));
    cli_print_field(cli, "system", json_str(json_get(record, "os"), ""));
    cli_print_field(cli, "kernel", json_str(json_get(record, "kernel"), ""));
    cli_print_field(cli, "libc", json_str(json_get(record, "libc"), ""));
    cli_print_field(cli, "processor",
                    arena_printf(&cli->mem, "%s, %" PRId64 " cores",
                                 json_str(json_get(cpu, "model"), ""),
                                 json_i64(json_get(cpu, "cores"), 0)));
    cli_print_field(cli, "memory", format_size(cli, (uint64_t)memory));
    cli_print_field(cli, "gpus", gpus_text(cli, json_get(record, "gpus")));
    cli_print_field(cli, "code", json_str(json_get(record, "code"), ""));
    cli_print_field(cli, "environment", json_str(json_get(record, "environment"), ""));
    if (python)
        cli_print_field(cli, "python",
                        arena_printf(&cli->mem, "%s (%s)",
                                     json_str(json_get(python, "version"), ""),
                                     json_str(json_get(python, "executable"), "")));
    print_packages(cli, json_get(record, "packages"));
}

det_status run_trial_environment(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    int64_t id;
    det_status st = cli_id(cli, "trial", in->args[0], &id);

    if (!st)
        st = trial_environment_get(cli, id, &reply);
    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    cli_put(cli, "trial %" PRId64 " of experiment %" PRId64 "\n", id,
            json_i64(json_get(reply, "experimentId"), 0));
    cli_print_field(cli, "seed",
                    format_i64(cli, json_i64(json_get(reply, "trialSeed"), 0)));
    cli_print_field(cli, "of search",
                    format_i64(cli, json_i64(json_get(reply, "experimentSeed"), 0)));
    cli_print_field(cli, "hparams", format_hparams(cli, json_get(reply, "hparams")));
    if (!json_first(json_get(reply, "runs")))
        cli_note(cli, "no run has a record yet");
    json_each(run, json_get(reply, "runs"))
        print_record(cli, run);
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}
