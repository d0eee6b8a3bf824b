/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/pack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/create/ignore.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/offline/offline.h"

enum { DEPTH_MOST = 64, IGNORE_LIMIT = 4 << 20, TYPE_FILE = 48, TYPE_FOLDER = 53 };

/* A folder on the path from the top to the current folder of the walk. */
struct step {
    const struct step *up;
    const char *path;   /* relative to the top; "" for the top itself */
    const char *source; /* the path to list */
    const char *real;   /* with symlinks resolved, to notice cycles */
    int depth;
};

struct walk {
    struct pack *pack;
    struct ignore ignore;
    const char *real_top;
    struct err *err;
};

static det_status walk_folder(struct walk *walk, const struct step *step);

static det_status walk_nomem(struct walk *walk)
{
    return err_default(walk->err, DET_NOMEM);
}

static det_status leave_out(struct walk *walk, const char *path, const char *why)
{
    const char *text = arena_printf(walk->pack->mem, "'%s': %s", path, why);

    return text && vec_push(&walk->pack->left_out, text) ? DET_OK : walk_nomem(walk);
}

static char *join_path(struct arena *mem, const char *folder, const char *name)
{
    return *folder ? arena_printf(mem, "%s/%s", folder, name) : arena_strdup(mem, name);
}

static det_status add_entry(struct walk *walk, const char *path, const char *source,
                            const struct io_stat *found)
{
    bool is_folder = found->kind == IO_DIRECTORY;
    struct pack_entry entry = {
        .path = path,
        .source = source,
        .is_folder = is_folder,
        .mode = (found->mode & 07777) | (is_folder ? S_IFDIR : S_IFREG),
        .modified_s = found->modified_us / 1000000,
        .size_bytes = is_folder ? 0 : found->size_bytes,
        .uid = found->uid,
        .gid = found->gid,
    };

    if (!vec_push(&walk->pack->entries, entry))
        return walk_nomem(walk);
    walk->pack->files += !is_folder;
    walk->pack->size_bytes += entry.size_bytes;
    return DET_OK;
}

/* ---- links ----------------------------------------------------------------------- */

static bool is_inside(const char *top, const char *path)
{
    size_t len = strlen(top);

    if (len == 1) /* the root */
        return true;
    return !strncmp(path, top, len) && (path[len] == '/' || !path[len]);
}

static bool is_cycle(const struct step *step, const char *real)
{
    for (; step; step = step->up)
        if (!strcmp(step->real, real))
            return true;
    return false;
}

/* Finds the target of a symlink; *ret_source is NULL if it is left out. */
static det_status follow_link(struct walk *walk, const struct step *step,
                              const char *path, const char *link, struct io_stat *found,
                              const char **ret_source)
{
    char real[PATH_MAX];

    *ret_source = NULL;
    if (!realpath(link, real))
        return leave_out(walk, path, "a broken symlink");
    if (!is_inside(walk->real_top, real))
        return leave_out(walk, path, "a symlink that leads out of the folder");
    if (is_cycle(step, real))
        return leave_out(walk, path, "a symlink to a folder that contains it");
    if (io_stat(walk->pack->io, real, found, NULL))
        return leave_out(walk, path, "a symlink to something unreadable");
    *ret_source = arena_strdup(walk->pack->mem, real);
    return *ret_source ? DET_OK : walk_nomem(walk);
}

/* ---- walking --------------------------------------------------------------------- */

static det_status enter_folder(struct walk *walk, const struct step *up,
                               const char *path, const char *source)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct step step = {
        .up = up, .path = path, .source = source, .depth = up->depth + 1};

    step.real = is_inside(walk->real_top, source)
                    ? source
                    : join_path(walk->pack->mem, up->real, name);
    if (!step.real)
        return walk_nomem(walk);
    if (step.depth > DEPTH_MOST)
        return err_set(walk->err, DET_INVALID,
                       "the folder '%s' is more than %d levels deep", path, DEPTH_MOST);
    return walk_folder(walk, &step);
}

/* Adds a folder and its contents.  The folder of an offline run is left out: otherwise
 * every submission would send the results of earlier local runs. */
static det_status add_folder(struct walk *walk, const struct step *up, const char *path,
                             const char *source, const struct io_stat *folder)
{
    const char *lock = arena_printf(walk->pack->mem, "%s/" OFFLINE_LOCK, source);
    struct io_stat found;
    det_status st;

    if (!lock)
        return walk_nomem(walk);
    st = io_stat(walk->pack->io, lock, &found, walk->err);
    if (!st)
        return leave_out(walk, path, "an offline run ('det import' imports it)");
    if (st == DET_NOT_FOUND)
        st = add_entry(walk, path, source, folder);
    return st ? st : enter_folder(walk, up, path, source);
}

