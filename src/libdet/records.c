/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - reading a file of records.  Nothing in the file is believed: every offset
 * is compared with where it may point before it is followed. */
#include "libdet/records.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/io.h"
#include "base/mem.h"
#include "libdet/dataset.h"

enum {
    LINE_BYTES = 64,
    ASKED_BYTES = 4096, /* of a record ahead; what follows the processor guesses */
};

struct records {
    det_dataset base;
    struct io_map map;
    char *path;
    uint64_t directory; /* where it is, and so where records and blocks end */
};

struct entry {
    uint64_t offset;
    uint64_t len;
    uint32_t crc;
};

static det_status damaged(const struct records *file, int64_t index, struct err *err)
{
    return err_set(err, DET_CORRUPT, "record %" PRId64 " of '%s' is damaged", index,
                   file->path);
}

/* ---- opened ---------------------------------------------------------------------- */

static det_status check_header(struct records *file, const unsigned char *header,
                               uint64_t size, struct err *err)
{
    uint64_t count, blocks, whole;

    if (memcmp(header, RECORDS_MAGIC, strlen(RECORDS_MAGIC)) != 0)
        return err_set(err, DET_CORRUPT, "'%s' is no file of records", file->path);
    if (crc32c(0, header, RECORDS_CRC_AT) != records_get(header + RECORDS_CRC_AT, 4))
        return err_set(err, DET_CORRUPT, "the header of '%s' is damaged", file->path);
    if (records_get(header + 8, 4) != RECORDS_VERSION ||
        records_get(header + 12, 4) != RECORDS_BLOCK)
        return err_set(
            err, DET_UNSUPPORTED,
            "'%s' was written by a newer version, which this one cannot read",
            file->path);
    count = records_get(header + 16, 8);
    file->directory = records_get(header + 24, 8);
    whole = records_get(header + 32, 8);
    if (size != whole)
        return err_set(err, DET_CORRUPT,
                       "'%s' has %" PRIu64 " bytes, but was written with %" PRIu64,
                       file->path, size, whole);
    blocks = count / RECORDS_BLOCK + (count % RECORDS_BLOCK != 0);
    if (count > whole / RECORDS_ENTRY || file->directory < RECORDS_HEADER ||
        file->directory > whole || whole - file->directory != blocks * 8)
        return err_set(err, DET_CORRUPT, "the header of '%s' makes no sense",
                       file->path);
    file->base.items = (int64_t)count;
    return DET_OK;
}

static det_status map_records(struct records *file, struct io *io, struct err *err)
{
    CLEANUP(io_closep) struct io_file *opened = NULL;
    uint64_t size;
    det_status st = io_open(io, file->path, IO_READ, &opened, err);

    if (!st)
        st = io_size(opened, &size, err);
    if (st)
        return st;
    if (size < RECORDS_HEADER || size > SIZE_MAX)
        return err_set(err, DET_CORRUPT,
                       "'%s' is no file of records: it has %" PRIu64 " bytes",
                       file->path, size);
    st = io_map_read(opened, (size_t)size, &file->map, err);
    return st ? st : check_header(file, file->map.data, size, err);
}

/* ---- read ------------------------------------------------------------------------ */

static bool is_within(const struct records *file, uint64_t offset, uint64_t len)
{
    return offset >= RECORDS_HEADER && offset <= file->directory &&
           len <= file->directory - offset;
}

static det_status find_entry(const struct records *file, int64_t index,
                             struct entry *ret_entry, struct err *err)
{
    const unsigned char *data = file->map.data;
    uint64_t number = (uint64_t)index;
    uint64_t block =
        records_get(data + file->directory + number / RECORDS_BLOCK * 8, 8);
    uint64_t at = number % RECORDS_BLOCK * RECORDS_ENTRY;
    struct entry entry;

    if (!is_within(file, block, at + RECORDS_ENTRY))
        return damaged(file, index, err);
    data += block + at;
    entry.offset = records_get(data, 8);
    entry.len = records_get(data + 8, 4);
    entry.crc = (uint32_t)records_get(data + 12, 4);
    if (!is_within(file, entry.offset, records_padded(entry.len)))
        return damaged(file, index, err);
    *ret_entry = entry;
    return DET_OK;
}

static det_status check_entry(const struct records *file, int64_t index,
                              const struct entry *entry, struct err *err)
{
    uint32_t crc = records_seed((uint64_t)index, entry->offset, entry->len);

    crc =
        crc32c(crc, file->map.data + entry->offset, (size_t)records_padded(entry->len));
    return crc == entry->crc ? DET_OK : damaged(file, index, err);
}

/* Lengths first, so that the bytes find a place that is large enough. */
static det_status records_fill(const det_dataset *dataset, struct batch_room *room,
                               struct err *err)
{
    const struct records *file = CONTAINER_OF(dataset, struct records, base);
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
        /* The file may be changed by somebody meanwhile; our memory must not be. */
        if (!st && entry.len != offsets[i + 1] - offsets[i])
            st = damaged(file, room->indices[i], err);
        if (!st)
            memcpy(to + offsets[i], file->map.data + entry.offset, (size_t)entry.len);
    }
    return st;
}

/* Two steps, as the way to a record has two: whoever asks for one soon finds it nearer.
 */
void records_ask_for(const det_dataset *dataset, int64_t soon, int64_t next)
{
    const struct records *file = CONTAINER_OF(dataset, struct records, base);
    const unsigned char *data = file->map.data;
    struct entry entry;

    if (soon >= 0 && soon < dataset->items) {
        uint64_t number = (uint64_t)soon;
        uint64_t block =
            records_get(data + file->directory + number / RECORDS_BLOCK * 8, 8);

        if (is_within(file, block, 0)) /* a prefetch from beyond the end is ignored */
            __builtin_prefetch(data + block + number % RECORDS_BLOCK * RECORDS_ENTRY);
    }
    if (next < 0 || next >= dataset->items || find_entry(file, next, &entry, NULL))
        return;
    for (uint64_t at = 0; at < MIN(entry.len, (uint64_t)ASKED_BYTES); at += LINE_BYTES)
        __builtin_prefetch(data + entry.offset + at);
}

static void records_free(det_dataset *dataset)
{
    struct records *file = CONTAINER_OF(dataset, struct records, base);

    io_unmap(&file->map);
    dataset_done(dataset);
    mem_free(file->path);
    mem_free(file);
}

static const struct dataset_ops records_ops = {records_fill, records_free};

/* ---- the public face ------------------------------------------------------------- */

det_status records_open(struct io *io, const char *path, det_dataset **ret_dataset,
                        struct err *err)
{
    const det_column column = {"record", NULL, 0};
    struct records *file = mem_new(struct records);
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
    det_status st = records_open(io_system(), path, ret_dataset, &err);

    return st ? data_fail(&err, error, error_size) : DET_OK;
}

static det_status record_at(const det_dataset *dataset, int64_t index,
                            struct entry *ret_entry, struct err *err)
{
    const struct records *file = CONTAINER_OF(dataset, struct records, base);
    det_status st;

    if (dataset->ops != &records_ops)
        return err_set(err, DET_INVALID, "this data set is no file of records");
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
        DET_OK; /* not cleared as a whole, which would cost more than a record */
    err.text[0] = '\0';
    st = record_at(dataset, index, &entry, &err);
    if (st)
        return data_fail(&err, error, error_size);
    *ret_bytes = CONTAINER_OF(dataset, struct records, base)->map.data + entry.offset;
    *ret_len = (size_t)entry.len;
    return DET_OK;
}
