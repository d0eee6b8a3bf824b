/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - walks, lists, reads back and compares the files of a checkpoint. */
#include "libdet/checkpoint/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/checkpoint/manifest_work.h"

enum { DEPTH = 32, MANIFEST_BYTES = 256 << 20, CHECK_TEXT = 9 };

static const char check_key[] = ",\"check\":\"";

void manifest_done(struct manifest *manifest)
{
    vec_done(&manifest->files);
    vec_done(&manifest->directories);
}

/* ---- walking --------------------------------------------------------------------- */

/* Directories are appended as they are found and walked in that order.  So there is no
 * recursion, and parents come first. */
static det_status take_entry(struct manifest *manifest, const char *path,
                             const struct io_stat *found, struct err *err)
{
    struct manifest_file file = {.path = path,
                                 .size_bytes = found->size_bytes,
                                 .modified_us = found->modified_us};
    bool is_kept;

    if (found->kind == IO_DIRECTORY)
        is_kept = vec_push(&manifest->directories, path);
    else if (found->kind == IO_FILE)
        is_kept = vec_push(&manifest->files, file);
    else
        return err_set(err, DET_INVALID,
                       "'%s' in the checkpoint is %s; only files and directories can "
                       "be saved",
                       path, found->kind == IO_LINK ? "a link" : "not a plain file");
    if (!is_kept)
        return err_default(err, DET_NOMEM);
    if (found->kind == IO_FILE)
        manifest->size_bytes += found->size_bytes;
    return DET_OK;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static det_status walk_one(struct io *io, const char *root, const char *below,
                           struct arena *mem, struct manifest *manifest,
                           struct err *err)
{
    const char *dir = *below ? arena_printf(mem, "%s/%s", root, below) : root;
    const char **names;
    det_status st = dir ? DET_OK : err_default(err, DET_NOMEM);

    if (!st && depth_of(below) > DEPTH)
        st = err_set(err, DET_INVALID, "'%s' is more than %d directories deep", below,
                     DEPTH);
    if (!st)
        st = io_list(io, dir, mem, &names, err);
    for (size_t i = 0; !st && names[i]; i++) {
        const char *full = arena_printf(mem, "%s/%s", dir, names[i]);
        const char *path =
            *below ? arena_printf(mem, "%s/%s", below, names[i]) : names[i];
        struct io_stat found;

        if (!*below && !strcmp(names[i], MANIFEST_NAME))
            continue;
        st =
            full && path ? io_stat(io, full, &found, err) : err_default(err, DET_NOMEM);
        if (!st)
            st = take_entry(manifest, path, &found, err);
    }
    return st;
}

static int by_path(const void *a, const void *b)
{
    const struct manifest_file *one = a;
    const struct manifest_file *other = b;

    return strcmp(one->path, other->path);
}

void manifest_order(struct manifest *manifest)
{
    if (manifest->files.count)
        qsort(manifest->files.at, manifest->files.count, sizeof(*manifest->files.at),
              by_path);
}

det_status manifest_walk(struct io *io, const char *root, struct arena *mem,
                         struct manifest *ret_manifest, struct err *err)
{
    struct manifest all = {0};
    det_status st = walk_one(io, root, "", mem, &all, err);

    for (size_t i = 0; !st && i < all.directories.count; i++)
        st = walk_one(io, root, all.directories.at[i], mem, &all, err);
    if (st) {
        manifest_done(&all);
        return st;
    }
    manifest_order(&all);
    *ret_manifest = all;
    return DET_OK;
}

/* ---- writing --------------------------------------------------------------------- */

static void write_list(struct json_writer *w, const struct manifest *manifest)
{
    char crc[CHECK_TEXT];

    jw_i64(w, "format", 1);
    jw_array(w, "directories");
    for (size_t i = 0; i < manifest->directories.count; i++)
        jw_str(w, NULL, manifest->directories.at[i]);
    jw_end_array(w);
    jw_array(w, "files");
    for (size_t i = 0; i < manifest->files.count; i++) {
        const struct manifest_file *file = &manifest->files.at[i];

        snprintf(crc, sizeof(crc), "%08" PRIx32, file->crc);
        jw_object(w, NULL);
        jw_str(w, "path", file->path);
        jw_i64(w, "size", (int64_t)file->size_bytes);
        jw_str(w, "crc32c", crc);
        jw_end_object(w);
    }
    jw_end_array(w);
}

det_status manifest_write(struct io *io, const char *root,
                          const struct manifest *manifest, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    jw_object(&w, NULL);
    write_list(&w, manifest);
    buf_printf(&text, "%s%08" PRIx32 "\"}\n", check_key,
               crc32c(0, text.data, text.len));
    buf_printf(&path, "%s/" MANIFEST_NAME, root);
    if (text.status || path.status)
        return err_default(err, text.status ? text.status : path.status);
    return io_replace(io, path.data, text.data, text.len, false, err);
}

void manifest_resources(struct json_writer *w, const char *key,
                        const struct manifest *manifest, uint64_t own_bytes)
{
    CLEANUP(buf_done) struct buf name = BUF_INIT;

    jw_object(w, key);
    for (size_t i = 0; i < manifest->directories.count; i++) {
        buf_clear(&name);
        buf_printf(&name, "%s/", manifest->directories.at[i]);
        if (name.status)
            w->out->status = name.status;
        jw_str(w, name.data, "0");
    }
    for (size_t i = 0; i < manifest->files.count; i++)
        jw_i64_str(w, manifest->files.at[i].path,
                   (int64_t)manifest->files.at[i].size_bytes);
    jw_i64_str(w, MANIFEST_NAME, (int64_t)own_bytes);
    jw_end_object(w);
}

/* ---- reading --------------------------------------------------------------------- */

static det_status manifest_damaged(struct err *err, const char *why)
{
    return err_set(err, DET_CORRUPT, "%s is damaged: %s", MANIFEST_NAME, why);
}

/* The checksum must be right before anything else is trusted. */
static det_status check_text(const struct buf *text, struct err *err)
{
    const size_t tail = sizeof(check_key) - 1 + CHECK_TEXT - 1 + 3;
    char wanted[sizeof(check_key) + CHECK_TEXT + 3];

    if (text->len < tail)
        return manifest_damaged(err, "it is cut short");
    snprintf(wanted, sizeof(wanted), "%s%08" PRIx32 "\"}\n", check_key,
             crc32c(0, text->data, text->len - tail));
    if (memcmp(text->data + text->len - tail, wanted, tail) != 0)
        return manifest_damaged(err, "its checksum does not match");
    return DET_OK;
}

static det_status read_path(const struct json *value, const char **ret_path,
                            struct err *err)
{
    const char *path = json_str(value, NULL);

    if (!path || !*path || strlen(path) != value->string.len)
        return manifest_damaged(err, "a path is missing");
    if (!path_is_inside(path))
        return err_set(err, DET_CORRUPT,
                       "%s contains the path '%s', which leads out of the checkpoint",
                       MANIFEST_NAME, path);
    *ret_path = path;
    return DET_OK;
}

static det_status read_file_row(const struct json *row, struct manifest *manifest,
                                struct err *err)
{
    struct manifest_file file = {.has_crc = true};
    const char *crc = json_str(json_get(row, "crc32c"), "");
    int64_t size = json_i64(json_get(row, "size"), -1);
    unsigned char bytes[4];
    det_status st = read_path(json_get(row, "path"), &file.path, err);

    if (st)
        return st;
    if (size < 0 || strlen(crc) != CHECK_TEXT - 1 || !hex_decode(bytes, 4, crc))
        return manifest_damaged(err, "a size or a checksum is missing");
    file.size_bytes = (uint64_t)size;
    file.crc = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
               (uint32_t)bytes[2] << 8 | bytes[3];
    manifest->size_bytes += file.size_bytes;
    return vec_push(&manifest->files, file) ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status read_tree(const struct json *tree, struct manifest *manifest,
                            struct err *err)
{
    const char *path;
    det_status st = DET_OK;

    if (json_i64(json_get(tree, "format"), 0) != 1)
        return err_set(err, DET_UNSUPPORTED,
                       "%s has format %" PRId64
                       ", and this version of det reads format 1: use the version that "
                       "wrote the checkpoint, or a newer one",
                       MANIFEST_NAME, json_i64(json_get(tree, "format"), 0));
    json_each(item, json_get(tree, "directories")) {
        st = read_path(item, &path, err);
        if (!st && !vec_push(&manifest->directories, path))
            st = err_default(err, DET_NOMEM);
        if (st)
            return st;
    }
    json_each(item, json_get(tree, "files"))
        if (!st)
            st = read_file_row(item, manifest, err);
    return st;
}

det_status manifest_read(struct io *io, const char *root, struct arena *mem,
                         struct manifest *ret_manifest, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(MANIFEST_BYTES);
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct manifest manifest = {0};
    struct json *tree;
    det_status st;

    buf_printf(&path, "%s/" MANIFEST_NAME, root);
    st = path.status ? err_default(err, path.status)
                     : io_read_file(io, path.data, &text, err);
    if (!st)
        st = check_text(&text, err);
    if (!st)
        st = json_parse(text.data, text.len, mem, &tree, err);
    if (!st)
        st = read_tree(tree, &manifest, err);
    if (st) {
        manifest_done(&manifest);
        return st == DET_INVALID ? manifest_damaged(err, "it is not JSON") : st;
    }
    *ret_manifest = manifest;
    return DET_OK;
}

/* ---- comparing ------------------------------------------------------------------- */

static det_status look_at_path(struct io *io, const char *root, const char *path,
                               enum io_kind kind, struct io_stat *ret_stat,
                               struct err *err)
{
    CLEANUP(buf_done) struct buf full = BUF_INIT;
    det_status st;

    buf_printf(&full, "%s/%s", root, path);
    if (full.status)
        return err_default(err, full.status);
    st = io_stat(io, full.data, ret_stat, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_CORRUPT, "'%s' of the checkpoint is missing", path);
    if (!st && ret_stat->kind != kind)
        return err_set(err, DET_CORRUPT, "'%s' of the checkpoint is not a %s any more",
                       path, kind == IO_FILE ? "file" : "directory");
    return st;
}

/* Checks that every directory above a file is a directory, not a link that leads
 * elsewhere. */
static det_status look_at_parents(struct io *io, const char *root, const char *path,
                                  struct err *err)
{
    CLEANUP(mem_freep) char *copy = mem_strdup(path);
    struct io_stat found;
    det_status st = copy ? DET_OK : err_default(err, DET_NOMEM);

    for (char *slash = copy ? strchr(copy, '/') : NULL; slash && !st;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        st = look_at_path(io, root, copy, IO_DIRECTORY, &found, err);
        *slash = '/';
    }
    return st;
}

static det_status check_sizes(struct io *io, const char *root,
                              const struct manifest *manifest, struct err *err)
{
    struct io_stat found;
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < manifest->directories.count; i++)
        st = look_at_path(io, root, manifest->directories.at[i], IO_DIRECTORY, &found,
                          err);
    for (size_t i = 0; !st && i < manifest->files.count; i++) {
        const struct manifest_file *file = &manifest->files.at[i];

        st = look_at_parents(io, root, file->path, err);
        if (!st)
            st = look_at_path(io, root, file->path, IO_FILE, &found, err);
        if (!st && found.size_bytes != file->size_bytes)
            st = err_set(err, DET_CORRUPT,
                         "'%s' of the checkpoint has %" PRIu64 " bytes, not %" PRIu64,
                         file->path, found.size_bytes, file->size_bytes);
    }
    return st;
}

/* The same list with new checksums, to be compared row by row. */
static det_status sum_again(struct io *io, const char *root,
                            const struct manifest *manifest, struct manifest *again,
                            struct err *err)
{
    for (size_t i = 0; i < manifest->files.count; i++) {
        struct manifest_file file = manifest->files.at[i];

        file.has_crc = false;
        if (!vec_push(&again->files, file))
            return err_default(err, DET_NOMEM);
    }
    again->size_bytes = manifest->size_bytes;
    return manifest_work(io, NULL, root, again, MANIFEST_SUM, err);
}

det_status manifest_verify(struct io *io, const char *root,
                           const struct manifest *manifest, bool reads_all,
                           struct err *err)
{
    CLEANUP(manifest_done) struct manifest again = {0};
    det_status st = check_sizes(io, root, manifest, err);

    if (st || !reads_all)
        return st;
    st = sum_again(io, root, manifest, &again, err);
    for (size_t i = 0; !st && i < again.files.count; i++)
        if (again.files.at[i].crc != manifest->files.at[i].crc ||
            again.files.at[i].size_bytes != manifest->files.at[i].size_bytes)
            st = err_set(
                err, DET_CORRUPT,
                "'%s' of the checkpoint has changed: its checksum does not match",
                again.files.at[i].path);
    return st;
}
