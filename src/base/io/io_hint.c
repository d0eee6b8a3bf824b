/* SPDX-License-Identifier: Apache-2.0 */
/* io_hint.c - optional help that only the machine's file system gives. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/io/io_impl.h"

/* Smaller files are written better by the kernel, many at once. */
enum { COPY_BYTES = 8 << 20, BEHIND_BYTES = 1 << 20 };

void io_write_behind(struct io_file *file, uint64_t offset, uint64_t len)
{
    int fd = io_fd(file);

    if (fd >= 0)
        (void)sync_file_range(fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE);
}

det_status io_lock_bytes(struct io_file *file, uint64_t from, uint64_t len,
                         struct err *err)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)from,
                         .l_len = (off_t)len};
    int fd = io_fd(file);

    if (fd < 0 || !fcntl(fd, F_OFD_SETLK, &lock))
        return DET_OK;
    if (errno == EAGAIN || errno == EACCES)
        return err_set(err, DET_BUSY, "another program uses '%s'", file->path);
    return io_fail(err, errno, "lock", file->path);
}

bool io_direct(struct io_file *file, bool is_direct)
{
    int fd = io_fd(file);
    int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

    if (flags < 0)
        return false;
    flags = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    return fcntl(fd, F_SETFL, flags) == 0;
}

bool io_clone(struct io_file *from, struct io_file *to)
{
    int source = io_fd(from);
    int target = io_fd(to);

    return source >= 0 && target >= 0 && ioctl(target, FICLONE, source) == 0;
}

/* A file without a known size (of /proc) is copied by the caller. */
bool io_copy(struct io_file *from, struct io_file *to)
{
    int source = io_fd(from);
    int target = io_fd(to);
    off_t read_at = 0;
    off_t write_at = 0;
    ssize_t got = 1;

    if (source < 0 || target < 0)
        return false;
    while (got > 0) {
        got = copy_file_range(source, &read_at, target, &write_at, COPY_BYTES, 0);
        if (got >= BEHIND_BYTES)
            io_write_behind(to, (uint64_t)(write_at - got), (uint64_t)got);
    }
    return got == 0 && write_at > 0;
}
