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
 *   .../tasks/A-R    the supervisor; work/, run/, tmp/ and reports/ in it belong to the
 *                    user, mode 0700
 *
 * Everything else in these directories is private by its own mode (0600, also the
 * control socket): keys, tokens, the database, specs, spools, logs.  Directories above
 * the data directory are not ours to open; if one of them is closed, as /root is, the
 * task fails with a sentence that names it.  (A directory in /var/tmp would need no
 * open way, but the checkpoints would, and other programs clean /var/tmp.)
 *
 * Handing over (privileged.h) is the last step before the start.  Until then these
 * directories belong to root and are closed.  Afterwards they are hostile ground for
 * root: code that reads there later must not follow symlinks.
 *
 * A task of another user does not inherit the agent's environment, which may hold
 * root's secrets: it gets a few harmless variables and those that the agent's
 * configuration names (pass_environment). */
#include "agent/task/prepare/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/memory/arena.h"

enum { ENTRY_BYTES = 4 << 10, ENTRY_LIMIT = 1 << 20, GROUPS = 32 };

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
    who.shell = entry && entry->pw_shell[0] ? entry->pw_shell : "/bin/sh";
    status = find_groups(&who, mem, err);
    if (!status)
        *ret_who = who;
    return status;
}

/* ---- variables ------------------------------------------------------------------- */

/* The inherited variables that a task of another user gets.  All others describe the
 * user who started the agent, or are that user's secrets. */
static const char *const passed[] = {"PATH", "LANG", "LANGUAGE", "TERM", "TZ"};
static const char locale_prefix[] = "LC_";

/* `pattern` may end with '*'. */
static bool is_named(const char *variable, size_t len, const char *pattern)
{
    size_t size = strlen(pattern);

    if (size && pattern[size - 1] == '*')
        return len >= size - 1 && strncmp(variable, pattern, size - 1) == 0;
    return len == size && strncmp(variable, pattern, len) == 0;
}

static bool is_passed(const char *variable, const struct field_strs *named)
{
    size_t len = strcspn(variable, "=");

    if (strncmp(variable, locale_prefix, sizeof(locale_prefix) - 1) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(passed); i++)
        if (is_named(variable, len, passed[i]))
            return true;
    for (size_t i = 0; i < named->count; i++)
        if (is_named(variable, len, named->at[i]))
            return true;
    return false;
}

det_status identity_environment(const struct identity *who,
                                const char *const *inherited,
                                const struct field_strs *named, const char *work,
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
    environment = arena_array(mem, const char *, count + 5);
    if (!environment)
        return err_default(err, DET_NOMEM);
    count = 0;
    for (; *inherited; inherited++)
        if (is_passed(*inherited, named))
            environment[count++] = *inherited;
    environment[count++] = arena_printf(mem, "HOME=%s", who->home ? who->home : work);
    environment[count++] = arena_printf(mem, "SHELL=%s", who->shell);
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

det_status identity_give(const struct identity *who, const char *dir, struct err *err)
{
    static const char *const given[] = {TASK_DIR_WORK, TASK_DIR_RUN, TASK_DIR_REPORTS,
                                        TASK_DIR_TMP, NULL};
    det_status status;

    if (!who->is_other)
        return DET_OK;
    status = privileged_give(who, dir, given, err);
    return status ? status : privileged_let_pass(dir, err);
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
