/* SPDX-License-Identifier: Apache-2.0 */
/* queries.c - the field tables of queries.h. */
#include "wire/queries.h"

#include <stddef.h>

#define PAGE_FIELDS(struct_)                                                           \
    FIELD(I64, struct_, offset, "number to skip; negative: from the end"),             \
        FIELD(I64, struct_, limit, "most results"),                                    \
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
    FIELD(STR, experiments_query, name, "part of the name"),
    FIELD(STR, experiments_query, description, "part of the description"),
    FIELD(STRS, experiments_query, labels, "all of these labels"),
    FIELD(STRS, experiments_query, states, "only these states"),
    FIELD(STRS, experiments_query, users, "only these users"),
    FIELD(I64S, experiments_query, user_ids, "only these users, by id"),
    FIELD_OPTIONAL(BOOL, experiments_query, archived,
                   "only archived ones, or only others"),
    FIELD(I64, experiments_query, project_id, "only this project"),
    FIELD(BOOL, experiments_query, exclude_config, "leave out configurations"),
    FIELD_NAMED(I64S, experiments_query, incl, "experiment_id_filter.incl",
                "only these ids"),
    FIELD_NAMED(I64S, experiments_query, not_in, "experiment_id_filter.not_in",
                "not these ids"),
    FIELD_NAMED(I64, experiments_query, gt, "experiment_id_filter.gt", "ids above"),
    FIELD_NAMED(I64, experiments_query, gte, "experiment_id_filter.gte",
                "ids at or above"),
    FIELD_NAMED(I64, experiments_query, lt, "experiment_id_filter.lt", "ids below"),
    FIELD_NAMED(I64, experiments_query, lte, "experiment_id_filter.lte",
                "ids at or below"),
    FIELD_END,
};

const struct field download_query_fields[] = {
    FIELD(STR, download_query, format,
          "tgz, tar or zip; default: from the Accept header"),
    FIELD_END,
};

const struct field event_media_query_fields[] = {
    FIELD(STR, event_media_query, file, "an event file of the trial, as listed"),
    FIELD(I64, event_media_query, offset, "where its record begins"),
    FIELD(I64, event_media_query, value, "its place in the record"),
    FIELD_END,
};

const struct field checkpoint_file_query_fields[] = {
    FIELD(STR, checkpoint_file_query, path, "a file of the checkpoint, as listed"),
    FIELD_END,
};

const struct field checkpoints_query_fields[] = {
    PAGE_FIELDS(checkpoints_query),
    FIELD(STR, checkpoints_query, sort_by_attr, "SORT_BY_..."),
    FIELD(STR, checkpoints_query, sort_by_metric, "a validation metric"),
    FIELD(STRS, checkpoints_query, states, "only these states"),
    FIELD_END,
};

const struct field trials_table_query_fields[] = {
    FIELD(STR, trials_table_query, metric,
          "a metric as validation.NAME; default: the searcher's"),
    FIELD(BOOL, trials_table_query, without_importance,
          "leave out the importance of hyperparameters"),
    FIELD(STR, trials_table_query, query,
          "only trials that match, as in 'lr < 0.1 and state:COMPLETED'"),
    FIELD(BOOL, trials_table_query, with_metrics,
          "also the other metrics of the best validation of each trial"),
    FIELD_END,
};

const struct field preview_gc_query_fields[] = {
    FIELD_OPTIONAL(I64, preview_gc_query, save_experiment_best,
                   "best checkpoints to keep per experiment"),
    FIELD_OPTIONAL(I64, preview_gc_query, save_trial_best,
                   "best checkpoints to keep per trial"),
    FIELD_OPTIONAL(I64, preview_gc_query, save_trial_latest,
                   "latest checkpoints to keep per trial"),
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
    FIELD(BOOL, logs_query, follow, "follow until the task ends"),
    FIELD(I64, logs_query, limit, "most lines"),
    FIELD(STR, logs_query, order_by, "ORDER_BY_ASC or ORDER_BY_DESC"),
    FIELD(STRS, logs_query, agent_ids, "only from these agents"),
    FIELD(STRS, logs_query, allocation_ids, "only of these allocations"),
    FIELD(STRS, logs_query, container_ids, "only of these containers"),
    FIELD(I64S, logs_query, rank_ids, "only these ranks; -1: lines without a rank"),
    FIELD(STRS, logs_query, levels, "only these levels"),
    FIELD(STRS, logs_query, sources, "only these sources"),
    FIELD(STRS, logs_query, stdtypes, "stdout or stderr"),
    FIELD(TIME, logs_query, timestamp_before, "not later than"),
    FIELD(TIME, logs_query, timestamp_after, "later than"),
    FIELD(STR, logs_query, search_text, "only lines with this text"),
    FIELD(BOOL, logs_query, enable_regex, "that text is a regular expression"),
    FIELD(BOOL, logs_query, live, "also lines that are being rewritten; see `isLive`"),
    FIELD_END,
};

