/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_table.h - what the calls about the table of experiments share. */
#ifndef MASTER_API_PAGES_EXPERIMENT_TABLE_H
#define MASTER_API_PAGES_EXPERIMENT_TABLE_H

#include "base/err.h"
#include "store/roster/roster_find.h"

struct experiment_columns_query;
struct json_writer;
struct query_cell;
struct request;

/* The projects whose experiments the caller may see, as the request limits them.  NULL:
 * all. */
det_status table_projects(struct request *req,
                          const struct experiment_columns_query *in,
                          enum roster_archived archived,
                          const struct field_i64s **ret_projects);

/* A number, a text or null. */
void table_render_cell(struct json_writer *w, const char *key,
                       const struct query_cell *cell);

/* Answers find_experiments with groups: its `by` is not empty. */
det_status table_render_groups(struct request *req, const struct roster_query *query);

#endif
