/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c - the way back: nothing is handed out that is not as it was written. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "data/json.h"
#include "libdet/context.h"
#include "libdet/manifest.h"
#include "libdet/storage.h"

enum { STRINGS = 1 << 30, METADATA_BYTES = 64 << 20 };

/* Of this process, else of others in this run, else the one the run began from. */
static det_status find_latest(det_context *context, struct arena *mem,
                              const char **ret_uuid, struct err *err)
{
    const char *latest = context->info.latest_checkpoint;
    int64_t steps;
    det_status st = latest_read(context, mem, &latest, &steps, err);

    if (st)
        return st;
    lock_take(&context->lock);
    if (context->latest[0])
        latest = arena_strdup(mem, context->latest);
    lock_give(&context->lock);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    if (!latest)
        return err_set(err, DET_NOT_FOUND, "this trial has no checkpoint yet");
    *ret_uuid = latest;
    return DET_OK;
}

/* The latest, where none is named; always valid, so that no path can be smuggled in. */
static det_status which(det_context *context, const char *uuid, struct arena *mem,
                        const char **ret_uuid, struct err *err)
{
    if (!uuid) {
        det_status st = find_latest(context, mem, &uuid, err);

        if (st)
            return st;
    }
    if (!uuid_is_valid(uuid))
        return err_set(err, DET_INVALID, "'%.100s' is not a checkpoint's uuid", uuid);
    *ret_uuid = uuid;
    return DET_OK;
}

/* The trial's own must be there: that it is not is damage, and not "none yet", upon
 * which a program would begin from nothing. */
static det_status say_gone(const char *uuid, bool is_latest, const char *root,
                           struct err *err)
{
    if (is_latest)
        return err_set(err, DET_CORRUPT,
                       "checkpoint %s, which this trial goes on from, is not in '%s': "
                       "it was removed, or the storage is not mounted here",
                       uuid, root);
    return err_set(err, DET_NOT_FOUND, "there is no checkpoint %s in '%s'", uuid, root);
}

/* Nothing is made on the way: an empty directory in the place of a storage that is not
 * mounted would hide that. */
static det_status find(det_context *context, const char *uuid, struct arena *mem,
                       const char **ret_path, struct err *err)
{
    const char *name = NULL;
    const char *root, *path;
    struct io_stat found;
    det_status st = which(context, uuid, mem, &name, err);

    if (!st)
        st = storage_place(context, mem, &root, err);
    if (st)
        return st;
    path = arena_printf(mem, "%s/%s", root, name);
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_stat(context->world.io, path, &found, err);
    if (st == DET_NOT_FOUND || (!st && found.kind != IO_DIRECTORY))
        return say_gone(name, uuid == NULL, root, err);
    *ret_path = path;
    return st;
}

static det_status read_manifest(struct io *io, const char *path, struct arena *mem,
                                struct manifest *ret_manifest, struct err *err)
{
    det_status st = manifest_read(io, path, mem, ret_manifest, err);

    if (st == DET_NOT_FOUND)
        return err_set(err, DET_CORRUPT,
                       "'%s/" MANIFEST_NAME "' is missing: it was lost, or another "
                       "program wrote this checkpoint, which can only be taken "
                       "unchecked",
                       path);
    return st;
}

static det_status check(struct io *io, const char *path, struct arena *mem,
                        struct err *err)
{
    CLEANUP(manifest_done) struct manifest manifest = {0};
    det_status st = read_manifest(io, path, mem, &manifest, err);

    return st ? st : manifest_verify(io, path, &manifest, true, err);
}

static det_status locate(det_context *context, const char *uuid, unsigned flags,
                         struct arena *mem, const char **ret_path, struct err *err)
{
    det_status st = context_check_trial(context, err);

    if (!st)
        st = find(context, uuid, mem, ret_path, err);
    if (!st && !(flags & DET_RESTORE_UNCHECKED)) {
        st = check(context->world.io, *ret_path, mem, err);
        if (st && st != DET_NOMEM)
            (void)err_prefix(err, "checkpoint %s", strrchr(*ret_path, '/') + 1);
    }
    return st;
}

