/* SPDX-License-Identifier: Apache-2.0 */
/* privileged.c - see privileged.h, which has the rules.
 *
 * To review it, ask of every call: can a task have changed what this descriptor or path
 * means, and if so, does it gain anything? */
#include "agent/privileged.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/privileged_impl.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/task_dir.h"
#include "base/compiler.h"
#include "base/memory/arena.h"

enum { DEPTH_MOST = 512 };

/* ---- owners ---------------------------------------------------------------------- */

static bool is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int give_entries(const struct identity *who, int at, int depth);

/* Opens the entry itself, also if it is a symlink, and gives that.  What is the user's
 * already was given by an earlier attempt, and is not ours to walk through. */
static int give_entry(const struct identity *who, int at, const char *name, int depth)
{
    CLEANUP(close_fd) int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int code = 0;

    if (fd < 0 || fstat(fd, &st))
        return errno;
    if (st.st_uid == who->uid)
        return 0;
    if (S_ISDIR(st.st_mode))
        code = depth ? give_entries(who, fd, depth - 1) : ENAMETOOLONG;
    if (!code && fchownat(fd, "", who->uid, who->gid, AT_EMPTY_PATH))
        code = errno;
    return code;
}

static int give_entries(const struct identity *who, int at, int depth)
{
    int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int code = 0;

    if (!dir) {
        code = errno;
        close_fd(&fd);
        return code;
    }
    while (!code && (errno = 0, entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name))
            code = give_entry(who, dirfd(dir), entry->d_name, depth);
    return code ? code : errno;
}

det_status privileged_give(const struct identity *who, const char *dir,
                           const char *const *names, struct err *err)
{
    CLEANUP(close_fd) int at = open_trusted(dir);

    if (at < 0)
        return err_errno(err, errno, "cannot open '%s'", dir);
    for (; *names; names++) {
        int code = give_entry(who, at, *names, DEPTH_MOST);

        if (code)
            return err_errno(err, code, "cannot give '%s/%s' to user %u", dir, *names,
                             (unsigned)who->uid);
    }
    return DET_OK;
}

det_status privileged_own_dir(const struct identity *who, const char *parent,
                              const char *name, struct err *err)
{
    CLEANUP(close_fd) int at = open_trusted(parent);
    CLEANUP(close_fd) int fd = -1;
    struct stat st;

    if (at >= 0 && (mkdirat(at, name, 0700) == 0 || errno == EEXIST))
        fd = open_beneath(at, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || fstat(fd, &st))
        return err_errno(err, errno, "cannot open '%s/%s'", parent, name);
    if (st.st_uid == who->uid)
        return DET_OK;
    /* The parent is root's: only we make directories there. */
    if (st.st_uid != geteuid())
        return err_set(err, DET_FORBIDDEN,
                       "'%s/%s' belongs to user %u, not to user %u: remove it", parent,
                       name, (unsigned)st.st_uid, (unsigned)who->uid);
    if (fchown(fd, who->uid, who->gid))
        return err_errno(err, errno, "cannot give '%s/%s' to user %u", parent, name,
                         (unsigned)who->uid);
    return DET_OK;
}

det_status privileged_give_dir(const char *dir, uid_t uid, gid_t gid, struct err *err)
{
    CLEANUP(close_fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fchown(fd, uid, gid ? gid : (gid_t)-1))
        return err_errno(err, errno, "cannot give '%s' to user %u", dir, (unsigned)uid);
    return DET_OK;
}

det_status privileged_let_pass(const char *dir, struct err *err)
{
    CLEANUP(close_fd) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) ||
        fchmod(fd, (st.st_mode & 07777) | S_IXGRP | S_IXOTH))
        return err_errno(err, errno, "cannot let other users pass through '%s'", dir);
    return DET_OK;
}

void privileged_give_pipe(const struct identity *who, int fd)
{
    if (who && who->is_other)
        (void)!fchown(fd, who->uid, who->gid);
}

/* ---- users ----------------------------------------------------------------------- */

/* Bare system calls below: libc's wrappers change all threads, or take locks to inform
 * threads that do not exist in a child. */

