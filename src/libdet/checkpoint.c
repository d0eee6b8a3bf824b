/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - saving.
 *
 *   begin    ROOT/.det-...-UUID   is made, and what earlier runs left is removed
 *   put      files are written and summed on the way
 *   commit   1. metadata.json is written
 *            2. every file is synced and summed; the manifest is written
 *            3. every directory is synced, innermost first
 *            4. renamed to ROOT/UUID, and ROOT synced
 *            5. reported, and noted as the latest for other processes of the run
 *
 * A failure before 4 leaves a draft, which the next run removes; a failure at 5 leaves
 * a whole checkpoint that nobody knows of, until commit is called again.  Nothing is
 * ever reported that is not whole on disk. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/json.h"
#include "data/text.h"
#include "det/profiler.h"
#include "libdet/context.h"
#include "libdet/manifest.h"
#include "libdet/storage.h"
#include "wire/report.h"

enum {
    STRINGS = 1 << 30,
    CHUNK = 1 << 20,
    BEHIND = 8 << 20,
    METADATA_BYTES = 64 << 20
};

struct det_checkpoint {
    det_context *context;
    struct arena mem;
    char uuid[UUID_TEXT];
    int64_t steps;
    struct json *metadata; /* an object */
    const char *root;
    const char *draft;  /* while it is being written */
    const char *final;  /* what it will be called */
    bool is_named;      /* renamed already: a sync and the report are missing */
    bool has_own_names; /* metadata and manifest there are the library's */
    det_timing timing;  /* since it was begun */
    struct manifest manifest;
    VEC(struct manifest_file) puts; /* files whose sums are known */
};

/* ---- beginning ------------------------------------------------------------------- */

static void checkpoint_free(det_checkpoint *checkpoint)
{
    det_timing_end(checkpoint->context, &checkpoint->timing, DET_TIMING_CHECKPOINT);
    manifest_done(&checkpoint->manifest);
    vec_done(&checkpoint->puts);
    arena_done(&checkpoint->mem);
    mem_free(checkpoint);
}

