/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - saving: begin, put, commit, abort.
 *
 *   begin    makes ROOT/.det-...-UUID, and removes what earlier runs left
 *   put      writes and checksums a file; in an overlapped checkpoint, copies it
 *   commit   1. writes the copies
 *            2. writes metadata.json
 *            3. syncs and checksums every file; writes the manifest
 *            4. syncs every directory, innermost first
 *            5. renames the draft to ROOT/UUID, and syncs ROOT
 *            6. reports it, and notes it as the latest for other processes of the run
 *
 * A failure before 5 leaves a draft, which the next run removes.  A failure at 6 leaves
 * a complete checkpoint that is unknown until commit is called again.  So a
 * reported checkpoint is always complete on disk.  In an overlapped checkpoint the
 * saver's thread does all of commit (saver.h); for a group see shard.h. */
#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/checkpoint/checkpoint_impl.h"
#include "libdet/checkpoint/checkpoint_seal.h"
#include "libdet/checkpoint/saver.h"
#include "libdet/checkpoint/shard.h"

enum { STRINGS = 1 << 30, CHUNK = 1 << 20, BEHIND = 8 << 20 };

/* ---- beginning ------------------------------------------------------------------- */

void checkpoint_free(det_checkpoint *checkpoint)
{
    det_timing_end(checkpoint->context, &checkpoint->timing, DET_TIMING_CHECKPOINT);
    manifest_done(&checkpoint->manifest);
    vec_done(&checkpoint->puts);
    vec_done(&checkpoint->copies);
    shard_free(checkpoint->shard);
    io_close(checkpoint->disk);
    arena_done(&checkpoint->mem);
    mem_free(checkpoint);
}

void checkpoint_discard(det_checkpoint *checkpoint)
{
    const struct storage *storage = &checkpoint->storage;

    if (checkpoint->shard)
        shard_discard(checkpoint);
    else if (checkpoint->is_named)
        (void)storage->ops->remove(storage, checkpoint->uuid, NULL);
    else if (checkpoint->draft)
        storage->ops->discard(storage, checkpoint->draft);
    checkpoint_free(checkpoint);
}

det_status checkpoint_read_metadata(det_checkpoint *checkpoint, const char *metadata,
                                    struct err *err)
{
    struct arena *mem = &checkpoint->mem;
    struct json *tree;
    det_status st = DET_OK;

    if (!metadata)
        metadata = "{}";
    st = json_parse(metadata, strlen(metadata), mem, &tree, err);
    if (st)
        return st == DET_INVALID ? err_prefix(err, "the metadata is not JSON") : st;
    if (tree->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "the metadata is %s; expected an object",
                       json_kind_name(tree->kind));
    json_set(mem, tree, "steps_completed", json_new_i64(mem, checkpoint->steps));
    checkpoint->metadata = tree;
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

det_status checkpoint_open_draft(det_checkpoint *checkpoint, const char *uuid,
                                 struct err *err)
{
    const struct storage *storage = &checkpoint->storage;
    det_status st =
        storage->ops->draft(storage, uuid, &checkpoint->mem, &checkpoint->draft, err);

    /* Without it each file is synced. */
    if (!st && !checkpoint->disk)
        (void)io_open(checkpoint->context->world.io, checkpoint->draft,
                      IO_READ | IO_FOLDER, &checkpoint->disk, NULL);
    return st;
}

det_status checkpoint_make_draft(det_checkpoint *checkpoint, struct err *err)
{
    unsigned char random[16];
    det_status st = rng_secret(random, sizeof(random), err);

    if (st)
        return st;
    uuid_format(random, checkpoint->uuid);
    return checkpoint_open_draft(checkpoint, checkpoint->uuid, err);
}

det_status checkpoint_new(det_context *context, const det_checkpoint_options *options,
                          det_checkpoint **ret_checkpoint, struct err *err)
{
    det_checkpoint *checkpoint = mem_new(det_checkpoint);

    if (!checkpoint)
        return err_default(err, DET_NOMEM);
    checkpoint->context = context;
    checkpoint->mem = (struct arena)ARENA_INIT(STRINGS);
    checkpoint->steps = options->steps;
    checkpoint->is_overlapped = options->flags & DET_CHECKPOINT_OVERLAPPED;
    checkpoint->memory_bytes = options->memory_bytes;
    det_timing_begin(context, &checkpoint->timing);
    *ret_checkpoint = checkpoint;
    return DET_OK;
}

static det_status begin_draft(det_checkpoint *checkpoint, const char *metadata,
                              struct err *err)
{
    struct storage *storage = &checkpoint->storage;
    det_status st = checkpoint_read_metadata(checkpoint, metadata, err);

