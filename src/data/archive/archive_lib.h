/* SPDX-License-Identifier: Apache-2.0 */
/* archive_lib.h - libarchive, opened when it is first needed.
 *
 * Its functions are called through a table that is typed by its own headers.  Loading
 * it a second time costs a few look-ups: it stays in memory. */
#ifndef DATA_ARCHIVE_ARCHIVE_LIB_H
#define DATA_ARCHIVE_ARCHIVE_LIB_H

#include <archive.h>
#include <archive_entry.h>

#include "base/err.h"

/* To use another function of libarchive, add its name without "archive_". */
#define ARCHIVE_CALLS(X)                                                               \
    X(entry_clear)                                                                     \
    X(entry_filetype)                                                                  \
    X(entry_free)                                                                      \
    X(entry_hardlink)                                                                  \
    X(entry_hardlink_utf8)                                                             \
    X(entry_mtime)                                                                     \
    X(entry_new)                                                                       \
    X(entry_pathname)                                                                  \
    X(entry_pathname_utf8)                                                             \
    X(entry_perm)                                                                      \
    X(entry_set_filetype)                                                              \
    X(entry_set_mtime)                                                                 \
    X(entry_set_pathname)                                                              \
    X(entry_set_perm)                                                                  \
    X(entry_set_size)                                                                  \
    X(entry_size)                                                                      \
    X(entry_symlink)                                                                   \
    X(entry_symlink_utf8)                                                              \
    X(errno)                                                                           \
    X(error_string)                                                                    \
    X(read_data)                                                                       \
    X(read_free)                                                                       \
    X(read_new)                                                                        \
    X(read_next_header)                                                                \
    X(read_open_memory)                                                                \
    X(read_support_filter_gzip)                                                        \
    X(read_support_format_tar)                                                         \
    X(write_add_filter_gzip)                                                           \
    X(write_close)                                                                     \
    X(write_data)                                                                      \
    X(write_free)                                                                      \
    X(write_header)                                                                    \
    X(write_new)                                                                       \
    X(write_open)                                                                      \
    X(write_set_bytes_in_last_block)                                                   \
    X(write_set_filter_option)                                                         \
    X(write_set_format_gnutar)                                                         \
    X(write_set_format_option)                                                         \
    X(write_set_format_zip)

struct archive_lib {
#define ARCHIVE_MEMBER(name) __typeof__(archive_##name) *call_##name;
    ARCHIVE_CALLS(ARCHIVE_MEMBER)
#undef ARCHIVE_MEMBER
};

/* DET_UNSUPPORTED when it is not installed. */
det_status archive_lib_load(struct archive_lib *ret_lib, struct err *err);

/* libarchive's message about a failed call, with `what` in front. */
det_status archive_lib_error(const struct archive_lib *lib, struct archive *archive,
                             const char *what, struct err *err);

#endif
