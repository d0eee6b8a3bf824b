/* SPDX-License-Identifier: Apache-2.0 */
/* key.c - walks through requirements files and adds everything to a checksum.
 *
 * pip resolves the path of an included file relative to the including file, and the
 * path of a package relative to the current folder, the task's.  Every word that is a
 * path of either kind is added with its content: a wheel that was built again under its
 * old name is another environment. */
#include "agent/env/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/env/interpreter.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/requirements.h"
#include "data/sha256.h"
#include "data/text.h"
#include "model/field.h"

enum { FILE_MOST = 1 << 20, DEPTH_MOST = 16, CHUNK = 64 << 10, TREE_DEPTH = 32 };

struct walk {
    struct io *io;
    const char *folder;
    struct sha256 sum;
    struct buf lines;
    size_t packages;
    unsigned depth;
    struct arena *mem;
};

/* ---- files that are installed ---------------------------------------------------- */

/* The length follows the content, so what comes next cannot be mistaken for a part
 * of it. */
static det_status sum_file(struct walk *w, const char *path, struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char *room = buf_room(&bytes, CHUNK);
    char size[24];
    uint64_t at = 0;
    size_t len = CHUNK;
    det_status st = io_open(w->io, path, IO_READ | IO_PLAIN, &file, err);

    if (!st && !room)
        st = err_default(err, DET_NOMEM);
    while (!st && len == CHUNK) {
        st = io_read_at(file, at, room, CHUNK, &len, err);
        if (!st)
            sha256_add(&w->sum, room, len);
        at += len;
    }
    snprintf(size, sizeof(size), "%" PRIu64, at);
    sha256_part(&w->sum, size);
    return st;
}

static det_status sum_tree(struct walk *w, const char *path, unsigned depth,
                           struct err *err)
{
    const char **names;
    struct io_stat found;
    det_status st = io_stat(w->io, path, &found, err);

    if (st)
        return st;
    sha256_part(&w->sum, found.kind == IO_DIRECTORY ? "folder" : "file");
    if (found.kind == IO_FILE)
        return sum_file(w, path, err);
    if (found.kind != IO_DIRECTORY || depth > TREE_DEPTH)
        return DET_OK;
    st = io_list(w->io, path, w->mem, &names, err);
    for (; !st && *names; names++) {
        const char *inner = arena_printf(w->mem, "%s/%s", path, *names);

        sha256_part(&w->sum, *names);
        st = inner ? sum_tree(w, inner, depth + 1, err) : err_default(err, DET_NOMEM);
    }
    sha256_part(&w->sum, ""); /* its end: no file has this name */
    return st;
}

/* The path of `word` below the task's folder `base`; NULL: it does not exist. */
static const char *path_below(struct walk *w, const char *base, const char *word)
{
    struct io_stat found;
    const char *path;

    if (strncmp(word, "file:", 5) == 0)
        word += 5;
    if (!*word || !path_is_inside(word))
        return NULL;
    path = arena_printf(w->mem, "%s/%s/%s", w->folder, base, word);
    return path && io_stat(w->io, path, &found, NULL) == DET_OK ? path : NULL;
}

/* Words end at blanks, and at what may follow a path: "x.whl[extra]; marker". */
static det_status sum_words(struct walk *w, const char *base, const char *text,
                            struct err *err)
{
    det_status st = DET_OK;

    while (*text && !st) {
        size_t len = strcspn(text, " \t=[;,");
        const char *word = arena_strndup(w->mem, text, len);
        const char *path;

        if (!word)
            return err_default(err, DET_NOMEM);
        path = path_below(w, "", word);
        if (!path && *base)
            path = path_below(w, base, word);
        if (path) {
            sha256_part(&w->sum, "with");
            st = sum_tree(w, path, 0, err);
        }
        text += len + (text[len] != '\0');
    }
    return st;
}

/* ---- requirements files ---------------------------------------------------------- */

static det_status walk_file(struct walk *w, const char *file, struct err *err);

static const char *folder_of(struct walk *w, const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash ? arena_strndup(w->mem, file, (size_t)(slash - file)) : "";
}

static det_status walk_include(struct walk *w, const char *file,
                               const struct requirement *one, struct err *err)
{
    const char *base = folder_of(w, file);
    const char *path =
        base ? arena_printf(w->mem, "%s%s%s", base, *base ? "/" : "", one->value)
             : NULL;

    if (strstr(one->value, "://")) /* it counts by its address */
        return DET_OK;
    return path ? walk_file(w, path, err) : err_default(err, DET_NOMEM);
}