det_status det_checkpoint_restore(det_context *context, const char *uuid,
                                  unsigned flags, char *path, size_t size)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    const char *found;
    CONTEXT_ERR(err);
    det_status st = locate(context, uuid, flags, &mem, &found, &err);

    if (!st && (!path || strlen(found) >= size))
        st = err_set(&err, DET_TOO_LARGE, "the path '%s' does not fit into %zu bytes",
                     found, path ? size : 0);
    if (!st)
        memcpy(path, found, strlen(found) + 1);
    return context_end(context, st, &err);
}

/* ---- copies ---------------------------------------------------------------------- */

static det_status copy_out(struct io *io, const char *from, const char *to,
                           struct arena *mem, struct err *err)
{
    CLEANUP(manifest_done) struct manifest all = {0};
    det_status st = manifest_walk(io, from, mem, &all, err);

    for (size_t i = 0; !st && i < all.directories.count; i++) {
        const char *path = arena_printf(mem, "%s/%s", to, all.directories.at[i]);

        st = path ? io_mkdir(io, path, false, err) : err_default(err, DET_NOMEM);
    }
    for (size_t i = 0; !st && i < all.files.count; i++) {
        const char *source = arena_printf(mem, "%s/%s", from, all.files.at[i].path);
        const char *path = arena_printf(mem, "%s/%s", to, all.files.at[i].path);

        st = source && path ? storage_copy(io, source, path, err)
                            : err_default(err, DET_NOMEM);
    }
    return st;
}

/* A mixture of two states is neither. */
static det_status make_empty(struct io *io, const char *directory, struct arena *mem,
                             struct err *err)
{
    const char **names;
    det_status st = io_mkdir(io, directory, false, err);

    if (!st)
        st = io_list(io, directory, mem, &names, err);
    if (!st && *names)
        st = err_set(err, DET_EXISTS,
                     "the folder '%s' is not empty: a checkpoint is copied into an "
                     "empty folder, or a new one",
                     directory);
    return st;
}

/* What is in it came from a copy that has failed. */
static void make_empty_again(struct io *io, const char *directory)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    const char **names;

    if (io_list(io, directory, &mem, &names, NULL))
        return;
    for (; *names; names++) {
        const char *path = arena_printf(&mem, "%s/%s", directory, *names);

        if (path)
            (void)io_remove_tree(io, path, NULL);
    }
}

det_status det_checkpoint_download(det_context *context, const char *uuid,
                                   unsigned flags, const char *directory)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    const char *found;
    CONTEXT_ERR(err);
    det_status st = locate(context, uuid, flags, &mem, &found, &err);

    if (!st && !directory)
        st = err_set(&err, DET_INVALID, "a directory to copy into is missing");
    if (!st)
        st = make_empty(context->world.io, directory, &mem, &err);
    if (st)
        return context_end(context, st, &err);
    st = copy_out(context->world.io, found, directory, &mem, &err);
    if (st)
        make_empty_again(context->world.io, directory);
    return context_end(context, st, &err);
}

det_status det_checkpoint_metadata(det_context *context, const char *uuid, char *text,
                                   size_t size, size_t *ret_len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    CLEANUP(buf_done) struct buf bytes = BUF_LIMITED(METADATA_BYTES);
    const char *found, *path;
    CONTEXT_ERR(err);
    det_status st = locate(context, uuid, DET_RESTORE_UNCHECKED, &mem, &found, &err);

    if (!st) {
        path = arena_printf(&mem, "%s/" METADATA_NAME, found);
        st = path ? io_read_file(context->world.io, path, &bytes, &err)
                  : err_default(&err, DET_NOMEM);
    }
    if (st)
        return context_end(context, st, &err);
    while (bytes.len && bytes.data[bytes.len - 1] == '\n')
        buf_cut(&bytes, bytes.len - 1);
    if (text && size)
        snprintf(text, size, "%s", bytes.data);
    if (ret_len)
        *ret_len = bytes.len;
    return DET_OK;
}
