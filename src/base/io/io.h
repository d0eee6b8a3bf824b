/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - files; all code reaches the file system through this seam.
 *
 * A `struct io` is a file system: io_system() is the machine's; io_memory_new() makes
 * one in memory that knows which bytes would survive a loss of power, for simulations
 * and fault sweeps.  All paths are plain strings; errors name the path.
 *
 * Durability: io_write_at() promises nothing; io_sync() makes the file's bytes and size
 * durable; io_sync_dir() makes durable which names were made, renamed or removed in a
 * directory. io_replace() does all three in the right order. */
#ifndef BASE_IO_IO_H
#define BASE_IO_IO_H

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
    IO_CREATE = 4,    /* make it when it is missing */
    IO_EXCLUSIVE = 8, /* with IO_CREATE: DET_EXISTS when it exists */
    IO_TRUNCATE = 16,
    IO_PRIVATE = 32, /* with IO_CREATE: only its owner may read it (0600, else 0644) */
    IO_PLAIN = 64,   /* refuses links, pipes and devices: for folders of others */
    IO_FOLDER =
        128, /* a directory: for io_lock(), io_sync_all() and io_stat_of() only */
};

enum io_kind { IO_NONE, IO_FILE, IO_DIRECTORY, IO_LINK, IO_OTHER };

struct io_stat {
    enum io_kind kind;
    uint32_t mode; /* permission bits */
    uint64_t size_bytes;
    int64_t modified_us;
    uint32_t uid;
    uint32_t gid;
    uint64_t device; /* both together: which file it is, whatever its name */
    uint64_t inode;
};

struct io *io_system(void);

/* io_free() frees the whole memory file system; close its files before. io_crash() is
 * the loss of power: unsynced data is gone, open files are dead (DET_IO, except for
 * io_close).  Its `modified_us` counts changes instead of time: simulations repeat.
 * Relative paths start at its root. */
det_status io_memory_new(struct io **ret_io, struct err *err);
void io_free(struct io *io);
void io_crash(struct io *io);
/* The end of the process that uses it: open files are dead as after io_crash() and
 * their locks are free, but all written data stays. */
void io_abandon(struct io *io);
/* Limits the total bytes of a memory file system: writes beyond it give DET_FULL. 0: no
 * limit. */
void io_memory_limit(struct io *io, uint64_t size_bytes);
bool io_is_memory(const struct io *io);

det_status io_open(struct io *io, const char *path, unsigned flags,
                   struct io_file **ret_file, struct err *err);
/* A user who is to read, by the modes of files; other groups than this do not count. */
struct io_reader {
    uint32_t uid;
    uint32_t gid;
};
/* Opens a plain file for reading below a directory that others may change.  `path` is
 * relative and without ".."; no part of it may be a symlink, even if somebody puts one
 * there between looking and opening.  `root` itself is trusted.  `reader` (NULL: we): the
 * modes of the file and of each directory below `root` let that user read it, or it is
 * DET_FORBIDDEN.  A memory file system has no users. */
det_status io_open_below(struct io *io, const char *root, const char *path,
                         const struct io_reader *reader, struct io_file **ret_file,
                         struct err *err);
void io_close(struct io_file *file); /* NULL does nothing */
/* For CLEANUP. */
void io_closep(struct io_file **file);

/* Fewer bytes only at the end of the file. */
det_status io_read_at(struct io_file *file, uint64_t offset, void *bytes, size_t len,
                      size_t *ret_len, struct err *err);
/* All or an error; a failed write may have left a part behind. */
det_status io_write_at(struct io_file *file, uint64_t offset, const void *bytes,
                       size_t len, struct err *err);
/* At the end of the file; one appender at a time. */
det_status io_append(struct io_file *file, const void *bytes, size_t len,
                     struct err *err);
det_status io_sync(struct io_file *file, struct err *err);
/* Makes everything durable that was written to the file system of a folder (IO_FOLDER),
 * bytes and names, by whomever: for many small files that is far cheaper than a sync for
 * each.  A failure since the folder was opened is told; open it before you write.
 * DET_UNSUPPORTED: the file system does not promise that; sync each file. */
det_status io_sync_all(struct io_file *folder, struct err *err);
det_status io_truncate(struct io_file *file, uint64_t size_bytes, struct err *err);
det_status io_size(struct io_file *file, uint64_t *ret_size_bytes, struct err *err);
/* An advisory lock on the whole file, held until it is closed or the process dies.
 * DET_BUSY when somebody else holds it. */
det_status io_lock(struct io_file *file, struct err *err);
/* The same for a shared lock: any number may hold it while nobody holds the exclusive
 * one.  A holder of the exclusive lock gives it up for this one, and somebody else may
 * come in between (DET_BUSY: then neither is held). */
det_status io_lock_shared(struct io_file *file, struct err *err);
/* An exclusive lock on some bytes, as other programs lock them with fcntl().  It belongs to
 * this open file: closing others of the same file does not drop it.  DET_BUSY as above.  A
 * memory file system has no other programs. */
det_status io_lock_bytes(struct io_file *file, uint64_t from, uint64_t len,
                         struct err *err);
