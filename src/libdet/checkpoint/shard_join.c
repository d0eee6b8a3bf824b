/* SPDX-License-Identifier: Apache-2.0 */
/* shard_join.c - joins the parts of all ranks in one directory: lists, hashes, moves.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "libdet/checkpoint/shard_impl.h"

enum { STRINGS = 1 << 30, CHUNK = 1 << 20, HASH = 32, HASH_TEXT = 2 * HASH + 1 };

/* One path of one rank. */
struct entry {
    const char *path;
    int rank;
    bool is_directory;
    uint64_t size_bytes;
    uint32_t crc;
};

/* The entries of all ranks, by path and then by rank, so equal paths are neighbours. */
struct entries {
    VEC(struct entry) all;
};

static void entries_done(struct entries *entries)
{
    vec_done(&entries->all);
}

/* ---- lists ----------------------------------------------------------------------- */

static void write_list(struct buf *body, const struct manifest *manifest)
{
    struct json_writer w = JSON_WRITER(body);

    jw_object(&w, NULL);
    jw_array(&w, "directories");
    for (size_t i = 0; i < manifest->directories.count; i++)
        jw_str(&w, NULL, manifest->directories.at[i]);
    jw_end_array(&w);
    jw_array(&w, "files");
    for (size_t i = 0; i < manifest->files.count; i++) {
        const struct manifest_file *file = &manifest->files.at[i];

        jw_object(&w, NULL);
        jw_str(&w, "path", file->path);
        jw_i64(&w, "size", (int64_t)file->size_bytes);
        jw_i64(&w, "crc32c", file->crc);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_end_object(&w);
}

static int by_path(const void *a, const void *b)
{
    const struct entry *one = a;
    const struct entry *other = b;
    int order = strcmp(one->path, other->path);

    return order ? order : one->rank - other->rank;
}

static det_status read_lists(struct json **bodies, int size, struct entries *entries,
                             struct err *err)
{
    bool is_kept = true;

    for (int rank = 0; rank < size; rank++) {
        json_each(item, json_get(bodies[rank], "directories")) {
            struct entry entry = {
                .path = json_str(item, ""), .rank = rank, .is_directory = true};

            is_kept = is_kept && vec_push(&entries->all, entry);
        }
        json_each(item, json_get(bodies[rank], "files")) {
            struct entry entry = {
                .path = json_str(json_get(item, "path"), ""),
                .rank = rank,
                .size_bytes = (uint64_t)json_i64(json_get(item, "size"), 0),
                .crc = (uint32_t)json_i64(json_get(item, "crc32c"), 0),
            };

            is_kept = is_kept && vec_push(&entries->all, entry);
        }
    }
    if (!is_kept)
        return err_default(err, DET_NOMEM);
    if (entries->all.count)
        qsort(entries->all.at, entries->all.count, sizeof(struct entry), by_path);
    return DET_OK;
}

static bool is_first(const struct entries *entries, size_t i)
{
    return !i || strcmp(entries->all.at[i - 1].path, entries->all.at[i].path) != 0;
}

/* Whether another rank has this file too. */
static bool is_double(const struct entries *entries, size_t i)
{
    return !entries->all.at[i].is_directory &&
           (!is_first(entries, i) ||
            (i + 1 < entries->all.count && !is_first(entries, i + 1)));
}

static det_status say_conflict(const struct entry *one, const struct entry *other,
                               struct err *err)
{
    if (one->is_directory != other->is_directory)
        return err_set(err, DET_INVALID,
                       "'%s' is a directory on rank %d and a file on rank %d",
                       one->path, one->is_directory ? one->rank : other->rank,
                       one->is_directory ? other->rank : one->rank);
    return err_set(err, DET_INVALID, "ranks %d and %d save '%s' with different content",
                   one->rank, other->rank, one->path);
}

/* Compares sizes and checksums.  All ranks have the same lists and come to the same
 * result. */
static det_status compare_lists(const struct entries *entries, struct err *err)
{
    const struct entry *first = entries->all.at;

    for (size_t i = 0; i < entries->all.count; i++) {
        const struct entry *entry = &entries->all.at[i];

        if (is_first(entries, i))
            first = entry;
        if (entry->is_directory != first->is_directory ||
            entry->size_bytes != first->size_bytes || entry->crc != first->crc)
            return say_conflict(first, entry, err);
    }
    return DET_OK;
}

/* ---- hashes ---------------------------------------------------------------------- */

static det_status hash_file(struct io *io, const char *path, char ret_text[HASH_TEXT],
                            struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    CLEANUP(mem_freep) char *chunk = mem_alloc(CHUNK);
    crypto_generichash_state state;
    unsigned char hash[HASH];
    uint64_t offset = 0;
    size_t got = 1;
    det_status st =
        chunk ? io_open(io, path, IO_READ, &file, err) : err_default(err, DET_NOMEM);

    crypto_generichash_init(&state, NULL, 0, HASH);
    while (!st && got) {
        st = io_read_at(file, offset, chunk, CHUNK, &got, err);
        if (st)
            break;
        crypto_generichash_update(&state, (const unsigned char *)chunk, got);
        offset += got;
    }
    crypto_generichash_final(&state, hash, HASH);
    hex_encode(ret_text, hash, HASH);
    return st;
}

/* In the order of the paths. */
static det_status write_hashes(det_checkpoint *checkpoint,
                               const struct entries *entries, struct buf *body,
                               struct err *err)
{
    struct json_writer w = JSON_WRITER(body);
    int rank = checkpoint->shard->ranks.rank;
    det_status st = DET_OK;

    jw_array(&w, NULL);
    for (size_t i = 0; i < entries->all.count && !st; i++) {
        CLEANUP(buf_done) struct buf path = BUF_INIT;
        char text[HASH_TEXT];

        if (entries->all.at[i].rank != rank || !is_double(entries, i))
            continue;
        buf_printf(&path, "%s/%s", checkpoint->draft, entries->all.at[i].path);
        st = path.status
                 ? err_default(err, path.status)
                 : hash_file(checkpoint->context->world.io, path.data, text, err);
        if (!st)
            jw_str(&w, NULL, text);
    }
    jw_end_array(&w);
    return st;
}

/* Each rank's hashes come in the order of its doubles. */
static det_status compare_hashes(const struct entries *entries, struct json **bodies,
                                 int size, struct arena *mem, struct err *err)
{
    struct json **next = arena_array(mem, struct json *, (size_t)size);
    const struct entry *first = NULL;
    const char *hash = "";

    if (!next)
        return err_default(err, DET_NOMEM);
    for (int i = 0; i < size; i++)
        next[i] = json_first(bodies[i]);
    for (size_t i = 0; i < entries->all.count; i++) {
        const struct entry *entry = &entries->all.at[i];
        const char *own;

        if (!is_double(entries, i))
            continue;
        own = json_str(next[entry->rank], "");
        if (next[entry->rank])
            next[entry->rank] = next[entry->rank]->next;
        if (is_first(entries, i)) {
            first = entry;
            hash = own;
        } else if (strcmp(hash, own) != 0) {
            return say_conflict(first, entry, err);
        }
    }
    return DET_OK;
}

/* ---- moves ----------------------------------------------------------------------- */

/* Also makes directories of other ranks: those may be late. */
static det_status make_directories(det_checkpoint *checkpoint,
                                   const struct entries *entries, struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < entries->all.count && !st; i++) {
        CLEANUP(buf_done) struct buf path = BUF_INIT;

        if (!entries->all.at[i].is_directory ||
            entries->all.at[i].rank != checkpoint->shard->ranks.rank)
            continue;
        buf_printf(&path, "%s/%s", checkpoint->shard->whole, entries->all.at[i].path);
        st = path.status
                 ? err_default(err, path.status)
                 : io_mkdir(checkpoint->context->world.io, path.data, false, err);
    }
    return st;
}