    if (!st)
        st = storage_open(checkpoint->context, &checkpoint->mem, storage, err);
    if (!st)
        st = storage->ops->prepare(storage, &checkpoint->mem, err);
    return st ? st : checkpoint_make_draft(checkpoint, err);
}

static det_status begin_alone(det_context *context,
                              const det_checkpoint_options *options,
                              det_checkpoint **ret_checkpoint, struct err *err)
{
    bool is_overlapped = options->flags & DET_CHECKPOINT_OVERLAPPED;
    det_checkpoint *checkpoint = NULL;
    det_status st = DET_OK;

    if (options->steps < 0)
        return err_set(err, DET_INVALID, "steps is %" PRId64 "; expected 0 or more",
                       options->steps);
    if (is_overlapped)
        st = saver_begin(context, err);
    if (st)
        return st;
    st = checkpoint_new(context, options, &checkpoint, err);
    if (!st)
        st = begin_draft(checkpoint, options->metadata, err);
    if (!st) {
        *ret_checkpoint = checkpoint;
        return DET_OK;
    }
    if (is_overlapped)
        saver_leave(context);
    if (checkpoint)
        checkpoint_free(checkpoint);
    return st;
}

det_status det_checkpoint_begin_with(det_context *context,
                                     const det_checkpoint_options *options,
                                     det_checkpoint **ret_checkpoint)
{
    det_checkpoint_options all = {.size = sizeof(all)};
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && !ret_checkpoint)
        st = err_set(&err, DET_INVALID, "ret_checkpoint is NULL");
    if (!st && (!options || !options->size || options->size > sizeof(all)))
        st = err_set(&err, DET_INVALID,
                     "the options of a checkpoint have a wrong size: set it to "
                     "sizeof(det_checkpoint_options)");
    if (st)
        return context_end(context, st, &err);
    memcpy(&all, options, options->size);
    if (det_distributed_ranks(all.group)->size > 1)
        st = shard_begin(context, &all, ret_checkpoint, &err);
    else
        st = begin_alone(context, &all, ret_checkpoint, &err);
    return context_end(context, st, &err);
}

det_status det_checkpoint_begin(det_context *context, int64_t steps,
                                const char *metadata, det_checkpoint **ret_checkpoint)
{
    det_checkpoint_options options = {
        .size = sizeof(options), .steps = steps, .metadata = metadata};

    return det_checkpoint_begin_with(context, &options, ret_checkpoint);
}

const char *det_checkpoint_path(const det_checkpoint *checkpoint)
{
    return checkpoint->draft;
}

const char *det_checkpoint_uuid(const det_checkpoint *checkpoint)
{
    return checkpoint->uuid;
}

/* ---- writing from memory --------------------------------------------------------- */

/* Checksums each piece just before it is written, while it is in the processor's cache
 * and the disk is busy. */
static det_status write_summed(struct io_file *file,
                               const struct checkpoint_bytes *bytes, uint32_t *ret_crc,
                               struct err *err)
{
    uint32_t crc = 0;
    uint64_t behind = 0;
    det_status st = DET_OK;

    for (uint64_t at = 0; at < bytes->len && !st;) {
        size_t piece = CHUNK;
        const void *from = bytes->at(bytes->self, at, &piece);

        piece = (size_t)MIN(MIN((uint64_t)piece, (uint64_t)CHUNK), bytes->len - at);
        crc = crc32c(crc, from, piece);
        st = io_write_at(file, at, from, piece, err);
        at += piece;
        if (at - behind >= BEHIND) {
            io_write_behind(file, behind, at - behind);
            behind = at;
        }
    }
    *ret_crc = crc;
    return st;
}

/* For "a/b/c", makes the directories a and a/b. */
static det_status make_parents(struct io *io, const char *draft, const char *path,
                               struct err *err)
{
    CLEANUP(buf_done) struct buf dir = BUF_INIT;
    const char *slash = strrchr(path, '/');

    if (!slash)
        return DET_OK;
    buf_printf(&dir, "%s/%.*s", draft, (int)(slash - path), path);
    return dir.status ? err_default(err, dir.status)
                      : io_mkdir(io, dir.data, false, err);
}

det_status checkpoint_write(struct io *io, const char *draft, const char *name,
                            const struct checkpoint_bytes *bytes,
                            struct manifest_file *ret_file, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(io_closep) struct io_file *open = NULL;
    struct manifest_file file = {.path = name, .has_crc = true};
    struct io_stat found;
    det_status st;

    buf_printf(&path, "%s/%s", draft, name);
    st = path.status ? err_default(err, path.status)
                     : make_parents(io, draft, name, err);
    if (!st)
        st = io_open(io, path.data, IO_WRITE | IO_CREATE | IO_TRUNCATE, &open, err);
    if (!st)
        st = write_summed(open, bytes, &file.crc, err);
    if (!st)
        st = io_stat(io, path.data, &found, err);
    if (st)
        return st;
    file.size_bytes = found.size_bytes;
    file.modified_us = found.modified_us;
    *ret_file = file;
    return DET_OK;
}

static const void *plain_at(const void *self, uint64_t offset, size_t *ret_len)
{
    *ret_len = SIZE_MAX;
    return (const char *)self + offset;
}

