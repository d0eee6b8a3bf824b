/* SPDX-License-Identifier: Apache-2.0 */
#include "store/engine/upgrade_copy.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "store/engine/db.h"
#include "store/engine/db_impl.h"
#include "store/engine/migrate.h"

enum {
    CHUNK = 1 << 20,
    ROOM_LEFT = 64 << 20, /* what the upgrade itself may need */
};

#define COPY_PREFIX "det.db.schema-"
#define COPY_PART   "det.db.part"

/* Through the connection: to open and close the file itself would give up the locks that
 * SQLite holds on it, and another process would take the log away under us. */
static det_status copy_pages(struct db *db, uint64_t size, struct io_file *to,
                             struct err *err)
{
    CLEANUP(mem_freep) char *chunk = mem_alloc(CHUNK);
    det_status st = chunk ? DET_OK : err_default(err, DET_NOMEM);

    for (uint64_t at = 0; at < size && !st; at += CHUNK) {
        size_t len = (size_t)MIN(size - at, (uint64_t)CHUNK);

        st = db_file_read(db, DB_FILE_PAGES, at, chunk, len, err);
        if (!st)
            st = io_write_at(to, at, chunk, len, err);
    }
    return st ? st : io_sync(to, err);
}

static det_status copy_database(struct io *io, struct db *db, uint64_t size,
                                const char *to, struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    det_status st =
        io_open(io, to, IO_WRITE | IO_CREATE | IO_TRUNCATE | IO_PRIVATE, &file, err);

    return st ? st : copy_pages(db, size, file, err);
}

/* Copies of earlier upgrades, and the part of one that was cut off. */
static det_status remove_others(struct io *io, const char *directory, const char *kept,
                                struct arena *mem, struct err *err)
{
    const char **names;
    det_status st = io_list(io, directory, mem, &names, err);

    for (; !st && *names; names++) {
        const char *path;

        if (!strcmp(*names, kept) ||
            (strncmp(*names, COPY_PREFIX, strlen(COPY_PREFIX)) &&
             strcmp(*names, COPY_PART) != 0))
            continue;
        path = arena_printf(mem, "%s/%s", directory, *names);
        st = path ? io_remove(io, path, err) : err_default(err, DET_NOMEM);
    }
    return st;
}

static bool has_room(struct io *io, const char *directory, uint64_t size_bytes)
{
    struct io_space space;

    return io_space(io, directory, &space, NULL) ||
           space.free_bytes >= 2 * size_bytes + ROOM_LEFT;
}

/* DET_FULL: there is no room, and nothing is left of the attempt. */
static det_status keep(struct io *io, const char *directory, struct db *db,
                       const char *name, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *part = arena_printf(&mem, "%s/%s", directory, COPY_PART);
    const char *path = arena_printf(&mem, "%s/%s", directory, name);
    uint64_t size = 0;
    det_status st;

    if (!part || !path)
        return err_default(err, DET_NOMEM);
    st = remove_others(io, directory, name, &mem, err);
    if (!st)
        st = db_file_size(db, DB_FILE_PAGES, &size, err);
    if (st)
        return st;
    if (!has_room(io, directory, size))
        return err_set(err, DET_FULL, "the disk has too little room for it");
    st = copy_database(io, db, size, part, err);
    if (!st)
        st = io_rename(io, part, path, err);
    if (!st)
        return io_sync_dir(io, directory, err);
    (void)io_remove(io, part, NULL);
    return st;
}

static void tell(struct upgrade_copy *copy, int64_t version, const char *directory,
                 const char *name)
{
    buf_printf(&copy->sentence,
               "the database has schema %" PRId64 " and is upgraded to %" PRIu32,
               version, migration_count);
    if (copy->is_kept)
        buf_printf(&copy->sentence, "; '%s/%s' is a copy for the earlier program",
                   directory, name);
    else
        buf_puts(&copy->sentence,
                 " without a copy, since the disk is full: the earlier "
                 "program cannot be used again");
}

det_status upgrade_copy_keep(struct io *io, const char *directory, struct db *db,
                             struct upgrade_copy *copy, struct err *err)
{
    CLEANUP(buf_done) struct buf name = BUF_INIT;
    int64_t version;
    det_status st = db_schema_number(db, &version, err);

    if (st || version == 0 || version >= migration_count)
        return st;
    buf_printf(&name, COPY_PREFIX "%02" PRId64, version);
    if (name.status)
        return err_default(err, DET_NOMEM);
    st = db_checkpoint(db, true, err); /* the copy is one file */
    if (!st)
        st = keep(io, directory, db, name.data, err);
    copy->is_kept = !st;
    if (!st || st == DET_FULL)
        tell(copy, version, directory, name.data);
    return st == DET_FULL ? DET_OK : st;
}
