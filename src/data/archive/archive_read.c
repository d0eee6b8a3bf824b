/* SPDX-License-Identifier: Apache-2.0 */
/* archive_read.c - reads the names in an archive, or one file, without unpacking it. */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/archive/archive.h"
#include "data/archive/archive_lib.h"

enum { PATH_MOST = 4096, PIECE = 64 * 1024 };

struct reader {
    struct archive_lib lib;
    struct archive *archive;
    struct err *err;
};

/* Called for each entry; `*ret_done` ends the walk. */
typedef det_status step_fn(struct reader *reader, const struct archive_entry_in *entry,
                           void *arg, bool *ret_done);

/* "./a/b/" becomes "a/b".  False: longer than any name of ours. */
static bool tidy_path(const char *path, char text[PATH_MOST])
{
    size_t len;

    while (path[0] == '.' && path[1] == '/')
        path += 2;
    len = strlen(path);
    while (len && path[len - 1] == '/')
        len--;
    if (len >= PATH_MOST)
        return false;
    memcpy(text, path, len);
    text[len] = '\0';
    return true;
}

static det_status walk_entries(struct reader *reader, step_fn *step, void *arg)
{
    const struct archive_lib *lib = &reader->lib;
    bool is_done = false;
    det_status st = DET_OK;

    while (!st && !is_done) {
        struct archive_entry *e;
        struct archive_entry_in entry = {0};
        char path[PATH_MOST];
        int rc = lib->call_read_next_header(reader->archive, &e);

        if (rc == ARCHIVE_EOF)
            return DET_OK;
        if (rc < ARCHIVE_WARN)
            return archive_lib_error(lib, reader->archive, "this is not an archive",
                                     reader->err);
        const char *name = lib->call_entry_pathname_utf8(e);

        if (!name)
            name = lib->call_entry_pathname(e);
        if (!name || !tidy_path(name, path) || !*path || !strcmp(path, "."))
            continue;
        entry.path = path;
        entry.is_directory = S_ISDIR(lib->call_entry_filetype(e));
        entry.mode = (uint32_t)lib->call_entry_perm(e) & 0777;
        entry.modified_s = lib->call_entry_mtime(e);
        if (S_ISREG(lib->call_entry_filetype(e)))
            entry.size_bytes = (uint64_t)MAX(lib->call_entry_size(e), 0);
        st = step(reader, &entry, arg, &is_done);
    }
    return st;
}

static det_status read_archive(const void *tgz, uint64_t len, step_fn *step, void *arg,
                               struct err *err)
{
    struct reader reader = {.err = err};
    const struct archive_lib *lib = &reader.lib;
    det_status st = archive_lib_load(&reader.lib, err);

    if (st || !len)
        return st;
    reader.archive = lib->call_read_new();
    if (!reader.archive)
        return err_default(err, DET_NOMEM);
    if (lib->call_read_support_filter_gzip(reader.archive) < ARCHIVE_WARN ||
        lib->call_read_support_format_tar(reader.archive) < ARCHIVE_WARN ||
        lib->call_read_open_memory(reader.archive, tgz, len) < ARCHIVE_WARN)
        st = archive_lib_error(lib, reader.archive, "this is not an archive", err);
    else
        st = walk_entries(&reader, step, arg);
    lib->call_read_free(reader.archive);
    return st;
}

/* ---- the names ------------------------------------------------------------------- */

struct visitor {
    archive_visit_fn *visit;
    void *arg;
};

static det_status visit_one(struct reader *reader, const struct archive_entry_in *entry,
                            void *arg, bool *ret_done)
{
    const struct visitor *visitor = arg;

    (void)ret_done;
    return visitor->visit(visitor->arg, entry, reader->err);
}

det_status archive_list(const void *tgz, uint64_t len, archive_visit_fn *visit_entry,
                        void *arg, struct err *err)
{
    struct visitor visitor = {visit_entry, arg};

    return read_archive(tgz, len, visit_one, &visitor, err);
}

/* ---- one file -------------------------------------------------------------------- */

struct wanted {
    char path[PATH_MOST];
    struct buf *out;
    bool is_found;
};

static det_status read_wanted(struct reader *reader,
                              const struct archive_entry_in *entry, void *arg,
                              bool *ret_done)
{
    struct wanted *wanted = arg;
    char piece[PIECE];
    la_ssize_t got;

    if (entry->is_directory || strcmp(entry->path, wanted->path) != 0)
        return DET_OK;
    wanted->is_found = *ret_done = true;
    do {
        got = reader->lib.call_read_data(reader->archive, piece, sizeof(piece));
        if (got > 0)
            buf_add(wanted->out, piece, (size_t)got);
        if (wanted->out->status)
            return err_set(reader->err, wanted->out->status,
                           "'%.500s' is too large to be shown", entry->path);
    } while (got > 0);
    if (got < 0)
        return archive_lib_error(&reader->lib, reader->archive,
                                 "the archive is damaged", reader->err);
    return DET_OK;
}

det_status archive_read_file(const void *tgz, uint64_t len, const char *path,
                             struct buf *out, struct err *err)
{
    struct wanted wanted = {.out = out};
    det_status st = DET_OK;

    if (tidy_path(path, wanted.path))
        st = read_archive(tgz, len, read_wanted, &wanted, err);
    if (!st && !wanted.is_found)
        st = err_set(err, DET_NOT_FOUND, "there is no file '%.500s'", path);
    return st;
}
