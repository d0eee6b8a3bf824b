/* SPDX-License-Identifier: Apache-2.0 */
/* people_bodies.h - bodies of calls about users, groups, roles and access tokens; see
 * bodies.h. */
#ifndef WIRE_PEOPLE_BODIES_H
#define WIRE_PEOPLE_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

/* ---- users ----------------------------------------------------------------------- */

struct patch_users_body {
    struct field_i64s user_ids;
    bool activate;
    bool has_activate;
};
extern const struct field patch_users_body_fields[];

struct user_setting_part {
    const char *key;
    const char *storage_path;
    const char *value; /* NULL: remove it */
};
struct user_settings_body {
    struct field_list settings; /* of user_setting_part */
};
extern const struct field user_settings_body_fields[];

/* ---- groups ---------------------------------------------------------------------- */

struct create_group_body {
    const char *name;
    struct field_i64s add_users;
};
extern const struct field create_group_body_fields[];

struct search_groups_body {
    const char *name;
    int64_t user_id;
    int64_t limit;
    int64_t offset;
};
extern const struct field search_groups_body_fields[];

struct update_group_body {
    int64_t group_id;
    const char *name;
    struct field_i64s add_users;
    struct field_i64s remove_users;
};
extern const struct field update_group_body_fields[];

struct assign_groups_body {
    struct field_i64s user_ids;
    struct field_i64s add_groups;
    struct field_i64s remove_groups;
};
extern const struct field assign_groups_body_fields[];

/* ---- roles ----------------------------------------------------------------------- */

struct role_part {
    int64_t role_id;
    const char *name; /* as in replies; the number counts */
};
struct role_assignment_part {
    struct role_part role;
    int64_t scope_workspace_id;
    bool has_scope_workspace_id;
    bool scope_cluster;
    bool has_scope_cluster;
};
struct user_role_part {
    int64_t user_id;
    struct role_assignment_part role_assignment;
};
struct group_role_part {
    int64_t group_id;
    struct role_assignment_part role_assignment;
};
struct role_assignments_body {
    struct field_list user_role_assignments;
    struct field_list group_role_assignments;
};
extern const struct field role_assignments_body_fields[];

struct search_roles_body {
    int64_t limit;
    int64_t offset;
    int64_t workspace_id;
    bool has_workspace_id;
};
extern const struct field search_roles_body_fields[];
extern const struct field search_assignable_roles_body_fields[];
#define search_assignable_roles_body search_roles_body

struct roles_by_ids_body {
    struct field_i64s role_ids;
};
extern const struct field roles_by_ids_body_fields[];

/* ---- access tokens ------------------------------------------------------------------ */

struct create_token_body {
    int64_t user_id;
    const char *lifespan;
    const char *description;
};
extern const struct field create_token_body_fields[];

struct patch_token_body {
    int64_t token_id;
    const char *description;
    bool set_revoked;
};
extern const struct field patch_token_body_fields[];

/* ---- queries --------------------------------------------------------------------------- */

struct users_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    const char *name;
    bool active;
    bool has_active;
    bool admin;
    bool has_admin;
    struct field_i64s role_id_assigned_directly_to_user;
};
extern const struct field users_query_fields[];

struct tokens_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    struct field_i64s token_ids;
    const char *username;
    bool show_inactive;
};
extern const struct field tokens_query_fields[];

struct workspace_roles_query {
    const char *name;
};
extern const struct field workspace_roles_query_fields[];

#endif
