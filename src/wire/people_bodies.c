/* SPDX-License-Identifier: Apache-2.0 */
/* people_bodies.c - the field tables of people_bodies.h. */
#include "wire/people_bodies.h"

#include <stddef.h>

/* ---- users ----------------------------------------------------------------------- */

const struct field patch_users_body_fields[] = {
    FIELD(I64S, patch_users_body, user_ids, "the users"),
    FIELD_OPTIONAL(BOOL, patch_users_body, activate, "whether they may log in"),
    FIELD_END,
};

static const struct field user_setting_part_fields[] = {
    FIELD_REQUIRED(STR, user_setting_part, key, "name of the setting"),
    FIELD(STR, user_setting_part, storage_path, "the page it belongs to"),
    FIELD(STR, user_setting_part, value, "its value; absent: remove it"),
    FIELD_END,
};

const struct field user_settings_body_fields[] = {
    FIELD_OF(RECORDS, user_settings_body, settings, user_setting_part_fields,
             struct user_setting_part, "settings to write or remove"),
    FIELD_END,
};

/* ---- groups ---------------------------------------------------------------------- */

const struct field create_group_body_fields[] = {
    FIELD_REQUIRED(STR, create_group_body, name, "name of the group"),
    FIELD(I64S, create_group_body, add_users, "its first members"),
    FIELD_END,
};

const struct field search_groups_body_fields[] = {
    FIELD(STR, search_groups_body, name, "only the group of this name"),
    FIELD(I64, search_groups_body, user_id, "only groups of this user"),
    FIELD(I64, search_groups_body, limit, "most results, 1 to 500"),
    FIELD(I64, search_groups_body, offset, "number to skip; negative: from the end"),
    FIELD_END,
};

const struct field update_group_body_fields[] = {
    FIELD(I64, update_group_body, group_id, "as in the path"),
    FIELD(STR, update_group_body, name, "a new name"),
    FIELD(I64S, update_group_body, add_users, "users to add"),
    FIELD(I64S, update_group_body, remove_users, "users to remove"),
    FIELD_END,
};

const struct field assign_groups_body_fields[] = {
    FIELD(I64S, assign_groups_body, user_ids, "the users"),
    FIELD(I64S, assign_groups_body, add_groups, "groups they join"),
    FIELD(I64S, assign_groups_body, remove_groups, "groups they leave"),
    FIELD_END,
};

/* ---- roles ----------------------------------------------------------------------- */

static const struct field role_part_fields[] = {
    FIELD_REQUIRED(I64, role_part, role_id, "number of the role"),
    FIELD(STR, role_part, name, "no effect: the number counts"),
    FIELD_END,
};

static const struct field role_assignment_part_fields[] = {
    FIELD_OF(RECORD, role_assignment_part, role, role_part_fields, struct role_part,
             "the role"),
    FIELD_OPTIONAL(I64, role_assignment_part, scope_workspace_id, "in this workspace"),
    FIELD_OPTIONAL(BOOL, role_assignment_part, scope_cluster, "on the whole cluster"),
    FIELD_END,
};

static const struct field user_role_part_fields[] = {
    FIELD_REQUIRED(I64, user_role_part, user_id, "the user"),
    FIELD_OF(RECORD, user_role_part, role_assignment, role_assignment_part_fields,
             struct role_assignment_part, "the role and where it applies"),
    FIELD_END,
};

static const struct field group_role_part_fields[] = {
    FIELD_REQUIRED(I64, group_role_part, group_id, "the group"),
    FIELD_OF(RECORD, group_role_part, role_assignment, role_assignment_part_fields,
             struct role_assignment_part, "the role and where it applies"),
    FIELD_END,
};

const struct field role_assignments_body_fields[] = {
    FIELD_OF(RECORDS, role_assignments_body, user_role_assignments,
             user_role_part_fields, struct user_role_part, "roles of users"),
    FIELD_OF(RECORDS, role_assignments_body, group_role_assignments,
             group_role_part_fields, struct group_role_part, "roles of groups"),
    FIELD_END,
};

const struct field search_roles_body_fields[] = {
    FIELD(I64, search_roles_body, limit, "most results"),
    FIELD(I64, search_roles_body, offset, "number to skip; negative: from the end"),
    FIELD_END,
};

const struct field search_assignable_roles_body_fields[] = {
    FIELD(I64, search_roles_body, limit, "most results"),
    FIELD(I64, search_roles_body, offset, "number to skip; negative: from the end"),
    FIELD_OPTIONAL(I64, search_roles_body, workspace_id,
                   "only roles that can be assigned in this workspace"),
    FIELD_END,
};

const struct field roles_by_ids_body_fields[] = {
    FIELD(I64S, roles_by_ids_body, role_ids, "numbers of roles"),
    FIELD_END,
};

/* ---- access tokens ------------------------------------------------------------------ */

const struct field create_token_body_fields[] = {
    FIELD_REQUIRED(I64, create_token_body, user_id, "the user it acts as"),
    FIELD(STR, create_token_body, lifespan,
          "a duration such as 720h; -1: as long as allowed"),
    FIELD(STR, create_token_body, description, "what it is for"),
    FIELD_END,
};

const struct field patch_token_body_fields[] = {
    FIELD(I64, patch_token_body, token_id, "as in the path"),
    FIELD(STR, patch_token_body, description, "a new description"),
    FIELD(BOOL, patch_token_body, set_revoked, "revoke it"),
    FIELD_END,
};

/* ---- queries --------------------------------------------------------------------------- */

#define PAGE_FIELDS(struct_)                                                           \
    FIELD(I64, struct_, offset, "number to skip; negative: from the end"),             \
        FIELD(I64, struct_, limit, "most results"),                                    \
        FIELD(STR, struct_, order_by, "ORDER_BY_ASC or ORDER_BY_DESC"),                \
        FIELD(STR, struct_, sort_by, "SORT_BY_...")

const struct field users_query_fields[] = {
    PAGE_FIELDS(users_query),
    FIELD(STR, users_query, name, "part of the name or display name, ignoring case"),
    FIELD_OPTIONAL(BOOL, users_query, active, "only active users, or only others"),
    FIELD_OPTIONAL(BOOL, users_query, admin, "only administrators, or only others"),
    FIELD(I64S, users_query, role_id_assigned_directly_to_user,
          "only users with one of these roles of their own; mode rbac"),
    FIELD_END,
};

const struct field tokens_query_fields[] = {
    PAGE_FIELDS(tokens_query),
    FIELD(I64S, tokens_query, token_ids, "only these"),
    FIELD(STR, tokens_query, username, "only of this user"),
    FIELD(BOOL, tokens_query, show_inactive, "also expired and revoked ones"),
    FIELD_END,
};

const struct field workspace_roles_query_fields[] = {
    FIELD(STR, workspace_roles_query, name, "part of the name of a user or group"),
    FIELD_END,
};
