/* SPDX-License-Identifier: Apache-2.0 */
/* record_file_writer.c - writes a file of records.  The header comes last, when its
 * content is known; the final name comes after everything is synced. */
#include "libdet/data/record_file_writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/shared_lock.h"
#include "libdet/data/dataset.h"
#include "libdet/data/record_file.h"

enum { WRITE_BYTES = 1 << 20, NAME_TRIES = 100 };

struct det_records {
    struct io *io;
    struct io_file *file;
    struct fork_mark mark;
    char *path;
    char *folder;
    struct buf name;      /* the temporary name; "": there is no file */
    struct buf waiting;   /* bytes to write at `written` */
    struct buf block;     /* entries of records since the last block */
    struct buf directory; /* offsets of the blocks so far */
    uint64_t written;
    uint64_t count;
    struct err err;
};

/* ---- bytes ----------------------------------------------------------------------- */

static uint64_t end_of(const det_records *records)
{
    return records->written + records->waiting.len;
}

static det_status write_bytes(det_records *records, const void *bytes, size_t len)
{
    det_status st =
        io_write_at(records->file, records->written, bytes, len, &records->err);

    if (st)
        return st;
    io_write_behind(records->file, records->written, len);
    records->written += len;
    return DET_OK;
}

static det_status flush_waiting(det_records *records)
{
    struct buf *waiting = &records->waiting;
    det_status st;

    if (waiting->status)
        return err_default(&records->err, waiting->status);
    st = waiting->len ? write_bytes(records, waiting->data, waiting->len) : DET_OK;
    if (!st)
        buf_clear(waiting);
    return st;
}

/* Collects small writes; large ones go directly from the caller's memory. */
static det_status put_bytes(det_records *records, const void *bytes, size_t len)
{
    det_status st = DET_OK;

    if (len < WRITE_BYTES / 4) {
        buf_add(&records->waiting, bytes, len);
        if (records->waiting.status || records->waiting.len >= WRITE_BYTES)
            st = flush_waiting(records);
        return st;
    }
    st = flush_waiting(records);
    return st ? st : write_bytes(records, bytes, len);
}

static det_status end_block(det_records *records)
{
    det_status st;

    buf_put_u64(&records->directory, end_of(records));
    if (records->directory.status)
        return err_default(&records->err, DET_NOMEM);
    st = put_bytes(records, records->block.data, records->block.len);
    buf_clear(&records->block);
    return st;
}

static det_status add_record(det_records *records, const void *bytes, size_t len)
{
    static const unsigned char zeroes[RECORD_FILE_ALIGN];
    uint64_t offset = end_of(records);
    size_t gap = (size_t)(record_file_padded(len) - len);
    uint32_t crc = record_file_seed(records->count, offset, len);
    det_status st = DET_OK;

    crc = crc32c(crc32c(crc, bytes, len), zeroes, gap);
    buf_put_u64(&records->block, offset);
    buf_put_u32(&records->block, (uint32_t)len);
    buf_put_u32(&records->block, crc);
    if (records->block.status)
        return err_default(&records->err, DET_NOMEM);
    if (len)
        st = put_bytes(records, bytes, len);
    if (!st && gap)
        st = put_bytes(records, zeroes, gap);
    if (!st && ++records->count % RECORD_FILE_BLOCK == 0)
        st = end_block(records);
    return st;
}

static det_status end_file(det_records *records)
{
    unsigned char header[RECORD_FILE_HEADER] = RECORD_FILE_MAGIC;
    uint64_t directory;
    det_status st = records->block.len ? end_block(records) : DET_OK;

    if (st)
        return st;
    directory = end_of(records);
    st = put_bytes(records, records->directory.data, records->directory.len);
    if (!st)
        st = flush_waiting(records);
    if (st)
        return st;
    record_file_put(header + 8, RECORD_FILE_VERSION, 4);
    record_file_put(header + 12, RECORD_FILE_BLOCK, 4);
    record_file_put(header + 16, records->count, 8);
    record_file_put(header + 24, directory, 8);
    record_file_put(header + 32, records->written, 8);
    record_file_put(header + RECORD_FILE_CRC_AT, crc32c(0, header, RECORD_FILE_CRC_AT),
                    4);
    st = io_write_at(records->file, 0, header, sizeof(header), &records->err);
    return st ? st : io_sync(records->file, &records->err);
}

