/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/output/new_files.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/glob.h"
#include "data/text.h"
#include "model/field.h"

static void ftsp_done(FTS **tree)
{
    if (*tree)
        fts_close(*tree);
}

/* ---- walking --------------------------------------------------------------------- */

typedef bool found_fn(struct new_files *files, const char *path, uint64_t size_bytes,
                      void *arg);

static bool is_skipped(const FTSENT *entry)
{
    return entry->fts_level > 0 &&
           (entry->fts_name[0] == '.' || !strcmp(entry->fts_name, "__pycache__"));
}

/* Calls `found` for each plain file.  False: it returned false.  Goes to the end in any case,
 * past what does not matter any more: fts_close() forgets entries that were not read. */
static bool walk_files(struct new_files *files, const char *dir, found_fn *found,
                       void *arg)
{
    char *paths[] = {(char *)(uintptr_t)dir, NULL};
    CLEANUP(ftsp_done)
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    size_t start = strlen(dir) + 1;
    uint32_t seen = 0;
    bool is_well = true;
    FTSENT *entry;

    while (tree && (entry = fts_read(tree)) != NULL) {
        if (entry->fts_info == FTS_DP)
            continue;
        files->is_huge |= ++seen > NEW_FILES_LOOK;
        if (files->is_huge || !is_well || is_skipped(entry))
            fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F && entry->fts_pathlen > start)
            is_well = found(files, entry->fts_path + start,
                            (uint64_t)entry->fts_statp->st_size, arg);
    }
    return is_well;
}

static bool note_known(struct new_files *files, const char *path, uint64_t size_bytes,
                       void *arg)
{
    const char *copy = arena_strdup(arg, path);

    (void)size_bytes;
    return copy && smap_put(&files->known, copy, files);
}

det_status new_files_begin(struct new_files *files, const char *dir, struct arena *mem,
                           struct err *err)
{
    return walk_files(files, dir, note_known, mem) ? DET_OK
                                                   : err_default(err, DET_NOMEM);
}

/* Goes through all patterns, to know which of them match a file. */
static bool is_wanted(struct new_files *files, const char *path)
{
    bool is_match = false;

    for (size_t i = 0; i < files->keep->count; i++)
        if (glob_matches_file(files->keep->at[i], path))
            files->is_matched[i] = is_match = true;
    return is_match;
}

static bool note_new(struct new_files *files, const char *path, uint64_t size_bytes,
                     void *arg)
{
    struct new_file file = {arena_strdup(arg, path), size_bytes};

    if (smap_get(&files->known, path))
        return true;
    if (!file.path)
        return false;
    if (!is_wanted(files, path))
        return vec_push(&files->left, file);
    if (files->kept.count < NEW_FILES_KEPT)
        return vec_push(&files->kept, file);
    files->cut++;
    return true;
}

static int by_size(const void *a, const void *b)
{
    const struct new_file *x = a;
    const struct new_file *y = b;

    if (x->size_bytes != y->size_bytes)
        return x->size_bytes < y->size_bytes ? 1 : -1;
    return strcmp(x->path, y->path);
}

det_status new_files_find(struct new_files *files, const char *dir,
                          const struct field_strs *keep, struct arena *mem,
                          struct err *err)
{
    files->keep = keep;
    files->is_matched = arena_array(mem, bool, keep->count + 1);
    if (!files->is_matched || !walk_files(files, dir, note_new, mem))
        return err_default(err, DET_NOMEM);
    files->misses_some = files->is_huge && keep->count;
    if (files->is_huge) {
        vec_clear(&files->kept);
        vec_clear(&files->left);
        files->cut = 0;
    }
    if (files->left.count)
        qsort(files->left.at, files->left.count, sizeof(*files->left.at), by_size);
    return DET_OK;
}

/* ---- telling --------------------------------------------------------------------- */

const char *new_files_sentence(const struct new_files *files, struct arena *mem)
{
    size_t count = files->left.count;
    size_t shown = MIN(count, (size_t)NEW_FILES_SHOWN);
    const char *text;
    char size[16];

    if (files->misses_some)
        return arena_printf(mem,
                            "no file was kept: the working directory has more than %d "
                            "files; put them into an archive",
                            NEW_FILES_LOOK);
    if (files->cut)
        return arena_printf(mem,
                            "%zu file%s of 'keep' %s not saved: at most %d are; put "
                            "them into an archive",
                            files->cut, files->cut == 1 ? "" : "s",
                            files->cut == 1 ? "was" : "were", NEW_FILES_KEPT);
    if (!count)
        return NULL;
    text = arena_printf(mem, "%zu new file%s not kept: ", count,
                        count == 1 ? " was" : "s were");
    for (size_t i = 0; text && i < shown; i++) {
        size_format(files->left.at[i].size_bytes, size);
        text = arena_printf(mem, "%s%s%.80s, %s", text, i ? "; " : "",
                            files->left.at[i].path, size);
    }
    if (text && count > shown)
        text = arena_printf(mem, "%s; and %zu more", text, count - shown);
    return text ? arena_printf(mem,
                               "%s; the key 'keep' of the configuration saves files "
                               "with the trial",
                               text)
                : NULL;
}

const char *new_files_unmatched(const struct new_files *files, struct arena *mem)
{
    size_t patterns = files->is_matched && !files->is_huge ? files->keep->count : 0;
    const char *text = NULL;

    for (size_t i = 0; i < patterns; i++)
        if (!files->is_matched[i])
            text =
                arena_printf(mem, "%s%s'%.80s'", text ? text : "",
                             text ? ", " : "no new file matches ", files->keep->at[i]);
    return text ? arena_printf(mem, "%s of the key 'keep'", text) : NULL;
}

bool new_files_lose_some(const struct new_files *files)
{
    return files->misses_some || files->cut;
}

void new_files_done(struct new_files *files)
{
    map_done(&files->known);
    vec_done(&files->kept);
    vec_done(&files->left);
}
