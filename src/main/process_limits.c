/* SPDX-License-Identifier: Apache-2.0 */
#include "main/process_limits.h"

#include <malloc.h>

enum {
    /* Larger blocks come from the system and go back to it when they are freed.  By default
     * the C library raises this bound with the blocks that it sees, up to 32 MB, and then
     * keeps them. */
    OWN_BLOCK = 256 << 10,
    KEPT_AT_TOP = 1 << 20,
    /* Each arena keeps what its threads freed; few threads allocate at the same time. */
    MOST_ARENAS = 4,
};

void process_limits_raise(struct rlimit *ret_files)
{
    struct rlimit files;

    mallopt(M_MMAP_THRESHOLD, OWN_BLOCK);
    mallopt(M_TRIM_THRESHOLD, KEPT_AT_TOP);
    mallopt(M_ARENA_MAX, MOST_ARENAS);
    *ret_files = (struct rlimit){0};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    *ret_files = files;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

void process_limits_restore(const struct rlimit *files)
{
    if (files->rlim_max)
        (void)setrlimit(RLIMIT_NOFILE, files);
}
