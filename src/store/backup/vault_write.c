/* SPDX-License-Identifier: Apache-2.0 */
/* vault_write.c - writing packs.
 *
 * Whole pieces go past the kernel's cache, where it can do that: a backup as large as the
 * memory would push the master's pages out of it, and copying into it costs more of a
 * processor than everything else here. */
#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/memory/buf.h"
#include "store/backup/vault_impl.h"

static det_status begin_pack(struct vault *vault, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    vec_clear(&vault->fresh);
    vault->out_len = vault->piece_len = 0;
    vault_pack_path(vault, ++vault->last_pack, ".part", &path);
    st = path.status ? err_default(err, path.status)
                     : io_open(vault->io, path.data,
                               IO_WRITE | IO_CREATE | IO_TRUNCATE | IO_PRIVATE,
                               &vault->out, err);
    if (!st)
        (void)io_direct(vault->out, true);
    return st;
}

static det_status write_piece(struct vault *vault, struct err *err)
{
    uint64_t at = vault->out_len - vault->piece_len;
    size_t len = vault->piece_len;

    vault->piece_len = 0;
    return io_write_at(vault->out, at, vault->piece, len, err);
}

static det_status append_bytes(struct vault *vault, const void *bytes, size_t len,
                               struct err *err)
{
    const unsigned char *from = bytes;
    det_status st = DET_OK;

    while (len && !st) {
        size_t part = MIN(len, PIECE_BYTES - vault->piece_len);

        memcpy(vault->piece + vault->piece_len, from, part);
        vault->piece_len += part;
        vault->out_len += part;
        from += part;
        len -= part;
        if (vault->piece_len == PIECE_BYTES)
            st = write_piece(vault, err);
    }
    return st;
}

/* The rest of the last piece has any length. */
static det_status end_pieces(struct vault *vault, struct err *err)
{
    det_status st;

    (void)io_direct(vault->out, false);
    st = vault->piece_len ? write_piece(vault, err) : DET_OK;
    return st ? st : io_sync(vault->out, err);
}

static void write_index(const struct vault *vault, struct buf *out)
{
    unsigned char sum[SHA256_BYTES];

    for (size_t i = 0; i < vault->fresh.count; i++) {
        const struct chunk *chunk = vault->fresh.at[i];

        buf_add(out, chunk->sum, SHA256_BYTES);
        buf_put_u64(out, chunk->offset);
        buf_put_u32(out, chunk->len);
        buf_put_u32(out, chunk->crc);
    }
    vault->sha256(out->data, out->len, sum);
    buf_add(out, PACK_MAGIC, 8);
    buf_put_u64(out, vault->fresh.count);
    buf_put_u64(out, vault->out_len);
    buf_add(out, sum, SHA256_BYTES);
}

static det_status not_as_written(const struct vault *vault, struct err *err)
{
    return err_set(err, DET_IO,
                   "the disk of '%s' does not return what was written: check the disk, "
                   "and back up to another one",
                   vault->path);
}

/* Where reading back is in the list of chunks. */
struct reading {
    size_t nth;
    uint32_t len; /* bytes of the chunk that were seen */
    uint32_t crc; /* of these */
};

static bool compare_piece(const struct vault *vault, struct reading *reading,
                          size_t len)
{
    for (size_t at = 0; at < len && reading->nth < vault->fresh.count;) {
        const struct chunk *chunk = vault->fresh.at[reading->nth];
        size_t part = MIN(len - at, (size_t)(chunk->len - reading->len));

        reading->crc = crc32c(reading->crc, vault->piece + at, part);
        reading->len += (uint32_t)part;
        at += part;
        if (reading->len < chunk->len)
            continue;
        if (reading->crc != chunk->crc)
            return false;
        *reading = (struct reading){.nth = reading->nth + 1};
    }
    return true;
}

/* From the disk where possible, not from the cache. */
static det_status read_back(struct vault *vault, struct err *err)
{
    struct reading reading = {0};
    uint64_t whole = vault->out_len / IO_DIRECT_BYTES * IO_DIRECT_BYTES;
    uint64_t at = 0;
    det_status st = DET_OK;

    (void)io_direct(vault->out, true);
    while (at < vault->out_len && !st) {
        uint64_t end = at < whole ? whole : vault->out_len;
        size_t got = 0;

        if (at == whole)
            (void)io_direct(vault->out, false);
        st = io_read_at(vault->out, at, vault->piece,
                        (size_t)MIN(end - at, (uint64_t)PIECE_BYTES), &got, err);
        if (!st && (!got || !compare_piece(vault, &reading, got)))
            st = not_as_written(vault, err);
        at += got;
    }
    if (!st && reading.nth < vault->fresh.count)
        st = not_as_written(vault, err);
    return st;
}

static det_status name_pack(struct vault *vault, struct err *err)
{
    CLEANUP(buf_done) struct buf part = BUF_INIT;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct pack pack = {.number = vault->last_pack, .size_bytes = vault->out_len};
    det_status st;

    vault_pack_path(vault, vault->last_pack, ".part", &part);
    vault_pack_path(vault, vault->last_pack, ".pack", &path);
    if (part.status || path.status || !vec_push(&vault->packs, pack))
        return err_default(err, DET_NOMEM);
    st = io_rename(vault->io, part.data, path.data, err);
    buf_clear(&path);
    buf_printf(&path, "%s/packs", vault->path);
    return st ? st : io_sync_dir(vault->io, path.data, err);
}

det_status vault_flush(struct vault *vault, struct err *err)
{
    CLEANUP(buf_done) struct buf index = BUF_INIT;
    det_status st;

    if (!vault->out)
        return DET_OK;
    write_index(vault, &index);
    if (index.status)
        return err_default(err, index.status);
    st = append_bytes(vault, index.data, index.len, err);
    if (!st)
        st = end_pieces(vault, err);
    if (!st)
        st = read_back(vault, err);
    if (!st)
        st = name_pack(vault, err);
    io_close(vault->out);
    vault->out = NULL;
    vault->written += vault->out_len;
    return st;
}

det_status vault_append(struct vault *vault, const void *bytes, struct chunk *chunk,
                        struct err *err)
{
    det_status st = DET_OK;

    if (vault->out && vault->out_len + chunk->len > PACK_BYTES)
        st = vault_flush(vault, err);
    if (!st && !vault->out)
        st = begin_pack(vault, err);
    if (st)
        return st;
    if (!vec_push(&vault->fresh, chunk))
        return err_default(err, DET_NOMEM);
    chunk->pack = vault->last_pack;
    chunk->offset = vault->out_len;
    return append_bytes(vault, bytes, chunk->len, err);
}

det_status vault_put(struct vault *vault, const void *bytes, size_t len,
                     unsigned char sum[SHA256_BYTES], struct err *err)
{
    struct chunk *chunk;
    det_status st;

    vault->sha256(bytes, len, sum);
    if (vault_find(vault, sum))
        return DET_OK;
    chunk = arena_new(&vault->mem, struct chunk);
    if (!chunk)
        return err_default(err, DET_NOMEM);
    memcpy(chunk->sum, sum, SHA256_BYTES);
    chunk->len = (uint32_t)len;
    chunk->crc = crc32c(0, bytes, len);
    st = vault_append(vault, bytes, chunk, err);
    if (!st)
        tree_add(&vault->chunks, &chunk->node);
    return st;
}
