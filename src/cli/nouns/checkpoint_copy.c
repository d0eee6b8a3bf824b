/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nouns/checkpoint_copy.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/crc32c.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/checkpoint/manifest.h"

enum { CHUNK = 1 << 20, DEPTH_MOST = 64 };

/* What the list and the manifest say about a file. */
struct wanted {
    const char *path;
    int64_t size; /* -1: unknown */
    uint32_t crc;
    bool has_crc;
    bool was_seen;
};

struct copy {
    struct io *io;
    struct arena *mem;
    struct map wanted; /* path -> struct wanted */
    bool only_checks;  /* nothing is written */
    struct checkpoint_copy_result result;
};

/* ---- expected files -------------------------------------------------------------- */

static det_status want_file(struct copy *copy, const char *path, int64_t size,
                            struct wanted **ret_wanted, struct err *err)
{
    struct wanted *wanted = smap_get(&copy->wanted, path);

    if (!path_is_inside(path))
        return err_set(err, DET_CORRUPT, "the path '%s' leads out of the checkpoint",
                       path);
    if (!wanted) {
        wanted = arena_new(copy->mem, struct wanted);
        path = arena_strdup(copy->mem, path);
        if (!wanted || !path || !smap_put(&copy->wanted, path, wanted))
            return err_default(err, DET_NOMEM);
        wanted->path = path;
    }
    wanted->size = size;
    *ret_wanted = wanted;
    return DET_OK;
}

static det_status want_resources(struct copy *copy, const struct json *resources,
                                 struct err *err)
{
    struct wanted *ignored;
    det_status st = DET_OK;

    json_each(item, resources) {
        size_t len = strlen(item->key);

        if (len && item->key[len - 1] == '/')
            continue; /* a directory */
        st = want_file(copy, item->key, json_i64(item, -1), &ignored, err);
        if (st)
            break;
    }
    return st;
}

static det_status want_manifest(struct copy *copy, const char *from, struct err *err)
{
    CLEANUP(manifest_done) struct manifest manifest = {0};
    det_status st = manifest_read(copy->io, from, copy->mem, &manifest, err);

    if (st == DET_NOT_FOUND)
        return DET_OK;
    copy->result.has_manifest = !st;
    for (size_t i = 0; !st && i < manifest.files.count; i++) {
        const struct manifest_file *file = &manifest.files.at[i];
        struct wanted *wanted;

        st = want_file(copy, file->path, (int64_t)file->size_bytes, &wanted, err);
        if (!st) {
            wanted->crc = file->crc;
            wanted->has_crc = file->has_crc;
        }
    }
    return st;
}

/* ---- copying --------------------------------------------------------------------- */

static det_status copy_bytes(struct io_file *from, struct io_file *to,
                             uint64_t *ret_size, uint32_t *ret_crc, struct err *err)
{
    CLEANUP(mem_freep) char *chunk = mem_alloc(CHUNK);
    uint32_t crc = 0;
    uint64_t offset = 0;
    size_t got = 1;
    det_status st = chunk ? DET_OK : err_default(err, DET_NOMEM);

    while (!st && got) {
        st = io_read_at(from, offset, chunk, CHUNK, &got, err);
        if (!st && got && to)
            st = io_write_at(to, offset, chunk, got, err);
        if (!st)
            crc = crc32c(crc, chunk, got);
        offset += st ? 0 : got;
    }
    *ret_size = offset;
    *ret_crc = crc;
    return st;
}

static det_status compare_file(struct copy *copy, const char *name, uint64_t size,
                               uint32_t crc, struct err *err)
{
    struct wanted *wanted = smap_get(&copy->wanted, name);

    if (!wanted)
        return DET_OK;
    wanted->was_seen = true;
    if (wanted->size >= 0 && (uint64_t)wanted->size != size)
        return err_set(err, DET_CORRUPT,
                       "the file '%s' of the checkpoint has %" PRIu64
                       " bytes, not %" PRId64,
                       name, size, wanted->size);
    if (wanted->has_crc && wanted->crc != crc)
        return err_set(err, DET_CORRUPT,
                       "the file '%s' of the checkpoint is damaged: its checksum is "
                       "%08" PRIx32 ", not %08" PRIx32,
                       name, crc, wanted->crc);
    return DET_OK;
}

