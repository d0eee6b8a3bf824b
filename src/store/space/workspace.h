/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - rows of workspaces, and who has pinned them. */
#ifndef STORE_SPACE_WORKSPACE_H
#define STORE_SPACE_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* States of workspaces and projects that are being deleted; "" otherwise. */
#define SPACE_DELETING      "DELETING"
#define SPACE_DELETE_FAILED "DELETE_FAILED"

enum { SPACE_FIRST = 1 }; /* the workspace and the project `Uncategorized` */

/* The Unix user of tasks; each part may be missing. */
struct task_user {
    bool has_uid;
    int64_t uid;
    bool has_gid;
    int64_t gid;
    const char *user; /* NULL: missing */
    const char *group;
};
/* Each part of `over` that is there, else that of `base`. */
struct task_user task_user_merge(const struct task_user *base,
                                 const struct task_user *over);

struct workspace {
    int64_t id;
    const char *name;
    int64_t owner_id;
    bool is_archived;
    bool is_immutable;
    int64_t created_us;
    const char *state;   /* "", SPACE_DELETING, SPACE_DELETE_FAILED */
    const char *error;   /* of SPACE_DELETE_FAILED */
    const char *storage; /* a complete checkpoint_storage, JSON; NULL: none */
    const char *compute_pool;
    const char *aux_pool;
    struct task_user task_user;
};

struct workspace_view {
    struct workspace row;
    const char *username; /* of its owner; "": unknown */
    int64_t num_projects;
    int64_t num_experiments;
    int64_t pinned_us; /* by the caller; 0: not pinned */
};

/* Gives it a number, and its owner the role WorkspaceAdmin in it.  DET_EXISTS: the name is
 * taken. */
det_status store_workspace_add(struct db *db, const struct workspace *row,
                               int64_t *ret_id, struct err *err);
/* Everything but the number. */
det_status store_workspace_put(struct db *db, const struct workspace *row,
                               struct err *err);
/* `user_id`: whose pins.  DET_NOT_FOUND. */
det_status store_workspace_get(struct db *db, int64_t id, int64_t user_id,
                               struct arena *mem, struct workspace_view *ret_view,
                               struct err *err);
/* The one of exactly this name.  DET_NOT_FOUND. */
det_status store_workspace_named(struct db *db, const char *name, struct arena *mem,
                                 struct workspace_view *ret_view, struct err *err);
/* All, by number. */
det_status store_workspace_list(struct db *db, int64_t user_id, struct arena *mem,
                                struct workspace_view **ret_views, uint32_t *ret_count,
                                struct err *err);
/* `now_us` 0: not pinned. */
det_status store_workspace_pin(struct db *db, int64_t id, int64_t user_id,
                               int64_t now_us, struct err *err);

/* The Unix user of a task in the workspace: `own`, overridden part by part by what the
 * workspace sets.  *ret_is_set: it sets something.  0 or a workspace that is gone: `own`. */
det_status workspace_task_user(struct db *db, int64_t id, const struct task_user *own,
                               struct arena *mem, struct task_user *ret_user,
                               bool *ret_is_set, struct err *err);
bool task_user_is_set(const struct task_user *user);

/* DET_STATE unless things may be added to it and changed in it; `what` cannot be done:
 * "add new projects". */
det_status workspace_check_open(const struct workspace *row, const char *what,
                                struct err *err);

#endif
