/* SPDX-License-Identifier: Apache-2.0 */
/* record_file.c - reads a file of records.  Trusts nothing in the file: every offset is
 * checked before it is followed. */
#include "libdet/data/record_file.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/mem.h"
#include "libdet/data/batch_room.h"
#include "libdet/data/dataset.h"

enum {
    LINE_BYTES = 64,
    ASKED_BYTES = 4096, /* of a record ahead; the processor predicts the rest */
};

struct record_file {
    det_dataset base;
    struct io_map map;
    char *path;
    uint64_t directory; /* its offset; records and blocks end there */
};

struct entry {
    uint64_t offset;
    uint64_t len;
    uint32_t crc;
};

static det_status record_damaged(const struct record_file *file, int64_t index,
                                 struct err *err)
{
    return err_set(err, DET_CORRUPT, "record %" PRId64 " of '%s' is damaged", index,
                   file->path);
}

/* ---- opening --------------------------------------------------------------------- */

static det_status check_header(struct record_file *file, const unsigned char *header,
                               uint64_t size, struct err *err)
{
    uint64_t count, blocks, whole;

    if (memcmp(header, RECORD_FILE_MAGIC, strlen(RECORD_FILE_MAGIC)) != 0)
        return err_set(err, DET_CORRUPT, "'%s' is not a file of records", file->path);
    if (crc32c(0, header, RECORD_FILE_CRC_AT) !=
        record_file_get(header + RECORD_FILE_CRC_AT, 4))
        return err_set(err, DET_CORRUPT, "the header of '%s' is damaged", file->path);
    if (record_file_get(header + 8, 4) != RECORD_FILE_VERSION ||
        record_file_get(header + 12, 4) != RECORD_FILE_BLOCK)
        return err_set(err, DET_UNSUPPORTED,
                       "'%s' was written by a newer det (its format is %" PRIu64
                       ", this one reads %d): use a newer det",
                       file->path, record_file_get(header + 8, 4), RECORD_FILE_VERSION);
    count = record_file_get(header + 16, 8);
    file->directory = record_file_get(header + 24, 8);
    whole = record_file_get(header + 32, 8);
    if (size != whole)
        return err_set(err, DET_CORRUPT,
                       "'%s' has %" PRIu64 " bytes, but was written with %" PRIu64,
                       file->path, size, whole);
    blocks = count / RECORD_FILE_BLOCK + (count % RECORD_FILE_BLOCK != 0);
    if (count > whole / RECORD_FILE_ENTRY || file->directory < RECORD_FILE_HEADER ||
        file->directory > whole || whole - file->directory != blocks * 8)
        return err_set(err, DET_CORRUPT, "the header of '%s' is invalid", file->path);
    file->base.items = (int64_t)count;
    return DET_OK;
}

static det_status map_records(struct record_file *file, struct io *io, struct err *err)
{
    CLEANUP(io_closep) struct io_file *opened = NULL;
    uint64_t size;
    det_status st = io_open(io, file->path, IO_READ, &opened, err);

    if (!st)
        st = io_size(opened, &size, err);
    if (st)
        return st;
    if (size < RECORD_FILE_HEADER || size > SIZE_MAX)
        return err_set(err, DET_CORRUPT,
                       "'%s' is not a file of records: it has %" PRIu64 " bytes",
                       file->path, size);
    st = io_map_read(opened, (size_t)size, &file->map, err);
    return st ? st : check_header(file, file->map.data, size, err);
}

/* ---- reading --------------------------------------------------------------------- */

static bool is_within(const struct record_file *file, uint64_t offset, uint64_t len)
{
    return offset >= RECORD_FILE_HEADER && offset <= file->directory &&
           len <= file->directory - offset;
}

static det_status find_entry(const struct record_file *file, int64_t index,
                             struct entry *ret_entry, struct err *err)
{
    const unsigned char *data = file->map.data;
    uint64_t number = (uint64_t)index;
    uint64_t block =
        record_file_get(data + file->directory + number / RECORD_FILE_BLOCK * 8, 8);
    uint64_t at = number % RECORD_FILE_BLOCK * RECORD_FILE_ENTRY;
    struct entry entry;

    if (!is_within(file, block, at + RECORD_FILE_ENTRY))
        return record_damaged(file, index, err);
    data += block + at;
    entry.offset = record_file_get(data, 8);
    entry.len = record_file_get(data + 8, 4);
    entry.crc = (uint32_t)record_file_get(data + 12, 4);
    if (!is_within(file, entry.offset, record_file_padded(entry.len)))
        return record_damaged(file, index, err);
    *ret_entry = entry;
    return DET_OK;
}

static det_status check_entry(const struct record_file *file, int64_t index,
                              const struct entry *entry, struct err *err)
{
    uint32_t crc = record_file_seed((uint64_t)index, entry->offset, entry->len);

    crc = crc32c(crc, file->map.data + entry->offset,
                 (size_t)record_file_padded(entry->len));
    return crc == entry->crc ? DET_OK : record_damaged(file, index, err);
}

