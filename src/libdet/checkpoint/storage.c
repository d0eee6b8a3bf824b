/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - see storage.h. */
#include "libdet/checkpoint/storage.h"

#include <inttypes.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "libdet/context.h"

enum { CHUNK = 1 << 20, CLUSTER_CHARS = 8 };

/* ---- the root -------------------------------------------------------------------- */

/* Tasks run directly on the host, so host paths are valid for them. */
det_status storage_root(const struct json *storage, struct arena *mem,
                        const char **ret_root, struct err *err)
{
    const char *type = json_str(json_get(storage, "type"), "");
    const char *host = json_str(json_get(storage, "host_path"), NULL);
    const char *below = json_str(json_get(storage, "storage_path"), "");
    const char *root = NULL;

    if (!strcmp(type, "directory"))
        root = json_str(json_get(storage, "container_path"), NULL);
    else if (!strcmp(type, "shared_fs"))
        root = !host || !*below ? host
               : *below == '/'  ? below
                                : arena_printf(mem, "%s/%s", host, below);
    else
        return err_set(err, DET_UNSUPPORTED,
                       "checkpoint_storage.type '%s' is not implemented; use shared_fs "
                       "or directory",
                       type);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    if (!root || *root != '/')
        return err_set(err, DET_INVALID,
                       "checkpoint_storage of type %s has no absolute path", type);
    *ret_root = root;
    return DET_OK;
}

/* Makes and syncs each level in turn, so a power failure cannot lose a new directory
 * whose content was synced. */
static det_status make_durable(struct io *io, const char *path, struct err *err)
{
    struct io_stat found;
    CLEANUP(mem_freep) char *parent = NULL;
    char *slash;
    det_status st = io_stat(io, path, &found, err);

    if (st != DET_NOT_FOUND)
        return st;
    parent = mem_strdup(path);
    slash = parent ? strrchr(parent, '/') : NULL;
    if (!parent)
        return err_default(err, DET_NOMEM);
    st = DET_OK;
    if (slash && slash != parent) {
        *slash = '\0';
        st = make_durable(io, parent, err);
    }
    if (!st)
        st = io_mkdir(io, path, false, err);
    if (!st)
        st = io_sync_parent(io, path, err);
    return st;
}

/* ---- drafts ---------------------------------------------------------------------- */

static const char *trial_part(const det_context *context, struct arena *mem)
{
    const char *cluster =
        context->info.cluster_id ? context->info.cluster_id : "offline";

    return arena_printf(mem, ".det-%.*s-%" PRId64 "-", CLUSTER_CHARS, cluster,
                        context->info.trial_id);
}

/* Whether it belongs to an earlier run of this trial. */
static bool is_stale(const char *name, const char *trial, int64_t run_id)
{
    size_t len = strlen(trial);
    int64_t run = 0;

    if (strncmp(name, trial, len) != 0)
        return false;
    for (name += len; *name >= '0' && *name <= '9' && run < run_id; name++)
        run = run * 10 + (*name - '0');
    return *name == '-' && run < run_id;
}

static det_status remove_stale_drafts(const struct storage *storage, struct arena *mem,
                                      struct err *err)
{
    const det_context *context = storage->context;
    const char *trial = trial_part(context, mem);
    const char **names;
    det_status st;

    /* Runs without a master have no unique names: if several share a storage, the owner
     * of a draft is unknown. */
    if (context->storage)
        return DET_OK;
    st = trial ? io_list(context->world.io, storage->root, mem, &names, err)
               : err_default(err, DET_NOMEM);

    for (size_t i = 0; !st && names[i]; i++) {
        const char *path;

        if (!is_stale(names[i], trial, context->info.run_id))
            continue;
        path = arena_printf(mem, "%s/%s", storage->root, names[i]);
        st = path ? io_remove_tree(context->world.io, path, err)
                  : err_default(err, DET_NOMEM);
    }
    return st;
}

/* ---- directories ----------------------------------------------------------------- */

static det_status directory_prepare(const struct storage *storage, struct arena *mem,
                                    struct err *err)
{
    det_status st = make_durable(storage->context->world.io, storage->root, err);

    return st ? st : remove_stale_drafts(storage, mem, err);
}

static det_status directory_draft(const struct storage *storage, const char *uuid,
                                  struct arena *mem, const char **ret_path,
                                  struct err *err)
{
    const char *trial = trial_part(storage->context, mem);
    const char *path = trial ? arena_printf(mem, "%s/%s%" PRId64 "-%s", storage->root,
                                            trial, storage->context->info.run_id, uuid)
                             : NULL;
    det_status st = path ? io_mkdir(storage->context->world.io, path, false, err)
                         : err_default(err, DET_NOMEM);

    if (!st)
        *ret_path = path;
    return st;
}

