/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c - finds, checks, copies and deletes checkpoints.  Only unchanged files are
 * handed out. */
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "libdet/checkpoint/latest_checkpoint.h"
#include "libdet/checkpoint/manifest.h"
#include "libdet/checkpoint/saver.h"
#include "libdet/checkpoint/selection.h"
#include "libdet/checkpoint/storage.h"
#include "libdet/client/client.h"
#include "libdet/context.h"
#include "net/net.h"
#include "net/net_system.h"

enum { STRINGS = 1 << 30, METADATA_BYTES = 64 << 20, FLUSH_MS = 60000 };

/* The latest checkpoint of this process, else of other processes of this run, else the
 * one that the run started from. */
static det_status find_latest(det_context *context, struct arena *mem,
                              const char **ret_uuid, struct err *err)
{
    const char *latest = context->info.latest_checkpoint;
    int64_t steps;
    det_status st = latest_checkpoint_read(context, mem, &latest, &steps, err);

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

/* The latest if none is named.  The result is always a valid uuid, never a path
 * into another directory. */
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

/* The trial's own latest checkpoint must exist.  If it does not, that is damage, not
 * "none yet", which would make a program start from nothing. */
static det_status find_checkpoint(det_context *context, const char *uuid,
                                  struct arena *mem, const char **ret_path,
                                  struct err *err)
{
    const char *name = NULL;
    struct storage storage;
    det_status st = which(context, uuid, mem, &name, err);

    if (!st)
        st = storage_open(context, mem, &storage, err);
    if (!st)
        st = storage.ops->find(&storage, name, mem, ret_path, err);
    if (st == DET_NOT_FOUND && !uuid && name)
        return err_set(
            err, DET_CORRUPT,
            "checkpoint %s, from which this trial continues, is not in '%s': "
            "it was removed, or the storage is not mounted here",
            name, storage.root);
    return st;
}

/* Unwanted files are not read.  The manifest's own checksum covers the rest of the
 * list. */
static det_status check_files(struct io *io, const char *path,
                              const det_restore_options *options, struct arena *mem,
                              struct err *err)
{
    CLEANUP(manifest_done) struct manifest manifest = {0};
    struct selection selection = {options->selector, options->selector_self};
    det_status st = manifest_read(io, path, mem, &manifest, err);

    if (st == DET_NOT_FOUND && options->flags & DET_RESTORE_FOREIGN)
        return DET_OK;
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_CORRUPT,
                       "'%s/" MANIFEST_NAME "' is missing: it was lost, or another "
                       "program wrote this checkpoint, which can only be taken "
                       "unchecked",
                       path);
    if (!st)
        st = selection_cut(&selection, &manifest, err);
    return st ? st : manifest_verify(io, path, &manifest, true, err);
}

/* Waits first: a checkpoint that is being written may be the latest. */
static det_status locate(det_context *context, const char *uuid,
                         const det_restore_options *options, struct arena *mem,
                         const char **ret_path, struct err *err)
{
    det_status st;

    (void)saver_is_quiet(context, 0);
    st = find_checkpoint(context, uuid, mem, ret_path, err);
    if (!st && !(options->flags & DET_RESTORE_UNCHECKED)) {
        st = check_files(context->world.io, *ret_path, options, mem, err);
        if (st && st != DET_NOMEM)
            (void)err_prefix(err, "checkpoint %s", strrchr(*ret_path, '/') + 1);
    }
    return st;
}

/* ---- the ranks of a node --------------------------------------------------------- */

