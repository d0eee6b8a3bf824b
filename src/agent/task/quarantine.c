/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/quarantine.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"

enum { SCRATCH = 4 << 20 };
#define SECOND_US INT64_C(1000000)
#define DAY_US    (INT64_C(86400) * SECOND_US)

void quarantine_prune(struct io *io, const char *place, int64_t now_us)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct err err = {0};
    const char **names;
    size_t count = 0;

    if (io_list(io, place, &mem, &names, NULL))
        return; /* there is none */
    while (names[count])
        count++;
    /* Sorted by their names, so the oldest come first. */
    for (size_t i = 0; i < count; i++) {
        int64_t since_us = strtoll(names[i], NULL, 10) * SECOND_US;
        const char *path = task_dir_path(&mem, place, names[i]);

        if (count - i <= QUARANTINE_MOST &&
            since_us > now_us - QUARANTINE_DAYS * DAY_US)
            return;
        if (path && io_remove_closed_tree(io, path, &err))
            log_warn("%s", err.text);
    }
}

/* A directory that its owner may not write to cannot be moved: it holds its "..". */
static det_status move_dir(struct io *io, const char *from, const char *to,
                           struct err *err)
{
    det_status status = io_rename(io, from, to, err);

    if (status == DET_FORBIDDEN && !io_is_memory(io) &&
        fchmodat(AT_FDCWD, from, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        status = io_rename(io, from, to, err);
    return status;
}

det_status quarantine_put(struct io *io, const char *place, const char *dir,
                          int64_t now_us, struct err *err)
{
    static const char *const not_kept[] = {TASK_DIR_WORK, TASK_DIR_TMP};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *slash = strrchr(dir, '/');
    const char *to = arena_printf(&mem, "%s/%010" PRId64 "-%s", place,
                                  now_us / SECOND_US, slash ? slash + 1 : dir);
    det_status status = io_mkdir(io, place, true, err);

    if (!to)
        return err_default(err, DET_NOMEM);
    if (!status)
        status = move_dir(io, dir, to, err);
    if (status)
        return status;
    log_warn("'%s' was set aside as '%s'", dir, to);
    for (size_t i = 0; i < ARRAY_LEN(not_kept); i++) {
        const char *path = task_dir_path(&mem, to, not_kept[i]);

        if (path)
            (void)io_remove_closed_tree(io, path, NULL); /* goes with the rest */
    }
    quarantine_prune(io, place, now_us);
    return DET_OK;
}
