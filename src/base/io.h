/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - files; the only door to the file system for master, agent, supervisor and
 * libdet.
 *
 * A `struct io` is a file system: io_system() is the machine's; io_memory_new() is
 * one in memory that knows which bytes would survive a loss of power, for
 * simulations and fault sweeps.  All paths are plain strings; errors name the path.
 *
 * What a write promises: io_write_at() nothing, io_sync() that the file's bytes and
 * size are durable, io_sync_dir() that names made, renamed or removed in a directory
 * are.  io_replace() does all three in the right order. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct io;
struct io_file;

enum io_flags {
    IO_READ = 1,
    IO_WRITE = 2,     /* implies IO_READ */
    IO_CREATE = 4,    /* make it when it is not there */
    IO_EXCLUSIVE = 8, /* with IO_CREATE: DET_EXISTS when it is there */
    IO_TRUNCATE = 16,
    IO_PRIVATE = 32, /* with IO_CREATE: only its owner may read it (0600, else 0644) */
    IO_PLAIN = 64,   /* links, pipes and devices are refused and never waited for: for
                        folders that belong to somebody else */
};

enum io_kind { IO_NONE, IO_FILE, IO_DIRECTORY, IO_LINK, IO_OTHER };

struct io_stat {
    enum io_kind kind;
    uint32_t mode; /* permission bits */
    uint64_t size_bytes;
    int64_t modified_us;
    uint32_t uid;
    uint32_t gid;
};

struct io *io_system(void);

/* io_free() frees the whole memory file system; its files are closed before.
 * io_crash() is the loss of power: what was not synced is gone, open files are dead
 * (DET_IO, but for io_close).  Its `modified_us` counts changes instead of time, so
 * that simulations repeat; relative paths start at its root. */
det_status io_memory_new(struct io **ret_io, struct err *err);
void io_free(struct io *io);
void io_crash(struct io *io);
/* The end of the process that uses it: open files are dead as after io_crash(), their
 * locks are free, but everything stays as it was written. */
void io_abandon(struct io *io);
/* A limit on all bytes in a memory file system: beyond it writes give DET_FULL.
 * 0: none. */
void io_memory_limit(struct io *io, uint64_t size_bytes);
bool io_is_memory(const struct io *io);

det_status io_open(struct io *io, const char *path, unsigned flags,
                   struct io_file **ret_file, struct err *err);
/* For reading; a plain file below a directory that others may change: no part of
 * `path`, which is relative and has no "..", may be a link, so that nobody is led
 * elsewhere, also not between looking and opening.  `root` itself is trusted. */
det_status io_open_below(struct io *io, const char *root, const char *path,
                         struct io_file **ret_file, struct err *err);
void io_close(struct io_file *file); /* NULL does nothing */
/* For CLEANUP. */
void io_closep(struct io_file **file);

/* Short only at the end of the file. */
det_status io_read_at(struct io_file *file, uint64_t offset, void *bytes, size_t len,
                      size_t *ret_len, struct err *err);
/* All or an error; a failed write may have left a part behind. */
det_status io_write_at(struct io_file *file, uint64_t offset, const void *bytes,
                       size_t len, struct err *err);
/* At the end of the file; one appender at a time. */
det_status io_append(struct io_file *file, const void *bytes, size_t len,
                     struct err *err);
det_status io_sync(struct io_file *file, struct err *err);
det_status io_truncate(struct io_file *file, uint64_t size_bytes, struct err *err);
det_status io_size(struct io_file *file, uint64_t *ret_size_bytes, struct err *err);
/* An advisory lock on the whole file, held until it is closed or the process dies.
 * DET_BUSY when somebody else holds it. */
det_status io_lock(struct io_file *file, struct err *err);
/* The same, but any number may hold it as long as nobody holds the other; who holds the
 * other gives it up for this one, and somebody may come in between (DET_BUSY: then
 * neither is held). */
