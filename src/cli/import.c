/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - det import: runs without a master are brought into one. */
#include <inttypes.h>

#include "cli/ctx.h"
#include "cli/offline.h"
#include "cli/options.h"
#include "cli/run.h"

static det_status check_state(struct cli *cli, const struct offline_run *run)
{
    if (run->state != OFFLINE_RUNNING)
        return DET_OK;
    return cli_fail(cli, DET_STATE,
                    "the run in '%s' is still under way: import it when it has ended",
                    run->path);
}

static void say(struct cli *cli, const struct offline_run *run, const struct brought *b)
{
    if (b->was_there && !b->reports && !b->output_bytes) {
        cli_put(cli, "%s is experiment %" PRId64 " already; there is nothing new\n",
                run->name, b->experiment_id);
        return;
    }
    cli_put(cli,
            "%s %s experiment %" PRId64 ", trial %" PRId64 ": %" PRIu64
            " reports, %s of output, %" PRIu32 " checkpoint%s\n",
            run->name, b->was_there ? "has brought more to" : "is", b->experiment_id,
            b->trial_id, b->reports, cli_size(cli, b->output_bytes), b->checkpoints,
            b->checkpoints == 1 ? "" : "s");
    if (b->lost)
        cli_note(cli, "%" PRIu64 " reports are damaged in '%s' and lost", b->lost,
                 run->path);
    if (b->refused)
        cli_note(cli, "%" PRIu64 " reports were refused", b->refused);
    if (b->checkpoints_left)
        cli_note(cli,
                 "%" PRIu32 " checkpoint%s of '%s' %s damaged or gone, and not brought",
                 b->checkpoints_left, b->checkpoints_left == 1 ? "" : "s", run->path,
                 b->checkpoints_left == 1 ? "is" : "are");
}

static void add_json(struct cli *cli, struct json *all, const struct offline_run *run,
                     const struct brought *b)
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
    struct brought brought = {0};
    det_status st =
        bring_run(cli, run, options->in_place ? BRING_IN_PLACE : 0, &brought);

    if (st)
        return brought.experiment_id
                   ? err_prefix(cli->err,
                                "'%s' was brought in part (experiment %" PRId64
                                "; 'det import' goes on with it)",
                                run->path, brought.experiment_id)
                   : st;
    if (all)
        add_json(cli, all, run, &brought);
    else
        say(cli, run, &brought);
    return cli->mem.has_failed ? cli_nomem(cli) : DET_OK;
}

/* The runs in a folder that can be brought; nothing is told to anybody before all are
 * known to be. */
static det_status find(struct cli *cli, const char *path, struct offline_runs *ret_runs)
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
        st = find(cli, in->args[i], &runs[i]);
    if (!st)
        st = cli_connect(cli);
    for (size_t i = 0; i < in->arg_count && !st; i++)
        for (uint32_t n = 0; n < runs[i].count && !st; n++)
            st = import_one(cli, &runs[i].at[n], all);
    if (st)
        return st;
    return all ? cli_print_json(cli, all) : DET_OK;
}