/* Sends what local rank 0 found: a status, then a path or an error message. */
static det_status tell_node(det_distributed *group, det_status status, const char *path,
                            struct arena *mem, const char **ret_path, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    det_part part;
    det_status st;

    buf_putc(&text, (char)status);
    buf_puts(&text, status ? err->text : path);
    st = det_distributed_broadcast_local(group, text.status ? "" : text.data,
                                         text.status ? 0 : text.len, &part);
    if (st)
        return err_set(err, st, "%s", det_distributed_error(group));
    if (!part.len)
        return err_default(err, DET_NOMEM);
    path = arena_strndup(mem, (const char *)part.data + 1, part.len - 1);
    if (!path)
        return err_default(err, DET_NOMEM);
    status = (det_status) * (const unsigned char *)part.data;
    if (status)
        return err_set(err, status, "%s", path);
    *ret_path = path;
    return DET_OK;
}

static bool is_shared(const det_restore_options *options)
{
    return det_distributed_ranks(options->group)->local_size > 1;
}

/* Whether this process does the work. */
static bool is_worker(const det_restore_options *options)
{
    return !det_distributed_ranks(options->group)->local_rank;
}

static det_status take_options(det_context *context, const det_restore_options *given,
                               det_restore_options *ret_options, struct err *err)
{
    det_status st = context_check_trial(context, err);

    *ret_options = (det_restore_options){.size = sizeof(*ret_options)};
    if (!st && (!given || !given->size || given->size > sizeof(*ret_options)))
        st = err_set(err, DET_INVALID,
                     "the options of a restore have a wrong size: set it to "
                     "sizeof(det_restore_options)");
    if (!st)
        memcpy(ret_options, given, given->size);
    return st;
}

det_status det_checkpoint_restore_with(det_context *context, const char *uuid,
                                       const det_restore_options *options, char *path,
                                       size_t size)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    const char *found = "";
    det_restore_options all;
    CONTEXT_ERR(err);
    det_status st = take_options(context, options, &all, &err);

    if (st)
        return context_end(context, st, &err);
    if (is_worker(&all))
        st = locate(context, uuid, &all, &mem, &found, &err);
    if (is_shared(&all))
        st = tell_node(all.group, st, found, &mem, &found, &err);
    if (!st && (!path || strlen(found) >= size))
        st = err_set(&err, DET_TOO_LARGE, "the path '%s' does not fit into %zu bytes",
                     found, path ? size : 0);
    if (!st)
        memcpy(path, found, strlen(found) + 1);
    return context_end(context, st, &err);
}

det_status det_checkpoint_restore(det_context *context, const char *uuid,
                                  unsigned flags, char *path, size_t size)
{
    det_restore_options options = {.size = sizeof(options), .flags = flags};

    return det_checkpoint_restore_with(context, uuid, &options, path, size);
}

/* ---- copies ---------------------------------------------------------------------- */

/* The directory must be empty: a mixture of two states would be useless. */
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

/* Removes the files of a failed copy. */
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

static det_status copy_out(struct io *io, const char *from, const char *to,
                           const det_restore_options *options, struct arena *mem,
                           struct err *err)
{
    CLEANUP(manifest_done) struct manifest all = {0};
    struct selection selection = {options->selector, options->selector_self};
    det_status st = manifest_walk(io, from, mem, &all, err);

    if (!st)
        st = selection_cut(&selection, &all, err);
    return st ? st : selection_copy(io, &all, from, to, err);
}

/* The walk leaves the manifest out, so it is not copied: it would not match a copy of
 * some files, and a copy of all was compared already. */
static det_status download(det_context *context, const char *uuid,
                           const det_restore_options *options, const char *directory,
                           struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    struct io *io = context->world.io;
    const char *found;
    det_status st = locate(context, uuid, options, &mem, &found, err);

    if (!st)
        st = make_empty(io, directory, &mem, err);
    if (st)
        return st;
    st = copy_out(io, found, directory, options, &mem, err);
    if (st)
        make_empty_again(io, directory);
    return st;
}