static det_status read_metadata(det_checkpoint *checkpoint, const char *metadata,
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

static det_status make_draft(det_checkpoint *checkpoint, struct err *err)
{
    det_context *context = checkpoint->context;
    struct arena *mem = &checkpoint->mem;
    unsigned char random[16];
    const char *name;
    det_status st = rng_secret(random, sizeof(random), err);

    if (!st)
        st = storage_root(context, mem, &checkpoint->root, err);
    if (!st)
        st = storage_clean(context, checkpoint->root, mem, err);
    if (st)
        return st;
    uuid_format(random, checkpoint->uuid);
    name = storage_draft(context, checkpoint->uuid, mem);
    checkpoint->draft = arena_printf(mem, "%s/%s", checkpoint->root, name ? name : "");
    checkpoint->final = arena_printf(mem, "%s/%s", checkpoint->root, checkpoint->uuid);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    return io_mkdir(context->world.io, checkpoint->draft, false, err);
}

static det_status begin(det_context *context, int64_t steps, const char *metadata,
                        det_checkpoint **ret_checkpoint, struct err *err)
{
    det_checkpoint *checkpoint = mem_new(det_checkpoint);
    det_status st;

    if (!checkpoint)
        return err_default(err, DET_NOMEM);
    checkpoint->context = context;
    checkpoint->mem = (struct arena)ARENA_INIT(STRINGS);
    checkpoint->steps = steps;
    det_timing_begin(context, &checkpoint->timing);
    st = read_metadata(checkpoint, metadata, err);
    if (!st)
        st = make_draft(checkpoint, err);
    if (st)
        checkpoint_free(checkpoint);
    else
        *ret_checkpoint = checkpoint;
    return st;
}

det_status det_checkpoint_begin(det_context *context, int64_t steps,
                                const char *metadata, det_checkpoint **ret_checkpoint)
{
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && !ret_checkpoint)
        st = err_set(&err, DET_INVALID, "a checkpoint needs a place for its handle");
    if (!st && steps < 0)
        st = err_set(&err, DET_INVALID, "steps is %" PRId64 "; expected 0 or more",
                     steps);
    if (!st)
        st = begin(context, steps, metadata, ret_checkpoint, &err);
    return context_end(context, st, &err);
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

/* Summed piece by piece just before it is written, while it is in the processor's
 * cache; the disk is kept busy meanwhile. */
static det_status write_summed(struct io_file *file, const char *bytes, size_t len,
                               uint32_t *ret_crc, struct err *err)
{
    uint32_t crc = 0;
    size_t behind = 0;
    det_status st = DET_OK;

    for (size_t at = 0; at < len && !st;) {
        size_t piece = MIN(len - at, (size_t)CHUNK);

        crc = crc32c(crc, bytes + at, piece);
        st = io_write_at(file, at, bytes + at, piece, err);
        at += piece;
        if (at - behind >= BEHIND) {
            io_write_behind(file, behind, at - behind);
            behind = at;
        }
    }
    *ret_crc = crc;
    return st;
}

/* "a/b/c": the directories a and a/b. */
static det_status make_parents(det_checkpoint *checkpoint, const char *path,
                               struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *dir;

    if (!slash)
        return DET_OK;
    dir = arena_printf(&checkpoint->mem, "%s/%.*s", checkpoint->draft,
                       (int)(slash - path), path);
    return dir ? io_mkdir(checkpoint->context->world.io, dir, false, err)
               : err_default(err, DET_NOMEM);
}

static det_status put(det_checkpoint *checkpoint, const char *name, const void *bytes,
                      size_t len, struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    struct manifest_file file = {.path = arena_strdup(&checkpoint->mem, name),
                                 .has_crc = true};
    const char *path = arena_printf(&checkpoint->mem, "%s/%s", checkpoint->draft, name);
    CLEANUP(io_closep) struct io_file *open = NULL;
    struct io_stat found;
    det_status st;

    if (checkpoint->mem.has_failed)
        return err_default(err, DET_NOMEM);
    st = make_parents(checkpoint, name, err);
    if (!st)
        st = io_open(io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &open, err);
    if (!st)
        st = write_summed(open, bytes, len, &file.crc, err);
    if (!st)
        st = io_stat(io, path, &found, err);
    if (st)
        return st;
    file.size_bytes = found.size_bytes;
    file.modified_us = found.modified_us;
    return vec_push(&checkpoint->puts, file) ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status check_name(const char *name, struct err *err)
{
    if (!name || !*name || !path_is_inside(name) || name[strlen(name) - 1] == '/')
        return err_set(err, DET_INVALID,
                       "'%s' is no path of a file inside of the checkpoint",
                       name ? name : "");
    if (!strcmp(name, MANIFEST_NAME) || !strcmp(name, METADATA_NAME))
        return err_set(err, DET_INVALID, "'%s' is written by the library itself", name);
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
        st = err_set(&err, DET_INVALID, "'%s' has no bytes to be written", name);
    if (!st && checkpoint->is_named)
        st = err_set(&err, DET_STATE, "the checkpoint is whole already");
    if (!st)
        st = put(checkpoint, name, bytes, len, &err);
    return context_end(checkpoint->context, st, &err);
}

/* ---- committing ------------------------------------------------------------------ */

static int path_is(const void *path, const void *file)
{
    return strcmp(path, ((const struct manifest_file *)file)->path);
}

/* What put() has summed and nobody has touched since need not be read again.  Of a file
 * that was put twice the last sum counts. */
static void use_sums(det_checkpoint *checkpoint)
{
    const struct manifest *manifest = &checkpoint->manifest;

    for (size_t i = 0; i < checkpoint->puts.count; i++) {
        const struct manifest_file *put = &checkpoint->puts.at[i];
        struct manifest_file *file =
            bsearch(put->path, manifest->files.at, manifest->files.count,
                    sizeof(*manifest->files.at), path_is);

        if (!file || file->size_bytes != put->size_bytes ||
            file->modified_us != put->modified_us)
            continue;
        file->crc = put->crc;
        file->has_crc = true;
    }
}

/* What the library itself once wrote: a restored folder has it, and is saved again. */
static det_status is_own_metadata(det_checkpoint *checkpoint, const char *path,
                                  bool *ret_is_own, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(METADATA_BYTES);
    CLEANUP(buf_done) struct buf again = BUF_INIT;
    struct json *tree;
    det_status st = io_read_file(checkpoint->context->world.io, path, &text, err);

    *ret_is_own = false;
    if (!st)
        st = json_parse(text.data, text.len, &checkpoint->mem, &tree, err);
    if (st == DET_INVALID || st == DET_TOO_LARGE)
        return DET_OK;
    if (st || tree->kind != JSON_OBJECT || !json_get(tree, "steps_completed"))
        return st;
    json_write(&again, tree);
    buf_putc(&again, '\n');
    if (again.status)
        return err_default(err, again.status);
    *ret_is_own = again.len == text.len && !memcmp(again.data, text.data, text.len);
    return DET_OK;
}

/* A name that is the library's: the file would be left out, or replaced. */
static det_status check_taken(det_checkpoint *checkpoint, const char *from,
                              const char *name, struct err *err)
{
    const char *path = arena_printf(&checkpoint->mem, "%s/%s", from, name);
    bool is_own = false;
    struct io_stat found;
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_stat(checkpoint->context->world.io, path, &found, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (!st && !strcmp(name, METADATA_NAME) && found.kind == IO_FILE)
        st = is_own_metadata(checkpoint, path, &is_own, err);
    if (st || is_own)
        return st;
    return err_set(
        err, DET_INVALID,
        "'%s' in '%s' cannot be saved: a file of this name is written by the "
        "library itself; rename yours, or remove it",
        name, from);
}

/* Once: after that, what has these names is the library's. */
static det_status check_names(det_checkpoint *checkpoint, struct err *err)
{
    det_status st = DET_OK;

    if (!checkpoint->has_own_names)
        st = check_taken(checkpoint, checkpoint->draft, MANIFEST_NAME, err);
    if (!st && !checkpoint->has_own_names)
        st = check_taken(checkpoint, checkpoint->draft, METADATA_NAME, err);
    checkpoint->has_own_names |= !st;
    return st;
}

static det_status write_metadata(det_checkpoint *checkpoint, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *path =
        arena_printf(&checkpoint->mem, "%s/" METADATA_NAME, checkpoint->draft);

    json_write(&text, checkpoint->metadata);
    buf_putc(&text, '\n');
    if (!path || text.status)
        return err_default(err, DET_NOMEM);
    return io_replace(checkpoint->context->world.io, path, text.data, text.len, false,
                      err);
}

/* Innermost first: parents come first in the list. */
static det_status sync_directories(det_checkpoint *checkpoint, struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    det_status st = DET_OK;

    for (size_t i = checkpoint->manifest.directories.count; i-- > 0 && !st;) {
        const char *path = arena_printf(&checkpoint->mem, "%s/%s", checkpoint->draft,
                                        checkpoint->manifest.directories.at[i]);

        st = path ? io_sync_dir(io, path, err) : err_default(err, DET_NOMEM);
    }
    return st ? st : io_sync_dir(io, checkpoint->draft, err);
}

static det_status seal(det_checkpoint *checkpoint, struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    det_status st = check_names(checkpoint, err);

    if (!st)
        st = write_metadata(checkpoint, err);
    manifest_done(&checkpoint->manifest);
    if (!st)
        st = manifest_walk(io, checkpoint->draft, &checkpoint->mem,
                           &checkpoint->manifest, err);
    if (st)
        return st;
    use_sums(checkpoint);
    st = manifest_work(io, checkpoint->draft, &checkpoint->manifest,
                       MANIFEST_SYNC | MANIFEST_SUM, err);
    if (!st)
        st = manifest_write(io, checkpoint->draft, &checkpoint->manifest, err);
    if (!st)
        st = sync_directories(checkpoint, err);
    if (!st)
        st = io_rename(io, checkpoint->draft, checkpoint->final, err);
    if (!st)
        checkpoint->is_named = true;
    return st;
}

static det_status own_size(const det_checkpoint *checkpoint, uint64_t *ret_bytes,
                           struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct io_stat found;
    det_status st;

    buf_printf(&path, "%s/" MANIFEST_NAME, checkpoint->final);
    st = path.status ? err_default(err, path.status)
                     : io_stat(checkpoint->context->world.io, path.data, &found, err);
    if (!st)
        *ret_bytes = found.size_bytes;
    return st;
}

static det_status report(det_checkpoint *checkpoint, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_context *context = checkpoint->context;
    uint64_t own_bytes;
    det_status st = own_size(checkpoint, &own_bytes, err);

    if (st)
        return st;
    jw_object(&w, NULL);
    jw_str(&w, "uuid", checkpoint->uuid);
    jw_str(&w, "taskId", context->info.task_id);
    jw_str(&w, "allocationId", context->info.allocation_id);
    jw_json(&w, "metadata", checkpoint->metadata);
    manifest_resources(&w, "resources", &checkpoint->manifest, own_bytes);
    jw_time(&w, "reportTime", clock_wall_us(context->world.clock));
    jw_str(&w, "state", "STATE_COMPLETED");
    jw_end_object(&w);
    return reports_put(context, REPORT_CHECKPOINT, &body, err);
}

/* It is reported, so that nothing may fail any more: where the note cannot be written,
 * other processes begin from the checkpoint before. */
static void remember(const det_checkpoint *checkpoint)
{
    det_context *context = checkpoint->context;

    lock_take(&context->lock);
    memcpy(context->latest, checkpoint->uuid, UUID_TEXT);
    lock_give(&context->lock);
    (void)latest_write(context, checkpoint->uuid, checkpoint->steps, NULL);
}

det_status det_checkpoint_commit(det_checkpoint *checkpoint)
{
    det_context *context;
    CONTEXT_ERR(err);
    det_status st;

    if (!checkpoint)
        return DET_INVALID;
    context = checkpoint->context;
    st = context_check(context, &err);
    if (!st && !checkpoint->is_named)
        st = seal(checkpoint, &err);
    if (!st)
        st = io_sync_dir(context->world.io, checkpoint->root, &err);
    if (!st)
        st = report(checkpoint, &err);
    if (st)
        return context_end(context, st, &err);
    remember(checkpoint);
    checkpoint_free(checkpoint);
    return DET_OK;
}

/* In a forked child the files are the parent's. */
void det_checkpoint_abort(det_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    if (!context_check(checkpoint->context, NULL))
        (void)io_remove_tree(
            checkpoint->context->world.io,
            checkpoint->is_named ? checkpoint->final : checkpoint->draft, NULL);
    checkpoint_free(checkpoint);
}

/* ---- a directory of the user's --------------------------------------------------- */

static det_status copy_tree(det_checkpoint *checkpoint, const char *from,
                            struct err *err)
{
    CLEANUP(manifest_done) struct manifest all = {0};
    struct io *io = checkpoint->context->world.io;
    struct arena *mem = &checkpoint->mem;
    det_status st = manifest_walk(io, from, mem, &all, err);

    if (!st)
        st = check_taken(checkpoint, from, MANIFEST_NAME, err);
    if (!st)
        st = check_taken(checkpoint, from, METADATA_NAME, err);
    for (size_t i = 0; !st && i < all.directories.count; i++) {
        const char *to =
            arena_printf(mem, "%s/%s", checkpoint->draft, all.directories.at[i]);

        st = to ? io_mkdir(io, to, false, err) : err_default(err, DET_NOMEM);
    }
    for (size_t i = 0; !st && i < all.files.count; i++) {
        const char *source = arena_printf(mem, "%s/%s", from, all.files.at[i].path);
        const char *to =
            arena_printf(mem, "%s/%s", checkpoint->draft, all.files.at[i].path);

        st = source && to ? storage_copy(io, source, to, err)
                          : err_default(err, DET_NOMEM);
    }
    return st;
}

det_status det_checkpoint_store(det_context *context, const char *directory,
                                int64_t steps, const char *metadata,
                                char ret_uuid[DET_UUID_SIZE])
{
    char uuid[UUID_TEXT];
    det_checkpoint *checkpoint;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && !directory)
        st = err_set(&err, DET_INVALID, "a directory to be saved is missing");
    if (st)
        return context_end(context, st, &err);
    st = det_checkpoint_begin(context, steps, metadata, &checkpoint);
    if (st)
        return st;
    memcpy(uuid, checkpoint->uuid, UUID_TEXT);
    st = context_end(context, copy_tree(checkpoint, directory, &err), &err);
    if (!st)
        st = det_checkpoint_commit(checkpoint);
    if (st)
        det_checkpoint_abort(checkpoint);
    else if (ret_uuid)
        memcpy(ret_uuid, uuid, UUID_TEXT);
    return st;
}