bool privileged_become(const struct identity *who)
{
    if (who && who->is_other &&
        (syscall(SYS_setgroups, who->group_count, who->groups) ||
         syscall(SYS_setresgid, who->gid, who->gid, who->gid) ||
         syscall(SYS_setresuid, who->uid, who->uid, who->uid)))
        return false;
    /* Otherwise the task would possess the keys of our session.  A kernel without keys
     * has none to lose. */
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    /* No set-id program and no file capability gives the task more than this. */
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* The kernel takes the rights over files (CAP_DAC_OVERRIDE, CAP_FOWNER, ...) away from a
 * thread whose file system user is not root, and gives them back with it. */
static bool set_fs_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count)
{
    if (syscall(SYS_setgroups, count, groups))
        return false;
    syscall(SYS_setfsgid, gid);
    syscall(SYS_setfsuid, uid);
    /* Both return the value before; an impossible argument only asks. */
    return (uid_t)syscall(SYS_setfsuid, -1) == uid &&
           (gid_t)syscall(SYS_setfsgid, -1) == gid;
}

static void act_as_self(void)
{
    static const gid_t none[1];

    /* Root's own groups give root nothing. */
    if (!set_fs_user(geteuid(), getegid(), none, 0))
        abort(); /* we do not know whose rights we have */
}

/* Only this thread; `who` may be NULL or our own user. */
static bool act_as(const struct identity *who)
{
    if (!who || !who->is_other ||
        set_fs_user(who->uid, who->gid, who->groups, who->group_count))
        return true;
    act_as_self();
    return false;
}

det_status privileged_storage_open(const struct identity *who, const char *root,
                                   const char *below,
                                   struct privileged_storage *ret_storage,
                                   struct err *err)
{
    struct privileged_storage storage = {.is_open = true, .is_other = who->is_other};
    CLEANUP(close_fd) int top = -1;

    if (!act_as(who))
        return err_set(err, DET_FORBIDDEN, "cannot act as user %u", (unsigned)who->uid);
    top = open_trusted(root);
    storage.fd = top < 0 ? -1 : open_beneath(top, below, O_RDONLY | O_DIRECTORY);
    if (storage.fd >= 0) {
        snprintf(storage.path, sizeof(storage.path), "/proc/self/fd/%d", storage.fd);
        *ret_storage = storage;
        return DET_OK;
    }
    if (errno == ELOOP || errno == EXDEV)
        (void)err_set(err, DET_INVALID,
                      "'%s' leads through a symlink below the storage root '%s'", below,
                      root);
    else
        (void)err_errno(err, errno, "cannot open '%s%s%s'", root, below[0] ? "/" : "",
                        below);
    if (who->is_other)
        act_as_self();
    return err ? err->status : DET_FAILED;
}

void privileged_storage_close(struct privileged_storage *storage)
{
    if (!storage->is_open)
        return;
    if (storage->is_other)
        act_as_self();
    close_fd(&storage->fd);
    storage->is_open = false;
}

/* ---- mounting -------------------------------------------------------------------- */

/* A copy of the directory behind `fd` that is mounted nowhere yet. */
static int clone_tree(int fd, uint64_t attributes)
{
    struct mount_attr attr = {.attr_set = attributes};
    int tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    if (tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr))) {
        close(tree);
        return -1;
    }
    return tree;
}

static int clone_beneath(int at, const char *path, uint64_t attributes)
{
    CLEANUP(close_fd) int fd = open_beneath(at, path, O_PATH | O_DIRECTORY);

    return fd < 0 ? -1 : clone_tree(fd, attributes);
}