static det_status walk_one(struct walk *w, const char *file,
                           const struct requirement *one, struct err *err)
{
    const char *base = folder_of(w, file);

    if (one->kind == REQUIREMENT_EDITABLE)
        return err_set(err, DET_INVALID,
                       "'%s' in %s:%u would tie the environment to the folder of one "
                       "task; write '%s' to install it",
                       one->text, file, one->line, one->value);
    if (!base)
        return err_default(err, DET_NOMEM);
    sha256_part(&w->sum, one->text);
    buf_printf(&w->lines, "%s\n", one->text);
    w->packages += one->kind == REQUIREMENT_PACKAGE;
    if (one->kind == REQUIREMENT_INCLUDE || one->kind == REQUIREMENT_CONSTRAINT) {
        size_t packages = w->packages;
        det_status st = walk_include(w, file, one, err);

        if (one->kind == REQUIREMENT_CONSTRAINT)
            w->packages = packages;
        return st;
    }
    return sum_words(w, base, one->value, err);
}

static det_status walk_all(struct walk *w, const char *file,
                           const struct requirements *list, struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; i < list->count && !st; i++)
        st = walk_one(w, file, &list->at[i], err);
    return st;
}

static det_status read_text(struct walk *w, const char *file, struct buf *text,
                            struct err *err)
{
    const char *path = arena_printf(w->mem, "%s/%s", w->folder, file);
    struct io_stat found;
    det_status st;

    if (!path)
        return err_default(err, DET_NOMEM);
    if (!path_is_inside(file))
        return err_set(err, DET_INVALID,
                       "'%s' is not inside the folder with the code, so it was not "
                       "submitted",
                       file);
    st = io_stat(w->io, path, &found, err);
    if (st == DET_NOT_FOUND)
        return err_set(err, DET_INVALID, "there is no '%s' in the folder with the code",
                       file);
    if (!st && found.kind != IO_FILE)
        return err_set(err, DET_INVALID, "'%s' is not a file", file);
    return st ? st : io_read_file(w->io, path, text, err);
}

static det_status walk_file(struct walk *w, const char *file, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_MOST);
    struct requirements list;
    det_status st;

    if (w->depth >= DEPTH_MOST)
        return err_set(err, DET_INVALID, "'%s' includes itself", file);
    st = read_text(w, file, &text, err);
    if (st)
        return st;
    st = requirements_parse(text.data, text.len, w->mem, &list, err);
    if (st)
        return st == DET_INVALID ? err_prefix(err, "'%s'", file) : st;
    w->depth++;
    st = walk_all(w, file, &list, err);
    w->depth--;
    return st;
}

static det_status walk_lines(struct walk *w, const struct field_strs *lines,
                             struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; lines && i < lines->count && !st; i++) {
        struct requirements list;

        st = requirements_parse(lines->at[i], strlen(lines->at[i]), w->mem, &list, err);
        if (!st)
            st = walk_all(w, "environment.requirements", &list, err);
    }
    return st;
}

static void sum_interpreter(struct walk *w, const struct interpreter *interpreter)
{
    sha256_part(&w->sum, interpreter->implementation);
    sha256_part(&w->sum, interpreter->version);
    sha256_part(&w->sum, interpreter->build);
    sha256_part(&w->sum, interpreter->platform);
    sha256_part(&w->sum, interpreter->executable);
}

det_status env_key(struct io *io, const struct env_wish *wish,
                   const struct interpreter *interpreter, struct arena *mem,
                   struct env_key *ret_key, struct err *err)
{
    struct walk w = {.io = io, .folder = wish->folder, .lines = BUF_INIT, .mem = mem};
    struct env_key key = {0};
    char text[SHA256_TEXT];
    det_status st;

    sha256_init(&w.sum);
    sha256_part(&w.sum, "det environment 1");
    if (interpreter)
        sum_interpreter(&w, interpreter);
    st = wish->file ? walk_file(&w, wish->file, err) : walk_lines(&w, wish->lines, err);
    sha256_text(&w.sum, text);
    memcpy(key.text, text, ENV_KEY_TEXT - 1);
    key.packages = w.packages;
    key.requirements = arena_strdup(mem, w.lines.data);
    if (!st && (w.lines.status || !key.requirements))
        st = err_default(err, DET_NOMEM);
    buf_done(&w.lines);
    if (!st)
        *ret_key = key;
    return st;
}

det_status env_wish_check(struct io *io, const struct env_wish *wish, struct arena *mem,
                          struct env_key *ret_key, struct err *err)
{
    return env_key(io, wish, NULL, mem, ret_key, err);
}
