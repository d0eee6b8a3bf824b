/* SPDX-License-Identifier: Apache-2.0 */
/* docs.c - `det docs`: shows the documentation in a browser, without a network or a master.
 *
 * The pages are in the program (master/request/webui_files.h).  They are written to the
 * user's cache once per version: into a folder of another name first, so that a folder with
 * the right name is complete. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/output/browser.h"
#include "data/text.h"
#include "data/url.h"
#include "master/request/webui_files.h"

#define PAGE_END ".html"

static det_status cache_folder(struct arena *mem, const char **ret_folder,
                               struct err *err)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    bool has_cache = cache && *cache == '/';

    if (!has_cache && !(home && *home))
        return err_set(err, DET_NOT_FOUND,
                       "there is no place for the pages: HOME is not set");
    *ret_folder =
        has_cache ? arena_printf(mem, "%s/det/docs-%s", cache, docs_files.hash)
                  : arena_printf(mem, "%s/.cache/det/docs-%s", home, docs_files.hash);
    return *ret_folder ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status write_files(const char *folder, struct arena *mem, struct err *err)
{
    det_status st = io_mkdir(io_system(), folder, false, err);

    for (uint32_t i = 0; i < docs_files.count && !st; i++) {
        const struct webui_file *file = &docs_files.file[i];
        const char *path = arena_printf(mem, "%s/%s", folder, file->path);

        st = path ? io_replace(io_system(), path, file->plain.at, file->plain.len,
                               false, err)
                  : err_default(err, DET_NOMEM);
    }
    return st;
}

/* Another command may do the same at the same time: whoever renames first wins. */
static det_status write_once(const char *folder, struct arena *mem, struct err *err)
{
    const char *fresh = arena_printf(mem, "%s.%ld", folder, (long)getpid());
    struct io_stat stat;
    det_status st;

    if (!fresh)
        return err_default(err, DET_NOMEM);
    if (!io_stat(io_system(), folder, &stat, NULL))
        return DET_OK;
    st = write_files(fresh, mem, err);
    if (!st && io_rename(io_system(), fresh, folder, err) &&
        io_stat(io_system(), folder, &stat, NULL))
        st = err->status;
    (void)io_remove_tree(io_system(), fresh, NULL);
    return st;
}

static bool is_page(const char *path)
{
    const char *end = strrchr(path, '.');

    return end && !strcmp(end, PAGE_END);
}

static det_status no_such_page(const char *name, struct arena *mem, struct err *err)
{
    const char **names = arena_array(mem, const char *, docs_files.count + 1);
    const char *nearest;
    size_t count = 0;

    if (!names)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < docs_files.count; i++) {
        const char *path = docs_files.file[i].path;

        if (is_page(path))
            names[count++] = arena_strndup(mem, path, strlen(path) - strlen(PAGE_END));
    }
    names[count] = NULL;
    nearest = nearest_word(name, names);
    return err_set(err, DET_INVALID, "there is no page '%s'; %s%s%s", name,
                   nearest ? "did you mean '" : "'det docs' shows the list of pages",
                   nearest ? nearest : "", nearest ? "'?" : "");
}

/* A home folder may have blanks and other signs in its name. */
static const char *file_url(const char *folder, const char *page, struct arena *mem)
{
    CLEANUP(buf_done) struct buf url = BUF_INIT;

    buf_puts(&url, "file://");
    for (const char *at = folder; *at; at += strcspn(at, "/")) {
        const char *part;

        at += strspn(at, "/");
        part = arena_strndup(mem, at, strcspn(at, "/"));
        if (!part)
            return NULL;
        buf_putc(&url, '/');
        url_encode(&url, part);
    }
    buf_printf(&url, "/%s", page);
    return url.status ? NULL : arena_strdup(mem, url.data);
}

det_status run_docs(struct cli *cli, const struct cli_invocation *in)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    const char *name = in->arg_count ? in->args[0] : "index";
    const char *page = arena_printf(&mem, "%s" PAGE_END, name);
    const char *folder;
    const char *url;
    det_status st;

    if (!page)
        return err_default(cli->err, DET_NOMEM);
    if (!webui_files_find(&docs_files, page))
        return no_such_page(name, &mem, cli->err);
    st = cache_folder(&mem, &folder, cli->err);
    if (!st)
        st = write_once(folder, &mem, cli->err);
    if (st)
        return st;
    url = file_url(folder, page, &mem);
    if (!url)
        return err_default(cli->err, DET_NOMEM);
    cli_put(cli, "%s\n", url);
    browser_open(url, NULL);
    return DET_OK;
}