static bool attach(int tree, int target)
{
    return tree >= 0 && target >= 0 &&
           move_mount(tree, "", target, "",
                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
}

static bool attach_trusted(int tree, const char *path)
{
    CLEANUP(close_fd) int target = open_trusted(path);

    return attach(tree, target);
}

/* Once /tmp is private, everything below it is the user's. */
static bool attach_place(int tree, const char *path, uint64_t flags)
{
    CLEANUP(close_fd) int top = -1;
    CLEANUP(close_fd) int target = -1;

    if (strncmp(path, "/tmp/", 5) != 0) {
        target = open(path, O_PATH | O_CLOEXEC | (int)flags);
        return attach(tree, target);
    }
    top = open_trusted("/tmp");
    target = top < 0 ? -1 : open_beneath(top, path + 5, O_PATH | flags);
    return attach(tree, target);
}

static bool attach_beneath(int tree, const char *path, const char *below)
{
    CLEANUP(close_fd) int top = open_trusted(path);
    CLEANUP(close_fd)
    int target = top < 0 ? -1 : open_beneath(top, below, O_PATH | O_DIRECTORY);

    return attach(tree, target);
}

/* A new file system; `options` are pairs of names and values that end with NULL. */
static int new_mount(const char *type, const char *const *options, uint64_t attributes)
{
    CLEANUP(close_fd) int context = fsopen(type, FSOPEN_CLOEXEC);

    for (; context >= 0 && *options; options += 2)
        if (fsconfig(context, FSCONFIG_SET_STRING, options[0], options[1], 0))
            return -1;
    if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
        return -1;
    return fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
}

static const uint64_t inert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/* Our mounts stay in here, while later mounts and unmounts of the machine are seen (a
 * private copy would keep its disks busy). */
static bool leave_machine(void)
{
    struct mount_attr slave = {.propagation = MS_SLAVE};
    struct mount_attr no_set_id = {.attr_set = MOUNT_ATTR_NOSUID};

    return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &slave, sizeof(slave)) == 0 &&
           mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &no_set_id, sizeof(no_set_id)) ==
               0;
}

static bool mount_proc(void)
{
    static const char *const none[] = {NULL};
    CLEANUP(close_fd) int tree = new_mount("proc", none, inert | MOUNT_ATTR_NOEXEC);

    return attach_trusted(tree, "/proc");
}

static bool mount_shm(uint64_t bytes)
{
    char text[24];
    const char *const options[] = {"size", put_number(bytes, text), "mode", "1777",
                                   NULL};
    CLEANUP(close_fd) int tree = new_mount("tmpfs", options, inert);

    return attach_trusted(tree, "/dev/shm");
}

/* The root of a mounted tree, and a directory in it. */
static bool attach_cover(int tree, int cover, const char *name)
{
    CLEANUP(close_fd) int target = open_beneath(cover, name, O_PATH | O_DIRECTORY);

    return attach(tree, target);
}

/* Covers the directory of all tasks with one that holds this task only. */
static bool hide_tasks(const struct privileged_view *view, int self)
{
    static const char *const options[] = {"size", "64k", "mode", "0711", NULL};
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    CLEANUP(close_fd) int cover = new_mount("tmpfs", options, inert);

    return cover >= 0 && mkdirat(cover, view->name, 0711) == 0 &&
           attach_place(cover, view->tasks, O_DIRECTORY) &&
           attach_cover(self, cover, view->name) &&
           mount_setattr(cover, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) == 0;
}

/* ---- bind mounts ----------------------------------------------------------------- */

/* All sources are opened before anything covers them. */
static bool open_bind(struct privileged_bind *bind, const struct identity *who)
{
    CLEANUP(close_fd) int top = open_trusted(bind->root);
    bool acts = bind->is_users && who && who->is_other;
    int fd;

    if (acts && !act_as(who))
        return false;
    fd = top < 0 ? -1 : open_beneath(top, bind->below, O_PATH | O_DIRECTORY);
    if (acts)
        act_as_self();
    bind->tree =
        fd < 0 ? -1
               : clone_tree(fd, inert | (bind->is_read_only ? MOUNT_ATTR_RDONLY : 0));
    close_fd(&fd);
    return bind->tree >= 0;
}

/* The user may cover whatever the user can reach: only the task sees it. */
static bool place_bind(const struct privileged_bind *bind, const struct identity *who)
{
    bool acts = bind->is_late && who && who->is_other;
    int target;
    bool is_done;

    if (bind->is_below_tmp)
        return attach_beneath(bind->tree, "/tmp", bind->target);
    if (acts && !act_as(who))
        return false;
    target = open_trusted(bind->target);
    if (acts)
        act_as_self();
    is_done = attach(bind->tree, target);
    close_fd(&target);
    return is_done;
}

/* ---- covers ---------------------------------------------------------------------- */

/* Makes each directory on the way to `path` in a new file system. */
static bool make_way(int at, const char *path)
{
    char part[PATH_MAX];
    size_t len = strnlen(path, sizeof(part) - 1);

    memcpy(part, path, len);
    part[len] = '\0';
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdirat(at, part, 0711) && errno != EEXIST)
            return false;
        part[i] = path[i];
    }
    return true;
}

