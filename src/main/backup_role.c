/* SPDX-License-Identifier: Apache-2.0 */
#include "main/backup_role.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/folder_lock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/frame/cli_main.h"
#include "cli/frame/parse.h"
#include "cli/frame/role_options.h"
#include "data/time.h"
#include "libdet/client/runfile.h"
#include "main/data_dir.h"
#include "main/local_agent.h"
#include "store/backup/backup.h"
#include "store/backup/restore.h"
#include "store/backup/vault.h"

static double in_mb(uint64_t bytes)
{
    return (double)bytes / 1e6;
}

/* ---- backup ---------------------------------------------------------------------- */

/* The path without links and dots, as far as it exists. */
static void make_real(const char *path, char ret_real[static PATH_MAX])
{
    char part[PATH_MAX];
    size_t len = strlen(path);

    snprintf(part, sizeof(part), "%s", path);
    snprintf(ret_real, PATH_MAX, "%s", path);
    while (len < sizeof(part) && len > 0 && !realpath(part, ret_real)) {
        while (len > 0 && part[--len] != '/')
            ;
        part[len] = '\0';
    }
    if (!len)
        ret_real[0] = '\0'; /* after a failure, realpath() leaves anything there */
    if (len < strlen(path))
        snprintf(ret_real + strlen(ret_real), PATH_MAX - strlen(ret_real), "%s",
                 path + len);
}

static bool is_below(const char *path, const char *dir)
{
    char real_path[PATH_MAX];
    char real_dir[PATH_MAX];
    size_t len;

    make_real(path, real_path);
    make_real(dir, real_dir);
    len = strlen(real_dir);
    return !strncmp(real_path, real_dir, len) &&
           (!real_path[len] || real_path[len] == '/');
}

/* Packs and inventories of a backup inside the data directory would be copied into the
 * next one, and be lost with the disk. */
static det_status check_outside(const char *data_dir, const char *vault,
                                struct err *err)
{
    if (!is_below(vault, data_dir))
        return DET_OK;
    return err_set(err, DET_INVALID,
                   "'%s' is in the data directory: name one on another disk", vault);
}

static void print_outcome(const struct backup_outcome *made, const char *vault,
                          const char *data_dir)
{
    printf("backup %s: %.1f MB in %" PRIu64 " files, %.1f MB of it new\n", made->id,
           in_mb(made->size_bytes), made->files, in_mb(made->new_bytes));
    if (made->removed)
        printf("removed %" PRIu64 " older backups: %.1f MB freed\n", made->removed,
               in_mb(made->freed_bytes));
    if (made->has_left_checkpoints)
        printf(
            "not included: the checkpoints in %s/checkpoints (--checkpoints includes "
            "them)\n",
            data_dir);
    if (made->unreadable)
        fprintf(stderr,
                "det: %" PRIu64 " files or folders in %s/checkpoints could not be read "
                "and are not in the backup; the first one: %s\n",
                made->unreadable, data_dir, made->first_unreadable);
    if (made->damaged_pack)
        fprintf(stderr,
                "det: pack %s of earlier backups is damaged; 'det backup %s --verify' "
                "says which backups need it\n",
                made->damaged_pack, vault);
}

static det_status make_backup(const struct backup_options *options, const char *vault,
                              struct arena *mem, struct err *err)
{
    struct backup_config config = {
        .io = io_system(),
        .clock = &clock_system,
        .vault = vault,
        .version = DET_VERSION,
        .with_checkpoints = options->checkpoints,
        .keep = options->keep == CLI_UNSET ? 0 : options->keep,
        .rate = options->rate == CLI_UNSET ? 0 : (uint64_t)options->rate * 1000000,
    };
    struct backup_outcome made;
    bool is_there;
    det_status st =
        data_dir_find(options->data_dir, mem, &config.data_dir, &is_there, err);

    if (!st)
        st = check_outside(config.data_dir, vault, err);
    if (!st)
        st = backup_make(&config, mem, &made, err);
    if (!st)
        print_outcome(&made, vault, config.data_dir);
    return st;
}

