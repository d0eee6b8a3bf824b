/* SPDX-License-Identifier: Apache-2.0 */
/* queries.h - the queries of calls (behind the '?'): structs and their field tables. */
#ifndef WIRE_QUERIES_H
#define WIRE_QUERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"

struct list_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    struct field_strs states;
};
extern const struct field list_query_fields[];

struct experiments_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    const char *name;
    const char *description;
    struct field_strs labels;
    struct field_strs states;
    struct field_strs users;
    struct field_i64s user_ids;
    bool archived;
    bool has_archived;
    int64_t project_id;
    bool exclude_config;
    struct field_i64s incl; /* experimentIdFilter.incl and similar */
    struct field_i64s not_in;
    int64_t gt;
    int64_t gte;
    int64_t lt;
    int64_t lte;
};
extern const struct field experiments_query_fields[];

struct download_query {
    const char *format;
};
extern const struct field download_query_fields[];

struct event_media_query {
    const char *file;
    int64_t offset;
    int64_t value;
};
extern const struct field event_media_query_fields[];

struct checkpoint_file_query {
    const char *path;
};
extern const struct field checkpoint_file_query_fields[];

struct checkpoints_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by_attr;
    const char *sort_by_metric;
    struct field_strs states;
};
extern const struct field checkpoints_query_fields[];

struct trials_table_query {
    const char *metric;
    bool without_importance;
    const char *query; /* model/table_query.h */
    bool with_metrics;
};
extern const struct field trials_table_query_fields[];

struct preview_gc_query {
    int64_t save_experiment_best;
    bool has_save_experiment_best;
    int64_t save_trial_best;
    bool has_save_trial_best;
    int64_t save_trial_latest;
    bool has_save_trial_latest;
};
extern const struct field preview_gc_query_fields[];

struct workloads_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *filter;
    bool include_batch_metrics;
    const char *group;
};
extern const struct field workloads_query_fields[];

struct logs_query {
    bool follow;
    int64_t limit;
    const char *order_by;
    struct field_strs agent_ids;
    struct field_strs allocation_ids;
    struct field_strs container_ids;
    struct field_i64s rank_ids;
    struct field_strs levels;
    struct field_strs sources;
    struct field_strs stdtypes;
    int64_t timestamp_before;
    int64_t timestamp_after;
    const char *search_text;
    bool enable_regex;
    bool live;
};
extern const struct field logs_query_fields[];

struct master_logs_query {
    int64_t offset; /* negative: counted from the end */
    int64_t limit;
    bool follow;
};
extern const struct field master_logs_query_fields[];

struct slot_use_rows_query {
    const char *timestamp_after;
    const char *timestamp_before;
};
extern const struct field slot_use_rows_query_fields[];

struct slot_use_sums_query {
    const char *start_date;
    const char *end_date;
    const char *period;
    bool experiments;
};
extern const struct field slot_use_sums_query_fields[];

struct lines_query {
    int64_t from; /* a line; negative: counted from the end */
    bool has_from;
    int64_t count;
    bool before; /* the lines before `from` */
    int64_t time;
    int64_t cut;
    bool has_cut;
    struct field_strs levels; /* each may name several, with commas between */
    struct field_strs ranks;
    struct field_strs streams;
};
extern const struct field lines_query_fields[];

struct line_search_query {
    const char *text;
    bool regex;
    bool case_counts;
    int64_t from;
    bool has_from;
    bool before; /* search backwards */
    int64_t limit;
    struct field_strs levels;
    struct field_strs ranks;
    struct field_strs streams;
};
extern const struct field line_search_query_fields[];

struct metrics_query {
    struct field_i64s trial_ids;
    const char *group;
    bool with_archived;
};
extern const struct field metrics_query_fields[];

struct series_query {
    struct field_i64s trial_ids;
    struct field_strs metric_names; /* "loss" */
    struct field_strs metric_ids;   /* "validation.loss" */
    const char *group;
    const char *metric_type;
    int64_t max_datapoints;
    int64_t start_batches;
    int64_t end_batches;
};
extern const struct field series_query_fields[];

struct charts_query {
    struct field_strs trials;  /* "1,2,3" */
    struct field_strs metrics; /* "training.loss" */
    int64_t points;
    const char *x;
    const char *from;
    const char *to;
    bool archived;
    const char *format;
};
extern const struct field charts_query_fields[];

struct audit_query {
    const char *user;
    const char *action;
    const char *object;
    const char *since;
    int64_t limit;
    int64_t before;
};
extern const struct field audit_query_fields[];

struct preemption_query {
    int64_t timeout_seconds;
};
extern const struct field preemption_query_fields[];

/* The table of experiments. */
struct find_experiments_query {
    const char *search;
    struct field_strs states;
    struct field_strs users;
    struct field_strs labels;
    const char *archived; /* yes, no or both; absent: no */
    struct field_strs searcher;
    struct field_strs pool;
    struct field_i64s project_ids;
    int64_t workspace_id; /* 0: all */
    const char *sort;
    int64_t offset;
    int64_t limit;
    bool has_limit;
    const char *columns; /* names, separated by commas */
    bool values;
    const char *query;         /* model/table_query.h */
    struct field_strs by;      /* groups instead of experiments */
    struct field_strs metrics; /* of groups */
};
extern const struct field find_experiments_query_fields[];

struct experiment_columns_query {
    struct field_i64s project_ids;
    int64_t workspace_id; /* 0: all */
};
extern const struct field experiment_columns_query_fields[];

struct generic_tasks_query {
    bool all;
    int64_t offset;
    int64_t limit;
};
extern const struct field generic_tasks_query_fields[];

struct tensorboards_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *sort_by;
    struct field_strs users;
    struct field_i64s user_ids;
    int64_t workspace_id;
    bool all;
};
extern const struct field tensorboards_query_fields[];

struct jobs_query {
    int64_t offset;
    int64_t limit;
    const char *order_by;
    const char *resource_pool;
    struct field_strs states;
};
extern const struct field jobs_query_fields[];

/* An element of a list may hold several parts, separated by commas. */
struct changes_query {
    struct field_strs kinds;
    struct field_strs experiment;
    struct field_strs trial;
    struct field_strs task;
    const char *since;
};
extern const struct field changes_query_fields[];

#endif
