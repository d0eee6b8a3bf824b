/* SPDX-License-Identifier: Apache-2.0 */
/* gather_host.c - disk, files and limits of this host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/gather.h"
#include "cli/frame/cli.h"
#include "data/text.h"
#include "libdet/client/auth.h"
#include "libdet/client/runfile.h"

enum { SYNCS = 5, SYNC_BYTES = 4096, SMALL_FILE = 64 << 10 };

static const char *keep(struct cli *cli, const char *text)
{
    return arena_strdup(&cli->mem, text);
}

static const char *path_in(struct cli *cli, const char *dir, const char *name)
{
    const char *path = arena_printf(&cli->mem, "%s/%s", dir, name);

    return path ? path : "";
}

/* ---- disk ------------------------------------------------------------------------ */

/* The directory itself, or the next one above it that exists. */
static const char *find_place(struct cli *cli, const char *path)
{
    char *place = arena_strdup(&cli->mem, path);
    struct io_stat stat;

    while (place && *place &&
           (io_stat(io_system(), place, &stat, NULL) || stat.kind == IO_FILE)) {
        char *slash = strrchr(place, '/');

        if (!slash)
            return NULL;
        slash[slash == place && slash[1]] = '\0';
    }
    return place && *place ? place : NULL;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t *one = a, *other = b;

    return (*one > *other) - (*one < *other);
}

/* The median of some writes, each made durable. */
static det_status measure_sync(struct io_file *file, int64_t *ret_us, struct err *err)
{
    static const char zeros[SYNC_BYTES];
    int64_t us[SYNCS];

    for (int i = 0; i < SYNCS; i++) {
        int64_t start_us = clock_mono_us(&clock_system);
        det_status st =
            io_write_at(file, (uint64_t)i * SYNC_BYTES, zeros, SYNC_BYTES, err);

        if (!st)
            st = io_sync(file, err);
        if (st)
            return st;
        us[i] = clock_mono_us(&clock_system) - start_us;
    }
    qsort(us, SYNCS, sizeof(us[0]), compare_times);
    *ret_us = us[SYNCS / 2];
    return DET_OK;
}

/* Two open files are two holders, also in one process. */
static void try_locks(struct cli *cli, const char *path, struct io_file *file,
                      struct disk_facts *disk)
{
    CLEANUP(io_closep) struct io_file *second = NULL;
    struct err err = {0};
    det_status st = io_lock(file, &err);

    if (!st)
        st = io_open(io_system(), path, IO_WRITE, &second, &err);
    if (st) {
        disk->lock_problem = keep(cli, err.text);
        return;
    }
    disk->has_tried_locks = true;
    disk->locks_exclude = io_lock(second, NULL) == DET_BUSY;
}

static void try_file(struct cli *cli, struct disk_facts *disk)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    const char *path =
        arena_printf(&cli->mem, "%s/.det-doctor-%ld", disk->place, (long)getpid());
    struct err err = {0};
    det_status st;

    if (!path)
        return;
    st = io_open(io_system(), path, IO_WRITE | IO_CREATE | IO_EXCLUSIVE | IO_PRIVATE,
                 &file, &err);
    if (!st) {
        st = measure_sync(file, &disk->sync_us, &err);
        try_locks(cli, path, file, disk);
        (void)io_remove(io_system(), path, NULL);
    }
    if (st)
        disk->sync_problem = keep(cli, err.text);
}

static void look_at_place(struct cli *cli, struct disk_facts *disk)
{
    struct err err = {0};
    struct statfs fs;

    if (io_space(io_system(), disk->place, &disk->space, &err))
        disk->space_problem = keep(cli, err.text);
    if (statfs(disk->place, &fs) == 0)
        disk->type = (uint32_t)fs.f_type;
    disk->is_writable = access(disk->place, W_OK | X_OK) == 0;
    if (disk->is_writable)
        try_file(cli, disk);
}

/* A path from the root: what is wrong must be found from anywhere. */
static const char *absolute(struct cli *cli, const char *path)
{
    char here[4096];

    if (path[0] == '/' || !getcwd(here, sizeof(here)))
        return path;
    return path_in(cli, here, path);
}