/* Hints that these bytes may be written to disk already: a later sync has less to do.
 * Promises nothing and cannot fail. */
void io_write_behind(struct io_file *file, uint64_t offset, uint64_t len);
/* Whether reads and writes of this file go past the kernel's cache: they cost little of a
 * processor, and push nothing else out of the cache.  While they do, offsets, lengths and
 * memory are multiples of IO_DIRECT_BYTES.  False: it cannot; nothing has changed. */
enum { IO_DIRECT_BYTES = 4096 };
bool io_direct(struct io_file *file, bool is_direct);
/* Makes an empty file a copy of another that shares its bytes, where the file system
 * can do that.  False: it cannot; copy the bytes. */
bool io_clone(struct io_file *from, struct io_file *to);
/* Copies all bytes into an empty file inside the kernel or the file server.  False: it
 * cannot, or there is no room; copy from the beginning. */
bool io_copy(struct io_file *from, struct io_file *to);
/* Of the open file, wherever its name is now. */
det_status io_stat_of(struct io_file *file, struct io_stat *ret_stat, struct err *err);
/* The descriptor, for poll and for children; -1 in a memory file system. */
int io_fd(const struct io_file *file);

/* Makes the file at least that long; added bytes are zero.  Reserves the space: later
 * writes into it, also through a map, cannot find the disk full.  DET_FULL: there is no
 * space; the file may have grown. */
det_status io_reserve(struct io_file *file, uint64_t size_bytes, struct err *err);

/* The first bytes of a file in memory, shared with everybody who maps or reads the
 * file.  The file must be open only while the map is made. io_sync() covers writes
 * through the map; a loss of power takes unsynced ones. */
struct io_map {
    unsigned char *data; /* NULL: nothing is mapped */
    size_t len;
    struct io *io;
    void *impl;
};

/* For reading and writing: the file was opened with IO_WRITE.  DET_INVALID: it is
 * shorter than `len`, or `len` is 0.  On a real disk, using a map after the file was
 * cut short kills the process.  In a memory file system a mapped file does not grow
 * beyond its reserved size (DET_IO), and after a crash only io_unmap() may use the
 * map. */
det_status io_map(struct io_file *file, size_t len, struct io_map *ret_map,
                  struct err *err);
/* The same for reading only: IO_READ suffices; a write through it kills the process. */
det_status io_map_read(struct io_file *file, size_t len, struct io_map *ret_map,
                       struct err *err);
void io_unmap(struct io_map *map); /* also of an empty one */

det_status io_stat(struct io *io, const char *path, struct io_stat *ret_stat,
                   struct err *err); /* does not follow links; DET_NOT_FOUND */
/* The size of the file system that a path is on, and how much of it its user may still
 * fill.  DET_UNSUPPORTED: one in memory without a limit has no size. */
struct io_space {
    uint64_t size_bytes;
    uint64_t free_bytes;
};
det_status io_space(struct io *io, const char *path, struct io_space *ret_space,
                    struct err *err);
/* With its parents; it may exist already.  Private: 0700, else 0755; parents 0755. */
det_status io_mkdir(struct io *io, const char *path, bool is_private, struct err *err);
/* Replaces a file or an empty directory. */
det_status io_rename(struct io *io, const char *from, const char *to, struct err *err);
/* A file, a link or an empty directory. */
det_status io_remove(struct io *io, const char *path, struct err *err);
/* With everything in it, including links but not their targets; it may be missing.  A
 * failure leaves the rest. */
det_status io_remove_tree(struct io *io, const char *path, struct err *err);
/* Also directories that their owner, this process' user, has closed to himself. */
det_status io_remove_closed_tree(struct io *io, const char *path, struct err *err);
det_status io_sync_dir(struct io *io, const char *path, struct err *err);
/* The directory that the path is in: its name there becomes durable. */
det_status io_sync_parent(struct io *io, const char *path, struct err *err);
/* Where a path leads if it is, or has in it, a symlink; `path` itself if nothing is there.
 * To be freed with mem_free(); NULL: out of memory. */
char *io_resolve(struct io *io, const char *path);
/* The names in a directory, sorted, without "." and "..": an array in `mem` that ends
 * with NULL. */
det_status io_list(struct io *io, const char *path, struct arena *mem,
                   const char ***ret_names, struct err *err);

/* Whole files. io_read_file() appends to the buffer, and leaves it as it was on failure
 * (DET_TOO_LARGE beyond the buffer's limit). io_replace() writes under a temporary
 * name, syncs, renames and syncs the directory: readers see the old bytes or the new
 * ones. */
det_status io_read_file(struct io *io, const char *path, struct buf *ret_bytes,
                        struct err *err);
/* The same for files that we keep: refuses pipes and devices (DET_INVALID), which could keep
 * us waiting.  A link may lead to a plain file, or to more than the buffer takes. */
det_status io_read_kept(struct io *io, const char *path, struct buf *ret_bytes,
                        struct err *err);
/* The same for folders of others: refuses links, pipes and devices. */
det_status io_read_plain(struct io *io, const char *path, struct buf *ret_bytes,
                         struct err *err);
det_status io_replace(struct io *io, const char *path, const void *bytes, size_t len,
                      bool is_private, struct err *err);

#endif
