/* SPDX-License-Identifier: Apache-2.0 */
/* script_keep.c - 'det task keep', which a supervisor runs after the task's program: saves
 * the files that the configuration's key `keep` names.
 *
 * They become a checkpoint of the kind "kept files": it is listed and downloaded with the
 * trial, but no run starts from it and no policy deletes it.  The files are moved into a
 * folder of their own first, because a checkpoint is made of a whole folder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/task/script.h"
#include "model/checkpoint_keep.h"

#define KEPT_FOLDER ".det-kept"

static det_status move_file(struct cli *cli, const char *path)
{
    char *to = arena_printf(&cli->mem, KEPT_FOLDER "/%s", path);
    char *slash = to ? strrchr(to, '/') : NULL;
    det_status st;

    if (!slash)
        return cli_nomem(cli);
    *slash = 0;
    st = io_mkdir(io_system(), to, true, cli->err);
    *slash = '/';
    return st ? st : io_rename(io_system(), path, to, cli->err);
}

static det_status save_files(struct cli *cli, const struct cli_invocation *in,
                             char uuid[DET_UUID_SIZE])
{
    det_context *context;
    det_status st = script_open(cli, &context);

    if (st)
        return st;
    for (size_t i = 0; !st && i < in->arg_count; i++)
        st = move_file(cli, in->args[i]);
    if (!st)
        st = script_done(
            cli, context,
            det_checkpoint_store(context, KEPT_FOLDER, 0,
                                 "{\"kind\": \"" CHECKPOINT_KEPT_FILES "\"}", uuid));
    det_close(context);
    return st;
}

det_status run_task_keep(struct cli *cli, const struct cli_invocation *in)
{
    char uuid[DET_UUID_SIZE] = "";
    det_status st = save_files(cli, in, uuid);

    if (st) {
        (void)err_prefix(cli->err, "the files of 'keep' are lost");
        return st;
    }
    cli_note(cli, "[det] kept %zu new file%s: det checkpoint download %s",
             in->arg_count, in->arg_count == 1 ? "" : "s", uuid);
    return DET_OK;
}
