/* SPDX-License-Identifier: Apache-2.0 */
#include "main/data_dir.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "data/json/json.h"
#include "libdet/client/runfile.h"
#include "store/backup/restore.h"

static det_status make_absolute(const char *path, struct arena *mem,
                                const char **ret_path, struct err *err)
{
    char here[4096];

    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/') /* "a/.restoring" would be in it */
        len--;
    if (*path == '/') {
        *ret_path = arena_strndup(mem, path, len);
    } else {
        if (!getcwd(here, sizeof(here)))
            return err_errno(err, errno, "cannot find the current directory");
        *ret_path = arena_printf(mem, "%s/%.*s", here, (int)len, path);
    }
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* Follows symlinks. */
static det_status check_folder(const char *path, bool *ret_is_there, struct err *err)
{
    struct stat found;

    *ret_is_there = !stat(path, &found);
    if (*ret_is_there && !S_ISDIR(found.st_mode))
        return err_set(err, DET_INVALID, "'%s' is not a folder", path);
    return DET_OK;
}

det_status data_dir_find(const char *given, struct arena *mem, const char **ret_path,
                         bool *ret_is_there, struct err *err)
{
    det_status st;

    if (given && !*given) /* often a variable that is not set */
        return err_set(err, DET_INVALID, "the name of a directory is empty");
    st = given ? make_absolute(given, mem, ret_path, err)
               : runfile_data_dir(mem, ret_path, err);
    return st ? st : check_folder(*ret_path, ret_is_there, err);
}

det_status data_dir_open(const char *given, struct arena *mem, const char **ret_path,
                         struct err *err)
{
    bool is_there;
    det_status st = data_dir_find(given, mem, ret_path, &is_there, err);

    return st ? st : io_mkdir(io_system(), *ret_path, true, err);
}

det_status data_dir_check_restored(const char *path, struct err *err)
{
    if (!restore_was_interrupted(io_system(), path))
        return DET_OK;
    return err_set(err, DET_STATE,
                   "a restore to '%s' was interrupted: run 'det restore' again, or "
                   "remove '%s.restoring' to begin with an empty directory",
                   path, path);
}

det_status data_dir_of_options(const char *given, const char *config, struct arena *mem,
                               const char **ret_path, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct config_report report = CONFIG_REPORT(mem, config);
    struct json *tree;
    det_status st;

    *ret_path = given;
    if (given || !config)
        return DET_OK;
    st = io_read_file(io_system(), config, &text, err);
    if (!st)
        st = config_load(CONFIG_MASTER, text.data, text.len, NULL, &report, &tree, err);
    if (!st)
        *ret_path = json_str(json_get(tree, "data_dir"), NULL);
    return st;
}
