/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - the master says by number which user runs the tasks
 * (security.default_task, or the identity that the owner is linked with); the agent's machine knows that user's name, home and groups.
 * Only the task changes its user: the supervisor stays root, so it can write where the
 * task cannot, and end what the task started.
 *
 * The task's own directories and the checkpoints must be reachable for that user, but
 * they are in the data directory.  So the way there is opened, and nothing beside it:
 * each directory on it becomes 0711 (others may pass through, but not list), set by its
 * owner, and only once there is such a user:
 *
 *   DATA             `det serve`, which also gives DATA/checkpoints to the user
 *   DATA/agent       the agent, as DATA/agent/tasks
 *   .../tasks/A-R    the supervisor; work/, run/ and reports/ in it belong to the user,
 *                    mode 0700
 *
 * Everything else in these directories is private by its own mode (0600, also the
 * control socket): keys, tokens, the database, specs, spools, logs.  Directories above
 * the data directory are not ours to open; if one of them is closed, as /root is, the
 * task fails with a sentence that names it.  (A directory in /var/tmp would need no
 * open way, but the checkpoints would, and other programs clean /var/tmp.)
 *
 * Handing over is the last step before the start.  Until then these directories belong
 * to root and are closed, and the top of each tree changes its owner last, so no user
 * can put a symlink in the way of a chown.  Afterwards they are hostile ground for
 * root: code that reads there later must not follow symlinks. */
#include "agent/task/prepare/identity.h"

#include <errno.h>
#include <fts.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/memory/arena.h"

enum { SCRATCH = 64 << 10, ENTRY_BYTES = 4 << 10, ENTRY_LIMIT = 1 << 20, GROUPS = 32 };

/* ---- looking up ------------------------------------------------------------------ */

/* An entry of the user database in `mem`; NULL in *ret_entry: there is none. */
static det_status look_up(uid_t uid, struct arena *mem, struct passwd **ret_entry,
                          struct err *err)
{
    struct passwd *entry = arena_new(mem, struct passwd);

    for (size_t size = ENTRY_BYTES; entry && size <= ENTRY_LIMIT; size *= 4) {
        char *text = arena_array(mem, char, size);
        int code;

        if (!text)
            break;
        code = getpwuid_r(uid, entry, text, size, ret_entry);
        if (code == ERANGE)
            continue;
        /* User databases report a missing entry in several ways. */
        if (code && code != ENOENT && code != ESRCH && code != EPERM && code != EBADF)
            return err_errno(err, code, "cannot look user %u up", (unsigned)uid);
        return DET_OK;
    }
    return err_default(err, DET_NOMEM);
}

static det_status find_groups(struct identity *who, struct arena *mem, struct err *err)
{
    int count = GROUPS;
    gid_t *groups = arena_array(mem, gid_t, GROUPS);

    if (groups && !who->home) {
        groups[0] = who->gid;
        count = 1;
    } else if (groups && getgrouplist(who->name, who->gid, groups, &count) < 0) {
        /* Now the count is known. */
        groups = arena_array(mem, gid_t, (size_t)count);
        if (groups && getgrouplist(who->name, who->gid, groups, &count) < 0)
            return err_set(err, DET_FAILED, "the groups of user '%s' keep changing",
                           who->name);
    }
    if (!groups)
        return err_default(err, DET_NOMEM);
    who->groups = groups;
    who->group_count = (size_t)count;
    return DET_OK;
}

static bool is_own(const struct task_user *user, const struct identity *who)
{
    if (user->is_link)
        return who->uid == geteuid() && who->gid == getegid();
    return !user->uid || who->uid == geteuid();
}

static det_status cannot_become(const struct task_user *user,
                                const struct identity *who, struct err *err)
{
    if (!user->is_link)
        return err_set(err, DET_FORBIDDEN,
                       "this agent does not run as root, so it cannot run a task "
                       "as user %u (security.default_task)",
                       (unsigned)who->uid);
    return err_set(
        err, DET_FORBIDDEN,
        "the owner of this task is linked with user %u and group %u, and this "
        "agent, which runs as user %u and not as root, cannot become that; run "
        "the agent as root, or unlink the user",
        (unsigned)who->uid, (unsigned)who->gid, (unsigned)geteuid());
}

det_status identity_find(const struct task_user *user, struct arena *mem,
                         struct identity *ret_who, struct err *err)
{
    struct identity who = {.uid = (uid_t)user->uid, .gid = (gid_t)user->gid};
    struct passwd *entry = NULL;
    det_status status;

    if (is_own(user, &who)) {
        *ret_who = (struct identity){0};
        return DET_OK;
    }
    if (geteuid() != 0)
        return cannot_become(user, &who, err);
    status = look_up(who.uid, mem, &entry, err);
    if (status)
        return status;
    if (!user->gid && !entry && !user->is_link)
        return err_set(err, DET_INVALID,
                       "user %u is not known on this machine and has no group: set "
                       "security.default_task.gid as well",
                       (unsigned)who.uid);
    who.is_other = true;
    who.gid = user->gid || user->is_link ? who.gid : entry->pw_gid;
    who.name = entry ? entry->pw_name : user->name;
    who.home = entry ? entry->pw_dir : NULL;
    status = find_groups(&who, mem, err);
    if (!status)
        *ret_who = who;
    return status;
}