det_status io_lock_shared(struct io_file *file, struct err *err);
/* Says that these bytes may be written to disk already, so that a later sync has less
 * to do.  Promises nothing and cannot fail. */
void io_write_behind(struct io_file *file, uint64_t offset, uint64_t len);
/* Makes an empty file the twin of another without copying bytes, where the file system
 * can share them.  False: it cannot; copy. */
bool io_clone(struct io_file *from, struct io_file *to);
/* Copies all bytes into an empty file without bringing them to this process: a file
 * server may do it alone.  False: it cannot, or there is no room; copy, from the
 * beginning. */
bool io_copy(struct io_file *from, struct io_file *to);
/* The descriptor, for poll and for children; -1 in a memory file system. */
int io_fd(const struct io_file *file);

/* The file is at least so long afterwards, what is new is zeroes, and there is space
 * for all of it: writing into it, also through a map, cannot find the disk full.
 * DET_FULL: there is none; the file may have grown all the same. */
det_status io_reserve(struct io_file *file, uint64_t size_bytes, struct err *err);

/* The first bytes of a file in memory, shared with everybody who has mapped or reads
 * them; it needs the file open only to be made.  io_sync() covers what was written
 * through it; a loss of power takes the rest. */
struct io_map {
    unsigned char *data; /* NULL: nothing is mapped */
    size_t len;
    struct io *io;
    void *impl;
};

/* For reading and writing: the file was opened with IO_WRITE.  DET_INVALID: it is
 * shorter than `len`, or that is 0.  On a real disk whoever cuts the file short under a
 * map makes using it deadly; in a memory file system a mapped file does not grow beyond
 * what was reserved for it (DET_IO), and a map from before a crash is good for nothing
 * but io_unmap(). */
det_status io_map(struct io_file *file, size_t len, struct io_map *ret_map,
                  struct err *err);
/* The same for reading only: IO_READ suffices, and writing through it is deadly. */
det_status io_map_read(struct io_file *file, size_t len, struct io_map *ret_map,
                       struct err *err);
void io_unmap(struct io_map *map); /* also of one that holds nothing */

det_status io_stat(struct io *io, const char *path, struct io_stat *ret_stat,
                   struct err *err); /* does not follow links; DET_NOT_FOUND */
/* How large the file system is that a path lies on, and how much of it its user may
 * still fill.  One in memory without a limit has no size: DET_UNSUPPORTED. */
struct io_space {
    uint64_t size_bytes;
    uint64_t free_bytes;
};
det_status io_space(struct io *io, const char *path, struct io_space *ret_space,
                    struct err *err);
det_status io_mkdir(struct io *io, const char *path, bool is_private,
                    struct err *err); /* with its parents; fine when it is there.
                                         Private: 0700, else 0755; parents 0755 */
/* Takes the place of a file, or of an empty directory. */
det_status io_rename(struct io *io, const char *from, const char *to, struct err *err);
/* A file, a link or an empty directory. */
det_status io_remove(struct io *io, const char *path, struct err *err);
/* With all that is in it, links but not what they point to; fine when it is not
 * there.  A failure leaves the rest. */
det_status io_remove_tree(struct io *io, const char *path, struct err *err);
det_status io_sync_dir(struct io *io, const char *path, struct err *err);
/* The names in a directory, sorted, without "." and "..": an array in `mem` that ends
 * with NULL. */
det_status io_list(struct io *io, const char *path, struct arena *mem,
                   const char ***ret_names, struct err *err);

/* Whole files.  io_read_file() adds to the buffer, and leaves it as it was when it
 * fails (DET_TOO_LARGE beyond the buffer's limit).  io_replace() writes under a
 * temporary name, syncs, renames and syncs the directory, so that readers see the old
 * bytes or the new ones. */
det_status io_read_file(struct io *io, const char *path, struct buf *ret_bytes,
                        struct err *err);
det_status io_replace(struct io *io, const char *path, const void *bytes, size_t len,
                      bool is_private, struct err *err);

#endif
