/* SPDX-License-Identifier: Apache-2.0 */
/* queries.c - the field tables of queries.h. */
#include "wire/queries.h"

#include <stddef.h>

#define PAGE_FIELDS(struct_)                                                           \
    FIELD(I64, struct_, offset, "skip that many; negative: from the end"),             \
        FIELD(I64, struct_, limit, "at most that many"),                               \
        FIELD(STR, struct_, order_by, "ORDER_BY_ASC or ORDER_BY_DESC")

const struct field list_query_fields[] = {
    PAGE_FIELDS(list_query),
    FIELD(STR, list_query, sort_by, "SORT_BY_..."),
    FIELD(STRS, list_query, states, "only these states"),
    FIELD_END,
};

const struct field experiments_query_fields[] = {
    PAGE_FIELDS(experiments_query),
    FIELD(STR, experiments_query, sort_by, "SORT_BY_..."),
    FIELD(STR, experiments_query, name, "a part of the name"),
    FIELD(STR, experiments_query, description, "a part of the description"),
    FIELD(STRS, experiments_query, labels, "all of these labels"),
    FIELD(STRS, experiments_query, states, "only these states"),
    FIELD(STRS, experiments_query, users, "only these users"),
    FIELD(I64S, experiments_query, user_ids, "only these users, by id"),
    FIELD_OPTIONAL(BOOL, experiments_query, archived, "only archived, or only not"),
    FIELD(I64, experiments_query, project_id, "only this project"),
    FIELD(BOOL, experiments_query, exclude_config, "no configurations: a short list"),
    FIELD_NAMED(I64S, experiments_query, incl, "experiment_id_filter.incl",
                "these ids"),
    FIELD_NAMED(I64S, experiments_query, not_in, "experiment_id_filter.not_in",
                "not these ids"),
    FIELD_NAMED(I64, experiments_query, gt, "experiment_id_filter.gt", "ids above"),
    FIELD_NAMED(I64, experiments_query, gte, "experiment_id_filter.gte", "ids from"),
    FIELD_NAMED(I64, experiments_query, lt, "experiment_id_filter.lt", "ids below"),
    FIELD_NAMED(I64, experiments_query, lte, "experiment_id_filter.lte", "ids up to"),
    FIELD_END,
};

const struct field checkpoints_query_fields[] = {
    PAGE_FIELDS(checkpoints_query),
    FIELD(STR, checkpoints_query, sort_by_attr, "SORT_BY_..."),
    FIELD(STR, checkpoints_query, sort_by_metric, "a validation metric"),
    FIELD(STRS, checkpoints_query, states, "only these states"),
    FIELD_END,
};

const struct field preview_gc_query_fields[] = {
    FIELD_OPTIONAL(I64, preview_gc_query, save_experiment_best,
                   "the experiment's best"),
    FIELD_OPTIONAL(I64, preview_gc_query, save_trial_best, "each trial's best"),
    FIELD_OPTIONAL(I64, preview_gc_query, save_trial_latest, "each trial's last"),
    FIELD_END,
};

const struct field workloads_query_fields[] = {
    PAGE_FIELDS(workloads_query),
    FIELD(STR, workloads_query, filter, "FILTER_OPTION_..."),
    FIELD(BOOL, workloads_query, include_batch_metrics, "metrics of each batch too"),
    FIELD(STR, workloads_query, group, "only this group of metrics"),
    FIELD_END,
};

const struct field logs_query_fields[] = {
    FIELD(BOOL, logs_query, follow, "stay until the task is over"),
    FIELD(I64, logs_query, limit, "at most that many lines"),
    FIELD(STR, logs_query, order_by, "ORDER_BY_ASC or ORDER_BY_DESC"),
    FIELD(STRS, logs_query, agent_ids, "only from these agents"),
    FIELD(STRS, logs_query, allocation_ids, "only of these allocations"),
    FIELD(STRS, logs_query, container_ids, "only of these containers"),
    FIELD(I64S, logs_query, rank_ids, "only these ranks; -1: without one"),
    FIELD(STRS, logs_query, levels, "only these levels"),
    FIELD(STRS, logs_query, sources, "only these sources"),
    FIELD(STRS, logs_query, stdtypes, "stdout or stderr"),
    FIELD(TIME, logs_query, timestamp_before, "not later than"),
    FIELD(TIME, logs_query, timestamp_after, "later than"),
    FIELD(STR, logs_query, search_text, "only lines with this text"),
    FIELD(BOOL, logs_query, enable_regex, "that text is a regular expression"),
    FIELD_END,
};

const struct field metrics_query_fields[] = {
    FIELD(I64S, metrics_query, trial_ids, "of these trials"),
    FIELD(STR, metrics_query, group, "of this group"),
    FIELD(BOOL, metrics_query, with_archived,
          "also what was lost and redone; `archived` says which"),
    FIELD_END,
};

const struct field series_query_fields[] = {
    FIELD(I64S, series_query, trial_ids, "of these trials"),
    FIELD(STRS, series_query, metric_names, "metrics of the group or type"),
    FIELD(STRS, series_query, metric_ids, "metrics as group.name"),
    FIELD(STR, series_query, group, "their group"),
    FIELD(STR, series_query, metric_type, "METRIC_TYPE_TRAINING or _VALIDATION"),
    FIELD(I64, series_query, max_datapoints, "at most that many points each"),
    FIELD(I64, series_query, start_batches, "from here"),
    FIELD(I64, series_query, end_batches, "to here"),
    FIELD_END,
};

const struct field users_query_fields[] = {
    PAGE_FIELDS(users_query),
    FIELD(STR, users_query, name, "a part of the name"),
    FIELD_OPTIONAL(BOOL, users_query, active, "only active, or only not"),
    FIELD_OPTIONAL(BOOL, users_query, admin, "only administrators, or only not"),
    FIELD_END,
};

const struct field preemption_query_fields[] = {
    FIELD(I64, preemption_query, timeout_seconds, "how long to wait; 0: not at all"),
    FIELD_END,
};

const struct field generic_tasks_query_fields[] = {
    FIELD(BOOL, generic_tasks_query, all, "also those that have ended"),
    FIELD_END,
};

const struct field tensorboards_query_fields[] = {
    PAGE_FIELDS(tensorboards_query),
    FIELD(STR, tensorboards_query, sort_by, "SORT_BY_START_TIME, SORT_BY_DESCRIPTION"),
    FIELD(STRS, tensorboards_query, users, "only of these owners"),
    FIELD(I64S, tensorboards_query, user_ids, "only of these owners, by number"),
    FIELD(I64, tensorboards_query, workspace_id, "there is one: 1"),
    FIELD(BOOL, tensorboards_query, all, "also those that have ended"),
    FIELD_END,
};

const struct field jobs_query_fields[] = {
    PAGE_FIELDS(jobs_query),
    FIELD(STR, jobs_query, resource_pool, "only this pool"),
    FIELD(STRS, jobs_query, states, "only these states"),
    FIELD_END,
};