static det_status move_own(det_checkpoint *checkpoint, const struct entries *entries,
                           struct err *err)
{
    const struct storage *storage = &checkpoint->storage;
    const struct shard *shard = checkpoint->shard;
    det_status st = DET_OK;

    for (size_t i = 0; i < entries->all.count && !st; i++) {
        const struct entry *entry = &entries->all.at[i];

        if (entry->rank == shard->ranks.rank && !entry->is_directory &&
            is_first(entries, i))
            st = storage->ops->join(storage, checkpoint->draft, shard->whole,
                                    entry->path, err);
    }
    return st;
}

/* On rank 0: lists the files of all ranks, with the checksums that each rank computed.
 */
static det_status list_all(det_checkpoint *checkpoint, const struct entries *entries,
                           struct err *err)
{
    struct manifest *manifest = &checkpoint->manifest;
    bool is_kept = true;

    manifest_done(manifest);
    *manifest = (struct manifest){0};
    for (size_t i = 0; i < entries->all.count && is_kept; i++) {
        const struct entry *entry = &entries->all.at[i];
        const char *path = arena_strdup(&checkpoint->mem, entry->path);
        struct manifest_file file = {.path = path,
                                     .size_bytes = entry->size_bytes,
                                     .crc = entry->crc,
                                     .has_crc = true};

        if (!is_first(entries, i))
            continue;
        is_kept = path && (entry->is_directory ? vec_push(&manifest->directories, path)
                                               : vec_push(&manifest->files, file));
        manifest->size_bytes += entry->size_bytes;
    }
    return is_kept ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- all three meetings ---------------------------------------------------------- */

/* Whether to take part in the next meeting: nothing failed, or this rank must say that
 * it missed something. */
static bool goes_on(const struct shard *shard, det_status status)
{
    return !status || shard->owes;
}

static det_status meet_lists(det_checkpoint *checkpoint, det_status status,
                             const struct err *said, struct arena *mem,
                             struct entries *entries, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct shard *shard = checkpoint->shard;
    struct json **bodies;
    det_status st;

    if (!status)
        write_list(&body, &checkpoint->manifest);
    st = shard_meet(shard, status, said, &body, mem, &bodies, err);
    if (!st) {
        st = read_lists(bodies, shard->ranks.size, entries, err);
        shard->owes = st == DET_NOMEM;
    }
    return st ? st : compare_lists(entries, err);
}

static det_status meet_hashes(det_checkpoint *checkpoint, det_status status,
                              struct arena *mem, const struct entries *entries,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct shard *shard = checkpoint->shard;
    struct json **bodies;
    CONTEXT_ERR(own);
    det_status st = status;

    if (!st)
        st = write_hashes(checkpoint, entries, &body, &own);
    st = shard_meet(shard, st, &own, &body, mem, &bodies, err);
    if (!st) {
        st = compare_hashes(entries, bodies, shard->ranks.size, mem, err);
        shard->owes = st == DET_NOMEM;
    }
    return st;
}

static det_status meet_moves(det_checkpoint *checkpoint, det_status status,
                             struct arena *mem, const struct entries *entries,
                             struct err *err)
{
    struct shard *shard = checkpoint->shard;
    CONTEXT_ERR(own);
    det_status st = status;

    if (!st)
        st = make_directories(checkpoint, entries, &own);
    if (!st)
        st = move_own(checkpoint, entries, &own);
    if (!st && !shard->ranks.rank)
        st = list_all(checkpoint, entries, &own);
    return shard_meet(shard, st, &own, NULL, mem, NULL, err);
}

det_status shard_join(det_checkpoint *checkpoint, det_status status,
                      const struct err *said, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    CLEANUP(entries_done) struct entries entries = {0};
    struct shard *shard = checkpoint->shard;
    det_status st;

    shard->has_met = true;
    st = meet_lists(checkpoint, status, said, &mem, &entries, err);
    if (goes_on(shard, st))
        st = meet_hashes(checkpoint, st, &mem, &entries, err);
    if (goes_on(shard, st))
        st = meet_moves(checkpoint, st, &mem, &entries, err);
    /* A rank that only missed that all have moved continues. */
    return shard->owes ? DET_OK : st;
}