/* Reads the lengths first, to allocate enough memory for the bytes. */
static det_status records_fill(const det_dataset *dataset, struct batch_room *room,
                               struct err *err)
{
    const struct record_file *file = CONTAINER_OF(dataset, struct record_file, base);
    size_t *offsets = room->rooms[0].offsets;
    size_t count = (size_t)room->batch.count;
    struct entry entry;
    unsigned char *to;
    det_status st;

    offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        st = find_entry(file, room->indices[i], &entry, err);
        if (st)
            return st;
        __builtin_prefetch(file->map.data + entry.offset);
        offsets[i + 1] = offsets[i] + (size_t)entry.len;
    }
    st = batch_room_take(room, 0, offsets[count], &to, err);
    for (size_t i = 0; !st && i < count; i++) {
        st = find_entry(file, room->indices[i], &entry, err);
        if (!st)
            st = check_entry(file, room->indices[i], &entry, err);
        /* Another program may change the file meanwhile; that must not corrupt our
         * memory. */
        if (!st && entry.len != offsets[i + 1] - offsets[i])
            st = record_damaged(file, room->indices[i], err);
        if (!st)
            memcpy(to + offsets[i], file->map.data + entry.offset, (size_t)entry.len);
    }
    return st;
}

/* Prefetches in two steps, because finding a record takes two: first the block entry,
 * later the record. */
void record_file_prefetch(const det_dataset *dataset, int64_t soon, int64_t next)
{
    const struct record_file *file = CONTAINER_OF(dataset, struct record_file, base);
    const unsigned char *data = file->map.data;
    struct entry entry;

    if (soon >= 0 && soon < dataset->items) {
        uint64_t number = (uint64_t)soon;
        uint64_t block =
            record_file_get(data + file->directory + number / RECORD_FILE_BLOCK * 8, 8);

        if (is_within(file, block, 0)) /* a prefetch from beyond the end is ignored */
            __builtin_prefetch(data + block +
                               number % RECORD_FILE_BLOCK * RECORD_FILE_ENTRY);
    }
    if (next < 0 || next >= dataset->items || find_entry(file, next, &entry, NULL))
        return;
    for (uint64_t at = 0; at < MIN(entry.len, (uint64_t)ASKED_BYTES); at += LINE_BYTES)
        __builtin_prefetch(data + entry.offset + at);
}

static void records_free(det_dataset *dataset)
{
    struct record_file *file = CONTAINER_OF(dataset, struct record_file, base);

    io_unmap(&file->map);
    dataset_done(dataset);
    mem_free(file->path);
    mem_free(file);
}

static const struct dataset_ops records_ops = {records_fill, records_free};

/* ---- public functions ------------------------------------------------------------ */

det_status record_file_open(struct io *io, const char *path, det_dataset **ret_dataset,
                            struct err *err)
{
    const det_column column = {"record", NULL, 0};
    struct record_file *file = mem_new(struct record_file);
    det_status st;

    if (!file)
        return err_default(err, DET_NOMEM);
    st = dataset_init(&file->base, &records_ops, &column, 1, err);
    file->path = mem_strdup(path);
    if (!st && !file->path)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = map_records(file, io, err);
    if (st) {
        records_free(&file->base);
        return st;
    }
    *ret_dataset = &file->base;
    return DET_OK;
}

det_status det_dataset_records(const char *path, det_dataset **ret_dataset, char *error,
                               size_t error_size)
{
    struct err err = {0};
    det_status st = record_file_open(io_system(), path, ret_dataset, &err);

    return st ? data_fail(&err, error, error_size) : DET_OK;
}

static det_status record_at(const det_dataset *dataset, int64_t index,
                            struct entry *ret_entry, struct err *err)
{
    const struct record_file *file = CONTAINER_OF(dataset, struct record_file, base);
    det_status st;

    if (dataset->ops != &records_ops)
        return err_set(err, DET_INVALID, "this data set is not a file of records");
    if (index < 0 || index >= dataset->items)
        return err_set(err, DET_INVALID,
                       "there is no record %" PRId64 " in '%s', which has %" PRId64,
                       index, file->path, dataset->items);
    st = find_entry(file, index, ret_entry, err);
    return st ? st : check_entry(file, index, ret_entry, err);
}

det_status det_dataset_record(const det_dataset *dataset, int64_t index,
                              const void **ret_bytes, size_t *ret_len, char *error,
                              size_t error_size)
{
    struct err err;
    struct entry entry;
    det_status st;

    err.status =
        DET_OK; /* not cleared as a whole: that would cost more than reading a record */
    err.text[0] = '\0';
    st = record_at(dataset, index, &entry, &err);
    if (st)
        return data_fail(&err, error, error_size);
    *ret_bytes =
        CONTAINER_OF(dataset, struct record_file, base)->map.data + entry.offset;
    *ret_len = (size_t)entry.len;
    return DET_OK;
}
