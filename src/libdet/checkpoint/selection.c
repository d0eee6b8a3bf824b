/* SPDX-License-Identifier: Apache-2.0 */
/* selection.c - see selection.h. */
#include "libdet/checkpoint/selection.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "libdet/checkpoint/storage.h"
#include "libdet/parallel.h"

enum { MUCH = 8 << 20 };

/* ---- choosing -------------------------------------------------------------------- */

static bool is_below(const char *path, const char *directory)
{
    size_t len = strlen(directory);

    return !strncmp(path, directory, len) && path[len] == '/';
}

/* The place of a path among those below a directory: 0 if it is one of them. */
static int compare_to_inside(const void *directory, const void *file)
{
    const char *path = ((const struct manifest_file *)file)->path;
    size_t len = strlen(directory);
    int order = strncmp(directory, path, len);

    return order ? order : '/' - (unsigned char)path[len];
}

/* The files are sorted by path. */
static bool holds_file(const struct manifest *manifest, const char *directory)
{
    return manifest->files.count &&
           bsearch(directory, manifest->files.at, manifest->files.count,
                   sizeof(*manifest->files.at), compare_to_inside);
}

det_status selection_ask(const struct selection *selection, const char *path,
                         bool *ret_wants, struct err *err)
{
    int answer = selection->selector ? selection->selector(selection->self, path) : 1;

    *ret_wants = answer > 0;
    return answer < 0 ? err_set(err, DET_FAILED, "the selector failed at '%s'", path)
                      : DET_OK;
}

static det_status ask_directory(const struct selection *selection, const char *path,
                                bool *ret_wants, struct err *err)
{
    CLEANUP(buf_done) struct buf name = BUF_INIT;

    buf_printf(&name, "%s/", path);
    return name.status ? err_default(err, name.status)
                       : selection_ask(selection, name.data, ret_wants, err);
}

/* Innermost first, so the parents of wanted directories are kept too; then restores the
 * order. */
static det_status cut_directories(const struct selection *selection,
                                  struct manifest *manifest, struct err *err)
{
    size_t count = manifest->directories.count;
    size_t kept = count;
    det_status st = DET_OK;

    for (size_t i = count; i-- > 0 && !st;) {
        const char *path = manifest->directories.at[i];
        bool is_wanted = false;

        st = ask_directory(selection, path, &is_wanted, err);
        for (size_t k = kept; k < count && !is_wanted; k++)
            is_wanted = is_below(manifest->directories.at[k], path);
        if (!st && (is_wanted || holds_file(manifest, path)))
            manifest->directories.at[--kept] = path;
    }
    if (st)
        return st;
    memmove(manifest->directories.at, manifest->directories.at + kept,
            (count - kept) * sizeof(*manifest->directories.at));
    manifest->directories.count = count - kept;
    return DET_OK;
}

det_status selection_cut(const struct selection *selection, struct manifest *manifest,
                         struct err *err)
{
    size_t kept = 0;
    bool is_wanted;

    if (!selection->selector)
        return DET_OK;
    manifest->size_bytes = 0;
    for (size_t i = 0; i < manifest->files.count; i++) {
        det_status st =
            selection_ask(selection, manifest->files.at[i].path, &is_wanted, err);

        if (st)
            return st;
        if (!is_wanted)
            continue;
        manifest->files.at[kept] = manifest->files.at[i];
        manifest->size_bytes += manifest->files.at[kept++].size_bytes;
    }
    manifest->files.count = kept;
    return manifest->directories.count ? cut_directories(selection, manifest, err)
                                       : DET_OK;
}

/* ---- copying --------------------------------------------------------------------- */

struct copying {
    struct io *io;
    const struct manifest *manifest;
    const char *from;
    const char *to;
};

static det_status copy_one(void *arg, size_t i, struct err *err)
{
    const struct copying *work = arg;
    const char *name = work->manifest->files.at[i].path;
    CLEANUP(buf_done) struct buf from = BUF_INIT;
    CLEANUP(buf_done) struct buf to = BUF_INIT;

    buf_printf(&from, "%s/%s", work->from, name);
    buf_printf(&to, "%s/%s", work->to, name);
    if (from.status || to.status)
        return err_default(err, DET_NOMEM);
    return storage_copy(work->io, from.data, to.data, err);
}

det_status selection_copy(struct io *io, const struct manifest *manifest,
                          const char *from, const char *to, struct err *err)
{
    struct copying work = {io, manifest, from, to};
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < manifest->directories.count; i++) {
        CLEANUP(buf_done) struct buf path = BUF_INIT;

        buf_printf(&path, "%s/%s", to, manifest->directories.at[i]);
        st = path.status ? err_default(err, path.status)
                         : io_mkdir(io, path.data, false, err);
    }
    if (st)
        return st;
    return parallel_run(manifest->files.count,
                        io_is_memory(io) || manifest->size_bytes < MUCH, copy_one,
                        &work, err);
}