static det_status list_backups(const char *vault, struct arena *mem, struct err *err)
{
    const char **ids = NULL;
    size_t count = 0;
    det_status st = inventory_list(io_system(), vault, mem, &ids, &count, err);

    if (!st && count)
        printf("%-18s %-27s %12s %12s  %s\n", "ID", "COMPLETE UNTIL", "MB", "NEW MB",
               "CHECKPOINTS");
    for (size_t i = 0; i < count && !st; i++) {
        CLEANUP(arena_done) struct arena one = ARENA_INIT(SIZE_MAX);
        struct inventory found;
        char time[TIME_TEXT];
        struct err why = {0};

        if (inventory_read(io_system(), vault, ids[i], &one, &found, &why)) {
            printf("%-18s %s\n", ids[i], why.text);
            continue;
        }
        time_format(found.time_us, time);
        printf("%-18s %-27s %12.1f %12.1f  %s\n", ids[i], time,
               in_mb(inventory_size(&found)), in_mb(found.new_bytes),
               found.has_checkpoints ? "yes" : "no");
    }
    return st;
}

static det_status verify_backups(struct vault *vault, struct err *err)
{
    struct err why = {0};
    uint64_t good = 0, bad = 0;
    det_status st = backup_verify(vault, io_system(), &good, &bad, &why, err);

    if (st)
        return st;
    printf("%" PRIu64 " of %" PRIu64 " backups are intact\n", good, good + bad);
    return bad ? err_set(err, DET_CORRUPT, "%.1500s", why.text) : DET_OK;
}

static det_status look_at_backups(const struct backup_options *options,
                                  const char *path, struct arena *mem, struct err *err)
{
    CLEANUP(vault_closep) struct vault *vault = NULL;
    det_status st = vault_open(io_system(), path, false, &vault, err);

    if (!st && options->list)
        st = list_backups(path, mem, err);
    if (!st && options->verify)
        st = verify_backups(vault, err);
    return st;
}

static det_status check_backup_options(const struct backup_options *options,
                                       struct err *err)
{
    bool looks = options->list || options->verify;

    if (looks && (options->checkpoints || options->keep != CLI_UNSET ||
                  options->rate != CLI_UNSET || options->data_dir))
        return err_set(err, DET_INVALID,
                       "--list and --verify make no backup: leave out --checkpoints, "
                       "--keep, --rate and --data-dir");
    return DET_OK;
}

int backup_main(const struct backup_options *options, const char *vault)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    struct err err = {0};
    const char *path = NULL;
    bool is_there;
    det_status st = check_backup_options(options, &err);

    (void)umask(077); /* backups are private */
    if (!st)
        st = data_dir_find(vault, &mem, &path, &is_there, &err);
    if (!st)
        st = options->list || options->verify
                 ? look_at_backups(options, path, &mem, &err)
                 : make_backup(options, path, &mem, &err);
    return st ? cli_report(st, &err) : 0;
}

/* ---- restore --------------------------------------------------------------------- */

/* Nobody may use the directory that is replaced or filled: no master, and no other restore.
 * The lock is held to the end, and moves aside with the directory. */
static det_status lock_target(const char *target, struct arena *mem,
                              struct folder_lock *ret_lock, struct err *err)
{
    det_status st = folder_lock_take(io_system(), target, RUNFILE_LOCK, ret_lock, err);

    if (st == DET_BUSY || (!st && local_agent_pid(local_agent_dir(mem, target))))
        return err_set(err, DET_BUSY,
                       "a master or agent runs in '%s', or another restore: stop it "
                       "with 'det stop --data-dir %s', or wait",
                       target, target);
    return st;
}

/* The backups would become part of a data directory, or be put aside with one. */
static det_status check_apart(const char *target, const char *vault, struct err *err)
{
    if (is_below(target, vault))
        return err_set(err, DET_INVALID,
                       "'%s' is the directory of the backups, or in it: name another "
                       "--data-dir",
                       target);
    if (is_below(vault, target))
        return err_set(err, DET_INVALID,
                       "the backups are in '%s', which would be put aside: move them, "
                       "or name another --data-dir",
                       target);
    return DET_OK;
}

