/* SPDX-License-Identifier: Apache-2.0 */
/* space_bodies.h - bodies and queries of calls about workspaces and projects. */
#ifndef WIRE_SPACE_BODIES_H
#define WIRE_SPACE_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

struct workspaces_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    const char *name; /* the whole name, in any case */
    const char *name_case_sensitive;
    bool archived;
    bool has_archived;
    bool pinned;
    bool has_pinned;
    struct field_strs users;
    struct field_i64s user_ids;
};
extern const struct field workspaces_query_fields[];

struct projects_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    const char *name;
    bool archived;
    bool has_archived;
    struct field_strs users;
    struct field_i64s user_ids;
};
extern const struct field projects_query_fields[];

struct create_workspace_body {
    const char *name;
    const struct json *agent_user_group;
    const struct json *checkpoint_storage_config;
    const char *default_compute_pool;
    const char *default_aux_pool;
    const struct json *cluster_namespace_meta;
    const struct json *cluster_quota_pairs;
};
extern const struct field create_workspace_body_fields[];

struct patch_workspace_body {
    const char *name;
    const struct json *agent_user_group;
    const struct json *checkpoint_storage_config;
    const char *default_compute_resource_pool;
    const char *default_aux_resource_pool;
};
extern const struct field patch_workspace_body_fields[];

struct create_project_body {
    const char *name;
    const char *description;
    const char *key;
    int64_t workspace_id;
};
extern const struct field create_project_body_fields[];

struct patch_project_body {
    const char *name;
    const char *description;
    const char *key;
};
extern const struct field patch_project_body_fields[];

struct move_project_body {
    int64_t project_id;
    int64_t destination_workspace_id;
};
extern const struct field move_project_body_fields[];

struct note_body {
    const char *name;
    const char *contents;
};
extern const struct field note_body_fields[];

struct notes_body {
    const struct json *notes;
    int64_t project_id;
};
extern const struct field notes_body_fields[];

struct move_experiment_body {
    int64_t experiment_id;
    int64_t destination_project_id;
};
extern const struct field move_experiment_body_fields[];

struct experiment_filters {
    const char *description;
    const char *name;
    struct field_strs labels;
    bool archived;
    bool has_archived;
    struct field_strs states;
    struct field_i64s user_ids;
    int64_t project_id;
    struct field_i64s excluded_experiment_ids;
};

/* Some experiments of a project. */
struct many_experiments_body {
    struct field_i64s experiment_ids;
    const struct json *filters; /* experiment_filters_fields */
    int64_t project_id;
};
extern const struct field many_experiments_body_fields[];

struct retain_many_logs_body {
    struct field_i64s experiment_ids;
    const struct json *filters; /* experiment_filters_fields */
    int64_t num_days;
    int64_t project_id;
};
extern const struct field retain_many_logs_body_fields[];

struct move_experiments_body {
    struct field_i64s experiment_ids;
    const struct json *filters; /* experiment_filters_fields */
    int64_t destination_project_id;
    int64_t project_id;
};
extern const struct field experiment_filters_fields[];
extern const struct field move_experiments_body_fields[];

struct activity_body {
    const char *activity_type;
    const char *entity_type;
    int64_t entity_id;
};
extern const struct field activity_body_fields[];

struct activity_query {
    int64_t limit;
};
extern const struct field activity_query_fields[];

struct columns_query {
    const char *table_type;
};
extern const struct field columns_query_fields[];

#endif