/* An empty directory in place of the covered one, with what the task needs of it. */
static bool cover_directory(const struct privileged_view *view, int number)
{
    static const char *const options[] = {"size", "64k", "mode", "0711", NULL};
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    CLEANUP(close_fd) int cover = new_mount("tmpfs", options, inert);
    bool is_done = cover >= 0 && attach_place(cover, view->covers[number - 1].path,
                                              O_DIRECTORY | O_NOFOLLOW);

    for (size_t i = 0; is_done && i < view->bind_count; i++) {
        const struct privileged_bind *bind = &view->binds[i];

        if (bind->cover == number)
            is_done = make_way(cover, bind->target) &&
                      attach_cover(bind->tree, cover, bind->target);
    }
    return is_done &&
           mount_setattr(cover, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) == 0;
}

/* Files get an empty one of the task directory in their place. */
static const char *open_covers(const struct privileged_view *view)
{
    CLEANUP(close_fd) int dir = view->cover_count ? open_trusted(view->dir) : -1;

    for (size_t i = 0; i < view->cover_count; i++) {
        struct privileged_cover *cover = &view->covers[i];
        int fd = cover->is_file ? open_beneath(dir, TASK_DIR_HIDDEN, O_PATH) : -1;

        cover->tree = fd < 0 ? -1 : clone_tree(fd, inert | MOUNT_ATTR_RDONLY);
        close_fd(&fd);
        if (cover->is_file && cover->tree < 0)
            return cover->path;
    }
    return NULL;
}

static const char *place_covers(const struct privileged_view *view)
{
    for (size_t i = 0; i < view->cover_count; i++) {
        const struct privileged_cover *cover = &view->covers[i];

        if (!(cover->is_file ? attach_place(cover->tree, cover->path, O_NOFOLLOW)
                             : cover_directory(view, (int)i + 1)))
            return cover->path;
    }
    return NULL;
}

/* ---- user namespaces ------------------------------------------------------------- */

static bool write_word(const char *path, const char *text)
{
    return write_all(open(path, O_WRONLY | O_CLOEXEC), text);
}

/* "ID ID 1": the id keeps its number in the namespace. */
static bool write_map(const char *path, uint64_t id)
{
    char number[24];
    char line[64] = "";
    const char *digits = put_number(id, number);
    size_t len = strlen(digits);

    memcpy(line, digits, len);
    line[len] = ' ';
    memcpy(line + len + 1, digits, len);
    memcpy(line + 2 * len + 1, " 1", 3);
    return write_word(path, line);
}

/* The user and group keep their numbers; there are no others. */
static bool map_user(uid_t uid, gid_t gid)
{
    return write_word("/proc/self/setgroups", "deny") &&
           write_map("/proc/self/uid_map", uid) && write_map("/proc/self/gid_map", gid);
}

/* ---- views ----------------------------------------------------------------------- */

/* Trees of the task directory, cloned before it may be covered. */
struct trees {
    int self, run, work, tmp;
};

static void trees_done(struct trees *trees)
{
    close_fd(&trees->self);
    close_fd(&trees->run);
    close_fd(&trees->work);
    close_fd(&trees->tmp);
}

static bool open_trees(const struct privileged_view *view, struct trees *trees)
{
    CLEANUP(close_fd) int dir = open_trusted(view->dir);

    if (dir < 0)
        return false;
    trees->self = clone_tree(dir, inert);
    trees->run = clone_beneath(dir, TASK_DIR_RUN, inert);
    trees->work = clone_beneath(dir, TASK_DIR_WORK, inert);
    if (view->is_isolated)
        trees->tmp = clone_beneath(dir, TASK_DIR_TMP, inert);
    return trees->self >= 0 && trees->run >= 0 && trees->work >= 0;
}

/* The mount point `workdir` is in a directory of the user, so it is opened below the
 * descriptor of that directory: another process of the user may have replaced it, but
 * only with another directory in there. */
static void mount_run(const struct trees *trees)
{
    if (attach_trusted(trees->run, PRIVILEGED_RUN))
        (void)attach_beneath(trees->work, PRIVILEGED_RUN, "workdir");
}

static const char *isolate(const struct trees *trees)
{
    if (!mount_proc())
        return "/proc";
    return attach_trusted(trees->tmp, "/tmp") ? NULL : "/tmp";
}

