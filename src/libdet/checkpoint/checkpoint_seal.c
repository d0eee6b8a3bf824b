/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_seal.c - turns a draft into a complete, reported checkpoint. */
#include "libdet/checkpoint/checkpoint_seal.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "libdet/checkpoint/checkpoint_impl.h"
#include "libdet/checkpoint/latest_checkpoint.h"
#include "libdet/checkpoint/manifest_work.h"
#include "libdet/json_report.h"
#include "wire/report.h"

enum { METADATA_BYTES = 64 << 20 };

static int path_is(const void *path, const void *file)
{
    return strcmp(path, ((const struct manifest_file *)file)->path);
}

/* A file that put() has checksummed and that has not changed need not be read again.
 * If a file was put twice, the last checksum counts. */
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

/* Whether the library itself wrote it: a restored folder contains it, and may be saved
 * again. */
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

/* A file with a name of the library would be left out or replaced. */
det_status checkpoint_check_taken(det_checkpoint *checkpoint, const char *from,
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
    return err_set(err, DET_INVALID,
                   "'%s' in '%s' cannot be saved: the library writes a file of this "
                   "name; rename or remove yours",
                   name, from);
}

/* Checks once; after that the library itself uses these names. */
static det_status check_names(det_checkpoint *checkpoint, struct err *err)
{
    det_status st = DET_OK;

    if (!checkpoint->has_own_names)
        st = checkpoint_check_taken(checkpoint, checkpoint->draft, MANIFEST_NAME, err);
    if (!st && !checkpoint->has_own_names)
        st = checkpoint_check_taken(checkpoint, checkpoint->draft, METADATA_NAME, err);
    checkpoint->has_own_names |= !st;
    return st;
}

static det_status write_metadata(det_checkpoint *checkpoint, const char *draft,
                                 struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    const char *path = arena_printf(&checkpoint->mem, "%s/" METADATA_NAME, draft);

    json_write(&text, checkpoint->metadata);
    buf_putc(&text, '\n');
    if (!path || text.status)
        return err_default(err, DET_NOMEM);
    return io_replace(checkpoint->context->world.io, path, text.data, text.len, false,
                      err);
}

/* Innermost first: the list has parents first. */
static det_status sync_directories(det_checkpoint *checkpoint, const char *draft,
                                   struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    size_t count = checkpoint->manifest.directories.count;
    det_status st = manifest_sync_all(checkpoint->disk, count, err);

    if (st != DET_UNSUPPORTED)
        return st;
    st = DET_OK;
    for (size_t i = count; i-- > 0 && !st;) {
        const char *path = arena_printf(&checkpoint->mem, "%s/%s", draft,
                                        checkpoint->manifest.directories.at[i]);

        st = path ? io_sync_dir(io, path, err) : err_default(err, DET_NOMEM);
    }
    return st ? st : io_sync_dir(io, draft, err);
}

det_status checkpoint_list(det_checkpoint *checkpoint, struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    det_status st;

    manifest_done(&checkpoint->manifest);
    st = manifest_walk(io, checkpoint->draft, &checkpoint->mem, &checkpoint->manifest,
                       err);
    if (st)
        return st;
    use_sums(checkpoint);
    return manifest_work(io, checkpoint->disk, checkpoint->draft, &checkpoint->manifest,
                         MANIFEST_SYNC | MANIFEST_SUM, err);
}

det_status checkpoint_list_part(det_checkpoint *checkpoint, struct err *err)
{
    struct manifest *manifest = &checkpoint->manifest;
    det_status st = check_names(checkpoint, err);

    if (!st)
        st = checkpoint_list(checkpoint, err);
    for (size_t i = 0; !st && i < manifest->files.count; i++) {
        if (strcmp(manifest->files.at[i].path, METADATA_NAME) != 0)
            continue;
        manifest->size_bytes -= manifest->files.at[i].size_bytes;
        vec_remove(&manifest->files, i);
        break;
    }
    return st;
}

static det_status own_size(det_checkpoint *checkpoint, const char *draft,
                           struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct io_stat found;
    det_status st;

    buf_printf(&path, "%s/" MANIFEST_NAME, draft);
    st = path.status ? err_default(err, path.status)
                     : io_stat(checkpoint->context->world.io, path.data, &found, err);
    if (!st)
        checkpoint->own_bytes = found.size_bytes;
    return st;
}

det_status checkpoint_publish(det_checkpoint *checkpoint, const char *draft,
                              struct err *err)
{
    const struct storage *storage = &checkpoint->storage;
    det_status st = DET_OK;

    if (!checkpoint->is_named)
        st = manifest_write(checkpoint->context->world.io, draft, &checkpoint->manifest,
                            err);
    if (!st && !checkpoint->is_named)
        st = own_size(checkpoint, draft, err);
    if (!st && !checkpoint->is_named)
        st = sync_directories(checkpoint, draft, err);
    return st ? st
              : storage->ops->publish(storage, draft, checkpoint->uuid,
                                      &checkpoint->is_named, err);
}

/* The parts of the ranks have no metadata; it joins the list here. */
det_status checkpoint_add_metadata(det_checkpoint *checkpoint, const char *draft,
                                   struct err *err)
{
    struct io *io = checkpoint->context->world.io;
    struct manifest_file file = {.path = METADATA_NAME};
    det_status st = write_metadata(checkpoint, draft, err);

    if (!st && !vec_push(&checkpoint->manifest.files, file))
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = manifest_work(io, NULL, draft, &checkpoint->manifest, MANIFEST_SUM, err);
    if (!st)
        manifest_order(&checkpoint->manifest);
    return st;
}

det_status checkpoint_report(det_checkpoint *checkpoint, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_context *context = checkpoint->context;

    jw_object(&w, NULL);
    jw_str(&w, "uuid", checkpoint->uuid);
    jw_str(&w, "taskId", context->info.task_id);
    jw_str(&w, "allocationId", context->info.allocation_id);
    jw_json(&w, "metadata", checkpoint->metadata);
    manifest_resources(&w, "resources", &checkpoint->manifest, checkpoint->own_bytes);
    jw_time(&w, "reportTime", clock_wall_us(context->world.clock));
    jw_str(&w, "state", "STATE_COMPLETED");
    jw_end_object(&w);
    return json_report_put(context, REPORT_CHECKPOINT, &body, err);
}

/* It is reported, so nothing may fail any more.  If the note cannot be written, other
 * processes start from the checkpoint before. */
void checkpoint_remember(const det_checkpoint *checkpoint)
{
    det_context *context = checkpoint->context;

    lock_take(&context->lock);
    memcpy(context->latest, checkpoint->uuid, UUID_TEXT);
    lock_give(&context->lock);
    (void)latest_checkpoint_write(context, checkpoint->uuid, checkpoint->steps, NULL);
}

det_status checkpoint_seal(det_checkpoint *checkpoint, struct err *err)
{
    det_status st = DET_OK;

    if (!checkpoint->is_named) {
        st = check_names(checkpoint, err);
        if (!st)
            st = write_metadata(checkpoint, checkpoint->draft, err);
        if (!st)
            st = checkpoint_list(checkpoint, err);
    }
    if (!st)
        st = checkpoint_publish(checkpoint, checkpoint->draft, err);
    if (!st)
        st = checkpoint_report(checkpoint, err);
    if (!st)
        checkpoint_remember(checkpoint);
    return st;
}
