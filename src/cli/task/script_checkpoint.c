/* SPDX-License-Identifier: Apache-2.0 */
/* script_checkpoint.c - commands for a task's own script that save and restore
 * checkpoints. */
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/task/script.h"

det_status run_checkpoint_save(struct cli *cli, const struct cli_invocation *in)
{
    const struct checkpoint_save_options *options = in->options;
    char uuid[DET_UUID_SIZE];
    det_context *context;
    det_status st;

    if (options->steps == CLI_UNSET)
        return cli_fail(
            cli, DET_INVALID,
            "--steps is missing: give the number of batches trained so far");
    st = script_open(cli, &context);
    if (st)
        return st;
    st = script_done(cli, context,
                     det_checkpoint_store(context, in->args[0], options->steps,
                                          options->metadata, uuid));
    if (!st && options->wait)
        st = script_done(cli, context, det_flush(context, -1));
    if (!st)
        cli_put(cli, "%s\n", uuid);
    det_close(context);
    return st;
}

det_status run_checkpoint_restore(struct cli *cli, const struct cli_invocation *in)
{
    const struct checkpoint_restore_options *options = in->options;
    det_context *context;
    det_status st = script_open(cli, &context);

    if (st)
        return st;
    st = script_done(cli, context,
                     det_checkpoint_download(
                         context, options->uuid,
                         options->unchecked ? DET_RESTORE_UNCHECKED : 0, in->args[0]));
    det_close(context);
    return st;
}