static det_status copy_file(struct copy *copy, const char *from, const char *to,
                            const char *name, struct err *err)
{
    CLEANUP(io_closep) struct io_file *in = NULL;
    CLEANUP(io_closep) struct io_file *out = NULL;
    uint64_t size = 0;
    uint32_t crc = 0;
    det_status st = io_open(copy->io, from, IO_READ, &in, err);

    if (!st && !copy->only_checks)
        st = io_open(copy->io, to, IO_WRITE | IO_CREATE | IO_EXCLUSIVE, &out, err);
    if (!st)
        st = copy_bytes(in, out, &size, &crc, err);
    if (!st)
        st = compare_file(copy, name, size, crc, err);
    copy->result.files++;
    copy->result.size_bytes += size;
    return st;
}

static det_status copy_folder(struct copy *copy, const char *from, const char *to,
                              const char *below, int depth, struct err *err);

static det_status copy_entry(struct copy *copy, const char *from, const char *to,
                             const char *name, int depth, struct err *err)
{
    struct io_stat stat;
    det_status st = io_stat(copy->io, from, &stat, err);

    if (st)
        return st;
    if (stat.kind == IO_FILE)
        return copy_file(copy, from, to, name, err);
    if (stat.kind != IO_DIRECTORY || !depth)
        return err_set(err, DET_CORRUPT, "'%s' is neither a file nor a directory",
                       from);
    if (!copy->only_checks)
        st = io_mkdir(copy->io, to, false, err);
    return st ? st : copy_folder(copy, from, to, name, depth - 1, err);
}

static det_status copy_folder(struct copy *copy, const char *from, const char *to,
                              const char *below, int depth, struct err *err)
{
    const char **names;
    det_status st = io_list(copy->io, from, copy->mem, &names, err);

    for (size_t i = 0; !st && names[i]; i++) {
        const char *source = arena_printf(copy->mem, "%s/%s", from, names[i]);
        const char *target = arena_printf(copy->mem, "%s/%s", to, names[i]);
        const char *name =
            arena_printf(copy->mem, "%s%s%s", below, *below ? "/" : "", names[i]);

        st = source && target && name
                 ? copy_entry(copy, source, target, name, depth, err)
                 : err_default(err, DET_NOMEM);
    }
    return st;
}

/* Names the first one by path: the order of the map is random. */
static det_status check_missing(struct copy *copy, struct err *err)
{
    const struct wanted *first = NULL;
    const struct wanted *wanted;
    size_t count = 0;

    for (size_t i = 0; (wanted = map_next(&copy->wanted, &i));) {
        if (wanted->was_seen)
            continue;
        count++;
        if (!first || strcmp(wanted->path, first->path) < 0)
            first = wanted;
    }
    if (!first)
        return DET_OK;
    if (count > 1)
        return err_set(err, DET_CORRUPT,
                       "the file '%s' of the checkpoint is missing, and %zu more",
                       first->path, count - 1);
    return err_set(err, DET_CORRUPT, "the file '%s' of the checkpoint is missing",
                   first->path);
}

det_status checkpoint_copy(struct io *io, const char *from, const char *to,
                           const struct json *resources, struct arena *mem,
                           struct checkpoint_copy_result *ret_result, struct err *err)
{
    struct copy copy = {.io = io, .mem = mem, .only_checks = !to};
    det_status st = want_resources(&copy, resources, err);

    if (!st)
        st = want_manifest(&copy, from, err);
    if (!st)
        st = copy_folder(&copy, from, to ? to : from, "", DEPTH_MOST, err);
    if (!st)
        st = check_missing(&copy, err);
    map_done(&copy.wanted);
    if (!st)
        *ret_result = copy.result;
    return st;
}
