/* SPDX-License-Identifier: Apache-2.0 */
/* role_assignment.h - which roles users and groups have, and where. */
#ifndef STORE_PEOPLE_ROLE_ASSIGNMENT_H
#define STORE_PEOPLE_ROLE_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* To a user or to a group; the other is 0. */
struct role_assignment {
    int64_t role_id;
    int64_t user_id;
    int64_t group_id;
    int64_t workspace_id; /* 0: on the whole cluster */
};

/* DET_EXISTS: it is there already. */
det_status store_role_assign(struct db *db, const struct role_assignment *row,
                             struct err *err);
/* DET_NOT_FOUND: it is not there. */
det_status store_role_unassign(struct db *db, const struct role_assignment *row,
                               struct err *err);
/* The flag of an administrator and the role ClusterAdmin go together, so that a change of the
 * mode changes nobody's rights.  Assigns or removes the role, if it is not so already. */
det_status store_role_follow_admin(struct db *db, int64_t user_id, bool is_admin,
                                   struct err *err);
/* The creator of a workspace administers it: role WorkspaceAdmin. */
det_status store_role_assign_creator(struct db *db, int64_t workspace_id,
                                     int64_t user_id, struct err *err);
/* After the workspace is gone. */
det_status store_roles_drop_of_workspace(struct db *db, int64_t workspace_id,
                                         struct err *err);

enum role_list {
    ROLES_OF_USER, /* also through groups */
    ROLES_OF_GROUP,
    ROLES_IN_WORKSPACE, /* only those of the workspace, not of the cluster; 0: of the cluster */
    ROLES_BY_ROLE,
};
/* Ordered by role, workspace, user and group. */
det_status store_role_list(struct db *db, enum role_list what, int64_t id,
                           struct arena *mem, struct role_assignment **ret_rows,
                           uint32_t *ret_count, struct err *err);

#endif
