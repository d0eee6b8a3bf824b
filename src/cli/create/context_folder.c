/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/context_folder.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/env/key.h"
#include "base/io/io.h"
#include "cli/create/pack.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/text.h"
#include "model/field.h"

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
    struct cli *cli = arg;

    progress_line_set(&cli->progress, "Reading files... %d%%",
                      all_bytes ? (int)(100 * done_bytes / all_bytes) : 100);
}

static det_status scan_all(struct cli *cli, const char *folder,
                           const struct field_strs *includes, struct pack *pack)
{
    det_status st = DET_OK;

    pack_init(io_system(), &cli->mem, pack);
    if (folder)
        st = pack_scan(io_system(), folder, &cli->mem, pack, cli->err);
    for (size_t i = 0; !st && i < includes->count; i++)
        st = pack_include(pack, includes->at[i], cli->err);
    return st;
}

det_status context_folder_scan(struct cli *cli, const char *folder,
                               const struct field_strs *includes, struct pack *pack)
{
    const char *name = folder_name(cli, folder ? folder : includes->at[0]);
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
    st = scan_all(cli, folder, includes, pack);
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

bool context_folder_has(const struct pack *pack, const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    for (size_t i = 0; i < pack->entries.count; i++)
        if (!strcmp(pack->entries.at[i].path, path))
            return true;
    return false;
}

/* A program of the folder cannot start where no folder is sent. */
static void warn_without_folder(struct cli *cli, const struct json *config)
{
    const struct json *entrypoint = json_get(config, "entrypoint");
    const char *command = json_str(entrypoint, NULL);

    if (!command)
        command = json_str(json_first(entrypoint), "");
    if (!strncmp(command, "./", 2))
        cli_note(cli,
                 "warning: the entrypoint '%s' is in a folder, but no folder is sent; "
                 "name the folder after the configuration",
                 command);
}

det_status context_folder_check(struct cli *cli, const struct json *config,
                                bool is_fork, const char *folder,
                                const struct pack *pack)
{
    const struct json *wanted = json_path(config, "environment.requirements");
    struct env_wish wish = {.folder = folder, .file = json_str(wanted, NULL)};
    struct env_key key;
    det_status st;

    if (!folder && !is_fork && !pack->entries.count)
        warn_without_folder(cli, config);
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
    if (!context_folder_has(pack, wish.file))
        return cli_fail(
            cli, DET_INVALID,
            "environment.requirements: '%s' is not sent: .detignore names it",
            wish.file);
    return DET_OK;
}

det_status context_folder_write(struct cli *cli, const struct pack *pack,
                                struct json_writer *w, const char *key)
{
    bool shows = pack->size_bytes > PROGRESS_BYTES;
    det_status st =
        pack_write(pack, w, key, shows ? show_progress : NULL, cli, cli->err);

    progress_line_end(&cli->progress);
    return st;
}