static det_status directory_join(const struct storage *storage, const char *part,
                                 const char *draft, const char *path, struct err *err)
{
    CLEANUP(buf_done) struct buf from = BUF_INIT;
    CLEANUP(buf_done) struct buf to = BUF_INIT;

    buf_printf(&from, "%s/%s", part, path);
    buf_printf(&to, "%s/%s", draft, path);
    if (from.status || to.status)
        return err_default(err, DET_NOMEM);
    return io_rename(storage->context->world.io, from.data, to.data, err);
}

static det_status directory_publish(const struct storage *storage, const char *draft,
                                    const char *uuid, bool *is_named, struct err *err)
{
    CLEANUP(buf_done) struct buf final = BUF_INIT;
    struct io *io = storage->context->world.io;
    det_status st = DET_OK;

    buf_printf(&final, "%s/%s", storage->root, uuid);
    if (final.status)
        return err_default(err, final.status);
    if (!*is_named)
        st = io_rename(io, draft, final.data, err);
    if (st)
        return st;
    *is_named = true;
    return io_sync_dir(io, storage->root, err);
}

static void directory_discard(const struct storage *storage, const char *draft)
{
    (void)io_remove_tree(storage->context->world.io, draft, NULL);
}

static det_status directory_find(const struct storage *storage, const char *uuid,
                                 struct arena *mem, const char **ret_path,
                                 struct err *err)
{
    const char *path = arena_printf(mem, "%s/%s", storage->root, uuid);
    struct io_stat found;
    det_status st = path ? io_stat(storage->context->world.io, path, &found, err)
                         : err_default(err, DET_NOMEM);

    if (st == DET_NOT_FOUND || (!st && found.kind != IO_DIRECTORY))
        return err_set(err, DET_NOT_FOUND, "there is no checkpoint %s in '%s'", uuid,
                       storage->root);
    if (!st)
        *ret_path = path;
    return st;
}

/* Renames it first, so no reader finds half of it. */
static det_status directory_remove(const struct storage *storage, const char *uuid,
                                   struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct io *io = storage->context->world.io;
    const char *path;
    const char *trash = arena_printf(&mem, "%s/.det-trash-%s", storage->root, uuid);
    det_status st = directory_find(storage, uuid, &mem, &path, err);

    if (!st && !trash)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = io_remove_tree(io, trash, err); /* left by an earlier try */
    if (!st)
        st = io_rename(io, path, trash, err);
    if (!st)
        st = io_remove_tree(io, trash, err);
    return st ? st : io_sync_dir(io, storage->root, err);
}

static const struct storage_ops directory_ops = {
    .prepare = directory_prepare,
    .draft = directory_draft,
    .join = directory_join,
    .publish = directory_publish,
    .discard = directory_discard,
    .find = directory_find,
    .remove = directory_remove,
};

det_status storage_open(const det_context *context, struct arena *mem,
                        struct storage *ret_storage, struct err *err)
{
    const char *root = NULL;
    det_status st = DET_OK;

    if (context->info.directory && !context->storage)
        root = arena_printf(mem, "%s/checkpoints", context->info.directory);
    else
        st = storage_root(context->storage
                              ? context->storage
                              : json_get(context->config, "checkpoint_storage"),
                          mem, &root, err);
    if (!st && !root)
        st = err_default(err, DET_NOMEM);
    if (!st)
        *ret_storage = (struct storage){&directory_ops, context, root};
    return st;
}

det_status storage_place(const det_context *context, struct arena *mem,
                         const char **ret_root, struct err *err)
{
    struct storage storage;
    det_status st = storage_open(context, mem, &storage, err);

    if (!st)
        *ret_root = storage.root;
    return st;
}

/* ---- copies ---------------------------------------------------------------------- */

/* Never a hard link: writing to the original would change the copy. */
static det_status copy_bytes(struct io_file *from, struct io_file *to, struct err *err)
{
    CLEANUP(mem_freep) char *chunk = mem_alloc(CHUNK);
    uint64_t offset = 0;
    size_t got = 1;
    det_status st = chunk ? DET_OK : err_default(err, DET_NOMEM);

    while (!st && got) {
        st = io_read_at(from, offset, chunk, CHUNK, &got, err);
        if (!st && got)
            st = io_write_at(to, offset, chunk, got, err);
        if (st)
            break;
        io_write_behind(to, offset, got);
        offset += got;
    }
    return st;
}

det_status storage_copy(struct io *io, const char *from, const char *to,
                        struct err *err)
{
    CLEANUP(io_closep) struct io_file *source = NULL;
    CLEANUP(io_closep) struct io_file *target = NULL;
    det_status st = io_open(io, from, IO_READ, &source, err);

    if (!st)
        st = io_open(io, to, IO_WRITE | IO_CREATE | IO_TRUNCATE, &target, err);
    if (!st && !io_clone(source, target) && !io_copy(source, target))
        st = copy_bytes(source, target, err);
    return st;
}
