/* SPDX-License-Identifier: Apache-2.0 */
/* io_impl.h - the parts of a file system; only for io*.c.
 *
 * io.c holds the code that all file systems share (faults, whole files) and calls
 * through this table.  A file system embeds `struct io`, its open files embed `struct
 * io_file`.  To add another one: fill the table, and run tests/unit/base/test_io.c on
 * it. */
#ifndef BASE_IO_IO_IMPL_H
#define BASE_IO_IO_IMPL_H

#include "base/io/io.h"

struct io_ops {
    det_status (*open)(struct io *io, const char *path, unsigned flags,
                       struct io_file **ret_file, struct err *err);
    /* NULL: the file system has no links; an ordinary open is safe. */
    det_status (*open_below)(struct io *io, const char *root, const char *path,
                             const struct io_reader *reader, struct io_file **ret_file,
                             struct err *err);
    void (*close)(struct io_file *file);
    det_status (*read_at)(struct io_file *file, uint64_t offset, void *bytes,
                          size_t len, size_t *ret_len, struct err *err);
    det_status (*write_at)(struct io_file *file, uint64_t offset, const void *bytes,
                           size_t len, struct err *err);
    det_status (*append)(struct io_file *file, const void *bytes, size_t len,
                         struct err *err);
    det_status (*sync)(struct io_file *file, struct err *err);
    det_status (*sync_all)(struct io_file *folder, struct err *err);
    det_status (*truncate)(struct io_file *file, uint64_t size_bytes, struct err *err);
    det_status (*size)(struct io_file *file, uint64_t *ret_size_bytes, struct err *err);
    det_status (*lock)(struct io_file *file, bool is_shared, struct err *err);
    det_status (*reserve)(struct io_file *file, uint64_t size_bytes, struct err *err);
    det_status (*map)(struct io_file *file, size_t len, bool is_writable,
                      struct io_map *ret_map, struct err *err);
    void (*unmap)(struct io_map *map);
    int (*fd)(const struct io_file *file);
    det_status (*stat_of)(struct io_file *file, struct io_stat *ret_stat,
                          struct err *err);

    det_status (*stat)(struct io *io, const char *path, struct io_stat *ret_stat,
                       struct err *err);
    det_status (*space)(struct io *io, const char *path, struct io_space *ret_space,
                        struct err *err);
    det_status (*mkdir)(struct io *io, const char *path, bool is_private,
                        struct err *err);
    det_status (*rename)(struct io *io, const char *from, const char *to,
                         struct err *err);
    det_status (*remove)(struct io *io, const char *path, struct err *err);
    det_status (*remove_tree)(struct io *io, const char *path, bool opens_closed,
                              struct err *err);
    det_status (*sync_dir)(struct io *io, const char *path, struct err *err);
    det_status (*list)(struct io *io, const char *path, struct arena *mem,
                       const char ***ret_names, struct err *err);
    void (*free)(struct io *io);
};

struct io {
    const struct io_ops *ops;
};

struct io_file {
    struct io *io;
    char *path; /* owned; for messages */
};

extern const struct io_ops io_memory_ops;

/* "cannot <verb> '<path>': <strerror>".  Both twins fail with the same errno values:
 * callers see the same status from either. */
det_status io_fail(struct err *err, int code, const char *verb, const char *path);

#endif
