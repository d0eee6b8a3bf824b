/* SPDX-License-Identifier: Apache-2.0 */
/* privileged_groups.c - control groups of tasks; see privileged.h.  A part of the privileged
 * door in a file of its own: it changes no owner, mounts nothing, and becomes nobody. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "agent/privileged_impl.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"

enum { GROUP_TEXT = 4096, EMPTY_MS = 1000 };

#define GROUPS_TOP     "/sys/fs/cgroup"
#define GROUPS_HYBRID  GROUPS_TOP "/unified" /* beside cgroup v1 */
#define GROUP_OF_AGENT "det-agent"
#define GROUP_OF_TASK  "det-task-"

/* Files of the kernel, in directories that only we can write to. */
static bool write_in(int at, const char *name, const char *text)
{
    return write_all(openat(at, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), text);
}

static bool write_limit(int at, const char *name, int64_t value)
{
    char text[24];

    return value <= 0 || write_in(at, name, put_number((uint64_t)value, text));
}

static const char *read_in(int at, const char *name, char text[GROUP_TEXT])
{
    CLEANUP(close_fd) int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = fd < 0 ? -1 : read(fd, text, GROUP_TEXT - 1);

    text[len > 0 ? len : 0] = '\0';
    return text;
}

static bool has_controllers(int at, const char *name)
{
    char text[GROUP_TEXT];

    return strstr(read_in(at, name, text), "memory") && strstr(text, "pids");
}

