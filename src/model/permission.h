/* SPDX-License-Identifier: Apache-2.0 */
/* permission.h - permissions, and the fixed roles that consist of them.
 *
 * They decide in the mode `rbac` (security.authz.type).  A role is assigned to a user or a
 * group, in one workspace or for the whole cluster; a permission that only makes sense for
 * the whole cluster makes its role one for the cluster alone.  Rows: permission_list.h. */
#ifndef MODEL_PERMISSION_H
#define MODEL_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

enum permission {
#define PERMISSION(name, number, scope) PERMISSION_##name,
#define ROLE(number, name, mask)
#include "model/permission_list.h"
#undef ROLE
#undef PERMISSION
    PERMISSION_COUNT,
    PERMISSION_NONE = PERMISSION_COUNT, /* of routes: any user may, in this mode */
};

struct permission_row {
    const char *name; /* "CREATE_EXPERIMENT" */
    int number;
    bool is_cluster_only;
};
extern const struct permission_row permissions[PERMISSION_COUNT];

struct role {
    int64_t id;
    const char *name;
    uint64_t mask; /* bit n: the permission n */
};
enum { ROLE_COUNT = 10, ROLE_CLUSTER_ADMIN = 1, ROLE_WORKSPACE_ADMIN = 2 };
extern const struct role roles[ROLE_COUNT];

/* NULL: no such role. */
const struct role *role_find(int64_t id);
/* Whether it can be assigned in a workspace. */
bool role_fits_workspace(const struct role *role);

/* Everything that a user may do, by all assignments to the user and the user's groups. */
struct grant {
    int64_t workspace_id;
    uint64_t mask;
};
struct grants {
    uint64_t cluster;
    const struct grant *grant;
    uint32_t count;
};

/* workspace_id 0: on the cluster. */
bool grants_allow(const struct grants *grants, enum permission permission,
                  int64_t workspace_id);

/* What both may do.  `room` takes a->count + b->count rows. */
struct grants grants_meet(const struct grants *a, const struct grants *b,
                          struct grant *room);

/* The workspaces that a caller may see into.  Zeroed: none. */
struct scope {
    bool is_all;
    const int64_t *workspace;
    uint32_t count;
};
bool scope_has(const struct scope *scope, int64_t workspace_id);

#endif
