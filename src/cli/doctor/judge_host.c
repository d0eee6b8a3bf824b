/* SPDX-License-Identifier: Apache-2.0 */
/* judge_host.c - what the facts about this host mean.
 *
 * A failure is what keeps a master or an agent from working here, or gives somebody else
 * what is not theirs.  A warning is what will hurt later, or hurts some programs only. */
#include "cli/doctor/judge.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/judge_space.h"

/* ---- disk ------------------------------------------------------------------------ */

enum {
    SYNC_SLOW_US = 50 * 1000,
    SYNC_TOO_SLOW_US = 1000 * 1000,
};

/* Whether there is a place to look at; says so if not. */
static bool has_place(const struct disk_facts *disk, struct findings *out)
{
    if (disk->place)
        return true;
    finding_bad(out, FINDING_FAIL, "There is no data directory to look at",
                disk->data_dir_problem ? disk->data_dir_problem
                                       : "no folder above it can be entered",
                "set HOME or XDG_DATA_HOME, or name one with --data-dir");
    return false;
}

/* A name that was mistyped must not look like a healthy directory. */
static void report_missing(const struct disk_facts *disk, struct findings *out)
{
    finding_bad(out, FINDING_WARN, finding_text(out, "'%s' is missing", disk->data_dir),
                "--data-dir names it, but no master has kept its data there",
                "check the name; the first master that gets this --data-dir makes it");
}

static const char *name_place(const struct disk_facts *disk, struct findings *out)
{
    if (disk->has_data_dir)
        return finding_text(out, "'%s'", disk->place);
    return finding_text(out, "'%s', above the missing '%s',", disk->place,
                        disk->data_dir);
}

void judge_space(const struct doctor_facts *facts, struct findings *out)
{
    const struct disk_facts *disk = &facts->disk;

    if (!has_place(disk, out))
        return;
    if (!disk->has_data_dir && disk->is_named)
        report_missing(disk, out);
    if (disk->space_problem)
        finding_bad(out, FINDING_WARN, "The free space is not known",
                    disk->space_problem, "look with 'df'");
    else
        judge_free_space(
            out, name_place(disk, out), (int64_t)disk->space.free_bytes,
            (int64_t)disk->space.size_bytes,
            "a master whose disk is full stores nothing, and an agent loses output");
}

void judge_sync(const struct doctor_facts *facts, struct findings *out)
{
    static const char why[] = "every change waits for the disk before it is answered";
    static const char todo[] =
        "put the data directory on a local disk, best an SSD, and "
        "look what else writes to this one ('iostat -x')";
    const struct disk_facts *disk = &facts->disk;
    const char *what;

    if (!disk->place)
        return;
    if (disk->sync_problem) {
        finding_bad(
            out, FINDING_FAIL,
            finding_text(out, "Nothing can be made durable in '%s'", disk->place),
            disk->sync_problem,
            "repair or replace the disk ('dmesg' says more), or make room");
        return;
    }
    if (disk->sync_us == DOCTOR_UNKNOWN) {
        finding_skip(out, "Not measured, because this user may not write to '%s'",
                     disk->place);
        return;
    }
    what = finding_text(out, "A sync takes %s", finding_time(out, disk->sync_us));
    if (disk->sync_us >= SYNC_SLOW_US)
        finding_bad(out,
                    disk->sync_us >= SYNC_TOO_SLOW_US ? FINDING_FAIL : FINDING_WARN,
                    what, why, todo);
    else
        finding_ok(out, "%s", what);
}

/* ---- file system ----------------------------------------------------------------- */

enum file_system_kind { LOCAL, NETWORK, DOUBTFUL, VOLATILE, LAYER };