/* ---- the file -------------------------------------------------------------------- */

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

/* Beside the final file, so a rename works.  Several writers of one path get different
 * names. */
static det_status open_draft(det_records *records, struct err *err)
{
    const char *slash = strrchr(records->path, '/');
    const char *last = slash ? slash + 1 : records->path;
    unsigned flags = IO_WRITE | IO_CREATE | IO_EXCLUSIVE;
    struct buf *name = &records->name;
    det_status st = DET_EXISTS;

    for (int i = 0; st == DET_EXISTS && i < NAME_TRIES; i++) {
        buf_clear(name);
        buf_add(name, records->path, (size_t)(last - records->path));
        buf_printf(name, ".%s.records%d", last, i);
        if (name->status)
            return err_default(err, name->status);
        st = io_open(records->io, name->data, flags, &records->file, err);
    }
    if (st)
        buf_clear(name);
    return st;
}

static det_status begin_file(det_records *records, struct io *io, const char *path,
                             struct err *err)
{
    static const unsigned char header[RECORD_FILE_HEADER];
    det_status st = fork_mark_init(&records->mark, err);

    if (st)
        return st;
    records->io = io;
    records->path = mem_strdup(path);
    records->folder = folder_of(path);
    if (!records->path || !records->folder)
        return err_default(err, DET_NOMEM);
    buf_add(&records->waiting, header, sizeof(header));
    if (records->waiting.status)
        return err_default(err, DET_NOMEM);
    return open_draft(records, err);
}

det_status record_file_create(struct io *io, const char *path,
                              det_records **ret_records, struct err *err)
{
    det_records *records = mem_new(det_records);
    det_status st;

    if (!records)
        return err_default(err, DET_NOMEM);
    records->name = records->waiting = records->block = records->directory =
        (struct buf)BUF_INIT;
    st = begin_file(records, io, path, err);
    if (st) {
        det_records_abort(records);
        return st;
    }
    *ret_records = records;
    return DET_OK;
}

static void free_writer(det_records *records)
{
    io_close(records->file);
    fork_mark_done(&records->mark);
    buf_done(&records->name);
    buf_done(&records->waiting);
    buf_done(&records->block);
    buf_done(&records->directory);
    mem_free(records->path);
    mem_free(records->folder);
    mem_free(records);
}

/* In a forked child the file belongs to the parent. */
static bool is_child(const det_records *records)
{
    return records->mark.is_ours && !fork_mark_is_ours(&records->mark);
}

/* After a failure nothing more can be written. */
static det_status check_writer(det_records *records)
{
    if (is_child(records))
        return err_set(&records->err, DET_STATE,
                       "this process was forked: '%s' is written by its parent",
                       records->path);
    return records->err.status;
}

/* ---- public functions ------------------------------------------------------------ */

det_status det_records_create(const char *path, det_records **ret_records, char *error,
                              size_t error_size)
{
    struct err err = {0};
    det_status st = record_file_create(io_system(), path, ret_records, &err);

    return st ? data_fail(&err, error, error_size) : DET_OK;
}

det_status det_records_add(det_records *records, const void *bytes, size_t len)
{
    det_status st = check_writer(records);

    if (st)
        return st;
    if (len > UINT32_MAX)
        return err_set(&records->err, DET_TOO_LARGE,
                       "a record of %zu bytes is too large: at most %" PRIu32, len,
                       UINT32_MAX);
    return add_record(records, bytes, len);
}

det_status det_records_finish(det_records *records)
{
    det_status st = check_writer(records);

    if (!st)
        st = end_file(records);
    if (!st)
        st = io_rename(records->io, records->name.data, records->path, &records->err);
    if (st)
        return st;
    buf_clear(&records->name);
    st = io_sync_dir(records->io, records->folder, &records->err);
    if (!st)
        free_writer(records);
    return st;
}

void det_records_abort(det_records *records)
{
    if (!records)
        return;
    if (records->name.len && !is_child(records))
        (void)io_remove(records->io, records->name.data, NULL);
    free_writer(records);
}

const char *det_records_error(const det_records *records)
{
    return records->err.text;
}