det_status det_checkpoint_download_with(det_context *context, const char *uuid,
                                        const det_restore_options *options,
                                        const char *directory)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    const char *unused;
    det_restore_options all;
    CONTEXT_ERR(err);
    det_status st = take_options(context, options, &all, &err);

    if (!st && !directory)
        st = err_set(&err, DET_INVALID, "the directory to copy into is NULL");
    if (st)
        return context_end(context, st, &err);
    if (is_worker(&all))
        st = download(context, uuid, &all, directory, &err);
    if (is_shared(&all))
        st = tell_node(all.group, st, "", &mem, &unused, &err);
    return context_end(context, st, &err);
}

det_status det_checkpoint_download(det_context *context, const char *uuid,
                                   unsigned flags, const char *directory)
{
    det_restore_options options = {.size = sizeof(options), .flags = flags};

    return det_checkpoint_download_with(context, uuid, &options, directory);
}

det_status det_checkpoint_metadata(det_context *context, const char *uuid, char *text,
                                   size_t size, size_t *ret_len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    CLEANUP(buf_done) struct buf bytes = BUF_LIMITED(METADATA_BYTES);
    static const det_restore_options unchecked = {.size = sizeof(unchecked),
                                                  .flags = DET_RESTORE_UNCHECKED};
    const char *found, *path;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = locate(context, uuid, &unchecked, &mem, &found, &err);
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

/* ---- deleting -------------------------------------------------------------------- */

/* As the user, because a task may not delete checkpoints.  The master may not know the
 * checkpoint yet. */
static det_status ask_master(det_context *context, const char *uuid, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct client_world world = {.io = context->world.io,
                                 .net = context->world.net,
                                 .master_file = context->master_file,
                                 .cluster = context->info.cluster_id};
    det_client_options options = {.size = sizeof(options),
                                  .master = context->info.master_url,
                                  .identity = DET_AS_USER};
    struct net *own_net = NULL;
    det_client *client;
    det_status st = det_flush(context, FLUSH_MS);

    if (st)
        return err_set(err, st, "%s", det_context_error(context));
    if (!world.net)
        st = net_system_new(NULL, &own_net, err);
    if (own_net)
        world.net = own_net;
    jw_object(&w, NULL);
    jw_array(&w, "checkpointUuids");
    jw_str(&w, NULL, uuid);
    jw_end_array(&w);
    jw_end_object(&w);
    if (!st)
        st = body.status ? err_default(err, body.status)
                         : client_open(&world, &options, &client, err);
    if (!st) {
        st = det_call(client, "DELETE", "/api/v1/checkpoints", body.data, NULL);
        if (st)
            (void)err_set(err, st, "%s", det_error_text(client));
        det_client_close(client);
    }
    if (own_net)
        net_free(own_net);
    return st;
}

/* If it was the latest, there is none now: the next run starts from the beginning. */
static det_status remove_own(det_context *context, const char *uuid, struct arena *mem,
                             struct err *err)
{
    const char *latest = NULL;
    struct storage storage;
    int64_t steps;
    det_status st = storage_open(context, mem, &storage, err);

    if (!st)
        st = storage.ops->remove(&storage, uuid, err);
    if (!st)
        st = latest_checkpoint_read(context, mem, &latest, &steps, err);
    if (!st && latest && !strcmp(latest, uuid))
        st = latest_checkpoint_forget(context, err);
    if (st)
        return st;
    lock_take(&context->lock);
    if (!strcmp(context->latest, uuid))
        context->latest[0] = '\0';
    lock_give(&context->lock);
    return DET_OK;
}

det_status det_checkpoint_delete(det_context *context, const char *uuid)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    const char *found;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && !uuid)
        st = err_set(&err, DET_INVALID, "the uuid of the checkpoint to delete is NULL");
    if (st)
        return context_end(context, st, &err);
    (void)saver_is_quiet(context, 0);
    st = find_checkpoint(context, uuid, &mem, &found, &err);
    if (!st && context->info.is_on_cluster)
        st = ask_master(context, uuid, &err);
    else if (!st)
        st = remove_own(context, uuid, &mem, &err);
    return context_end(context, st, &err);
}