void gather_disk(const struct gather *gather, struct doctor_facts *facts)
{
    struct disk_facts *disk = &facts->disk;
    struct cli *cli = gather->cli;
    struct err err = {0};
    struct io_stat stat;

    if (disk->is_gathered)
        return;
    disk->is_gathered = true;
    disk->sync_us = DOCTOR_UNKNOWN;
    disk->is_named = gather->data_dir != NULL;
    if (gather->data_dir)
        disk->data_dir = absolute(cli, gather->data_dir);
    else if (runfile_data_dir(&cli->mem, &disk->data_dir, &err))
        disk->data_dir_problem = keep(cli, err.text);
    if (!disk->data_dir)
        return;
    disk->has_data_dir = !io_stat(io_system(), disk->data_dir, &disk->stat, NULL);
    disk->has_database =
        !io_stat(io_system(), path_in(cli, disk->data_dir, "det.db"), &stat, NULL);
    disk->place = find_place(cli, disk->data_dir);
    if (disk->place)
        look_at_place(cli, disk);
}

/* ---- keys ------------------------------------------------------------------------ */

static void look_at_secret(struct cli *cli, const char *path, const char *harm,
                           struct keys_facts *keys)
{
    struct err err = {0};
    struct io_stat stat;
    det_status st = io_stat(io_system(), path, &stat, &err);

    if (!st)
        keys->at[keys->count++] = (struct secret_fact){
            .path = path, .harm = harm, .mode = stat.mode, .uid = stat.uid};
    else if (st != DET_NOT_FOUND)
        keys->problem = keep(cli, err.text);
}

void gather_keys(const struct gather *gather, struct doctor_facts *facts)
{
    static const struct {
        const char *name;
        const char *harm;
    } in_data_dir[] = {
        {"secret.key", "can make sessions for any user"},
        {"agent.token", "can join the cluster as an agent and get other users' tasks"},
        {"tls/own.key", "can pretend to be the master"},
    };
    struct keys_facts *keys = &facts->keys;
    struct cli *cli = gather->cli;
    const char *sessions;

    gather_disk(gather, facts);
    if (keys->is_gathered)
        return;
    keys->is_gathered = true;
    for (size_t i = 0; facts->disk.data_dir && i < ARRAY_LEN(in_data_dir); i++)
        look_at_secret(cli, path_in(cli, facts->disk.data_dir, in_data_dir[i].name),
                       in_data_dir[i].harm, keys);
    if (!auth_file_default(&cli->mem, &sessions, NULL))
        look_at_secret(cli, sessions, "can act as you", keys);
}

/* ---- limits ---------------------------------------------------------------------- */

static int64_t limit_of(rlim_t limit)
{
    return limit == RLIM_INFINITY || limit > INT64_MAX ? DOCTOR_UNLIMITED
                                                       : (int64_t)limit;
}

/* The number in a file of the kernel; "max" or no file: unlimited. */
static int64_t read_limit(const char *path)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(SMALL_FILE);
    int64_t value;

    if (io_read_file(io_system(), path, &text, NULL))
        return DOCTOR_UNLIMITED;
    while (text.len && text.data[text.len - 1] == '\n')
        buf_cut(&text, text.len - 1);
    return parse_i64(text.data, &value) ? value : DOCTOR_UNLIMITED;
}

void gather_limits(const struct gather *gather, struct doctor_facts *facts)
{
    struct limits_facts *limits = &facts->limits;
    struct rlimit limit;

    if (limits->is_gathered)
        return;
    *limits = (struct limits_facts){.is_gathered = true,
                                    .open_files = DOCTOR_UNLIMITED,
                                    .open_files_most = DOCTOR_UNLIMITED,
                                    .processes = DOCTOR_UNLIMITED,
                                    .group_processes = DOCTOR_UNLIMITED};
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limits->open_files = limit_of(limit.rlim_cur);
        limits->open_files_most = limit_of(limit.rlim_max);
    }
    if (!getrlimit(RLIMIT_NPROC, &limit))
        limits->processes = limit_of(limit.rlim_cur);
    limits->threads = MIN(read_limit("/proc/sys/kernel/threads-max"),
                          read_limit("/proc/sys/kernel/pid_max"));
    gather_isolation(gather, facts);
    if (facts->isolation.group)
        limits->group_processes =
            read_limit(path_in(gather->cli, facts->isolation.group, "pids.max"));
}

void gather_isolation(const struct gather *gather, struct doctor_facts *facts)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(SMALL_FILE);
    struct isolation_facts *isolation = &facts->isolation;
    struct cli *cli = gather->cli;
    struct err err = {0};

    if (isolation->is_gathered)
        return;
    isolation->is_gathered = true;
    if (privileged_probe(&err))
        isolation->namespace_problem = keep(cli, err.text);
    if (privileged_groups_begin(&cli->mem, false, &isolation->group, &err)) {
        isolation->group_problem = keep(cli, err.text);
        return;
    }
    if (!io_read_file(io_system(), path_in(cli, isolation->group, "cgroup.controllers"),
                      &text, NULL))
        isolation->controllers = keep(cli, text.data);
}
