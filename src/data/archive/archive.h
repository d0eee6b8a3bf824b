/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - folders as archives, through libarchive.  It is loaded when first needed,
 * since it brings a dozen libraries that no other command needs. */
#ifndef DATA_ARCHIVE_ARCHIVE_H
#define DATA_ARCHIVE_ARCHIVE_H

#include <stdint.h>

#include "base/err.h"

struct buf;

struct archive_entry_in {
    const char *path; /* relative; must stay inside */
    int is_directory;
    uint32_t mode;
    int64_t modified_s;
    const void *bytes;
    uint64_t size_bytes;
};

enum archive_format {
    ARCHIVE_TGZ,      /* compressed well; the same bytes for the same entries */
    ARCHIVE_TGZ_FAST, /* compressed quickly: for data that hardly shrinks */
    ARCHIVE_TAR,
    ARCHIVE_ZIP, /* stored, not compressed */
};

/* Writing: a sticky builder. */
struct archive_writer;
det_status archive_writer_new(enum archive_format format,
                              struct archive_writer **ret_writer, struct err *err);
void archive_writer_free(struct archive_writer *writer); /* NULL does nothing */
/* DET_INVALID for a path that escapes. */
det_status archive_add(struct archive_writer *writer,
                       const struct archive_entry_in *entry, struct err *err);
/* The same in pieces: the entry without its bytes, then as many bytes as its size says;
 * DET_INVALID for more. */
det_status archive_begin(struct archive_writer *writer,
                         const struct archive_entry_in *entry, struct err *err);
det_status archive_data(struct archive_writer *writer, const void *bytes, size_t len,
                        struct err *err);
/* Moves the bytes made so far to the end of `ret_bytes`. */
det_status archive_take(struct archive_writer *writer, struct buf *ret_bytes,
                        struct err *err);
/* Ends the archive, and moves the rest of it. */
det_status archive_finish(struct archive_writer *writer, struct buf *ret_bytes,
                          struct err *err);

/* Unpacks below `directory`, which must exist.  Refuses absolute paths, "..", links
 * that lead outside and devices: DET_INVALID names the entry, and nothing outside was
 * touched. */
det_status archive_unpack(const void *tgz, uint64_t len, const char *directory,
                          struct err *err);

/* Lists an archive without unpacking it.  Names come without "./" before and "/" behind
 * them; the entry is borrowed until `visit` returns, and its bytes are not read.  A
 * failure of `visit` ends the walk and is returned.  DET_INVALID: not an archive.  Zero
 * bytes are an archive without entries. */
typedef det_status archive_visit_fn(void *arg, const struct archive_entry_in *entry,
                                    struct err *err);
det_status archive_list(const void *tgz, uint64_t len, archive_visit_fn *visit,
                        void *arg, struct err *err);
/* Appends the bytes of one file.  DET_NOT_FOUND; DET_TOO_LARGE beyond the buffer's
 * limit. */
det_status archive_read_file(const void *tgz, uint64_t len, const char *path,
                             struct buf *out, struct err *err);

#endif
