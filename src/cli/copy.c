/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/map.h"
#include "base/mem.h"
#include "data/json.h"
#include "data/text.h"

enum { CHUNK = 1 << 20, DEPTH_MOST = 64, MANIFEST_MOST = 256 << 20 };

/* What is known of a file before it is copied. */
struct wanted {
    int64_t size; /* -1: unknown */
    const char *crc;
    bool was_seen;
};

struct copy {
    struct io *io;
    struct arena *mem;
    struct map wanted; /* path -> struct wanted */
    uint32_t crc_table[256];
    struct copy_result result;
};

/* ---- checksums ------------------------------------------------------------------- */

/* CRC-32C, a byte at a time: the disk is the slower part. */
static void make_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
        table[i] = crc;
    }
}

static uint32_t add_bytes(const uint32_t table[256], uint32_t crc, const char *bytes,
                          size_t len)
{
    for (size_t i = 0; i < len; i++)
        crc = crc >> 8 ^ table[(crc ^ (unsigned char)bytes[i]) & 0xff];
    return crc;
}

/* ---- what there must be ---------------------------------------------------------- */

static det_status want(struct copy *copy, const char *path, int64_t size,
                       const char *crc, struct err *err)
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
    }
    wanted->size = size;
    if (crc)
        wanted->crc = crc;
    return DET_OK;
}

static det_status want_resources(struct copy *copy, const struct json *resources,
                                 struct err *err)
{
    det_status st = DET_OK;

    json_each(item, resources) {
        size_t len = strlen(item->key);

        if (len && item->key[len - 1] == '/')
            continue; /* a directory */
        st = want(copy, item->key, json_i64(item, -1), NULL, err);
        if (st)
            break;
    }
    return st;
}

static det_status want_manifest(struct copy *copy, const char *from, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(MANIFEST_MOST);
    const char *path = arena_printf(copy->mem, "%s/" COPY_MANIFEST, from);
    struct json *manifest = NULL;
    det_status st =
        path ? io_read_file(copy->io, path, &text, err) : err_default(err, DET_NOMEM);

    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (!st)
        st = json_parse(text.data, text.len, copy->mem, &manifest, err);
    if (st && st != DET_NOMEM)
        return err_set(err, DET_CORRUPT, "the checkpoint's manifest '%s' is damaged",
                       path);
    copy->result.has_manifest = true;
    json_each(item, json_get(manifest, "files")) {
        if (!st)
            st = want(copy, json_str(json_get(item, "path"), ""),
                      json_i64(json_get(item, "size"), -1),
                      json_str(json_get(item, "crc32c"), NULL), err);
    }
    return st;
}

/* ---- copying --------------------------------------------------------------------- */

static det_status copy_bytes(struct copy *copy, struct io_file *from,
                             struct io_file *to, uint64_t *ret_size, uint32_t *ret_crc,
                             struct err *err)
{
    CLEANUP(mem_freep) char *chunk = mem_alloc(CHUNK);
    uint32_t crc = ~0u;
    uint64_t offset = 0;
    size_t got = 1;
    det_status st = chunk ? DET_OK : err_default(err, DET_NOMEM);

    while (!st && got) {
        st = io_read_at(from, offset, chunk, CHUNK, &got, err);
        if (!st && got)
            st = io_write_at(to, offset, chunk, got, err);
        if (!st)
            crc = add_bytes(copy->crc_table, crc, chunk, got);
        offset += st ? 0 : got;
    }
    *ret_size = offset;
    *ret_crc = ~crc;
    return st;
}

static det_status compare(struct copy *copy, const char *name, uint64_t size,
                          uint32_t crc, struct err *err)
{
    struct wanted *wanted = smap_get(&copy->wanted, name);
    char text[16];

    if (!wanted)
        return DET_OK;
    wanted->was_seen = true;
    snprintf(text, sizeof(text), "%08" PRIx32, crc);
    if (wanted->size >= 0 && (uint64_t)wanted->size != size)
        return err_set(err, DET_CORRUPT,
                       "the file '%s' of the checkpoint has %" PRIu64
                       " bytes, not %" PRId64,
                       name, size, wanted->size);
    if (wanted->crc && strcmp(wanted->crc, text))
        return err_set(
            err, DET_CORRUPT,
            "the file '%s' of the checkpoint is damaged: its checksum is %s, "
            "not %s",
            name, text, wanted->crc);
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

    if (!st)
        st = io_open(copy->io, to, IO_WRITE | IO_CREATE | IO_EXCLUSIVE, &out, err);
    if (!st)
        st = copy_bytes(copy, in, out, &size, &crc, err);
    if (!st)
        st = compare(copy, name, size, crc, err);
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
        return err_set(err, DET_CORRUPT,
                       "'%s' is neither a file nor a directory: it is not copied",
                       from);
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

static det_status check_missing(struct copy *copy, struct err *err)
{
    struct wanted *wanted;

    for (size_t i = 0; (wanted = map_next(&copy->wanted, &i));)
        if (!wanted->was_seen)
            return err_set(err, DET_CORRUPT,
                           "a file of the checkpoint is missing: it lists %zu, and "
                           "%" PRId64 " are there",
                           copy->wanted.count, copy->result.files);
    return DET_OK;
}

det_status copy_checkpoint(struct io *io, const char *from, const char *to,
                           const struct json *resources, struct arena *mem,
                           struct copy_result *ret_result, struct err *err)
{
    struct copy copy = {.io = io, .mem = mem};
    det_status st;

    make_table(copy.crc_table);
    st = want_resources(&copy, resources, err);
    if (!st)
        st = want_manifest(&copy, from, err);
    if (!st)
        st = copy_folder(&copy, from, to, "", DEPTH_MOST, err);
    if (!st)
        st = check_missing(&copy, err);
    map_done(&copy.wanted);
    if (!st)
        *ret_result = copy.result;
    return st;
}