static det_status visit_name(struct walk *walk, const struct step *step,
                             const char *name)
{
    struct arena *mem = walk->pack->mem;
    const char *path = join_path(mem, step->path, name);
    const char *source = arena_printf(mem, "%s/%s", step->source, name);
    struct io_stat found;
    det_status st;

    if (!path || !source)
        return walk_nomem(walk);
    st = io_stat(walk->pack->io, source, &found, walk->err);
    if (st == DET_NOT_FOUND)
        return DET_OK; /* removed since the folder was listed */
    if (st)
        return st;
    if (!strcmp(name, ".git") ||
        ignore_matches(&walk->ignore, path, found.kind == IO_DIRECTORY))
        return DET_OK;
    if (found.kind == IO_LINK) {
        st = follow_link(walk, step, path, source, &found, &source);
        if (st || !source)
            return st;
    }
    if (found.kind != IO_FILE && found.kind != IO_DIRECTORY)
        return leave_out(walk, path, "neither a file nor a folder");
    if (found.kind == IO_DIRECTORY)
        return add_folder(walk, step, path, source, &found);
    return add_entry(walk, path, source, &found);
}

static det_status walk_folder(struct walk *walk, const struct step *step)
{
    const char **names;
    det_status st =
        io_list(walk->pack->io, step->source, walk->pack->mem, &names, walk->err);

    for (; !st && *names; names++)
        st = visit_name(walk, step, *names);
    return st;
}

/* ---- the whole folder ------------------------------------------------------------ */

static det_status read_ignore(struct walk *walk, const char *folder)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(IGNORE_LIMIT);
    const char *path = arena_printf(walk->pack->mem, "%s/.detignore", folder);
    det_status st;

    if (!path)
        return walk_nomem(walk);
    st = io_read_file(walk->pack->io, path, &text, walk->err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (st)
        return st;
    return ignore_parse(text.data, text.len, walk->pack->mem, &walk->ignore, walk->err);
}

static int by_size(const void *a, const void *b)
{
    const struct pack_entry *const *x = a, *const *y = b;

    return ((*x)->size_bytes < (*y)->size_bytes) -
           ((*x)->size_bytes > (*y)->size_bytes);
}

/* The sentence names the three largest files. */
static det_status too_large(const struct pack *pack, const char *folder,
                            struct err *err)
{
    const struct pack_entry **sorted =
        arena_array(pack->mem, const struct pack_entry *, pack->entries.count + 1);
    char names[512] = "";
    char text[16];

    if (!sorted)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < pack->entries.count; i++)
        sorted[i] = &pack->entries.at[i];
    qsort(sorted, pack->entries.count, sizeof(*sorted), by_size);
    for (size_t i = 0; i < MIN(pack->entries.count, (size_t)3); i++) {
        size_t len = strlen(names);

        size_format(sorted[i]->size_bytes, text);
        snprintf(names + len, sizeof(names) - len, "%s%s (%s)", i ? ", " : "",
                 sorted[i]->path, text);
    }
    size_format(pack->size_bytes, text);
    return err_set(
        err, DET_TOO_LARGE,
        "the folder '%s' is too large to send: %s; the limit is %dMB\n"
        "hint: list files that are not needed in .detignore; the largest are %s",
        folder, text, PACK_LIMIT_MB, names);
}

static det_status check_folder(struct io *io, const char *folder, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const char *inside = arena_printf(&mem, "%s/.", folder); /* follows a link */
    struct io_stat found;
    det_status st;

    if (!inside)
        return err_default(err, DET_NOMEM);
    st = io_stat(io, inside, &found, NULL);
    if (st)
        st = io_stat(io, folder, &found, err);
    if (!st && found.kind != IO_DIRECTORY)
        st = err_set(err, DET_INVALID, "'%s' is not a folder", folder);
    return st;
}

void pack_init(struct io *io, struct arena *mem, struct pack *ret_pack)
{
    *ret_pack = (struct pack){.mem = mem, .io = io};
}

det_status pack_scan(struct io *io, const char *folder, struct arena *mem,
                     struct pack *ret_pack, struct err *err)
{
    struct walk walk = {.pack = ret_pack, .err = err};
    struct step top = {.path = "", .source = folder};
    char real[PATH_MAX];
    det_status st;

