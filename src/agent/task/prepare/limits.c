/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/prepare/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"

const struct field task_limits_fields[] = {
    FIELD(I64, task_limits, processes, "processes and threads"),
    FIELD(I64, task_limits, memory, "bytes of memory"),
    FIELD(I64, task_limits, open_files, "open files of a process"),
    FIELD(I64, task_limits, disk, "bytes on the disk"),
    FIELD_END,
};

/* RLIMIT_DATA, not RLIMIT_AS: CUDA reserves far more addresses than memory. */
static const struct {
    int resource;
    size_t offset;
    const char *name;
} rows[] = {
    {RLIMIT_NPROC, offsetof(struct task_limits, processes), "processes"},
    {RLIMIT_DATA, offsetof(struct task_limits, memory), "memory"},
    {RLIMIT_NOFILE, offsetof(struct task_limits, open_files), "open_files"},
    {RLIMIT_FSIZE, offsetof(struct task_limits, disk), "disk"},
};

/* Never above the limit that we have ourselves. */
static bool apply_limit(int resource, int64_t value)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit))
        return false;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)value)
        limit.rlim_max = (rlim_t)value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

const char *limits_apply(const struct task_limits *limits, bool has_group)
{
    for (size_t i = 0; limits && i < ARRAY_LEN(rows); i++) {
        const int64_t *value =
            (const int64_t *)(const void *)((const char *)limits + rows[i].offset);

        if (has_group && rows[i].resource == RLIMIT_NPROC)
            continue;
        if (*value > 0 && !apply_limit(rows[i].resource, *value))
            return rows[i].name;
    }
    return NULL;
}

int64_t limits_killed(int group)
{
    static const char word[] = "oom_kill ";
    char text[1024] = "";
    int fd = group < 0 ? -1 : openat(group, "memory.events", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *at = len > 0 ? strstr(text, word) : NULL;

    if (fd >= 0)
        close(fd);
    return at ? strtoll(at + strlen(word), NULL, 10) : 0;
}

static void ftsp_done(FTS **tree)
{
    if (*tree)
        fts_close(*tree);
}

/* Looks at names only, never through symlinks: the task owns the tree. */
int64_t limits_disk_used(const char *dir, int64_t most)
{
    char *paths[] = {(char *)(uintptr_t)dir, NULL};
    CLEANUP(ftsp_done)
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    const FTSENT *entry;
    int64_t used = 0;

    while (tree && used <= most && (entry = fts_read(tree)) != NULL)
        if (entry->fts_info == FTS_F || entry->fts_info == FTS_D)
            used += (int64_t)entry->fts_statp->st_blocks * 512;
    return used;
}
