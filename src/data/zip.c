/* SPDX-License-Identifier: Apache-2.0 */
/* zip.c - see zip.h.
 *
 *   [local header][bytes] ... [directory: one record per entry][zip64 end][end] */
#include "data/zip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"

enum {
    END_BYTES = 22,
    END64_LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    COMMENT_MOST = 65535,
    RECORD_BYTES = 46,
    LOCAL_BYTES = 30,
    EXTRA_HEAD_BYTES = 4,
    EXTRA_ZIP64 = 1,
    DIRECTORY_MOST = 256 << 20,
};

static const uint32_t END_MARK = 0x06054b50;
static const uint32_t END64_LOCATOR_MARK = 0x07064b50;
static const uint32_t END64_MARK = 0x06064b50;
static const uint32_t RECORD_MARK = 0x02014b50;
static const uint32_t LOCAL_MARK = 0x04034b50;

struct directory {
    struct io_file *file;
    uint64_t file_bytes;
    uint64_t offset;
    uint64_t size_bytes;
    uint64_t count;
};

static det_status fail_zip(struct err *err)
{
    return err_set(err, DET_CORRUPT, "this is not a zip file");
}

static det_status read_exactly(const struct directory *d, uint64_t offset, void *bytes,
                               size_t len, struct err *err)
{
    size_t got = 0;
    det_status st = io_read_at(d->file, offset, bytes, len, &got, err);

    return st ? st : got == len ? DET_OK : fail_zip(err);
}

/* The zip64 end says what does not fit into the other one. */
static det_status read_end64(struct directory *d, uint64_t end_offset, struct err *err)
{
    unsigned char bytes[END64_BYTES];
    uint64_t at;
    det_status st;

    if (end_offset < END64_LOCATOR_BYTES)
        return DET_OK;
    st = read_exactly(d, end_offset - END64_LOCATOR_BYTES, bytes, END64_LOCATOR_BYTES,
                      err);
    if (st || get_number(bytes, 4) != END64_LOCATOR_MARK)
        return st;
    at = get_number(bytes + 8, 8);
    if (at > end_offset)
        return fail_zip(err);
    st = read_exactly(d, at, bytes, END64_BYTES, err);
    if (st || get_number(bytes, 4) != END64_MARK)
        return st ? st : fail_zip(err);
    d->count = get_number(bytes + 32, 8);
    d->size_bytes = get_number(bytes + 40, 8);
    d->offset = get_number(bytes + 48, 8);
    return DET_OK;
}

static det_status check_directory(const struct directory *d, struct err *err)
{
    if (d->offset > d->file_bytes || d->size_bytes > d->file_bytes - d->offset ||
        d->size_bytes > DIRECTORY_MOST || d->count > d->size_bytes / RECORD_BYTES)
        return fail_zip(err);
    return DET_OK;
}

/* The end is at the end, before a comment of any length. */
static det_status find_directory(struct directory *d, struct arena *mem,
                                 struct err *err)
{
    size_t len = (size_t)MIN(d->file_bytes, (uint64_t)(END_BYTES + COMMENT_MOST));
    unsigned char *tail = arena_alloc(mem, len + 1);
    uint64_t tail_offset = d->file_bytes - len;
    size_t at = len - MIN(len, (size_t)END_BYTES);
    det_status st = tail ? DET_OK : err_default(err, DET_NOMEM);

    if (!st && len < END_BYTES)
        st = fail_zip(err);
    if (!st)
        st = read_exactly(d, tail_offset, tail, len, err);
    while (!st && at && get_number(tail + at, 4) != END_MARK)
        at--;
    if (!st && get_number(tail + at, 4) != END_MARK)
        st = fail_zip(err);
    if (st)
        return st;
    d->count = get_number(tail + at + 10, 2);
    d->size_bytes = get_number(tail + at + 12, 4);
    d->offset = get_number(tail + at + 16, 4);
    st = read_end64(d, tail_offset + at, err);
    return st ? st : check_directory(d, err);
}

