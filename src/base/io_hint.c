/* SPDX-License-Identifier: Apache-2.0 */
/* io_hint.c - what only the machine's file system can do, and nobody depends on. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/io.h"

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