static const char *open_binds(const struct privileged_view *view,
                              const struct identity *who)
{
    for (size_t i = 0; i < view->bind_count; i++)
        if (!open_bind(&view->binds[i], who))
            return view->binds[i].below;
    return open_covers(view);
}

static const char *place_binds(const struct privileged_view *view,
                               const struct identity *who, bool is_late)
{
    for (size_t i = 0; i < view->bind_count; i++)
        if (view->binds[i].is_late == is_late && !view->binds[i].cover &&
            !place_bind(&view->binds[i], who))
            return view->binds[i].target;
    return is_late ? NULL : place_covers(view);
}

/* A mount namespace of our own, with copies of what will be mounted. */
static const char *begin_view(const struct privileged_view *view, struct trees *trees)
{
    if (view->is_in_user_namespace && !map_user(view->uid, view->gid))
        return "a user namespace";
    if (!view->is_isolated && unshare(CLONE_NEWNS))
        return "a mount namespace";
    if (!leave_machine())
        return "a private view of the mounts";
    return open_trees(view, trees) ? NULL : "the task directory";
}

const char *privileged_enter(const struct privileged_view *view,
                             const struct identity *who)
{
    CLEANUP(trees_done) struct trees trees = {-1, -1, -1, -1};
    bool is_needed = view->is_isolated || view->bind_count || view->shm_bytes;
    const char *failed = begin_view(view, &trees);

    if (failed)
        return is_needed ? failed : NULL;
    failed = open_binds(view, who);
    if (!failed && view->is_isolated)
        failed = isolate(&trees);
    if (!failed && view->shm_bytes && !mount_shm(view->shm_bytes))
        failed = "/dev/shm";
    if (failed)
        return failed;
    mount_run(&trees);
    failed = place_binds(view, who, false);
    /* A kept directory may hold the directory of tasks. */
    if (!failed && view->tasks && !hide_tasks(view, trees.self))
        failed = "the directory of tasks";
    return failed ? failed : place_binds(view, who, true);
}

/* ---- namespaces ------------------------------------------------------------------ */

pid_t privileged_clone(const struct privileged_view *view)
{
    unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;

    if (!view || !view->is_isolated)
        return fork();
    if (view->is_in_user_namespace)
        flags |= CLONE_NEWUSER;
    /* The bare call, because only it makes the child the first process of its
     * namespace.  The child makes only calls that are safe after such a fork. */
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

/* Runs in the child of the probe. */
static _Noreturn void try_view(const struct privileged_view *view, int fd)
{
    const char *failed = NULL;
    int code;

    if (view->is_in_user_namespace && !map_user(view->uid, view->gid))
        failed = "a user namespace";
    else if (!leave_machine())
        failed = "a private view of the mounts";
    else if (!mount_proc())
        failed = "a /proc of its own";
    else if (!mount_shm(4096))
        failed = "a /dev/shm of its own";
    code = errno;
    if (failed) {
        (void)!write(fd, &code, sizeof(code));
        (void)!write(fd, failed, strlen(failed));
    }
    _exit(0);
}

det_status privileged_probe(struct err *err)
{
    const struct privileged_view view = {.is_isolated = true,
                                         .is_in_user_namespace = geteuid() != 0,
                                         .uid = geteuid(),
                                         .gid = getegid()};
    char text[128] = "";
    int code = 0;
    int status = 0;
    int fd[2];
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC))
        return err_errno(err, errno, "cannot make a pipe");
    pid = privileged_clone(&view);
    if (pid == 0)
        try_view(&view, fd[1]);
    code = pid < 0 ? errno : 0;
    close(fd[1]);
    if (pid > 0 && read(fd[0], &code, sizeof(code)) == (ssize_t)sizeof(code))
        (void)!read(fd[0], text, sizeof(text) - 1);
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid < 0 || status)
        return err_set(err, DET_UNSUPPORTED, "the kernel refuses %snamespaces: %s",
                       view.is_in_user_namespace ? "user " : "",
                       code ? strerror(code) : "they cannot be set up");
    if (text[0])
        return err_set(err, DET_UNSUPPORTED, "the kernel refuses %s: %s", text,
                       strerror(code));
    return DET_OK;
}