    pack_init(io, mem, ret_pack);
    st = check_folder(io, folder, err);
    if (st)
        return st;
    /* a folder in memory has no symlinks and is its own real path */
    walk.real_top =
        arena_strdup(mem, !io_is_memory(io) && realpath(folder, real) ? real : folder);
    top.real = walk.real_top;
    if (!walk.real_top)
        return walk_nomem(&walk);
    st = read_ignore(&walk, folder);
    if (!st)
        st = walk_folder(&walk, &top);
    if (!st && ret_pack->size_bytes > PACK_LIMIT_BYTES)
        st = too_large(ret_pack, folder, err);
    return st;
}

static bool has_path(const struct pack *pack, const char *path)
{
    for (size_t i = 0; i < pack->entries.count; i++)
        if (!strcmp(pack->entries.at[i].path, path))
            return true;
    return false;
}

/* `real` is where the file or folder is, `name` what it is called in the pack. */
static det_status include_found(struct walk *walk, const char *real, const char *name)
{
    struct step top = {.path = "", .source = real, .real = "/"};
    struct io_stat found;
    det_status st = io_stat(walk->pack->io, real, &found, walk->err);

    if (st)
        return st;
    if (has_path(walk->pack, name))
        return err_set(walk->err, DET_EXISTS,
                       "'%s' cannot be included: the folder that is sent has '%s', too",
                       real, name);
    if (found.kind == IO_DIRECTORY)
        return add_folder(walk, &top, name, real, &found);
    if (found.kind != IO_FILE)
        return err_set(walk->err, DET_INVALID, "'%s' is neither a file nor a folder",
                       real);
    return add_entry(walk, name, real, &found);
}

det_status pack_include(struct pack *pack, const char *path, struct err *err)
{
    struct walk walk = {.pack = pack, .err = err};
    char real[PATH_MAX];
    const char *copy, *slash;
    det_status st;

    if (io_is_memory(pack->io))
        snprintf(real, sizeof(real), "%s", path);
    else if (!realpath(path, real))
        return err_set(err, DET_NOT_FOUND, "--include: there is no file or folder '%s'",
                       path);
    copy = arena_strdup(pack->mem, real);
    if (!copy)
        return err_default(err, DET_NOMEM);
    slash = strrchr(copy, '/');
    walk.real_top = copy; /* links inside a folder stay inside */
    st = include_found(&walk, copy, slash && slash[1] ? slash + 1 : copy);
    if (!st && pack->size_bytes > PACK_LIMIT_BYTES)
        st = too_large(pack, path, err);
    return st;
}

void pack_done(struct pack *pack)
{
    vec_done(&pack->entries);
    vec_done(&pack->left_out);
}

/* ---- writing --------------------------------------------------------------------- */

static det_status write_entry(const struct pack *pack, const struct pack_entry *entry,
                              struct json_writer *w, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = BUF_LIMITED(PACK_LIMIT_BYTES);
    det_status st = DET_OK;

    if (!entry->is_folder)
        st = io_read_file(pack->io, entry->source, &bytes, err);
    if (st) {
        (void)err_prefix(err, "cannot send '%s'", entry->path);
        return st;
    }
    jw_object(w, NULL);
    jw_str(w, "path", entry->path);
    jw_i64(w, "type", entry->is_folder ? TYPE_FOLDER : TYPE_FILE);
    jw_i64_str(w, "mtime", entry->modified_s);
    jw_i64(w, "mode", entry->mode);
    jw_i64(w, "uid", entry->uid);
    jw_i64(w, "gid", entry->gid);
    /* encoded into the body without a copy: a file may be large */
    buf_puts(w->out, ",\"content\":\"");
    base64_encode(w->out, bytes.data, bytes.len);
    buf_putc(w->out, '"');
    jw_end_object(w);
    return w->out->status ? err_default(err, w->out->status) : DET_OK;
}

det_status pack_write(const struct pack *pack, struct json_writer *w, const char *key,
                      pack_progress_fn *progress, void *arg, struct err *err)
{
    uint64_t done_bytes = 0;
    det_status st = DET_OK;

    jw_array(w, key);
    for (size_t i = 0; i < pack->entries.count && !st; i++) {
        const struct pack_entry *entry = &pack->entries.at[i];

        st = write_entry(pack, entry, w, err);
        done_bytes += entry->size_bytes;
        if (progress)
            progress(arg, done_bytes, pack->size_bytes);
    }
    jw_end_array(w);
    return st;
}
