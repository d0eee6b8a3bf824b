/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tasks_root.h"

#include <string.h>

#include "agent/privileged.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"

enum { ROOM_BYTES = 256 << 10 };

void tasks_root_open_way(const char *root)
{
    const char *slash = strrchr(root, '/');
    CLEANUP(mem_freep)
    char *above = slash ? mem_strndup(root, (size_t)(slash - root)) : NULL;
    struct err err = {0};

    if (above && *above && privileged_let_pass(above, &err))
        log_warn("%s", err.text);
    if (privileged_let_pass(root, &err))
        log_warn("%s", err.text);
}

/* Writes a file.  Not zeroes: some file systems need no room for those. */
det_status tasks_root_check_room(struct io *io, const char *root, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(2 * ROOM_BYTES);
    CLEANUP(io_closep) struct io_file *file = NULL;
    char *path = arena_printf(&mem, "%s.room", root); /* beside the tasks */
    char *bytes = arena_alloc(&mem, ROOM_BYTES);
    det_status status = DET_OK;

    if (!path || !bytes)
        return err_default(err, DET_NOMEM);
    memset(bytes, 'x', ROOM_BYTES);
    status = io_open(io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &file, NULL);
    if (!status)
        status = io_write_at(file, 0, bytes, ROOM_BYTES, NULL);
    if (file)
        (void)io_remove(io, path, NULL);
    if (status != DET_FULL)
        return DET_OK; /* what else is wrong, the start tells */
    return err_set(err, status, "no space left on the disk for '%s'", root);
}
