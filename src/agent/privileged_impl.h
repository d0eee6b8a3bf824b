/* SPDX-License-Identifier: Apache-2.0 */
/* privileged_impl.h - what privileged.c and privileged_groups.c share: files by descriptor.
 * Safe between fork and exec. */
#ifndef AGENT_PRIVILEGED_IMPL_H
#define AGENT_PRIVILEGED_IMPL_H

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

static inline void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* `path` has no symlink below `at` and does not leave it. */
static inline int open_beneath(int at, const char *path, uint64_t flags)
{
    const struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, at, path[0] ? path : ".", &how, sizeof(how));
}

/* For paths that no task can change. */
static inline int open_trusted(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* For files of the kernel, which take a line at once.  Closes `fd`. */
static inline bool write_all(int fd, const char *text)
{
    size_t len = strlen(text);
    bool is_done = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    int code = errno;

    close_fd(&fd);
    errno = code;
    return is_done;
}

static inline void closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Digits without printf(), which is not safe here. */
static inline const char *put_number(uint64_t value, char text[24])
{
    char *at = text + 23;

    *at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    return at;
}

#endif