const struct field master_logs_query_fields[] = {
    FIELD(I64, master_logs_query, offset, "first line, from 0; negative: from the end"),
    FIELD(I64, master_logs_query, limit, "most lines; 0: all"),
    FIELD(BOOL, master_logs_query, follow, "also lines to come"),
    FIELD_END,
};

const struct field slot_use_rows_query_fields[] = {
    FIELD(STR, slot_use_rows_query, timestamp_after,
          "start of the time: 2026-11-15T00:00:00Z"),
    FIELD(STR, slot_use_rows_query, timestamp_before, "end of the time"),
    FIELD_END,
};

const struct field slot_use_sums_query_fields[] = {
    FIELD(STR, slot_use_sums_query, start_date,
          "first day (2026-11-15) or month (2026-11), UTC"),
    FIELD(STR, slot_use_sums_query, end_date, "last day or month"),
    FIELD(STR, slot_use_sums_query, period,
          "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY or ..._MONTHLY"),
    FIELD(BOOL, slot_use_sums_query, experiments, "also by experiment"),
    FIELD_END,
};

#define LINE_FILTERS(struct_)                                                          \
    FIELD(STRS, struct_, levels, "only these levels: ERROR,WARNING"),                  \
        FIELD(STRS, struct_, ranks,                                                    \
              "only these ranks: 0,1; none: lines without a rank"),                    \
        FIELD(STRS, struct_, streams, "stdout or stderr")

const struct field lines_query_fields[] = {
    FIELD_OPTIONAL(I64, lines_query, from,
                   "first line, from 1; negative: from the end"),
    FIELD(I64, lines_query, count, "most lines; default 500"),
    FIELD(BOOL, lines_query, before, "the lines before it instead"),
    FIELD(TIME, lines_query, time, "from the first line at or after this time"),
    FIELD_OPTIONAL(I64, lines_query, cut, "most bytes per line; default 4096, 0: all"),
    LINE_FILTERS(lines_query),
    FIELD_END,
};

const struct field line_search_query_fields[] = {
    FIELD(STR, line_search_query, text, "text to search for"),
    FIELD(BOOL, line_search_query, regex, "text is a regular expression"),
    FIELD_NAMED(BOOL, line_search_query, case_counts, "case",
                "match upper and lower case"),
    FIELD_OPTIONAL(I64, line_search_query, from,
                   "first line to search; negative: from the end"),
    FIELD(BOOL, line_search_query, before, "search backwards from there"),
    FIELD(I64, line_search_query, limit, "most hits; 0: no limit"),
    LINE_FILTERS(line_search_query),
    FIELD_END,
};

const struct field metrics_query_fields[] = {
    FIELD(I64S, metrics_query, trial_ids, "of these trials"),
    FIELD(STR, metrics_query, group, "of this group"),
    FIELD(BOOL, metrics_query, with_archived,
          "also replaced reports, marked `archived`"),
    FIELD_END,
};

const struct field series_query_fields[] = {
    FIELD(I64S, series_query, trial_ids, "of these trials"),
    FIELD(STRS, series_query, metric_names, "metrics of the group or type"),
    FIELD(STRS, series_query, metric_ids, "metrics as group.name"),
    FIELD(STR, series_query, group, "group of the metrics"),
    FIELD(STR, series_query, metric_type, "METRIC_TYPE_TRAINING or _VALIDATION"),
    FIELD(I64, series_query, max_datapoints, "most points per curve"),
    FIELD(I64, series_query, start_batches, "first batch"),
    FIELD(I64, series_query, end_batches, "end of the range"),
    FIELD_END,
};

const struct field charts_query_fields[] = {
    FIELD(STRS, charts_query, trials, "trial ids, separated by commas"),
    FIELD(STRS, charts_query, metrics, "metrics as group.name; default: all"),
    FIELD(I64, charts_query, points, "width of the screen in pixels"),
    FIELD(STR, charts_query, x, "steps (default) or time"),
    FIELD(STR, charts_query, from, "start of the range: steps, or seconds since 1970"),
    FIELD(STR, charts_query, to, "end of the range"),
    FIELD(BOOL, charts_query, archived, "also replaced reports, as separate lines"),
    FIELD(STR, charts_query, format, "json: JSON regardless of the Accept header"),
    FIELD_END,
};