/* ---- variables ------------------------------------------------------------------- */

/* Prefixes of variables that describe the user who started the agent. */
static const char *const personal[] = {
    "HOME=", "USER=", "LOGNAME=", "MAIL=", "XDG_",
};

static bool is_personal(const char *variable)
{
    for (size_t i = 0; i < ARRAY_LEN(personal); i++)
        if (strncmp(variable, personal[i], strlen(personal[i])) == 0)
            return true;
    return false;
}

det_status identity_environment(const struct identity *who,
                                const char *const *inherited, const char *work,
                                struct arena *mem, const char *const **ret_environment,
                                struct err *err)
{
    size_t count = 0;
    const char **environment;

    if (!who->is_other) {
        *ret_environment = inherited;
        return DET_OK;
    }
    while (inherited[count])
        count++;
    environment = arena_array(mem, const char *, count + 4);
    if (!environment)
        return err_default(err, DET_NOMEM);
    count = 0;
    for (; *inherited; inherited++)
        if (!is_personal(*inherited))
            environment[count++] = *inherited;
    environment[count++] = arena_printf(mem, "HOME=%s", who->home ? who->home : work);
    if (who->name) {
        environment[count++] = arena_printf(mem, "USER=%s", who->name);
        environment[count++] = arena_printf(mem, "LOGNAME=%s", who->name);
    }
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_environment = environment;
    return DET_OK;
}

/* ---- files ----------------------------------------------------------------------- */

static void ftsp_done(FTS **tree)
{
    if (*tree)
        fts_close(*tree);
}

/* From the leaves to the top; changes symlinks, not their targets. */
static det_status give_tree(const struct identity *who, char *path, struct err *err)
{
    char *paths[] = {path, NULL};
    CLEANUP(ftsp_done)
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;

    if (!tree)
        return err_errno(err, errno, "cannot list '%s'", path);
    while ((errno = 0, entry = fts_read(tree)) != NULL) {
        if (entry->fts_info == FTS_D)
            continue; /* it comes again, after its content */
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
            entry->fts_info == FTS_NS)
            return err_errno(err, entry->fts_errno, "cannot list '%s'",
                             entry->fts_path);
        if (lchown(entry->fts_path, who->uid, who->gid))
            return err_errno(err, errno, "cannot give '%s' to user %u", entry->fts_path,
                             (unsigned)who->uid);
    }
    return errno ? err_errno(err, errno, "cannot list '%s'", path) : DET_OK;
}

det_status identity_open(const char *dir, struct err *err)
{
    struct stat st;

    if (stat(dir, &st) || chmod(dir, (st.st_mode & 07777) | S_IXGRP | S_IXOTH))
        return err_errno(err, errno, "cannot let other users pass through '%s'", dir);
    return DET_OK;
}

det_status identity_give(const struct identity *who, const char *dir, struct err *err)
{
    static const char *const given[] = {TASK_DIR_WORK, TASK_DIR_RUN, TASK_DIR_REPORTS};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    det_status status = DET_OK;

    if (!who->is_other)
        return DET_OK;
    for (size_t i = 0; !status && i < ARRAY_LEN(given); i++) {
        char *path = task_dir_path(&mem, dir, given[i]);

        status = path ? give_tree(who, path, err) : err_default(err, DET_NOMEM);
    }
    return status ? status : identity_open(dir, err);
}

static bool may_pass(const struct identity *who, const struct stat *st)
{
    if (st->st_uid == who->uid)
        return st->st_mode & S_IXUSR;
    for (size_t i = 0; i < who->group_count; i++)
        if (st->st_gid == who->groups[i])
            return st->st_mode & S_IXGRP;
    return st->st_mode & S_IXOTH;
}

const char *identity_barrier(const struct identity *who, const char *path,
                             struct arena *mem)
{
    struct stat st;

    for (const char *end = path; *end; end += strcspn(end, "/")) {
        const char *part;

        end += strspn(end, "/");
        part = arena_strndup(mem, path, (size_t)(end - path) + strcspn(end, "/"));
        if (!part || stat(part, &st))
            return NULL;
        if (!may_pass(who, &st))
            return part;
    }
    return NULL;
}

/* ---- between fork and exec ------------------------------------------------------- */

/* Bare system calls: libc's wrappers take locks to inform other threads, which do not
 * exist in the child. */
bool identity_become(const struct identity *who)
{
    return syscall(SYS_setgroups, who->group_count, who->groups) == 0 &&
           syscall(SYS_setresgid, who->gid, who->gid, who->gid) == 0 &&
           syscall(SYS_setresuid, who->uid, who->uid, who->uid) == 0;
}
