/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - `det import`: imports offline runs into a master. */
#include <inttypes.h>

#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/connect.h"
#include "cli/frame/options.h"
#include "cli/offline/import_run.h"
#include "cli/offline/offline_run.h"
#include "cli/output/format.h"
#include "data/json/json.h"

static det_status check_state(struct cli *cli, const struct offline_run *run)
{
    if (run->state != OFFLINE_RUNNING)
        return DET_OK;
    return cli_fail(cli, DET_STATE,
                    "the run in '%s' is still running: import it when it has ended",
                    run->path);
}

static void print_result(struct cli *cli, const struct offline_run *run,
                         const struct import_result *b)
{
    if (b->was_there && !b->reports && !b->output_bytes) {
        cli_put(cli, "%s is already experiment %" PRId64 "; there is nothing new\n",
                run->name, b->experiment_id);
        return;
    }
    cli_put(cli,
            "%s %s experiment %" PRId64 ", trial %" PRId64 ": %" PRIu64
            " reports, %s of output, %" PRIu32 " checkpoint%s\n",
            run->name, b->was_there ? "has more for" : "is", b->experiment_id,
            b->trial_id, b->reports, format_size(cli, b->output_bytes), b->checkpoints,
            b->checkpoints == 1 ? "" : "s");
    if (b->lost)
        cli_note(cli, "%" PRIu64 " damaged reports in '%s' were not imported", b->lost,
                 run->path);
    if (b->refused)
        cli_note(cli, "%" PRIu64 " reports were refused", b->refused);
    if (b->checkpoints_left)
        cli_note(cli,
                 "%" PRIu32 " damaged or missing checkpoint%s of '%s' %s not imported",
                 b->checkpoints_left, b->checkpoints_left == 1 ? "" : "s", run->path,
                 b->checkpoints_left == 1 ? "was" : "were");
}

static void add_json(struct cli *cli, struct json *all, const struct offline_run *run,
                     const struct import_result *b)
{
    struct arena *mem = &cli->mem;
    struct json *row = json_push(all, json_new(mem, JSON_OBJECT));

    json_set(mem, row, "path", json_new_str(mem, run->path));
    json_set(mem, row, "experimentId", json_new_i64(mem, b->experiment_id));
    json_set(mem, row, "trialId", json_new_i64(mem, b->trial_id));
    json_set(mem, row, "reports", json_new_i64(mem, (int64_t)b->reports));
    json_set(mem, row, "refused", json_new_i64(mem, (int64_t)b->refused));
    json_set(mem, row, "lost", json_new_i64(mem, (int64_t)b->lost));
    json_set(mem, row, "outputBytes", json_new_i64(mem, (int64_t)b->output_bytes));
    json_set(mem, row, "checkpoints", json_new_i64(mem, b->checkpoints));
    json_set(mem, row, "checkpointsLeft", json_new_i64(mem, b->checkpoints_left));
}

static det_status import_one(struct cli *cli, const struct offline_run *run,
                             struct json *all)
{
    const struct import_options *options = cli->in->options;
    struct import_result result = {0};
    det_status st =
        import_run(cli, run, options->in_place ? IMPORT_IN_PLACE : 0, &result);

    if (st)
        return result.experiment_id
                   ? err_prefix(cli->err,
                                "'%s' was imported in part (experiment %" PRId64
                                "; repeat 'det import' to continue)",
                                run->path, result.experiment_id)
                   : st;
    if (all)
        add_json(cli, all, run, &result);
    else
        print_result(cli, run, &result);
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

/* The runs in a folder.  All folders are checked before the first run is imported. */
static det_status find_runs(struct cli *cli, const char *path,
                            struct offline_runs *ret_runs)
{
    det_status st = offline_runs_find(cli, path, ret_runs);

    if (!st && !ret_runs->count)
        st = cli_fail(cli, DET_NOT_FOUND,
                      "there is no run in '%s': neither it nor a folder in it has a "
                      "run.json",
                      path);
    for (uint32_t i = 0; !st && i < ret_runs->count; i++)
        st = check_state(cli, &ret_runs->at[i]);
    return st;
}

det_status run_import(struct cli *cli, const struct cli_invocation *in)
{
    struct json *all = in->format == CLI_JSON ? json_new(&cli->mem, JSON_ARRAY) : NULL;
    struct offline_runs *runs =
        arena_array(&cli->mem, struct offline_runs, in->arg_count + 1);
    det_status st = runs ? DET_OK : cli_nomem(cli);

    for (size_t i = 0; i < in->arg_count && !st; i++)
        st = find_runs(cli, in->args[i], &runs[i]);
    if (!st)
        st = cli_connect(cli);
    for (size_t i = 0; i < in->arg_count && !st; i++)
        for (uint32_t n = 0; n < runs[i].count && !st; n++)
            st = import_one(cli, &runs[i].at[n], all);
    if (st)
        return st;
    return all ? cli_print_json(cli, all) : DET_OK;
}