const struct field audit_query_fields[] = {
    FIELD(STR, audit_query, user, "only this user"),
    FIELD(STR, audit_query, action, "only this call, by name"),
    FIELD(STR, audit_query, object,
          "only this kind ('experiment'), or one of it ('experiment 3')"),
    FIELD(STR, audit_query, since, "only after this time"),
    FIELD(I64, audit_query, limit, "most entries; default 100, at most 1000"),
    FIELD(I64, audit_query, before, "only entries before this one"),
    FIELD_END,
};

const struct field preemption_query_fields[] = {
    FIELD(I64, preemption_query, timeout_seconds, "seconds to wait; 0: do not wait"),
    FIELD_END,
};

const struct field find_experiments_query_fields[] = {
    FIELD(STR, find_experiments_query, search,
          "part of the id, name, description or a label, ignoring case"),
    FIELD(STRS, find_experiments_query, states,
          "only these states; ACTIVE: QUEUED, PULLING, STARTING, RUNNING"),
    FIELD(STRS, find_experiments_query, users, "only these users"),
    FIELD(STRS, find_experiments_query, labels, "all of these labels"),
    FIELD(STR, find_experiments_query, archived, "no (default), yes or both"),
    FIELD(STRS, find_experiments_query, searcher, "only these search methods"),
    FIELD(STRS, find_experiments_query, pool, "only these resource pools"),
    FIELD(I64S, find_experiments_query, project_ids, "only these projects"),
    FIELD(I64, find_experiments_query, workspace_id, "only this workspace"),
    FIELD(STR, find_experiments_query, sort,
          "a column; with - before it: descending; default -id"),
    FIELD(I64, find_experiments_query, offset,
          "number to skip; negative: from the end"),
    FIELD_OPTIONAL(I64, find_experiments_query, limit,
                   "most results; default 50, -1: all"),
    FIELD(STR, find_experiments_query, columns,
          "only these members, separated by commas; id is always included; hp.NAME and "
          "validation.NAME are in `cells`"),
    FIELD(BOOL, find_experiments_query, values,
          "also the possible filter values, with counts"),
    FIELD(STR, find_experiments_query, query,
          "only matches of a query, as in 'loss < 0.3 and hp.lr >= 1e-3'"),
    FIELD(STRS, find_experiments_query, by,
          "groups with equal values in 1 to 4 columns, instead of experiments"),
    FIELD(STRS, find_experiments_query, metrics,
          "with by: mean, deviation, min and max of these columns"),
    FIELD_END,
};

const struct field experiment_columns_query_fields[] = {
    FIELD(I64S, experiment_columns_query, project_ids, "only these projects"),
    FIELD(I64, experiment_columns_query, workspace_id, "only this workspace"),
    FIELD_END,
};

const struct field generic_tasks_query_fields[] = {
    FIELD(BOOL, generic_tasks_query, all, "also ended ones"),
    FIELD(I64, generic_tasks_query, offset, "number to skip; negative: from the end"),
    FIELD(I64, generic_tasks_query, limit, "most results; 0: all"),
    FIELD_END,
};

const struct field tensorboards_query_fields[] = {
    PAGE_FIELDS(tensorboards_query),
    FIELD(STR, tensorboards_query, sort_by, "SORT_BY_START_TIME, SORT_BY_DESCRIPTION"),
    FIELD(STRS, tensorboards_query, users, "only of these owners"),
    FIELD(I64S, tensorboards_query, user_ids, "only of these owners, by number"),
    FIELD(I64, tensorboards_query, workspace_id, "only of this workspace"),
    FIELD(BOOL, tensorboards_query, all, "also ended ones"),
    FIELD_END,
};

const struct field jobs_query_fields[] = {
    PAGE_FIELDS(jobs_query),
    FIELD(STR, jobs_query, resource_pool, "only this pool"),
    FIELD(STRS, jobs_query, states, "only these states"),
    FIELD_END,
};

const struct field changes_query_fields[] = {
    FIELD(STRS, changes_query, kinds,
          "only these: experiments, trials, metrics, checkpoints, logs, agents, jobs, "
          "queue, deleted"),
    FIELD(STRS, changes_query, experiment, "only these experiments, by id"),
    FIELD(STRS, changes_query, trial, "only these trials, by id"),
    FIELD(STRS, changes_query, task, "logs and jobs only of these tasks"),
    FIELD(STR, changes_query, since,
          "id of the last event, if the header Last-Event-ID cannot be sent"),
    FIELD_END,
};
