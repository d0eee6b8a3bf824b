/* SPDX-License-Identifier: Apache-2.0 */
/* sql_tables.c - see sql_tables.h. */
#include "store/sql_tables.h"

#define EACH_SQL_TABLE(X)                                                              \
    X(access_token_sql_table)                                                          \
    X(agent_sql_table)                                                                 \
    X(alive_sql_table)                                                                 \
    X(allocation_sql_table)                                                            \
    X(audit_sql_table)                                                                 \
    X(caller_sql_table)                                                                \
    X(checkpoint_sql_table)                                                            \
    X(collect_sql_table)                                                               \
    X(count_sql_table)                                                                 \
    X(experiment_continue_sql_table)                                                   \
    X(experiment_delete_sql_table)                                                     \
    X(experiment_edit_sql_table)                                                       \
    X(experiment_sql_table)                                                            \
    X(grants_sql_table)                                                                \
    X(group_sql_table)                                                                 \
    X(job_sql_table)                                                                   \
    X(journal_sql_table)                                                               \
    X(level_page_sql_table)                                                            \
    X(lineage_sql_table)                                                               \
    X(log_add_sql_table)                                                               \
    X(log_compact_sql_table)                                                           \
    X(log_read_sql_table)                                                              \
    X(log_seek_sql_table)                                                              \
    X(mark_sql_table)                                                                  \
    X(media_sql_table)                                                                 \
    X(metric_add_sql_table)                                                            \
    X(metric_admit_sql_table)                                                          \
    X(metric_compact_sql_table)                                                        \
    X(local_number_sql_table)                                                          \
    X(metric_names_sql_table)                                                          \
    X(metric_rows_sql_table)                                                           \
    X(metric_summary_sql_table)                                                        \
    X(migrate_sql_table)                                                               \
    X(owner_sql_table)                                                                 \
    X(project_sql_table)                                                               \
    X(project_table_sql_table)                                                         \
    X(proxy_sql_table)                                                                 \
    X(queue_sql_table)                                                                 \
    X(removal_sql_table)                                                               \
    X(role_assignment_sql_table)                                                       \
    X(roster_sql_table)                                                                \
    X(roster_view_sql_table)                                                           \
    X(run_record_sql_table)                                                            \
    X(run_user_sql_table)                                                              \
    X(search_sql_table)                                                                \
    X(series_read_sql_table)                                                           \
    X(session_sql_table)                                                               \
    X(setting_sql_table)                                                               \
    X(slot_use_sql_table)                                                              \
    X(subject_sql_table)                                                               \
    X(space_delete_sql_table)                                                          \
    X(step_back_sql_table)                                                             \
    X(timeline_sql_table)                                                              \
    X(trial_load_sql_table)                                                            \
    X(trial_sql_table)                                                                 \
    X(trial_table_sql_table)                                                           \
    X(unmanaged_sql_table)                                                             \
    X(user_sql_table)                                                                  \
    X(user_setting_sql_table)                                                          \
    X(validation_sql_table)                                                            \
    X(workspace_sql_table)

#define DECLARE(table) extern const struct sql_table table;
EACH_SQL_TABLE(DECLARE)

#define NAME(table) &table,
const struct sql_table *const sql_tables[] = {EACH_SQL_TABLE(NAME) NULL};
