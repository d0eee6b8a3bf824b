/* SPDX-License-Identifier: Apache-2.0 */
/* space_bodies.c - the field tables of space_bodies.h. */
#include "wire/space_bodies.h"

#include <stddef.h>

#define LIST_FIELDS(struct_)                                                           \
    FIELD(I64, struct_, offset, "number to skip; negative: from the end"),             \
        FIELD(I64, struct_, limit, "most results; 0: all"),                            \
        FIELD(STR, struct_, order_by, "ORDER_BY_ASC or ORDER_BY_DESC"),                \
        FIELD(STR, struct_, sort_by, "SORT_BY_..."),                                   \
        FIELD(STR, struct_, name, "the whole name, in any case"),                      \
        FIELD_OPTIONAL(BOOL, struct_, archived, "only archived ones, or only others"), \
        FIELD(STRS, struct_, users, "only of these owners"),                           \
        FIELD(I64S, struct_, user_ids, "only of these owners, by id")

const struct field workspaces_query_fields[] = {
    LIST_FIELDS(workspaces_query),
    FIELD(STR, workspaces_query, name_case_sensitive, "the whole name, exactly"),
    FIELD_OPTIONAL(BOOL, workspaces_query, pinned,
                   "only those that the caller pinned, or only others"),
    FIELD_END,
};

const struct field projects_query_fields[] = {
    LIST_FIELDS(projects_query),
    FIELD_END,
};

const struct field create_workspace_body_fields[] = {
    FIELD(STR, create_workspace_body, name, "its name, 1 to 80 bytes"),
    FIELD(TREE, create_workspace_body, agent_user_group,
          "the Unix user of its tasks: agentUid, agentGid, agentUser, agentGroup"),
    FIELD(TREE, create_workspace_body, checkpoint_storage_config,
          "a complete checkpoint_storage"),
    FIELD(STR, create_workspace_body, default_compute_pool,
          "pool of tasks with slots that name none"),
    FIELD(STR, create_workspace_body, default_aux_pool,
          "pool of tasks without slots that name none"),
    FIELD(TREE, create_workspace_body, cluster_namespace_meta,
          "refused: only with Kubernetes"),
    FIELD(TREE, create_workspace_body, cluster_quota_pairs,
          "refused: only with Kubernetes"),
    FIELD_END,
};

const struct field patch_workspace_body_fields[] = {
    FIELD(STR, patch_workspace_body, name, "its new name"),
    FIELD(TREE, patch_workspace_body, agent_user_group,
          "the Unix user of its tasks; replaces all four parts"),
    FIELD(TREE, patch_workspace_body, checkpoint_storage_config,
          "a complete checkpoint_storage; {} removes it"),
    FIELD(STR, patch_workspace_body, default_compute_resource_pool,
          "pool of tasks with slots that name none; empty: the cluster's"),
    FIELD(STR, patch_workspace_body, default_aux_resource_pool,
          "pool of tasks without slots that name none; empty: the cluster's"),
    FIELD_END,
};

const struct field create_project_body_fields[] = {
    FIELD(STR, create_project_body, name, "its name, unique in its workspace"),
    FIELD(STR, create_project_body, description, "any text"),
    FIELD(STR, create_project_body, key, "1 to 5 letters or digits; default: made"),
    FIELD(I64, create_project_body, workspace_id, "as in the path"),
    FIELD_END,
};

const struct field patch_project_body_fields[] = {
    FIELD(STR, patch_project_body, name, "its new name"),
    FIELD(STR, patch_project_body, description, "its new description"),
    FIELD(STR, patch_project_body, key, "its new key: 1 to 5 letters or digits"),
    FIELD_END,
};

const struct field move_project_body_fields[] = {
    FIELD(I64, move_project_body, project_id, "as in the path"),
    FIELD_REQUIRED(I64, move_project_body, destination_workspace_id,
                   "the workspace that gets it"),
    FIELD_END,
};

const struct field note_body_fields[] = {
    FIELD(STR, note_body, name, "title of the note"),
    FIELD(STR, note_body, contents, "its text, Markdown"),
    FIELD_END,
};

const struct field notes_body_fields[] = {
    FIELD_REQUIRED(TREE, notes_body, notes, "all notes: name, contents"),
    FIELD(I64, notes_body, project_id, "as in the path"),
    FIELD_END,
};

const struct field move_experiment_body_fields[] = {
    FIELD(I64, move_experiment_body, experiment_id, "as in the path"),
    FIELD_REQUIRED(I64, move_experiment_body, destination_project_id,
                   "the project that gets it"),
    FIELD_END,
};

const struct field experiment_filters_fields[] = {
    FIELD(STR, experiment_filters, description, "part of the description"),
    FIELD(STR, experiment_filters, name, "part of the name"),
    FIELD(STRS, experiment_filters, labels, "all of these labels"),
    FIELD_OPTIONAL(BOOL, experiment_filters, archived,
                   "only archived ones, or only others"),
    FIELD(STRS, experiment_filters, states, "only these states"),
    FIELD(I64S, experiment_filters, user_ids, "only of these owners"),
    FIELD(I64, experiment_filters, project_id, "only of this project"),
    FIELD(I64S, experiment_filters, excluded_experiment_ids, "not these"),
    FIELD_END,
};

#define MANY_FIELDS(struct_)                                                           \
    FIELD(I64S, struct_, experiment_ids, "which; ignored if there are filters"),       \
        FIELD(TREE, struct_, filters,                                                  \
              "name, description, labels, archived, states, userIds, projectId, "      \
              "excludedExperimentIds"),                                                \
        FIELD(I64, struct_, project_id, "as in the path")

const struct field many_experiments_body_fields[] = {
    MANY_FIELDS(many_experiments_body),
    FIELD_END,
};

const struct field move_experiments_body_fields[] = {
    MANY_FIELDS(move_experiments_body),
    FIELD_REQUIRED(I64, move_experiments_body, destination_project_id,
                   "the project that gets them"),
    FIELD_END,
};

const struct field retain_many_logs_body_fields[] = {
    MANY_FIELDS(retain_many_logs_body),
    FIELD_REQUIRED(I64, retain_many_logs_body, num_days,
                   "how many days logs are kept; -1: for ever"),
    FIELD_END,
};

const struct field activity_body_fields[] = {
    FIELD_REQUIRED(STR, activity_body, activity_type, "ACTIVITY_TYPE_GET"),
    FIELD_REQUIRED(STR, activity_body, entity_type, "ENTITY_TYPE_PROJECT"),
    FIELD_REQUIRED(I64, activity_body, entity_id, "the project"),
    FIELD_END,
};

const struct field activity_query_fields[] = {
    FIELD(I64, activity_query, limit, "most results, up to 500; default: 500"),
    FIELD_END,
};

const struct field columns_query_fields[] = {
    FIELD(STR, columns_query, table_type, "TABLE_TYPE_EXPERIMENT or TABLE_TYPE_RUN"),
    FIELD_END,
};
