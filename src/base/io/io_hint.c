/* SPDX-License-Identifier: Apache-2.0 */
/* io_hint.c - optional help that only the machine's file system gives. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/io.h"

enum { COPY_BYTES = 8 << 20 };

void io_write_behind(struct io_file *file, uint64_t offset, uint64_t len)
{
    int fd = io_fd(file);

    if (fd >= 0)
        (void)sync_file_range(fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE);
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
        if (got > 0)
            io_write_behind(to, (uint64_t)(write_at - got), (uint64_t)got);
    }
    return got == 0 && write_at > 0;
}