static bool is_v2(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* The line "0::/path" is that of cgroup v2.  An earlier agent may have moved already. */
static const char *own_group(struct arena *mem)
{
    static const char leaf[] = "/" GROUP_OF_AGENT;
    char text[GROUP_TEXT + 1] = "\n";
    char *at;
    size_t len;

    read_in(AT_FDCWD, "/proc/self/cgroup", text + 1);
    at = strstr(text, "\n0::/");
    if (!at)
        return "";
    at += strlen("\n0::");
    len = strcspn(at, "\n");
    at[len] = '\0';
    if (len >= strlen(leaf) && !strcmp(at + len - strlen(leaf), leaf))
        at[len - strlen(leaf)] = '\0';
    return arena_printf(mem, "%s%s", is_v2(GROUPS_HYBRID) ? GROUPS_HYBRID : GROUPS_TOP,
                        strcmp(at, "/") ? at : "");
}

/* The kernel gives controllers to the groups in `at` only if no process is in `at`
 * itself.  Others there are not ours to move. */
static bool hand_controllers_down(int at)
{
    static const char both[] = "+memory +pids";
    CLEANUP(close_fd) int leaf = -1;
    int code;

    if (has_controllers(at, "cgroup.subtree_control") ||
        write_in(at, "cgroup.subtree_control", both))
        return true;
    if (errno != EBUSY || (mkdirat(at, GROUP_OF_AGENT, 0755) && errno != EEXIST))
        return false;
    leaf = open_beneath(at, GROUP_OF_AGENT, O_RDONLY | O_DIRECTORY);
    if (leaf < 0 || !write_in(leaf, "cgroup.procs", "0"))
        return false;
    if (write_in(at, "cgroup.subtree_control", both))
        return true;
    code = errno;
    (void)write_in(at, "cgroup.procs", "0");
    (void)unlinkat(at, GROUP_OF_AGENT, AT_REMOVEDIR);
    errno = code;
    return false;
}

/* Whether tasks can have groups here that end all their processes at once: tries it. */
static bool has_kill(int at)
{
    char name[64] = GROUP_OF_TASK "probe-";
    char digits[24];
    const char *number = put_number((uint64_t)getpid(), digits);
    CLEANUP(close_fd) int probe = -1;
    bool has;

    memcpy(name + strlen(name), number, strlen(number) + 1);
    if (mkdirat(at, name, 0755) && errno != EEXIST)
        return false;
    probe = open_beneath(at, name, O_RDONLY | O_DIRECTORY);
    has = probe >= 0 && faccessat(probe, "cgroup.kill", W_OK, AT_EACCESS) == 0 &&
          faccessat(at, "cgroup.procs", W_OK, AT_EACCESS) == 0;
    (void)unlinkat(at, name, AT_REMOVEDIR);
    return has;
}

static det_status begin_limits(int at, const char *path, struct err *err)
{
    if (!has_controllers(at, "cgroup.controllers"))
        return err_set(err, DET_UNSUPPORTED,
                       "'%s' has no controllers of memory and processes", path);
    if (!hand_controllers_down(at))
        return err_set(err, DET_UNSUPPORTED, "'%s' cannot be divided: %s", path,
                       errno == EBUSY ? "other processes are in it" : strerror(errno));
    return DET_OK;
}

det_status privileged_groups_begin(struct arena *mem, bool has_limits,
                                   const char **ret_path, struct err *err)
{
    const char *path = own_group(mem);
    CLEANUP(close_fd) int at = -1;
    struct statfs fs;
    det_status status = DET_OK;

    if (!path)
        return err_default(err, DET_NOMEM);
    at = path[0] ? open_trusted(path) : -1;
    if (at < 0 || fstatfs(at, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
        return err_set(err, DET_UNSUPPORTED, "cgroup v2 is not at " GROUPS_TOP);
    if (has_limits)
        status = begin_limits(at, path, err);
    else if (!has_kill(at))
        status = err_set(err, DET_UNSUPPORTED, "'%s' cannot be divided", path);
    if (!status)
        *ret_path = path;
    return status;
}

/* Two agents in one group may have tasks of one name, but never of one directory. */
static void name_group(struct privileged_group *group, const char *path,
                       const char *dir)
{
    const char *slash = strrchr(dir, '/');

    snprintf(group->path, sizeof(group->path), "%s/" GROUP_OF_TASK "%s-%08" PRIx32,
             path, slash ? slash + 1 : dir, (uint32_t)hash_bytes(dir, strlen(dir)));
}

det_status privileged_group_make(const char *path, const char *dir,
                                 struct privileged_group *group, struct err *err)
{
    name_group(group, path, dir);
    if (mkdir(group->path, 0755) == 0 || errno == EEXIST)
        group->fd = open_trusted(group->path);
    if (group->fd < 0 || !write_limit(group->fd, "memory.max", group->memory) ||
        !write_limit(group->fd, "pids.max", group->processes))
        return err_errno(err, errno, "cannot make the control group '%s'", group->path);
    if (group->memory) /* a kernel without swap has no such file */
        (void)write_in(group->fd, "memory.swap.max", "0");
    return DET_OK;
}

bool privileged_group_join(const struct privileged_group *group)
{
    return group->fd < 0 || write_in(group->fd, "cgroup.procs", "0");
}

void privileged_group_kill(const struct privileged_group *group)
{
    if (group->fd >= 0)
        (void)write_in(group->fd, "cgroup.kill", "1");
}

/* Waits a moment until the last process has ended. */
static bool is_empty(int group)
{
    CLEANUP(close_fd)
    int events = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct pollfd change = {.fd = events, .events = POLLPRI};
    char text[256];

    for (;;) {
        ssize_t len = events < 0 ? -1 : pread(events, text, sizeof(text) - 1, 0);

        if (len < 0)
            return errno == ENODEV; /* the group is gone */
        text[len] = '\0';
        if (!strstr(text, "populated 1"))
            return true;
        if (poll(&change, 1, EMPTY_MS) <= 0)
            return false;
    }
}

bool privileged_group_end(const char *path, const char *dir)
{
    struct privileged_group group = {.fd = -1};
    bool is_ended;

    if (strncmp(path, GROUPS_TOP, strlen(GROUPS_TOP)) != 0 || strstr(path, "/.."))
        return true;
    name_group(&group, path, dir);
    group.fd = open(group.path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (group.fd < 0)
        return errno == ENOENT;
    privileged_group_kill(&group);
    is_ended = is_empty(group.fd);
    privileged_group_done(&group);
    return is_ended;
}

void privileged_group_done(struct privileged_group *group)
{
    if (group->fd >= 0)
        (void)rmdir(group->path);
    close_fd(&group->fd);
    group->fd = -1;
}
