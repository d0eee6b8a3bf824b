/* SPDX-License-Identifier: Apache-2.0 */
/* privileged.h - the one door through which root's rights are used for a task.
 *
 * An agent that is root runs tasks of other users.  Everything that needs root's rights
 * for them is in privileged.c and nowhere else (tools/check-banned, family
 * "privileged"): changing owners, mounting, changing the user, acting as a user on the
 * file system.  The rest of the agent plans in plain data, and these functions carry it
 * out.  Three rules make the file reviewable:
 *
 *   1. By descriptor.  A file or directory is opened once and everything is done to that
 *      descriptor.  A path is only resolved where no task can change any part of it
 *      (the agent's own directories, /tmp, /dev/shm, roots from a configuration), or
 *      below a descriptor with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS).
 *   2. Paths that a user chose are opened with that user's rights, not with root's.
 *   3. Everything happens before the task's first instruction.  Later the directories
 *      of the task are hostile ground.
 *
 *   agent             groups_begin                 a control group that can have others
 *   supervisor        give, own_dir, let_pass      while the directories are root's
 *                     group_make                   one with the task's limits
 *     clone()         privileged_clone             with new namespaces where asked for
 *     first process   group_join                   before it has children
 *                     privileged_enter             mounts
 *                     privileged_become            the task's user, for good
 *     exec
 *                     group_kill                   at its end
 *   agent             group_end                    after the death of a supervisor
 *                     storage_open ... close       removals, with the task's rights
 *
 * An isolated view, as the task sees it:
 *
 *   /tmp                 DIR/tmp, private; needed paths below the machine's /tmp remain
 *   /dev/shm             a tmpfs of its own, with the configured size
 *   /proc                of its own process namespace: no other task's processes
 *   TASKS                the agent's directory of tasks, with DIR only
 *   /run/determined      DIR/run; workdir in it is DIR/work (also without isolation)
 *   bind mounts          opened with the user's rights below a configured root
 *   keys of the program  covered where the task has the user of the agent: data
 *                        directories, the agents' token, login sessions
 *
 * All mounts are nosuid, ours also nodev.  They are seen by the task only and disappear
 * with its last process.  In a user namespace (an agent that is not root) the same code
 * runs with rights over the namespace only.
 *
 * Threading: give, own_dir and let_pass may be called anywhere.  storage_open changes
 * the rights of the calling thread only.  enter and become run between fork and exec: they
 * neither allocate nor take locks. */
#ifndef AGENT_PRIVILEGED_H
#define AGENT_PRIVILEGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct arena;
struct identity;

#define PRIVILEGED_RUN "/run/determined"

/* ---- files ----------------------------------------------------------------------- */

/* Gives DIR/NAME, with everything in it, to the user: from the leaves to the top, so
 * nothing in it is the user's before all of it is.  `names` ends with NULL. */
det_status privileged_give(const struct identity *who, const char *dir,
                           const char *const *names, struct err *err);

/* Makes PARENT/NAME (mode 0700) for the user; an existing one must be the user's. */
det_status privileged_own_dir(const struct identity *who, const char *parent,
                              const char *name, struct err *err);

/* As `give` for the directory itself, not for its content; gid 0: unchanged. */
det_status privileged_give_dir(const char *dir, uid_t uid, gid_t gid, struct err *err);

/* Others may pass through the directory, not list it. */
det_status privileged_let_pass(const char *dir, struct err *err);

/* Lets the task open /dev/stdout: the kernel checks who owns the pipe. */
void privileged_give_pipe(const struct identity *who, int fd);

/* ---- acting as the task's user --------------------------------------------------- */

/* A directory, and the file system rights of the calling thread while it is open. */
struct privileged_storage {
    bool is_open;
    bool is_other; /* the thread has the user's rights */
    int fd;
    char path[32]; /* leads to the descriptor */
};

