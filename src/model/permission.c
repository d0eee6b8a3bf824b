/* SPDX-License-Identifier: Apache-2.0 */
#include "model/permission.h"

#include <stddef.h>

enum { SCOPE_WORKSPACE = 0, SCOPE_CLUSTER = 1 };

const struct permission_row permissions[PERMISSION_COUNT] = {
#define PERMISSION(name_, number_, scope_) {#name_, number_, SCOPE_##scope_},
#define ROLE(number, name, mask)
#include "model/permission_list.h"
#undef ROLE
#undef PERMISSION
};

_Static_assert(PERMISSION_COUNT <= 64, "a mask has 64 bits");
#define ALL_PERMISSIONS (UINT64_MAX >> (64 - PERMISSION_COUNT))

const struct role roles[ROLE_COUNT] = {
#define PERMISSION(name, number, scope)
#define ROLE(number_, name_, mask_) {number_, #name_, (mask_)&ALL_PERMISSIONS},
#include "model/permission_list.h"
#undef ROLE
#undef PERMISSION
};

const struct role *role_find(int64_t id)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (roles[i].id == id)
            return &roles[i];
    return NULL;
}

bool role_fits_workspace(const struct role *role)
{
    for (int i = 0; i < PERMISSION_COUNT; i++)
        if (permissions[i].is_cluster_only && (role->mask >> i & 1))
            return false;
    return true;
}

bool grants_allow(const struct grants *grants, enum permission permission,
                  int64_t workspace_id)
{
    if (grants->cluster >> permission & 1)
        return true;
    for (uint32_t i = 0; workspace_id && i < grants->count; i++)
        if (grants->grant[i].workspace_id == workspace_id &&
            (grants->grant[i].mask >> permission & 1))
            return true;
    return false;
}

static uint64_t mask_in(const struct grants *grants, int64_t workspace_id)
{
    uint64_t mask = grants->cluster;

    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->grant[i].workspace_id == workspace_id)
            mask |= grants->grant[i].mask;
    return mask;
}

struct grants grants_meet(const struct grants *a, const struct grants *b,
                          struct grant *room)
{
    struct grants both = {.cluster = a->cluster & b->cluster, .grant = room};

    for (uint32_t i = 0; i < a->count; i++) {
        struct grant one = a->grant[i];

        one.mask &= mask_in(b, one.workspace_id);
        room[both.count++] = one;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        struct grant one = b->grant[i];

        one.mask &= a->cluster; /* the workspaces of `a` are above */
        room[both.count++] = one;
    }
    return both;
}

bool scope_has(const struct scope *scope, int64_t workspace_id)
{
    for (uint32_t i = 0; !scope->is_all && i < scope->count; i++)
        if (scope->workspace[i] == workspace_id)
            return true;
    return scope->is_all;
}