static det_status put_now(det_checkpoint *checkpoint, const char *name,
                          const void *bytes, size_t len, struct err *err)
{
    struct checkpoint_bytes all = {plain_at, bytes, len};
    struct manifest_file file;
    det_status st = checkpoint_write(checkpoint->context->world.io, checkpoint->draft,
                                     name, &all, &file, err);

    if (!st && !vec_push(&checkpoint->puts, file))
        st = err_default(err, DET_NOMEM);
    return st;
}

/* Earlier copies under this name must not overwrite this file later. */
static void drop_copies(det_checkpoint *checkpoint, const char *name)
{
    for (size_t i = 0; i < checkpoint->copies.count; i++)
        if (!strcmp(checkpoint->copies.at[i].path, name))
            checkpoint->copies.at[i].is_dropped = true;
}

static det_status put_file(det_checkpoint *checkpoint, const char *name,
                           const void *bytes, size_t len, struct err *err)
{
    struct checkpoint_copy copy = {.path = arena_strdup(&checkpoint->mem, name),
                                   .len = len};

    if (!copy.path)
        return err_default(err, DET_NOMEM);
    if (!checkpoint->is_overlapped)
        return put_now(checkpoint, copy.path, bytes, len, err);
    if (saver_copy(checkpoint->context, checkpoint->memory_bytes, bytes, len,
                   &copy.offset)) {
        checkpoint->copied_bytes += len;
        return vec_push(&checkpoint->copies, copy) ? DET_OK
                                                   : err_default(err, DET_NOMEM);
    }
    checkpoint->waited_bytes += len;
    drop_copies(checkpoint, name);
    return put_now(checkpoint, copy.path, bytes, len, err);
}

/* A file may have only one spelling ("a", not "./a" or "a//b"), so names can be
 * compared. */
static bool is_plain(const char *name)
{
    while (*name) {
        size_t len = strcspn(name, "/");

        if (!len || (len == 1 && *name == '.'))
            return false;
        name += len;
        if (*name && !*++name)
            return false; /* ends with a slash */
    }
    return true;
}

static det_status check_name(const char *name, struct err *err)
{
    if (!name || !path_is_inside(name) || !is_plain(name))
        return err_set(err, DET_INVALID,
                       "'%s' is not a valid path of a file in a checkpoint",
                       name ? name : "");
    if (!strcmp(name, MANIFEST_NAME) || !strcmp(name, METADATA_NAME))
        return err_set(err, DET_INVALID, "'%s' is a name that the library uses itself",
                       name);
    return DET_OK;
}

det_status det_checkpoint_put(det_checkpoint *checkpoint, const char *name,
                              const void *bytes, size_t len)
{
    CONTEXT_ERR(err);
    det_status st;

    if (!checkpoint)
        return DET_INVALID;
    st = context_check(checkpoint->context, &err);
    if (!st)
        st = check_name(name, &err);
    if (!st && !bytes && len)
        st = err_set(&err, DET_INVALID, "the bytes of '%s' are NULL", name);
    if (!st && checkpoint->is_named)
        st = err_set(&err, DET_STATE, "the checkpoint is complete already");
    if (!st)
        st = put_file(checkpoint, name, bytes, len, &err);
    if (st && checkpoint->shard)
        shard_failed(checkpoint->shard, st, &err);
    return context_end(checkpoint->context, st, &err);
}

/* ---- the end --------------------------------------------------------------------- */

det_status det_checkpoint_commit(det_checkpoint *checkpoint)
{
    det_context *context;
    CONTEXT_ERR(err);
    det_status st;

    if (!checkpoint)
        return DET_INVALID;
    context = checkpoint->context;
    st = context_check(context, &err);
    if (st)
        return context_end(context, st, &err);
    if (checkpoint->is_overlapped) {
        /* Training is no longer held from here on. */
        det_timing_end(context, &checkpoint->timing, DET_TIMING_CHECKPOINT);
        checkpoint->timing.begun_us = -1;
        saver_commit(context, checkpoint);
        return DET_OK;
    }
    st = checkpoint->shard ? shard_commit(checkpoint, &err)
                           : checkpoint_seal(checkpoint, &err);
    if (!st)
        checkpoint_free(checkpoint);
    return context_end(context, st, &err);
}

/* In a forked child the files belong to the parent. */
void det_checkpoint_abort(det_checkpoint *checkpoint)
{
    det_context *context;

    if (!checkpoint)
        return;
    context = checkpoint->context;
    if (context_check(context, NULL)) {
        checkpoint_free(checkpoint);
        return;
    }
    if (checkpoint->is_overlapped && checkpoint->shard) {
        saver_give_up(context, checkpoint, shard_failure(checkpoint->shard));
        return;
    }
    if (checkpoint->shard)
        shard_abort(checkpoint);
    if (checkpoint->is_overlapped)
        saver_leave(context);
    checkpoint_discard(checkpoint);
}

void det_checkpoint_give_up(det_checkpoint *checkpoint, const char *why)
{
    CONTEXT_ERR(err);

    if (checkpoint && checkpoint->shard && why)
        shard_failed(checkpoint->shard, err_set(&err, DET_FAILED, "%s", why), &err);
    det_checkpoint_abort(checkpoint);
}