static det_status read_restore_options(const struct restore_options *options,
                                       struct restore_config *config, struct err *err)
{
    if (options->backup && options->at)
        return err_set(err, DET_INVALID, "give --backup or --at, not both");
    if (options->at && !time_parse(options->at, &config->at_us))
        return err_set(err, DET_INVALID,
                       "--at '%s' is not a time such as 2026-11-17T04:13:49Z",
                       options->at);
    config->backup_id = options->backup;
    config->replaces = options->replace;
    return DET_OK;
}

static void print_restored(const struct inventory *found, const char *target,
                           const struct restore_outcome *done)
{
    char time[TIME_TEXT];

    time_format(found->time_us, time);
    printf("restored %s, complete until %s, to %s\n", found->id, time, target);
    if (done->replaced)
        printf("the old directory is now %s\n", done->replaced);
    if (!found->has_checkpoints && done->checkpoints_from)
        printf("checkpoints are not in this backup; those in %s moved to the new "
               "directory\n",
               done->checkpoints_from);
    else if (!found->has_checkpoints)
        printf("checkpoints are not in this backup\n");
    if (done->stepped_back)
        printf("the latest checkpoint of %" PRIu64
               " unfinished trials is gone: they begin again from an older one or from "
               "their start\n",
               done->stepped_back);
    printf("every session and access token has ended; runs that were active at the "
           "time of the backup start again from their latest checkpoints\n");
}

/* With the target locked; it is made if it is missing, and goes again if nothing was put
 * in its place. */
static det_status restore_locked(const struct restore_config *config, bool is_there,
                                 const struct inventory *found, struct arena *mem,
                                 struct restore_outcome *ret_done, struct err *err)
{
    CLEANUP(folder_lock_give) struct folder_lock lock = {0};
    const char *file = arena_printf(mem, "%s/%s", config->target, RUNFILE_LOCK);
    det_status st =
        is_there ? DET_OK : io_mkdir(io_system(), config->target, true, err);

    if (!st)
        st = file ? lock_target(config->target, mem, &lock, err)
                  : err_default(err, DET_NOMEM);
    if (!st)
        st = restore_run(config, found, mem, ret_done, err);
    if (st && !is_there && lock.folder) {
        (void)unlink(file);
        (void)rmdir(config->target); /* not if there is anything in it */
    }
    return st;
}

static det_status restore_one(const struct restore_options *options, const char *vault,
                              struct arena *mem, struct err *err)
{
    struct restore_config config = {
        .io = io_system(),
        .vault = vault,
        .lock_name = RUNFILE_LOCK,
        .now_us = clock_wall_us(&clock_system),
    };
    char target[PATH_MAX];
    struct inventory found;
    struct restore_outcome done;
    bool is_there = false;
    det_status st = read_restore_options(options, &config, err);

    if (!st)
        st = data_dir_find(options->data_dir, mem, &config.target, &is_there, err);
    if (!st) { /* a link stays one: it may lead to the disk that has room */
        make_real(config.target, target);
        config.target = target;
        st = restore_find(&config, mem, &found, err);
    }
    if (!st)
        st = check_apart(config.target, vault, err);
    if (!st)
        st = restore_check(&config, &found, mem, err);
    if (!st)
        st = restore_locked(&config, is_there, &found, mem, &done, err);
    if (!st)
        print_restored(&found, config.target, &done);
    return st;
}

int restore_main(const struct restore_options *options, const char *vault)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SIZE_MAX);
    struct err err = {0};
    const char *path = NULL;
    bool is_there;
    det_status st = data_dir_find(vault, &mem, &path, &is_there, &err);

    (void)umask(077);
    if (!st)
        st = restore_one(options, path, &mem, &err);
    return st ? cli_report(st, &err) : 0;
}
