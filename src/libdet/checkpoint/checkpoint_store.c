/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_store.c - saves a directory of the user, or some of its files, as a
 * checkpoint. */
#include <string.h>

#include "libdet/checkpoint/checkpoint_impl.h"
#include "libdet/checkpoint/checkpoint_seal.h"
#include "libdet/checkpoint/selection.h"
#include "libdet/checkpoint/shard.h"

/* A file that is not selected may have a name of the library.  The selector is asked
 * only about files that exist. */
static det_status check_taken(det_checkpoint *checkpoint, const char *from,
                              const struct selection *selection, const char *name,
                              struct err *err)
{
    det_status taken = checkpoint_check_taken(checkpoint, from, name, err);
    bool is_wanted = true;
    struct err why;
    det_status st;

    if (taken != DET_INVALID)
        return taken;
    st = selection_ask(selection, name, &is_wanted, &why);
    if (st)
        return err_set(err, st, "%s", why.text);
    return is_wanted ? taken : DET_OK;
}

static det_status copy_tree(det_checkpoint *checkpoint, const char *from,
                            const struct selection *selection, struct err *err)
{
    CLEANUP(manifest_done) struct manifest all = {0};
    struct io *io = checkpoint->context->world.io;
    det_status st = manifest_walk(io, from, &checkpoint->mem, &all, err);

    if (!st)
        st = selection_cut(selection, &all, err);
    if (!st)
        st = check_taken(checkpoint, from, selection, MANIFEST_NAME, err);
    if (!st)
        st = check_taken(checkpoint, from, selection, METADATA_NAME, err);
    return st ? st : selection_copy(io, &all, from, checkpoint->draft, err);
}

/* In a group the end is a meeting: a rank that failed takes part too. */
static det_status fill_and_commit(det_checkpoint *checkpoint, const char *directory,
                                  const struct selection *selection)
{
    det_context *context = checkpoint->context;
    CONTEXT_ERR(err);
    det_status st =
        directory ? copy_tree(checkpoint, directory, selection, &err) : DET_OK;

    if (st && checkpoint->shard)
        shard_failed(checkpoint->shard, st, &err);
    if (st && !checkpoint->shard)
        return context_end(context, st, &err);
    return det_checkpoint_commit(checkpoint);
}

det_status det_checkpoint_store_with(det_context *context, const char *directory,
                                     const det_checkpoint_options *options,
                                     char ret_uuid[DET_UUID_SIZE])
{
    det_checkpoint_options all = {.size = sizeof(all)};
    struct selection selection;
    char uuid[UUID_TEXT];
    det_checkpoint *checkpoint;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && (!options || !options->size || options->size > sizeof(all)))
        st = err_set(&err, DET_INVALID,
                     "the options of a checkpoint have a wrong size: set it to "
                     "sizeof(det_checkpoint_options)");
    if (!st)
        memcpy(&all, options, options->size);
    if (!st && !directory && det_distributed_ranks(all.group)->size == 1)
        st = err_set(&err, DET_INVALID, "the directory to save is NULL");
    if (st)
        return context_end(context, st, &err);
    all.flags &= ~(unsigned)DET_CHECKPOINT_OVERLAPPED;
    selection = (struct selection){all.selector, all.selector_self};
    st = det_checkpoint_begin_with(context, &all, &checkpoint);
    if (st)
        return st;
    memcpy(uuid, checkpoint->uuid, UUID_TEXT);
    st = fill_and_commit(checkpoint, directory, &selection);
    if (st)
        det_checkpoint_abort(checkpoint);
    else if (ret_uuid)
        memcpy(ret_uuid, uuid, UUID_TEXT);
    return st;
}

det_status det_checkpoint_store(det_context *context, const char *directory,
                                int64_t steps, const char *metadata,
                                char ret_uuid[DET_UUID_SIZE])
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = steps, .metadata = metadata};

    return det_checkpoint_store_with(context, directory, &options, ret_uuid);
}
