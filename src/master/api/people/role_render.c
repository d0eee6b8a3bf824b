/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/role_render.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "data/json/json.h"
#include "model/permission.h"
#include "store/people/role_assignment.h"

enum { PERMISSION_TEXT = 80 };

static void render_scope(struct json_writer *w, bool fits_workspace)
{
    jw_object(w, "scopeTypeMask");
    jw_bool(w, "cluster", true);
    jw_bool(w, "workspace", fits_workspace);
    jw_end_object(w);
}

static void permission_id(enum permission permission, char text[PERMISSION_TEXT])
{
    snprintf(text, PERMISSION_TEXT, "PERMISSION_TYPE_%s", permissions[permission].name);
}

/* CREATE_EXPERIMENT -> "create experiment".  NSC stands for notebooks, shells and commands; we
 * call all of them tasks. */
static void permission_words(enum permission permission, char text[PERMISSION_TEXT])
{
    const char *name = permissions[permission].name;
    size_t len = strlen(name);
    bool is_nsc = len > 3 && !strcmp(name + len - 3, "NSC");

    snprintf(text, PERMISSION_TEXT, "%.*s%s", (int)(is_nsc ? len - 3 : len), name,
             is_nsc ? "TASK" : "");
    for (char *at = text; *at; at++)
        *at = *at == '_' ? ' ' : (char)tolower((unsigned char)*at);
}

void render_permissions(struct json_writer *w, const char *key, uint64_t mask)
{
    char text[PERMISSION_TEXT];

    jw_array(w, key);
    for (int i = 0; i < PERMISSION_COUNT; i++) {
        if (!(mask >> i & 1))
            continue;
        permission_id((enum permission)i, text);
        jw_str(w, NULL, text);
    }
    jw_end_array(w);
}

void render_role(struct json_writer *w, const char *key, const struct role *role)
{
    char text[PERMISSION_TEXT];

    jw_object(w, key);
    jw_i64(w, "roleId", role->id);
    jw_str(w, "name", role->name);
    jw_array(w, "permissions");
    for (int i = 0; i < PERMISSION_COUNT; i++) {
        if (!(role->mask >> i & 1))
            continue;
        jw_object(w, NULL);
        permission_id((enum permission)i, text);
        jw_str(w, "id", text);
        permission_words((enum permission)i, text);
        jw_str(w, "name", text);
        render_scope(w, !permissions[i].is_cluster_only);
        jw_end_object(w);
    }
    jw_end_array(w);
    render_scope(w, role_fits_workspace(role));
    jw_end_object(w);
}

static void render_assignment(struct json_writer *w, const struct role *role,
                              const struct role_assignment *row)
{
    jw_object(w, NULL);
    jw_i64(w, row->user_id ? "userId" : "groupId",
           row->user_id ? row->user_id : row->group_id);
    jw_object(w, "roleAssignment");
    jw_object(w, "role");
    jw_i64(w, "roleId", role->id);
    jw_str(w, "name", role->name);
    jw_end_object(w);
    if (row->workspace_id)
        jw_i64(w, "scopeWorkspaceId", row->workspace_id);
    else
        jw_null(w, "scopeWorkspaceId");
    jw_bool(w, "scopeCluster", !row->workspace_id);
    jw_end_object(w);
    jw_end_object(w);
}

void render_role_with(struct json_writer *w, const struct role *role,
                      const struct role_assignment *rows, uint32_t count)
{
    jw_object(w, NULL);
    render_role(w, "role", role);
    jw_array(w, "userRoleAssignments");
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].role_id == role->id && rows[i].user_id)
            render_assignment(w, role, &rows[i]);
    jw_end_array(w);
    jw_array(w, "groupRoleAssignments");
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].role_id == role->id && !rows[i].user_id)
            render_assignment(w, role, &rows[i]);
    jw_end_array(w);
    jw_end_object(w);
}

static bool is_first_of_role(const struct role_assignment *rows, uint32_t i)
{
    return role_find(rows[i].role_id) && (!i || rows[i - 1].role_id != rows[i].role_id);
}

/* The workspaces of rows[i] and those that follow with the same role.  A role may come twice
 * in a workspace, by two groups. */
static void render_workspaces(struct json_writer *w, const struct role_assignment *rows,
                              uint32_t count, uint32_t i)
{
    int64_t role_id = rows[i].role_id;
    int64_t last = 0;

    jw_array(w, "scopeWorkspaceIds");
    for (; i < count && rows[i].role_id == role_id; i++) {
        if (rows[i].workspace_id != last)
            jw_i64(w, NULL, rows[i].workspace_id);
        last = rows[i].workspace_id;
    }
    jw_end_array(w);
}

void render_role_summary(struct json_writer *w, const struct role_assignment *rows,
                         uint32_t count)
{
    jw_array(w, "roles");
    for (uint32_t i = 0; i < count; i++)
        if (is_first_of_role(rows, i))
            render_role(w, NULL, role_find(rows[i].role_id));
    jw_end_array(w);
    jw_array(w, "assignments");
    for (uint32_t i = 0; i < count; i++) {
        if (!is_first_of_role(rows, i))
            continue;
        jw_object(w, NULL);
        jw_i64(w, "roleId", rows[i].role_id);
        render_workspaces(w, rows, count, i);
        jw_bool(w, "scopeCluster", !rows[i].workspace_id); /* 0 comes first */
        jw_end_object(w);
    }
    jw_end_array(w);
}
