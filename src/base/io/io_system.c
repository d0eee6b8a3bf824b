/* SPDX-License-Identifier: Apache-2.0 */
/* io_system.c - the machine's file system.
 *
 * Every descriptor is closed on exec; calls that a signal interrupts are repeated;
 * writes go on until all is written.  Whole trees are removed through descriptors and
 * never through links: a task's directory is full of its user's files, and the agent
 * may be root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io/io_impl.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"

enum { REMOVE_DEPTH = 32 }; /* most descriptors that removing a tree takes */

struct system_file {
    struct io_file file;
    int fd;
};

static int fd_of(const struct io_file *file)
{
    return CONTAINER_OF(file, const struct system_file, file)->fd;
}

/* A descriptor that leaked into a task would keep locks and pipes of the agent
 * alive. */
static int open_retrying(int at, const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = openat(at, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int open_flags(unsigned flags)
{
    int ret = flags & IO_WRITE ? O_RDWR : O_RDONLY;

    if (flags & IO_CREATE)
        ret |= O_CREAT;
    if (flags & IO_EXCLUSIVE)
        ret |= O_EXCL;
    if (flags & IO_TRUNCATE)
        ret |= O_TRUNC;
    /* Refuses links, and does not wait for the other end of a pipe. */
    if (flags & IO_PLAIN)
        ret |= O_NOFOLLOW | O_NONBLOCK;
    if (flags & IO_FOLDER)
        ret |= O_DIRECTORY;
    /* A terminal that a daemon opens must not become its controlling terminal. */
    return ret | O_NOCTTY;
}

/* Linux opens a directory for reading and fails only at the first read. */
static int check_kind(int fd, unsigned flags)
{
    struct stat st;

    if (fstat(fd, &st))
        return errno;
    if (S_ISDIR(st.st_mode))
        return flags & IO_FOLDER ? 0 : EISDIR;
    return (flags & IO_PLAIN) && !S_ISREG(st.st_mode) ? EINVAL : 0;
}

static det_status system_open(struct io *io, const char *path, unsigned flags,
                              struct io_file **ret_file, struct err *err)
{
    struct system_file *file = mem_new(struct system_file);
    char *copy = mem_strdup(path);
    int code = 0;

    if (!file || !copy) {
        mem_free(file);
        mem_free(copy);
        return err_default(err, DET_NOMEM);
    }
    file->file = (struct io_file){io, copy};
    file->fd = open_retrying(AT_FDCWD, path, open_flags(flags),
                             flags & IO_PRIVATE ? 0600 : 0644);
    code = file->fd < 0 ? errno : check_kind(file->fd, flags);
    if (code) {
        io_close(&file->file);
        return io_fail(err, code, "open", path);
    }
    *ret_file = &file->file;
    return DET_OK;
}

/* `bits`: as of others, S_IROTH to read a file or S_IXOTH to pass through a directory. */
static int check_reader(int fd, const struct io_reader *reader, mode_t bits)
{
    struct stat st;

    if (!reader)
        return 0;
    if (fstat(fd, &st))
        return errno;
    if (st.st_uid == reader->uid)
        bits <<= 6;
    else if (st.st_gid == reader->gid)
        bits <<= 3;
    return st.st_mode & bits ? 0 : EACCES;
}

/* One part after the other, with O_NOFOLLOW below the descriptor of the one before. */
static int walk_below(const char *root, char *path, const struct io_reader *reader)
{
    int at = open_retrying(AT_FDCWD, root, O_RDONLY | O_DIRECTORY, 0);
    char *rest = path;

    while (at >= 0) {
        char *part = strsep(&rest, "/");
        int flags =
            rest ? O_RDONLY | O_DIRECTORY | O_NOFOLLOW : open_flags(IO_READ | IO_PLAIN);
        int next = open_retrying(at, *part ? part : ".", flags, 0);
        int code =
            next < 0 ? errno : check_reader(next, reader, rest ? S_IXOTH : S_IROTH);

        close(at);
        if (code && next >= 0)
            close(next);
        errno = code;
        at = code ? -1 : next;
        if (!rest)
            break;
    }
    return at;
}

static det_status system_open_below(struct io *io, const char *root, const char *path,
                                    const struct io_reader *reader,
                                    struct io_file **ret_file, struct err *err)
{
    struct system_file *file = mem_new(struct system_file);
    CLEANUP(mem_freep) char *parts = mem_strdup(path);
    char *copy = mem_strdup(path);
    int code;

    if (!file || !copy || !parts) {
        mem_free(file);
        mem_free(copy);
        return err_default(err, DET_NOMEM);
    }
    file->file = (struct io_file){io, copy};
    file->fd = walk_below(root, parts, reader);
    code = file->fd < 0 ? errno : check_kind(file->fd, IO_PLAIN);
    if (code) {
        io_close(&file->file);
        return io_fail(err, code, "open", path);
    }
    *ret_file = &file->file;
    return DET_OK;
}

static void system_close(struct io_file *file)
{
    int fd = fd_of(file);

    /* Not repeated: Linux has freed the descriptor even when a signal came. */
    if (fd >= 0)
        close(fd);
    mem_free(file->path);
    mem_free(CONTAINER_OF(file, struct system_file, file));
}

/* By offset: threads that share a file do not move it under one another. */
static det_status system_read_at(struct io_file *file, uint64_t offset, void *bytes,
                                 size_t len, size_t *ret_len, struct err *err)
{
    char *at = bytes;
    size_t done = 0;

    while (done < len) {
        ssize_t got = pread(fd_of(file), at + done, len - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_fail(err, errno, "read", file->path);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *ret_len = done;
    return DET_OK;
}

static det_status system_write_at(struct io_file *file, uint64_t offset,
                                  const void *bytes, size_t len, struct err *err)
{
    const char *at = bytes;
    size_t done = 0;

    while (done < len) {
        ssize_t wrote =
            pwrite(fd_of(file), at + done, len - done, (off_t)(offset + done));

        if (wrote < 0 && errno == EINTR)
            continue;
        /* Does not happen to files; but it must not loop. */
        if (wrote <= 0)
            return io_fail(err, wrote ? errno : EIO, "write", file->path);
        done += (size_t)wrote;
    }
    return DET_OK;
}

static det_status system_size(struct io_file *file, uint64_t *ret_size_bytes,
                              struct err *err)
{
    struct stat st;

    if (fstat(fd_of(file), &st))
        return io_fail(err, errno, "look at", file->path);
    *ret_size_bytes = (uint64_t)st.st_size;
    return DET_OK;
}

/* Not O_APPEND: on Linux that would make io_write_at() append as well. */
static det_status system_append(struct io_file *file, const void *bytes, size_t len,
                                struct err *err)
{
    uint64_t end;
    det_status status = system_size(file, &end, err);

    return status ? status : system_write_at(file, end, bytes, len, err);
}

/* Repeated for signals only.  After a real failure the kernel drops the bytes that it
 * could not write, and a second fsync() would succeed: callers must not retry but start
 * over from the bytes on disk. */
static int sync_fd(int fd)
{
    int ret;

    do
        ret = fsync(fd);
    while (ret && errno == EINTR);
    return ret;
}

static det_status system_sync(struct io_file *file, struct err *err)
{
    if (sync_fd(fd_of(file)))
        return io_fail(err, errno, "sync", file->path);
    return DET_OK;
}

/* File systems whose syncfs() writes everything, waits for it and tells of failures: they
 * keep their data on this machine.  (Others hand a sync of one file to a server.) */
static bool syncs_as_a_whole(int fd)
{
    static const unsigned long kinds[] = {
        0xEF53,     /* ext2, ext3, ext4 */
        0x58465342, /* XFS */
        0x9123683E, /* Btrfs */
        0xF2F52010, /* F2FS */
        0x01021994, /* tmpfs */
    };
    struct statfs found;

    if (fstatfs(fd, &found))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if ((unsigned long)found.f_type == kinds[i])
            return true;
    return false;
}

/* Linux tells of failures since 5.8.  Older ones sync each file, as before. */
static bool tells_failures(void)
{
    struct utsname name;
    unsigned major, minor;

    return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 8));
}

static det_status system_sync_all(struct io_file *folder, struct err *err)
{
    int ret;

    if (!syncs_as_a_whole(fd_of(folder)) || !tells_failures())
        return err_set(err, DET_UNSUPPORTED,
                       "the file system of '%s' is not synced as a whole",
                       folder->path);
    do
        ret = syncfs(fd_of(folder));
    while (ret && errno == EINTR);
    return ret ? io_fail(err, errno, "sync", folder->path) : DET_OK;
}

static det_status system_truncate(struct io_file *file, uint64_t size_bytes,
                                  struct err *err)
{
    int ret;

    do
        ret = ftruncate(fd_of(file), (off_t)size_bytes);
    while (ret && errno == EINTR);
    return ret ? io_fail(err, errno, "truncate", file->path) : DET_OK;
}

/* flock() and not fcntl(): fcntl's locks belong to the process, and closing any other
 * descriptor of the file would drop them. */
static det_status system_lock(struct io_file *file, bool is_shared, struct err *err)
{
    int how = is_shared ? LOCK_SH : LOCK_EX;
    int ret;

    do
        ret = flock(fd_of(file), how | LOCK_NB);
    while (ret && errno == EINTR);
    if (ret && errno == EWOULDBLOCK)
        return err_set(err, DET_BUSY, "'%s' is locked by somebody else", file->path);
    return ret ? io_fail(err, errno, "lock", file->path) : DET_OK;
}

/* For file systems that cannot allocate: written bytes have their place.  Only behind
 * the end: nobody else writes there yet. */
static det_status fill_with_zeroes(struct io_file *file, uint64_t size_bytes,
                                   struct err *err)
{
    static const char zeroes[4096];
    uint64_t end;
    det_status status = system_size(file, &end, err);

    while (!status && end < size_bytes) {
        size_t portion = (size_t)MIN(size_bytes - end, (uint64_t)sizeof(zeroes));

        status = system_write_at(file, end, zeroes, portion, err);
        end += portion;
    }
    return status;
}

static det_status system_reserve(struct io_file *file, uint64_t size_bytes,
                                 struct err *err)
{
    int ret;

    if (size_bytes == 0)
        return DET_OK;
    if (size_bytes > INT64_MAX)
        return io_fail(err, EFBIG, "reserve space for", file->path);
    do
        ret = fallocate(fd_of(file), 0, 0, (off_t)size_bytes);
    while (ret && errno == EINTR);
    if (ret && errno == EOPNOTSUPP)
        return fill_with_zeroes(file, size_bytes, err);
    return ret ? io_fail(err, errno, "reserve space for", file->path) : DET_OK;
}

static det_status system_map(struct io_file *file, size_t len, bool is_writable,
                             struct io_map *ret_map, struct err *err)
{
    int access = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *data = mmap(NULL, len, access, MAP_SHARED, fd_of(file), 0);

    if (data == MAP_FAILED)
        return io_fail(err, errno, "map", file->path);
    *ret_map = (struct io_map){data, len, file->io, NULL};
    return DET_OK;
}

static void system_unmap(struct io_map *map)
{
    munmap(map->data, map->len);
}

/* Callers cannot read pipes, sockets and devices; all are one kind. */
static enum io_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return IO_FILE;
    if (S_ISDIR(mode))
        return IO_DIRECTORY;
    return S_ISLNK(mode) ? IO_LINK : IO_OTHER;
}

static struct io_stat stat_from(const struct stat *st)
{
    return (struct io_stat){
        .kind = kind_of(st->st_mode),
        .mode = st->st_mode & 07777,
        .size_bytes = (uint64_t)st->st_size,
        .modified_us =
            (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .device = (uint64_t)st->st_dev,
        .inode = (uint64_t)st->st_ino,
    };
}

/* Does not follow links: the caller asks about the path itself. */
static det_status system_stat(struct io *io UNUSED, const char *path,
                              struct io_stat *ret_stat, struct err *err)
{
    struct stat st;

    if (lstat(path, &st))
        return io_fail(err, errno, "look at", path);
    *ret_stat = stat_from(&st);
    return DET_OK;
}

static det_status system_stat_of(struct io_file *file, struct io_stat *ret_stat,
                                 struct err *err)
{
    struct stat st;

    if (fstat(fd_of(file), &st))
        return io_fail(err, errno, "look at", file->path);
    *ret_stat = stat_from(&st);
    return DET_OK;
}

static det_status system_space(struct io *io UNUSED, const char *path,
                               struct io_space *ret_space, struct err *err)
{
    struct statvfs st;

    if (statvfs(path, &st))
        return io_fail(err, errno, "look at", path);
    *ret_space = (struct io_space){
        .size_bytes = (uint64_t)st.f_blocks * st.f_frsize,
        .free_bytes = (uint64_t)st.f_bavail * st.f_frsize,
    };
    return DET_OK;
}

/* Another process may make the same directory at the same moment: it only has to be
 * there. */
static int make_one(const char *path, mode_t mode)
{
    struct stat st;
    int code;

    if (mkdir(path, mode) == 0)
        return 0;
    code = errno;
    /* Other errors come before EEXIST: that of a read-only parent, for example. */
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : EEXIST;
    return code;
}

static det_status system_mkdir(struct io *io UNUSED, const char *path, bool is_private,
                               struct err *err)
{
    mode_t mode = is_private ? 0700 : 0755;
    CLEANUP(mem_freep) char *copy = mem_strdup(path);
    int code;

    if (!copy)
        return err_default(err, DET_NOMEM);
    /* Usually the parent exists, and one call suffices. */
    code = make_one(copy, mode);
    if (code != ENOENT)
        return code ? io_fail(err, code, "make", path) : DET_OK;

    for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        code = make_one(copy, 0755);
        *slash = '/';
        if (code)
            return io_fail(err, code, "make", path);
    }
    code = make_one(copy, mode);
    return code ? io_fail(err, code, "make", path) : DET_OK;
}

/* Atomic for readers: the old file or the new one, never none. */
static det_status system_rename(struct io *io UNUSED, const char *from, const char *to,
                                struct err *err)
{
    if (rename(from, to))
        return err_errno(err, errno, "cannot rename '%s' to '%s'", from, to);
    return DET_OK;
}

/* unlink() first: Linux answers EISDIR without touching a directory. */
static det_status system_remove(struct io *io UNUSED, const char *path, struct err *err)
{
    if (unlink(path) == 0)
        return DET_OK;
    if (errno != EISDIR)
        return io_fail(err, errno, "remove", path);
    if (rmdir(path))
        return io_fail(err, errno, "remove", path);
    return DET_OK;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The next real entry; NULL at the end, or with *ret_code set. */
static const char *next_name(DIR *dir, int *ret_code)
{
    const struct dirent *entry;

    do {
        /* readdir() shows an error only through errno. */
        errno = 0;
        entry = readdir(dir);
    } while (entry && is_dots(entry->d_name));
    *ret_code = entry ? 0 : errno;
    return entry ? entry->d_name : NULL;
}

static void closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Never follows a link: opens with O_NOFOLLOW below the parent's descriptor.  Nobody
 * can put a link in the way between looking and removing. */
static DIR *open_directory(int at, const char *name, int flags)
{
    int fd = open_retrying(at, name, O_RDONLY | O_DIRECTORY | flags, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int code = errno;

    if (!dir && fd >= 0)
        close(fd);
    errno = code;
    return dir;
}

/* A tree that is being removed. */
struct removal {
    int top;         /* of the whole */
    unsigned lifted; /* directories that were moved there */
    bool opens_closed;
};

static int remove_entry(struct removal *removal, int at, const char *name, int depth);

/* A task that is being killed may still write: names that vanish are fine, and new ones
 * show as ENOTEMPTY when the directory itself is removed. */
static int remove_entries(struct removal *removal, DIR *dir, int depth)
{
    const char *name;
    int code;

    rewinddir(dir);
    while ((name = next_name(dir, &code)) != NULL) {
        code = remove_entry(removal, dirfd(dir), name, depth);
        if (code)
            return code;
    }
    return code;
}

/* Each level takes a descriptor, and a tree may be deeper than the number of
 * descriptors: a directory that is too deep moves to the top and is removed from
 * there. */
static int lift_directory(struct removal *removal, int at, const char *name)
{
    int code;

    do {
        char to[32];

        snprintf(to, sizeof(to), ".det-deep-%u", ++removal->lifted);
        code = renameat(at, name, removal->top, to) ? errno : 0;
    } while (code == EEXIST || code == ENOTEMPTY || code == ENOTDIR);
    return code == ENOENT ? 0 : code;
}

/* Our own directories may be closed to us: their names cannot be removed then. */
static int remove_name(const struct removal *removal, int at, const char *name)
{
    if (unlinkat(at, name, 0) == 0)
        return 0;
    if (errno != EACCES || !removal->opens_closed || fchmod(at, 0700))
        return errno;
    return unlinkat(at, name, 0) ? errno : 0;
}

/* The same for their content. */
static DIR *open_to_remove(const struct removal *removal, int at, const char *name)
{
    DIR *dir = open_directory(at, name, O_NOFOLLOW);

    if (dir || errno != EACCES || !removal->opens_closed ||
        fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW))
        return dir;
    return open_directory(at, name, O_NOFOLLOW);
}

/* A name that is gone already is fine. */
static int remove_entry(struct removal *removal, int at, const char *name, int depth)
{
    CLEANUP(closedirp) DIR *dir = NULL;
    unsigned lifted;
    int code = remove_name(removal, at, name);

    if (code != EISDIR)
        return code == ENOENT ? 0 : code;
    if (depth == REMOVE_DEPTH)
        return lift_directory(removal, at, name);
    dir = open_to_remove(removal, at, name);
    if (!dir)
        return errno == ENOENT ? 0 : errno;
    if (depth == 0)
        removal->top = dirfd(dir);
    do {
        lifted = removal->lifted;
        code = remove_entries(removal, dir, depth + 1);
    } while (!code && depth == 0 && removal->lifted != lifted);
    if (!code && unlinkat(at, name, AT_REMOVEDIR) && errno != ENOENT)
        code = errno;
    return code;
}

static det_status system_remove_tree(struct io *io UNUSED, const char *path,
                                     bool opens_closed, struct err *err)
{
    struct removal removal = {.top = -1, .opens_closed = opens_closed};
    int code = remove_entry(&removal, AT_FDCWD, path, 0);

    return code ? io_fail(err, code, "remove", path) : DET_OK;
}

static det_status system_sync_dir(struct io *io UNUSED, const char *path,
                                  struct err *err)
{
    int fd = open_retrying(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    int code = 0;

    if (fd < 0)
        return io_fail(err, errno, "sync", path);
    if (sync_fd(fd))
        code = errno;
    close(fd);
    /* EINVAL: the file system cannot sync directories and keeps names in order
     * itself. */
    return code && code != EINVAL ? io_fail(err, code, "sync", path) : DET_OK;
}

static int compare_names(const void *a, const void *b)
{
    const char *const *one = a;
    const char *const *other = b;

    return strcmp(*one, *other);
}

/* Sorted here, since each file system has another order and tests compare. */
static det_status system_list(struct io *io UNUSED, const char *path, struct arena *mem,
                              const char ***ret_names, struct err *err)
{
    /* Here links are followed: a data directory may be one. */
    CLEANUP(closedirp) DIR *dir = open_directory(AT_FDCWD, path, 0);
    VEC(const char *) found = {0};
    const char **names = NULL;
    const char *name;
    bool is_whole = true;
    int code;

    if (!dir)
        return io_fail(err, errno, "list", path);
    while (is_whole && (name = next_name(dir, &code)) != NULL) {
        name = arena_strdup(mem, name);
        is_whole = name && vec_push(&found, name);
    }
    if (is_whole)
        names = arena_array(mem, const char *, found.count + 1);
    if (names && found.count) {
        memcpy(names, found.at, found.count * sizeof(*names));
        qsort(names, found.count, sizeof(*names), compare_names);
    }
    vec_done(&found);
    if (!names)
        return err_default(err, DET_NOMEM);
    if (code)
        return io_fail(err, code, "list", path);
    *ret_names = names;
    return DET_OK;
}

/* It belongs to the machine and owns nothing. */
static void system_free(struct io *io UNUSED)
{
}

static const struct io_ops system_ops = {
    .open = system_open,
    .open_below = system_open_below,
    .close = system_close,
    .read_at = system_read_at,
    .write_at = system_write_at,
    .append = system_append,
    .sync = system_sync,
    .sync_all = system_sync_all,
    .truncate = system_truncate,
    .size = system_size,
    .lock = system_lock,
    .reserve = system_reserve,
    .map = system_map,
    .unmap = system_unmap,
    .fd = fd_of,
    .stat_of = system_stat_of,
    .stat = system_stat,
    .space = system_space,
    .mkdir = system_mkdir,
    .rename = system_rename,
    .remove = system_remove,
    .remove_tree = system_remove_tree,
    .sync_dir = system_sync_dir,
    .list = system_list,
    .free = system_free,
};

struct io *io_system(void)
{
    /* Never written to; the interface is not const because of its twin. */
    static const struct io system = {&system_ops};

    return (struct io *)(uintptr_t)&system;
}
