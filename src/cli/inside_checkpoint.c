/* SPDX-License-Identifier: Apache-2.0 */
/* inside_checkpoint.c - checkpoints for a task's own scripts: save a folder, get it
 * back. */
#include "cli/ctx.h"
#include "cli/inside.h"
#include "cli/options.h"
#include "cli/run.h"

det_status run_checkpoint_save(struct cli *cli, const struct cli_invocation *in)
{
    const struct checkpoint_save_options *options = in->options;
    char uuid[DET_UUID_SIZE];
    det_context *context;
    det_status st;

    if (options->steps == CLI_UNSET)
        return cli_fail(cli, DET_INVALID,
                        "--steps is missing: how many batches the state has seen");
    st = inside_open(cli, &context);
    if (st)
        return st;
    st = inside_done(cli, context,
                     det_checkpoint_store(context, in->args[0], options->steps,
                                          options->metadata, uuid));
    if (!st && options->wait)
        st = inside_done(cli, context, det_flush(context, -1));
    if (!st)
        cli_put(cli, "%s\n", uuid);
    det_close(context);
    return st;
}

det_status run_checkpoint_restore(struct cli *cli, const struct cli_invocation *in)
{
    const struct checkpoint_restore_options *options = in->options;
    det_context *context;
    det_status st = inside_open(cli, &context);

    if (st)
        return st;
    st = inside_done(cli, context,
                     det_checkpoint_download(
                         context, options->uuid,
                         options->unchecked ? DET_RESTORE_UNCHECKED : 0, in->args[0]));
    det_close(context);
    return st;
}