/* Opens the directory `below` of `root` as the user, without following a symlink below
 * `root`; the calling thread keeps that user's rights until privileged_storage_close().
 * `below` is relative; "": the root itself. */
det_status privileged_storage_open(const struct identity *who, const char *root,
                                   const char *below,
                                   struct privileged_storage *ret_storage,
                                   struct err *err);
void privileged_storage_close(struct privileged_storage *storage);

/* ---- control groups -------------------------------------------------------------- */

/* The kernel limits memory and processes of a whole task only in a control group (cgroup
 * v2), and ends all processes of a group at once, wherever they fled to.  Groups of tasks are
 * made in the agent's own one.  With limits, that one must have both controllers and, as the
 * kernel demands, no process of its own: the agent moves into a group of its own in there.
 * *ret_path: the agent's group, in `mem`.  DET_UNSUPPORTED says what is missing; then nothing
 * has changed. */
det_status privileged_groups_begin(struct arena *mem, bool has_limits,
                                   const char **ret_path, struct err *err);

struct privileged_group {
    int fd; /* -1: none */
    bool has_limits;
    char path[4096];
    int64_t memory;    /* bytes; 0: no limit, as for the other */
    int64_t processes; /* and threads */
};

/* Makes the group for the task in directory `dir` below `path`, with the limits in `group`. */
det_status privileged_group_make(const char *path, const char *dir,
                                 struct privileged_group *group, struct err *err);
/* Between fork and exec: the calling process joins it.  False, with errno. */
bool privileged_group_join(const struct privileged_group *group);
/* Kills all processes in it, also those that are being forked; does not wait for their end. */
void privileged_group_kill(const struct privileged_group *group);
/* After its last process. */
void privileged_group_done(struct privileged_group *group);
/* Ends the group of a task whose supervisor is gone, with all its processes.  False: some have
 * not ended yet. */
bool privileged_group_end(const char *path, const char *dir);

/* ---- views ----------------------------------------------------------------------- */

/* A directory that the task sees at another place, or again below a private /tmp. */
struct privileged_bind {
    const char *root;   /* from a configuration, or "/" for paths of the agent */
    const char *below;  /* the source, relative to `root` */
    const char *target; /* absolute, or relative to the task's /tmp (is_below_tmp) */
    bool is_below_tmp;
    bool is_users; /* the source is opened with the user's rights */
    bool is_late;  /* placed last, with the user's rights: it may be in DIR */
    bool is_read_only;
    int cover; /* from 1: `target` is relative to that cover, and remains visible in it */
    int tree; /* set by privileged_enter() */
};

/* A directory or file that the task does not see. */
struct privileged_cover {
    const char *path; /* absolute, without symlinks */
    bool is_file;
    int tree; /* of a file; set by privileged_enter() */
};

struct privileged_view {
    const char *dir;   /* the task directory */
    const char *tasks; /* the directory of all tasks; NULL: not hidden */
    const char *name;  /* of DIR in it */
    bool is_isolated;
    bool is_in_user_namespace;
    uid_t uid; /* ours, for a user namespace */
    gid_t gid;
    uint64_t shm_bytes; /* 0: the machine's /dev/shm */
    struct privileged_bind *binds;
    size_t bind_count;
    struct privileged_cover *covers;
    size_t cover_count;
};

/* fork(), or clone() into new namespaces: then the child is the first process of its
 * process namespace. */
pid_t privileged_clone(const struct privileged_view *view);

/* Mounts the view.  NULL, or the name of what failed, with errno.  Without isolation
 * and bind mounts a failure changes nothing and is not reported. */
const char *privileged_enter(const struct privileged_view *view,
                             const struct identity *who);

/* Becomes the user for good (NULL or !is_other: only gives up the way to more rights).
 * False, with errno: it is not allowed. */
bool privileged_become(const struct identity *who);

/* Whether this machine can isolate tasks: tries it in a child.  DET_UNSUPPORTED says
 * what is missing. */
det_status privileged_probe(struct err *err);

#endif