static const struct file_system {
    uint64_t type; /* statfs(2) */
    const char *name;
    enum file_system_kind kind;
} file_systems[] = {
    {0xef53, "ext4", LOCAL},          {0x58465342, "XFS", LOCAL},
    {0x9123683e, "Btrfs", LOCAL},     {0x2fc12fc1, "ZFS", LOCAL},
    {0xf2f52010, "F2FS", LOCAL},      {0xca451a4e, "bcachefs", LOCAL},
    {0x6969, "NFS", NETWORK},         {0x517b, "SMB", NETWORK},
    {0xfe534d42, "SMB", NETWORK},     {0xff534d42, "CIFS", NETWORK},
    {0x5346414f, "AFS", NETWORK},     {0x6b414653, "AFS", NETWORK},
    {0x73757245, "Coda", NETWORK},    {0x01021997, "9P", NETWORK},
    {0x786f4256, "vboxsf", NETWORK},  {0x65735546, "FUSE", DOUBTFUL},
    {0x0bd00bd0, "Lustre", DOUBTFUL}, {0x47504653, "GPFS", DOUBTFUL},
    {0x00c36400, "Ceph", DOUBTFUL},   {0x01021994, "tmpfs", VOLATILE},
    {0x858458f6, "ramfs", VOLATILE},  {0x794c7630, "overlayfs", LAYER},
};

static const struct file_system *find_file_system(uint64_t type)
{
    for (size_t i = 0; i < ARRAY_LEN(file_systems); i++)
        if (file_systems[i].type == type)
            return &file_systems[i];
    return NULL;
}

#define USE_LOCAL                                                                      \
    "put the data directory on a local disk (--data-dir); checkpoints may stay on a "  \
    "shared one"

static void judge_type(const struct disk_facts *disk, const struct file_system *found,
                       struct findings *out)
{
    const char *what = finding_text(out, "'%s' is on %s", disk->place, found->name);

    switch (found->kind) {
    case NETWORK:
        /* Without a database, this may be the home of somebody who runs no master here. */
        finding_bad(out, disk->has_database ? FINDING_FAIL : FINDING_WARN, what,
                    "locks between machines are not reliable there, and two masters "
                    "could spoil one database",
                    USE_LOCAL);
        break;
    case DOUBTFUL:
        finding_bad(out, FINDING_WARN, what,
                    "whether its locks hold depends on how it is mounted, and the "
                    "database relies on them",
                    USE_LOCAL);
        break;
    case VOLATILE:
        finding_bad(out, FINDING_WARN, what,
                    "all experiments are gone after a restart of this machine",
                    "put the data directory on a disk (--data-dir)");
        break;
    case LAYER:
        finding_bad(out, FINDING_WARN, what,
                    "the data is in a layer of a container and goes with it",
                    "mount a volume for the data directory");
        break;
    case LOCAL:
        finding_ok(out, "%s%s", what,
                   disk->locks_exclude ? ", and its locks work" : "");
    }
}

void judge_file_system(const struct doctor_facts *facts, struct findings *out)
{
    const struct disk_facts *disk = &facts->disk;
    const struct file_system *found = find_file_system(disk->type);

    if (!disk->place)
        return;
    if (disk->lock_problem || (disk->has_tried_locks && !disk->locks_exclude))
        finding_bad(out, FINDING_FAIL,
                    finding_text(out, "Locks do not work in '%s' (%s)", disk->place,
                                 found ? found->name : "unknown file system"),
                    disk->lock_problem
                        ? disk->lock_problem
                        : "a second holder got the same lock, so two masters could "
                          "spoil one database",
                    USE_LOCAL);
    else if (found)
        judge_type(disk, found, out);
    else
        finding_ok(out, "'%s' is on a file system of type 0x%" PRIx64 "%s", disk->place,
                   disk->type, disk->locks_exclude ? ", and its locks work" : "");
}

/* ---- permissions ----------------------------------------------------------------- */