/* Replaces the numbers that are all ones by those of the zip64 field, in this order. */
static void read_extra64(const unsigned char *extra, size_t len, uint64_t **numbers)
{
    while (len >= EXTRA_HEAD_BYTES) {
        size_t kind = (size_t)get_number(extra, 2);
        size_t size = (size_t)get_number(extra + 2, 2);

        if (size > len - EXTRA_HEAD_BYTES)
            return;
        extra += EXTRA_HEAD_BYTES;
        len -= EXTRA_HEAD_BYTES;
        for (size_t at = 0; kind == EXTRA_ZIP64 && *numbers && at + 8 <= size;
             numbers++)
            if (**numbers == UINT32_MAX) {
                **numbers = get_number(extra + at, 8);
                at += 8;
            }
        extra += size;
        len -= size;
    }
}

/* The bytes come behind the local header, whose extra field has a length of its own. */
static det_status find_bytes(const struct directory *d, struct zip_entry *entry,
                             struct err *err)
{
    unsigned char local[LOCAL_BYTES];
    det_status st = entry->offset > d->file_bytes
                        ? fail_zip(err)
                        : read_exactly(d, entry->offset, local, LOCAL_BYTES, err);

    if (st || get_number(local, 4) != LOCAL_MARK)
        return st ? st : fail_zip(err);
    entry->offset +=
        LOCAL_BYTES + get_number(local + 26, 2) + get_number(local + 28, 2);
    if (entry->offset > d->file_bytes ||
        entry->stored_bytes > d->file_bytes - entry->offset)
        return fail_zip(err);
    return DET_OK;
}

/* Reads the record at *at and moves on. */
static det_status read_record(const struct directory *d, const unsigned char **at,
                              const unsigned char *end, struct arena *mem,
                              struct zip_entry *entry, struct err *err)
{
    const unsigned char *record = *at;
    uint64_t *numbers[] = {&entry->size_bytes, &entry->stored_bytes, &entry->offset,
                           NULL};
    size_t name_len, extra_len, comment_len;

    if (end - record < RECORD_BYTES || get_number(record, 4) != RECORD_MARK)
        return fail_zip(err);
    name_len = (size_t)get_number(record + 28, 2);
    extra_len = (size_t)get_number(record + 30, 2);
    comment_len = (size_t)get_number(record + 32, 2);
    if ((size_t)(end - record) < RECORD_BYTES + name_len + extra_len + comment_len)
        return fail_zip(err);
    entry->method = (unsigned)get_number(record + 10, 2);
    entry->stored_bytes = get_number(record + 20, 4);
    entry->size_bytes = get_number(record + 24, 4);
    entry->offset = get_number(record + 42, 4);
    entry->name = arena_strndup(mem, (const char *)record + RECORD_BYTES, name_len);
    if (!entry->name)
        return err_default(err, DET_NOMEM);
    read_extra64(record + RECORD_BYTES + name_len, extra_len, numbers);
    *at = record + RECORD_BYTES + name_len + extra_len + comment_len;
    return find_bytes(d, entry, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct zip_entry *)a)->name,
                  ((const struct zip_entry *)b)->name);
}

/* Readers disagree about which of two entries with one name counts. */
static bool has_equal_names(const struct zip_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (!by_name(&list->entry[i - 1], &list->entry[i]))
            return true;
    return false;
}

det_status zip_read_list(struct io_file *file, struct arena *mem,
                         struct zip_list *ret_list, struct err *err)
{
    struct directory d = {.file = file};
    struct zip_list list = {0};
    unsigned char *bytes = NULL;
    const unsigned char *at;
    det_status st = io_size(file, &d.file_bytes, err);

    if (!st)
        st = find_directory(&d, mem, err);
    if (st)
        return st;
    bytes = arena_alloc(mem, d.size_bytes + 1);
    list.entry = arena_array(mem, struct zip_entry, d.count + 1);
    if (!bytes || !list.entry)
        return err_default(err, DET_NOMEM);
    st = read_exactly(&d, d.offset, bytes, d.size_bytes, err);
    at = bytes;
    for (; !st && list.count < d.count; list.count++)
        st = read_record(&d, &at, bytes + d.size_bytes, mem, &list.entry[list.count],
                         err);
    if (st)
        return st;
    if (list.count)
        qsort(list.entry, list.count, sizeof(*list.entry), by_name);
    if (has_equal_names(&list))
        return fail_zip(err);
    *ret_list = list;
    return DET_OK;
}

const struct zip_entry *zip_find(const struct zip_list *list, const char *name)
{
    struct zip_entry wanted = {.name = name};

    return list->count ? bsearch(&wanted, list->entry, list->count,
                                 sizeof(*list->entry), by_name)
                       : NULL;
}
