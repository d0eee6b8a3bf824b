/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - writes entries, whole or piece by piece, to an archive in memory.
 *
 * The same entries give the same bytes: no time stamp in the gzip header, no owners.
 * The GNU format stores names as plain bytes, independent of the process's locale.  Zip
 * says of each name whether it is UTF-8, and libarchive believes the locale; the thread
 * therefore has a UTF-8 locale while such a name is written. */
#include "data/archive/archive.h"

#include <locale.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/archive/archive_lib.h"
#include "data/text.h"
#include "data/utf8.h"

struct archive_writer {
    struct archive_lib lib;
    struct archive *archive;
    struct archive_entry *entry;
    locale_t utf8; /* of a zip; 0: none, or the system has no such locale */
    struct buf out;
    uint64_t wanted;    /* bytes of the current entry that are still missing */
    struct err failure; /* the first one; DET_OK before */
};

static la_ssize_t take_bytes(struct archive *archive, void *ctx, const void *bytes,
                             size_t len)
{
    struct archive_writer *writer = ctx;

    (void)archive;
    buf_add(&writer->out, bytes, len);
    return writer->out.status ? -1 : (la_ssize_t)len;
}

static int set_format(const struct archive_lib *lib, struct archive *archive,
                      enum archive_format format)
{
    if (format == ARCHIVE_ZIP)
        return lib->call_write_set_format_zip(archive) ||
               lib->call_write_set_format_option(archive, "zip", "compression",
                                                 "store");
    if (format != ARCHIVE_TAR &&
        (lib->call_write_add_filter_gzip(archive) ||
         lib->call_write_set_filter_option(archive, "gzip", "timestamp", NULL)))
        return -1;
    if (format == ARCHIVE_TGZ_FAST &&
        lib->call_write_set_filter_option(archive, "gzip", "compression-level", "1"))
        return -1;
    return lib->call_write_set_format_gnutar(archive);
}

static det_status open_archive(struct archive_writer *writer,
                               enum archive_format format, struct err *err)
{
    const struct archive_lib *lib = &writer->lib;
    struct archive *archive = lib->call_write_new();

    writer->archive = archive;
    writer->entry = lib->call_entry_new();
    if (!archive || !writer->entry)
        return err_default(err, DET_NOMEM);
    if (set_format(lib, archive, format) ||
        lib->call_write_set_bytes_in_last_block(archive, 1) ||
        lib->call_write_open(archive, writer, NULL, take_bytes, NULL))
        return archive_lib_error(lib, archive, "the archive cannot be begun", err);
    return DET_OK;
}

det_status archive_writer_new(enum archive_format format,
                              struct archive_writer **ret_writer, struct err *err)
{
    struct archive_writer *writer = mem_new(struct archive_writer);
    det_status st;

    if (!writer)
        return err_default(err, DET_NOMEM);
    writer->out = (struct buf)BUF_INIT;
    st = archive_lib_load(&writer->lib, err);
    if (!st)
        st = open_archive(writer, format, err);
    if (!st && format == ARCHIVE_ZIP)
        writer->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (st) {
        archive_writer_free(writer);
        return st;
    }
    *ret_writer = writer;
    return DET_OK;
}

void archive_writer_free(struct archive_writer *writer)
{
    if (!writer)
        return;
    if (writer->entry)
        writer->lib.call_entry_free(writer->entry);
    if (writer->archive)
        writer->lib.call_write_free(writer->archive);
    if (writer->utf8)
        freelocale(writer->utf8);
    buf_done(&writer->out);
    mem_free(writer);
}

/* Returns the first failure, which `writer` keeps. */
static det_status report_failure(const struct archive_writer *writer, struct err *err)
{
    return err_set(err, writer->failure.status, "%s", writer->failure.text);
}

static det_status library_failed(struct archive_writer *writer, const char *path,
                                 struct err *err)
{
    if (writer->out.status)
        (void)err_default(&writer->failure, writer->out.status);
    else
        (void)archive_lib_error(&writer->lib, writer->archive, path, &writer->failure);
    return report_failure(writer, err);
}

static int write_header(struct archive_writer *writer, const char *path)
{
    size_t len = strlen(path);
    bool is_utf8 = writer->utf8 && utf8_valid(path, len) == len;
    locale_t before = is_utf8 ? uselocale(writer->utf8) : (locale_t)0;
    int rc = writer->lib.call_write_header(writer->archive, writer->entry);

    if (is_utf8)
        (void)uselocale(before);
    return rc;
}

det_status archive_begin(struct archive_writer *writer,
                         const struct archive_entry_in *entry, struct err *err)
{
    const struct archive_lib *lib = &writer->lib;
    struct archive_entry *e = writer->entry;

    if (writer->failure.status)
        return report_failure(writer, err);
    if (!path_is_inside(entry->path)) {
        (void)err_set(&writer->failure, DET_INVALID,
                      "'%s' leads out of the folder that is packed",
                      entry->path ? entry->path : "");
        return report_failure(writer, err);
    }

    writer->wanted = entry->is_directory ? 0 : entry->size_bytes;
    lib->call_entry_clear(e);
    lib->call_entry_set_pathname(e, entry->path);
    lib->call_entry_set_filetype(e, entry->is_directory ? AE_IFDIR : AE_IFREG);
    lib->call_entry_set_perm(e, entry->mode & 0777);
    lib->call_entry_set_mtime(e, entry->modified_s, 0);
    lib->call_entry_set_size(e, (la_int64_t)writer->wanted);
    if (write_header(writer, entry->path) < ARCHIVE_WARN)
        return library_failed(writer, entry->path, err);
    return DET_OK;
}

det_status archive_data(struct archive_writer *writer, const void *bytes, size_t len,
                        struct err *err)
{
    la_ssize_t wrote;

    if (writer->failure.status)
        return report_failure(writer, err);
    if (len > writer->wanted) {
        (void)err_set(&writer->failure, DET_INVALID,
                      "a file has more bytes than were told when it was begun");
        return report_failure(writer, err);
    }
    wrote = len ? writer->lib.call_write_data(writer->archive, bytes, len) : 0;
    if (wrote < 0 || (size_t)wrote != len)
        return library_failed(writer, "a file cannot be packed", err);
    writer->wanted -= len;
    return DET_OK;
}

det_status archive_add(struct archive_writer *writer,
                       const struct archive_entry_in *entry, struct err *err)
{
    det_status st = archive_begin(writer, entry, err);

    return st ? st : archive_data(writer, entry->bytes, writer->wanted, err);
}

det_status archive_take(struct archive_writer *writer, struct buf *ret_bytes,
                        struct err *err)
{
    if (writer->failure.status)
        return report_failure(writer, err);
    buf_add(ret_bytes, writer->out.data, writer->out.len);
    buf_clear(&writer->out);
    return ret_bytes->status ? err_default(err, ret_bytes->status) : DET_OK;
}

det_status archive_finish(struct archive_writer *writer, struct buf *ret_bytes,
                          struct err *err)
{
    if (writer->failure.status)
        return report_failure(writer, err);
    if (writer->lib.call_write_close(writer->archive) < ARCHIVE_WARN)
        return library_failed(writer, "the archive cannot be ended", err);
    return archive_take(writer, ret_bytes, err);
}