static void judge_access(const struct doctor_facts *facts, struct findings *out)
{
    const struct disk_facts *disk = &facts->disk;
    uint32_t mode = disk->stat.mode;
    const char *what = finding_text(out, "'%s' has mode %03o", disk->data_dir, mode);
    const char *todo = finding_text(out, "run 'chmod go-rw %s'", disk->data_dir);

    if (disk->stat.uid != facts->uid && facts->uid != 0)
        finding_bad(out, FINDING_WARN,
                    finding_text(out, "'%s' belongs to user %" PRIu32 ", not to you",
                                 disk->data_dir, disk->stat.uid),
                    "a master that you start cannot use it",
                    "run det as that user, or choose another --data-dir");
    else if (!disk->is_writable)
        finding_bad(out, FINDING_FAIL,
                    finding_text(out, "'%s' cannot be written to", disk->data_dir),
                    "a master cannot store anything there",
                    finding_text(out, "mount it for writing, or run 'chmod u+rwx %s'",
                                 disk->data_dir));
    else if (mode & 0022)
        finding_bad(out, FINDING_FAIL, what,
                    "other users of this machine can replace the database and the keys",
                    todo);
    else if (mode & 0044)
        finding_bad(out, FINDING_WARN, what,
                    "other users of this machine can see what is in it", todo);
    else
        finding_ok(out, "%s and belongs to %s", what,
                   disk->stat.uid == facts->uid ? "you" : "another user");
}

void judge_directory(const struct doctor_facts *facts, struct findings *out)
{
    const struct disk_facts *disk = &facts->disk;

    if (!disk->data_dir || !disk->place)
        return;
    if (disk->has_data_dir && disk->stat.kind != IO_DIRECTORY)
        finding_bad(out, FINDING_FAIL,
                    finding_text(out, "'%s' is not a directory", disk->data_dir),
                    "a master cannot keep its data there",
                    "move it away, or choose another --data-dir");
    else if (disk->has_data_dir)
        judge_access(facts, out);
    else if (disk->is_writable && disk->is_named)
        report_missing(disk, out);
    else if (disk->is_writable)
        finding_ok(out, "'%s' does not exist yet; the first master makes it",
                   disk->data_dir);
    else
        finding_bad(out, FINDING_WARN,
                    finding_text(out,
                                 "'%s' does not exist, and '%s' cannot be written "
                                 "to",
                                 disk->data_dir, disk->place),
                    "a master cannot make its data directory",
                    "make it as root and give it to the user of the master, or choose "
                    "another --data-dir");
}

static void judge_secret(const struct doctor_facts *facts,
                         const struct secret_fact *secret, struct findings *out)
{
    if (secret->mode & 0077)
        finding_bad(
            out, FINDING_FAIL,
            finding_text(out, "'%s' has mode %03o", secret->path, secret->mode),
            finding_text(out, "other users of this machine who can read it %s",
                         secret->harm),
            finding_text(out,
                         "run 'chmod 600 %s', and replace it if one may have read "
                         "it",
                         secret->path));
    if (secret->uid != facts->uid && secret->uid != 0 && facts->uid != 0)
        finding_bad(out, FINDING_FAIL,
                    finding_text(out, "'%s' belongs to user %" PRIu32, secret->path,
                                 secret->uid),
                    "that user can read and replace it",
                    finding_text(out, "run 'chown %" PRIu32 " %s' as root", facts->uid,
                                 secret->path));
}

void judge_keys(const struct doctor_facts *facts, struct findings *out)
{
    const struct keys_facts *keys = &facts->keys;
    size_t bad = out->count[FINDING_FAIL];

    for (size_t i = 0; i < keys->count; i++)
        judge_secret(facts, &keys->at[i], out);
    if (keys->problem)
        finding_skip(out, "Not all could be looked at: %s", keys->problem);
    else if (!keys->count)
        finding_ok(out, "There are no keys, tokens or sessions yet");
    else if (out->count[FINDING_FAIL] == bad)
        finding_ok(out, "Only the owner can read the %zu secret %s", keys->count,
                   keys->count == 1 ? "file" : "files");
}

/* ---- limits ---------------------------------------------------------------------- */

enum {
    FILES_FEW = 4096,
    FILES_TOO_FEW = 256,
    PROCESSES_FEW = 1024,
    PROCESSES_TOO_FEW = 128,
};

static const char *limit_text(struct findings *out, int64_t limit)
{
    return limit == DOCTOR_UNLIMITED ? "any number of"
                                     : finding_text(out, "%" PRId64, limit);
}

