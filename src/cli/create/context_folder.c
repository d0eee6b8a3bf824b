/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/context_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/env/key.h"
#include "base/io/io.h"
#include "cli/create/pack.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/text.h"

enum { PROGRESS_BYTES = 8 << 20 };

/* The folder's name for people; "." is shown as "../mnist". */
static const char *folder_name(struct cli *cli, const char *folder)
{
    char here[PATH_MAX];
    const char *slash;

    if (strcmp(folder, ".") && strcmp(folder, "./"))
        return folder;
    if (!getcwd(here, sizeof(here)))
        return folder;
    slash = strrchr(here, '/');
    return arena_printf(&cli->mem, "../%s", slash ? slash + 1 : here);
}

static void show_progress(void *arg, uint64_t done_bytes, uint64_t all_bytes)
{
    int *last = arg;
    int percent = all_bytes ? (int)(100 * done_bytes / all_bytes) : 100;

    if (percent == *last)
        return;
    *last = percent;
    fprintf(stderr, "\rReading files... %d%%%s", percent,
            percent == 100 ? "\r\033[K" : "");
}

det_status context_folder_scan(struct cli *cli, const char *folder, struct pack *pack)
{
    const char *name = folder_name(cli, folder);
    char size[16];
    det_status st;

    if (!name)
        return cli_nomem(cli);
    cli_put(cli, "Preparing files (%s) to send to master...", name);
    if (cli->term.is_terminal) { /* scanning a large folder takes a moment */
        st = cli_flush(cli);
        if (st)
            return st;
    }
    st = pack_scan(io_system(), folder, &cli->mem, pack, cli->err);
    if (st) {
        buf_clear(&cli->out);
        cli_put(cli, "%s", cli->term.is_terminal ? "\n" : "");
        return st;
    }
    size_format(pack->size_bytes, size);
    cli_put(cli, " %s and %zu file%s\n", size, pack->files,
            pack->files == 1 ? "" : "s");
    st = cli_flush(cli);
    for (size_t i = 0; i < pack->left_out.count; i++)
        cli_note(cli, "left out %s", pack->left_out.at[i]);
    return st;
}

static bool is_packed(const struct pack *pack, const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    for (size_t i = 0; i < pack->entries.count; i++)
        if (!strcmp(pack->entries.at[i].path, path))
            return true;
    return false;
}

det_status context_folder_check(struct cli *cli, const struct json *config,
                                bool is_fork, const char *folder,
                                const struct pack *pack)
{
    const struct json *wanted = json_path(config, "environment.requirements");
    struct env_wish wish = {.folder = folder, .file = json_str(wanted, NULL)};
    struct env_key key;
    det_status st;

    if (!wish.file || (!folder && is_fork))
        return DET_OK;
    if (!folder)
        return cli_fail(cli, DET_INVALID,
                        "environment.requirements is '%s', but no folder is sent; name "
                        "the folder after the configuration",
                        wish.file);
    st = env_wish_check(io_system(), &wish, &cli->mem, &key, cli->err);
    if (st)
        return err_prefix(cli->err, "environment.requirements");
    if (!is_packed(pack, wish.file))
        return cli_fail(
            cli, DET_INVALID,
            "environment.requirements: '%s' is not sent: .detignore names it",
            wish.file);
    return DET_OK;
}

det_status context_folder_write(struct cli *cli, const struct pack *pack,
                                struct json_writer *w, const char *key)
{
    bool shows = isatty(STDERR_FILENO) && pack->size_bytes > PROGRESS_BYTES;
    int percent = -1;
    det_status st =
        pack_write(pack, w, key, shows ? show_progress : NULL, &percent, cli->err);

    if (shows && st)
        fputc('\n', stderr);
    return st;
}