void judge_open_files(const struct doctor_facts *facts, struct findings *out)
{
    const struct limits_facts *limits = &facts->limits;
    int64_t now = limits->open_files;
    bool may_raise = limits->open_files_most > now;

    if (now >= FILES_FEW) {
        finding_ok(out, "A process may open %s files", limit_text(out, now));
        return;
    }
    finding_bad(
        out, now < FILES_TOO_FEW ? FINDING_FAIL : FINDING_WARN,
        finding_text(out, "A process may open only %" PRId64 " files", now),
        "a master needs one for each connection, and a training program many for its "
        "data",
        finding_text(out,
                     "raise it with 'ulimit -n %s' before you start det, or with "
                     "LimitNOFILE=65536 in its systemd unit",
                     may_raise && limits->open_files_most < 65536
                         ? limit_text(out, limits->open_files_most)
                         : "65536"));
}

void judge_processes(const struct doctor_facts *facts, struct findings *out)
{
    const struct limits_facts *limits = &facts->limits;
    int64_t user = facts->uid == 0 ? DOCTOR_UNLIMITED : limits->processes;
    int64_t least = MIN(MIN(user, limits->threads), limits->group_processes);
    const char *what, *todo;

    if (least >= PROCESSES_FEW) {
        finding_ok(out, "There may be %s processes and threads",
                   limit_text(out, least));
        return;
    }
    what =
        finding_text(out, "There may be only %" PRId64 " processes and threads", least);
    if (least == user)
        todo = "raise it with 'ulimit -u 65536' before you start det, or with "
               "LimitNPROC=65536 in its systemd unit";
    else if (least == limits->group_processes)
        todo = "raise pids.max of its control group (TasksMax=infinity in its systemd "
               "unit, --pids-limit of its container)";
    else
        todo = "raise it with 'sysctl kernel.threads-max=100000'";
    finding_bad(out, least < PROCESSES_TOO_FEW ? FINDING_FAIL : FINDING_WARN, what,
                "a master has dozens of threads, and frameworks start one for each "
                "core in each process",
                todo);
}

void judge_namespaces(const struct doctor_facts *facts, struct findings *out)
{
    const char *problem = facts->isolation.namespace_problem;

    if (!problem) {
        finding_ok(out, "Tasks can be isolated from each other");
        return;
    }
    finding_bad(
        out, FINDING_WARN, "An agent here cannot isolate its tasks",
        finding_text(out, "%s, so a task sees the files and processes of others",
                     problem),
        facts->uid == 0
            ? "let the agent's container or service mount and create namespaces "
              "(CAP_SYS_ADMIN)"
            : "run the agent as root, or allow user namespaces (sysctl "
              "kernel.unprivileged_userns_clone, user.max_user_namespaces)");
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at += len)
        if ((at == words || at[-1] == ' ') && (!at[len] || strchr(" \n", at[len])))
            return true;
    return false;
}

void judge_control_group(const struct doctor_facts *facts, struct findings *out)
{
    static const char todo[] = "give the agent a control group (cgroup v2) of its own "
                               "(systemd: Delegate=yes)";
    const struct isolation_facts *isolation = &facts->isolation;
    const char *controllers = isolation->controllers ? isolation->controllers : "";

    if (isolation->group_problem)
        finding_bad(out, FINDING_WARN,
                    "An agent here cannot have control groups for its tasks",
                    finding_text(out,
                                 "%s, so limits hold for single processes only, and "
                                 "processes of a task are found one by one at its end",
                                 isolation->group_problem),
                    todo);
    else if (!has_word(controllers, "memory") || !has_word(controllers, "pids"))
        finding_bad(out, FINDING_WARN,
                    finding_text(out, "'%s' lacks the controllers memory and pids",
                                 isolation->group),
                    "task_limits hold for single processes only, not for a whole task",
                    todo);
    else
        finding_ok(out, "A task's memory and processes can be limited (cgroup v2)");
}
